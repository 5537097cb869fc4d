#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Write Debian's dataset-fashion-mnist as class folders of PNG files.

  make_tree.py OUTPUT [--limit N]

makes OUTPUT/train/<class>/<index>.png and OUTPUT/val/<class>/<index>.png. The
index counts over the whole set, as a download by crawling leaves it, so the
names inside one class are no unbroken run: that would look like the frames
of a video. A tree that is already complete is left as it is.
"""
import argparse
import gzip
import multiprocessing
import pathlib
import shutil
import sys

from PIL import Image

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
CLASSES = ("tshirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt",
           "sneaker", "bag", "boot")
SIDE = 28
BATCH = 1000


def read_idx(kind):
    """The images (bytes of all) and labels (bytes) of 'train' or 't10k'."""
    images = gzip.open(DATA / f"{kind}-images-idx3-ubyte.gz").read()[16:]
    labels = gzip.open(DATA / f"{kind}-labels-idx1-ubyte.gz").read()[8:]
    return images, labels


def write_images(batch):
    for path, pixels in batch:
        Image.frombytes("L", (SIDE, SIDE), pixels).save(path)
    return len(batch)


def jobs(output, limit):
    """(path, pixels) of every image of both splits."""
    index = 0
    for split, kind in (("train", "train"), ("val", "t10k")):
        images, labels = read_idx(kind)
        for name in CLASSES:
            (output / split / name).mkdir(parents=True)
        for i, label in enumerate(labels[:limit]):
            pixels = images[i * SIDE * SIDE:(i + 1) * SIDE * SIDE]
            path = output / split / CLASSES[label] / f"{index:06d}.png"
            yield path, pixels
            index += 1


def progress(done, total):
    width = 40
    bar = "#" * (width * done // total)
    end = "\n" if done == total else ""
    if sys.stderr.isatty():
        print(f"\r[{bar:<{width}}] {done}/{total} images", end=end,
              file=sys.stderr, flush=True)
    elif done == total:
        print(f"{total} images written", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--limit", type=int, metavar="N",
                        help="only the first N images of each split")
    args = parser.parse_args()
    if args.output.exists():
        print(f"{args.output} is there already", file=sys.stderr)
        return
    if not DATA.is_dir():
        sys.exit(f"{DATA}: not found; install the Debian package "
                 "dataset-fashion-mnist")
    partial = args.output.with_name(args.output.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    todo = list(jobs(partial, args.limit))
    batches = [todo[i:i + BATCH] for i in range(0, len(todo), BATCH)]
    done = 0
    with multiprocessing.Pool() as pool:
        for count in pool.imap_unordered(write_images, batches):
            done += count
            progress(done, len(todo))
    partial.rename(args.output)


if __name__ == "__main__":
    main()
