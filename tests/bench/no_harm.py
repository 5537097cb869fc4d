#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The no-harm bar: a stock ImageFolder that decodes PNG files, 2 workers, over
a cached class-folder tree: the default mount against the raw directory.

Two trees: photographs' size (224 x 224, RGB), and Fashion-MNIST's 28 x 28,
whose decoding costs hardly more than opening the file. Python's open() asks
each file whether it is a terminal (ioctl TCGETS); the kernel passes that on to
the daemon and remembers no answer: one request a file, whatever we do."""
import argparse
import multiprocessing
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

WORKERS = 2
EXAMPLES = measure.HERE.parents[1] / "examples"
SMALL, LARGE, CLASSES, SIDE = 20000, 4000, 40, 224


def small(root):
    subprocess.run(["/usr/bin/python3", EXAMPLES / "make_tree.py", root / "tree",
                    "--limit", str(SMALL)], check=True,
                   stdout=subprocess.DEVNULL)


def write_large(job):
    """A picture with soft shapes and some noise, as a photograph has."""
    import numpy
    from PIL import Image
    index, path = job
    rng = numpy.random.default_rng(index)
    coarse = rng.integers(0, 256, (8, 8, 3), dtype=numpy.uint8)
    soft = numpy.asarray(Image.fromarray(coarse).resize(
        (SIDE, SIDE), Image.BICUBIC), dtype=numpy.int16)
    noise = rng.integers(-4, 5, soft.shape)
    picture = (soft + noise).clip(0, 255).astype(numpy.uint8)
    Image.fromarray(picture).save(path)


def large(root):
    jobs = []
    for i in range(LARGE):
        folder = root / "tree" / "train" / f"class{i % CLASSES:02d}"
        folder.mkdir(parents=True, exist_ok=True)
        jobs.append((i, folder / f"{i * 7919:09d}.png"))
    with multiprocessing.Pool() as pool:
        pool.map(write_large, jobs, chunksize=100)


def compare(root, rounds):
    pairs = measure.Pairs()
    with measure.folder() as folder:
        with measure.Mount(root, pathlib.Path(folder)) as mount:
            # One more round: the first only fills the caches.
            argv = ["/usr/bin/python3", measure.HERE / "imagefolder_epoch.py",
                    str(rounds + 1), str(WORKERS), root / "train",
                    mount.path / "train"]
            done = subprocess.run(argv, stdout=subprocess.PIPE, text=True,
                                  check=True)
    lines = done.stdout.splitlines()
    measure.say("making the ImageFolder, seconds: " + lines[0])
    for line in lines[2:]:
        raw, view = (float(word) for word in line.split())
        pairs.add(raw, view)
    return pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    measure.enter()
    # Decoding is slow and its speed varies by some per cent: more rounds.
    for name, build, times, what, target in (
            ("no_harm_large", large, 5, f"{LARGE:,} of {SIDE} x {SIDE}",
             "≥ 0.95x"),
            ("no_harm", small, 1, f"{SMALL:,} of 28 x 28", "-")):
        root = measure.build_once(name, build) / "tree"
        compare(root, rounds * times).row(
            f"ImageFolder, PNG, {WORKERS} workers, {what} (speed)", target,
            unit="images/s", digits=0)


if __name__ == "__main__":
    main()
