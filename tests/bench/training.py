#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training through brand against full shuffling: Fashion-MNIST as class folders
of PNG files, a small network, a stock loader with shuffle=True, several seeds.

A seed rules the first weights and the loader's order of names, so a row and the
raw directory differ in nothing but the samples behind the names. Memory holds
a quarter of the samples, so most names show another one. `sorted` is the
control that shows that the order matters: the same without any shuffle.

Files are read from an emulated hdd, where brand reads chunks that lie together
on the device (each of one class), or from packed chunks (random ones)."""
import argparse
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

sys.path.insert(0, str(measure.HERE / "testbed"))
import testbed  # noqa: E402

PYTHON = "/usr/bin/python3"
CLIENT = measure.HERE / "training_run.py"
PAGE = 4096  # what an image of some 600 bytes takes of the pool
IMAGE = "2GiB"
# 97.5 % points of Student's t, by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447,
           7: 2.365, 8: 2.306, 9: 2.262}
COLUMNS = ("what", "right on the validation set", "less than raw, paired",
           "95 % interval", "names that showed another sample",
           "memory against dataset", "read from the source", "chunks")


class Data:
    """The images on a device, packed too, and the validation set as tensors."""

    def __init__(self, images):
        self.images = images
        self.device = testbed.Device(f"training-{images}")
        self.root = self.device.path / "data"
        self.packed = self.device.path / "packed"
        self.validation = self.device.path / "validation.pt"

    def open(self):
        done = self.device.path / "complete"
        if self.device.exists():
            self.device.attach("fast")
            if done.exists():
                return
            self.device.destroy()
        measure.say(f"making {self.device.name}")
        self.device.create(testbed.parse_size(IMAGE))
        self.device.attach("fast")
        self._write()
        os.sync()  # before it is read: what is dirty is laid out by readers
        run(PYTHON, CLIENT, "--validation", self.root / "val", self.validation)
        run(os.environ["SHUFFLECTL_BIN"], "pack", self.root, self.packed)
        os.sync()
        done.touch()

    def _write(self):
        """Class by class, as datasets lie on a disk."""
        make = measure.HERE.parents[1] / "examples/make_tree.py"
        with measure.folder() as folder:
            tree = pathlib.Path(folder) / "tree"
            run(PYTHON, make, tree, "--limit", self.images)
            for path in sorted(tree.glob("*/*/*.png")):
                copy = self.root / path.relative_to(tree)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)

    def train_files(self):
        return sum(1 for _ in self.root.glob("train/*/*.png"))


def run(*argv):
    done = subprocess.run([str(word) for word in argv], check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    if done.returncode != 0:
        raise RuntimeError(f"{argv[0]}: {done.stderr[-2000:]}")
    return done.stdout


def accuracy(root, data, epochs, seed, *more):
    figure = float(run(PYTHON, CLIENT, root / "train", data.validation, epochs,
                       seed, *more))
    measure.say(f"{root} {' '.join(more)} seed {seed}: {figure:.4f}")
    return figure


def moved_share(mount):
    """Of the names bound so far, those that show another file's content."""
    bound = [line.split("\t")[1:] for line in
             mount.read("order").splitlines()]
    return statistics.mean(name != sample for name, sample in bound)


def chunks_of(supply):
    """What `status` says of the chunks, without paths and reasons."""
    return re.sub(r" of the pack.*|, because.*", "", supply)


class Row:
    def __init__(self, label):
        self.label = label
        self.right = []
        self.moved = []
        self.read = []    # bytes from the source for each byte served
        self.pool = None  # share of the dataset
        self.chunks = set()  # as status calls them

    def measure_brand(self, data, options, epochs, seed):
        data.device.cold()
        memory = data.train_files() * PAGE // 4
        options = {"policy": "brand", "substitute": "directory", "seed": seed,
                   "memory": memory, **options}
        with measure.folder() as folder:
            with measure.Mount(data.root, pathlib.Path(folder),
                               options) as mount:
                self.right.append(accuracy(mount.path, data, epochs, seed))
                view = mount.view()
                self.moved.append(moved_share(mount))
                self.pool = memory / (data.train_files() * PAGE)
                self.read.append(view["source_bytes"] /
                                 max(1, view["served_bytes"]))
                self.chunks.add(chunks_of(view["supply"]))
                measure.say(f"  {view['supply']}; epoch {view['epoch']}, "
                            f"hits {view['hits']}, bypass {view['bypass']}")
                if view["epoch"] != epochs - 1:
                    raise RuntimeError(f"{epochs} epochs were trained, the "
                                       f"mount counts {view['epoch'] + 1}")

    def print(self, raw):
        cells = [f"{statistics.mean(self.right):.4f}" +
                 (f" ± {statistics.stdev(self.right):.4f}"
                  if len(self.right) > 1 else "")]
        less = [a - b for a, b in zip(raw.right, self.right)]
        if self is raw or len(less) < 2:
            cells += ["-", "-"]
        else:
            mean = statistics.mean(less)
            half = (STUDENT.get(len(less) - 1, 1.96) * statistics.stdev(less) /
                    math.sqrt(len(less)))
            verdict = ("within noise" if abs(mean) <= half else
                       "better" if mean < 0 else "**worse**")
            cells += [f"{mean:+.4f}",
                      f"{mean - half:+.4f} to {mean + half:+.4f}, {verdict}"]
        cells.append(f"{statistics.mean(self.moved):.0%}"
                     if self.moved else "-")
        cells.append("-" if self.pool is None else f"{self.pool:.2f}")
        cells.append(f"{statistics.mean(self.read):.2f}x" if self.read else "-")
        cells.append("; ".join(sorted(self.chunks)) or "-")
        measure.row(self.label, *cells)


def train_all(data, seeds, epochs):
    rows = {name: Row(name) for name in (
        "raw directory, shuffle=True", "brand, as it lies", "brand, packed",
        "raw directory, sorted")}
    raw, lies, packed, in_order = rows.values()
    for seed in seeds:  # in memory: the order is all that counts
        raw.right.append(accuracy(data.root, data, epochs, seed))
        in_order.right.append(accuracy(data.root, data, epochs, seed,
                                       "--sorted"))
    data.device.attach("hdd")
    for seed in seeds:
        lies.measure_brand(data, {}, epochs, seed)
        packed.measure_brand(data, {"brand.packed": data.packed}, epochs, seed)
    return rows.values(), raw


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="seeds")
    parser.add_argument("--images", type=int, default=20000)
    parser.add_argument("--epochs", type=int, default=4)
    arguments = parser.parse_args()
    testbed.require_root()
    measure.enter()
    data = Data(arguments.images)
    try:
        data.open()
        rows, raw = train_all(data, range(arguments.rounds), arguments.epochs)
    except (testbed.DeviceError, RuntimeError) as error:
        sys.exit(f"training: {error}")
    finally:
        data.device.detach()
    print(f"\nFashion-MNIST, {arguments.images:,} images, {arguments.epochs} "
          f"epochs, {arguments.rounds} seeds, mean ± standard deviation:\n")
    measure.row(*COLUMNS)
    print("|---" * len(COLUMNS) + "|")
    for row in rows:
        row.print(raw)


if __name__ == "__main__":
    main()
