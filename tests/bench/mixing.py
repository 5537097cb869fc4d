#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How well `brand.binding = group` mixes, over many short epochs.

* Uniform: in which tenth of its class's positions a sample comes, against the
  tenth of the class (by name) that it is in: chi-square, and the chance of that
  or more if the order is uniform. Below 1 % is missed.
* Chunk mates, samples that are read together: how often they come in one batch
  of 64, and within 1,000 consecutive samples, against a full shuffle.

Through real mounts: one reader opens all names in a random order and takes from
the contents which sample it was shown. The mates of a pack are found in its
files. By the simulator (mixing_bench): the same for larger samples, and for
chunks that lie together on a disk, which a mount makes on such a disk only."""
import argparse
import math
import os
import pathlib
import random
import subprocess
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

CLASSES, CLASS_SIZE, BINS, BATCH, NEAR = 10, 500, 10, 64, 1000
COUNT = CLASSES * CLASS_SIZE
FOOTPRINT = 16384  # bytes that a file takes of the pool
MAGIC = b"shufflefs mixing"  # then the number of the sample, 8 bytes
COLUMNS = ("how", "samples", "pool", "chunks", "chi-square a degree",
           "chance if uniform", f"mates in a batch of {BATCH}",
           f"mates within {NEAR:,}", "bypass")


def name_of(sample):
    return f"class{sample // CLASS_SIZE:02d}/{sample * 7919 % 1000003:09d}.jpg"


def build(root):
    """Samples are numbered in the order of names within each class."""
    pad = random.Random(0).randbytes(FOOTPRINT)
    for label in range(CLASSES):
        (root / f"train/class{label:02d}").mkdir(parents=True)
    for label in range(CLASSES):
        own = range(label * CLASS_SIZE, (label + 1) * CLASS_SIZE)
        for place, name in enumerate(sorted(map(name_of, own))):
            head = MAGIC + (own[0] + place).to_bytes(8, "little")
            (root / "train" / name).write_bytes(
                head + pad[:FOOTPRINT - 256 - len(head)])


def mates_of(packed):
    """By sample, its chunk of the pack."""
    chunk_of = numpy.full(COUNT, -1)
    for number, path in enumerate(sorted(packed.glob("chunk-*.pack"))):
        data = path.read_bytes()
        at = data.find(MAGIC)
        while at >= 0:
            at += len(MAGIC)
            chunk_of[int.from_bytes(data[at:at + 8], "little")] = number
            at = data.find(MAGIC, at)
    if (chunk_of < 0).any():
        raise RuntimeError(f"{packed}: not all samples are in it")
    return chunk_of


class Statistics:
    def __init__(self, chunk_of=None):
        self.cells = numpy.zeros((BINS, BINS))
        self.chunk_of = chunk_of
        self.epochs = self.in_batch = self.near = 0

    def add(self, order):
        """`order`: the samples of an epoch as they came."""
        if not numpy.array_equal(numpy.sort(order), numpy.arange(COUNT)):
            raise RuntimeError("a sample was missed or repeated")
        self.epochs += 1
        for label in range(CLASSES):
            places = order[order // CLASS_SIZE == label] % CLASS_SIZE
            tenths = numpy.arange(CLASS_SIZE) * BINS // CLASS_SIZE
            numpy.add.at(self.cells, (tenths, places * BINS // CLASS_SIZE), 1)
        if self.chunk_of is not None:
            self._add_mates(self.chunk_of[order])

    def _add_mates(self, chunks):
        for begin in range(0, COUNT, BATCH):
            sizes = numpy.bincount(chunks[begin:begin + BATCH])
            self.in_batch += int((sizes * (sizes - 1) // 2).sum())
        for distance in range(1, NEAR):
            self.near += int((chunks[distance:] == chunks[:-distance]).sum())

    def chi_square(self):
        """(of each degree of freedom, the chance of that or more if uniform).
        Margins are fixed, and so each table has n / (n - 1) of it."""
        expected = self.epochs * CLASSES * CLASS_SIZE / BINS**2
        freedom = (BINS - 1)**2
        chi = (((self.cells - expected)**2).sum() / expected *
               (CLASS_SIZE - 1) / CLASS_SIZE / freedom)
        spread = 2 / (9 * freedom)  # Wilson and Hilferty
        deviations = (chi**(1 / 3) - (1 - spread)) / math.sqrt(spread)
        return chi, math.erfc(deviations / math.sqrt(2)) / 2

    def mates(self):
        """(in a batch, near each other), uniform is 1; None if not known."""
        if self.chunk_of is None:
            return None, None
        sizes = numpy.bincount(self.chunk_of)
        share = (sizes * (sizes - 1)).sum() / (COUNT * (COUNT - 1))
        whole, rest = divmod(COUNT, BATCH)
        batch = whole * BATCH * (BATCH - 1) / 2 + rest * (rest - 1) / 2
        near = sum(COUNT - distance for distance in range(1, NEAR))
        return (self.in_batch / (self.epochs * batch * share),
                self.near / (self.epochs * near * share))


def read_epoch(root, names, seed):
    """The samples that the names show, as they are asked for at random."""
    order = numpy.empty(COUNT, dtype=int)
    shuffled = names[:]
    random.Random(seed).shuffle(shuffled)
    for i, name in enumerate(shuffled):
        with open(root + name, "rb", buffering=0) as file:
            data = file.read()
        order[i] = int.from_bytes(data[len(MAGIC):len(MAGIC) + 8], "little")
    return order


def memory_for(pool):
    """The key `memory` for so many bytes of samples: a sixteenth of it, and at
    least 2 MiB, is for what is read past the pool."""
    return max(pool * 16 // 15, pool + (2 << 20))


def mount_row(root, what, share, options, chunk_of, epochs):
    names = [f"/train/{name_of(sample)}" for sample in range(COUNT)]
    statistics = Statistics(chunk_of)
    options = {"policy": "brand", "substitute": "directory",
               "epoch.advance": "manual",
               "memory": memory_for(int(share * COUNT * FOOTPRINT)), **options}
    with measure.folder() as folder:
        with measure.Mount(root, pathlib.Path(folder), options) as mount:
            for epoch in range(epochs):
                if epoch:
                    mount.switch_seconds()
                statistics.add(read_epoch(str(mount.path), names, epoch))
            view = mount.view()
            measure.say(view["supply"])
    chi, chance = statistics.chi_square()
    mates = ["-" if value is None else f"{value:.2f}x"
             for value in statistics.mates()]
    measure.row("mounted", f"{COUNT:,}, {CLASSES} classes", f"{share:.0%}",
                what, f"{chi:.2f}",
                f"{chance:.2g} " + ("met" if chance >= 0.01 else "**missed**"),
                *mates, f"{view['bypass'] / (COUNT * epochs):.1%}")


def packed_folder(tree):
    def pack(path):
        subprocess.run([os.environ["SHUFFLECTL_BIN"], "pack", tree,
                        path / "packed"], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    return measure.build_once("mixing_packed", pack) / "packed"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1,
                        help="as many times 200 epochs")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--seed", default="1", help="of the mounts")
    arguments = parser.parse_args()
    epochs = arguments.rounds * arguments.epochs
    measure.enter()
    tree = measure.build_once("mixing", lambda path: build(path / "data"))
    packed = packed_folder(tree / "data")
    print(f"\nbrand.binding=group, {epochs} epochs:\n")
    measure.row(*COLUMNS)
    print("|---" * len(COLUMNS) + "|", flush=True)
    for share in (1, 0.25):
        mount_row(tree / "data", "as the mount chooses", share,
                  {"seed": arguments.seed}, None, epochs)
        mount_row(tree / "data", "packed", share,
                  {"seed": arguments.seed, "brand.packed": packed},
                  mates_of(packed), epochs)
    subprocess.run([os.environ["MIXING_BIN"], str(epochs)], check=True)


if __name__ == "__main__":
    main()
