#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What brand's consecutive epochs have in common, through real mounts.

1,500 files in 5 classes. One reader opens all names in a random order of its
own, epoch after epoch, and takes from the contents which sample it was shown.
Pearson's correlation of a sample's position inside its class with its position
in each of the last three epochs, by memory; 0 in a full shuffle. And how many
samples that follow each other in their class were within 8 of each other in the
epoch before, against a full shuffle."""
import argparse
import json
import math
import os
import pathlib
import random
import subprocess
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

CLASSES, CLASS_SIZE, NEAR, BACK = 5, 300, 8, 3
COUNT = CLASSES * CLASS_SIZE
FOOTPRINT = 65536  # bytes that a file takes of the pool
COLUMNS = ("memory", "epochs", "the epoch before", "2 before", "3 before",
           "standard error", "neighbours, near again", "read from the source")


def name_of(sample):
    return f"class{sample // CLASS_SIZE}/{sample * 7919 % 1000003:09d}.jpg"


def build(root):
    """A file begins with its number."""
    pad = bytes(FOOTPRINT - 256)
    for label in range(CLASSES):
        (root / f"class{label}").mkdir(parents=True)
    for sample in range(COUNT):
        (root / name_of(sample)).write_bytes(sample.to_bytes(8, "little") + pad)


def read_epoch(root, rng):
    """The samples that the names show, as they are asked for at random."""
    order = numpy.empty(COUNT, dtype=int)
    names = [name_of(sample) for sample in range(COUNT)]
    rng.shuffle(names)
    for i, name in enumerate(names):
        with open(f"{root}/{name}", "rb", buffering=0) as file:
            order[i] = int.from_bytes(file.read()[:8], "little")
    if not numpy.array_equal(numpy.sort(order), numpy.arange(COUNT)):
        raise RuntimeError("a sample was missed or repeated")
    return order


def positions(order):
    """By sample, its position in its class, from -0.5 to 0.5."""
    result = numpy.empty(COUNT)
    for label in range(CLASSES):
        own = order[order // CLASS_SIZE == label]
        result[own] = (numpy.arange(CLASS_SIZE) + 0.5) / CLASS_SIZE - 0.5
    return result


def correlations(orders):
    """Against each of the last epochs, over all pairs of epochs."""
    place = [positions(order) for order in orders]
    return [float(numpy.mean([numpy.dot(a, b) / numpy.dot(a, a) for a, b
                              in zip(place[back:], place)]))
            for back in range(1, BACK + 1)]


def neighbours(orders):
    """Those that are near again, against a full shuffle."""
    near = pairs = 0
    for before, order in zip(orders, orders[1:]):
        place = positions(before) * CLASS_SIZE
        for label in range(CLASSES):
            own = place[order[order // CLASS_SIZE == label]]
            near += int((abs(numpy.diff(own)) < NEAR + 0.5).sum())
            pairs += len(own) - 1
    chance = (sum(CLASS_SIZE - d for d in range(1, NEAR + 1)) /
              (CLASS_SIZE * (CLASS_SIZE - 1) / 2))
    return near / pairs / chance


def memory_for(pool):
    """The key `memory` for so many bytes of samples: a sixteenth of it, and at
    least 2 MiB, is for what is read past the pool."""
    return max(pool * 16 // 15, pool + (2 << 20))


def run(tree, share, epochs, seed):
    """(orders, what verify says, times that the dataset was read) of a mount."""
    options = {"policy": "brand", "substitute": "directory",
               "epoch.advance": "manual", "seed": seed,
               "memory": memory_for(int(share * COUNT * FOOTPRINT))}
    rng = random.Random(seed)
    orders = []
    with measure.folder() as folder:
        with measure.Mount(tree, pathlib.Path(folder), options) as mount:
            for epoch in range(epochs):
                if epoch:
                    mount.switch_seconds()
                orders.append(read_epoch(str(mount.path), rng))
            read = mount.view()["source_bytes"]
            verified = json.loads(subprocess.run(
                [os.environ["SHUFFLECTL_BIN"], "verify", "--json", "--mount",
                 mount.path], check=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE).stdout)
    return orders, verified, read / (epochs * COUNT * FOOTPRINT)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1,
                        help="as many times the epochs")
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1,
                        help="of the mounts and of the reader")
    parser.add_argument("--memory", type=float, nargs="*",
                        default=[0.25, 0.5, 0.75, 0.95, 1.3],
                        help="of the dataset")
    arguments = parser.parse_args()
    epochs = arguments.rounds * arguments.epochs
    measure.enter()
    tree = measure.build_once("epoch_memory", lambda path: build(path / "data"))
    measure.row(*COLUMNS)
    print("|---" * len(COLUMNS) + "|", flush=True)
    for share in arguments.memory:
        orders, verified, read = run(tree / "data", share, epochs,
                                     arguments.seed)
        if not verified["proven"]:
            raise RuntimeError("verify does not prove the epochs")
        measure.row(f"{share:.0%}", str(epochs),
                    *(f"{value:+.4f}" for value in correlations(orders)),
                    f"{1 / math.sqrt(COUNT * (epochs - 1)):.4f}",
                    f"{neighbours(orders):.2f}x", f"{read:.2f}x")


if __name__ == "__main__":
    main()
