#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the emulated devices could give at most: the model of each device alone
answers the reads of a benchmark, as fast as they can be asked. No file system,
no daemon, no processor and no memory takes part. docs/benchmarks.md has these
figures beside what was measured."""
import argparse
import math
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from brand_data import IMAGE, MEAN, SIGMA, testbed  # noqa: E402
import emulated_device  # noqa: E402
import measure  # noqa: E402

FILES = 20_000
PAGE = 4096
LARGEST = 1 << 20  # bytes of a request of the daemon and of the block layer
FIRST = 1 << 30    # where the data begins on the device
CONTAINER = 1 << 30


def pages(size):
    return (size + PAGE - 1) // PAGE * PAGE


def files(rng):
    """(offset, bytes) of the files of brand.py, one behind the other."""
    at, result = FIRST, []
    for _ in range(FILES):
        size = pages(max(256, int(rng.lognormvariate(
            math.log(MEAN) - SIGMA * SIGMA / 2, SIGMA))))
        result.append((at, size))
        at += size
    return result


def pieces(offset, size):
    """A range in requests as large as they may be."""
    return [(at, min(LARGEST, offset + size - at))
            for at in range(offset, offset + size, LARGEST)]


def in_order(rng):
    all_files = files(rng)
    end = sum(all_files[-1])
    return pieces(FIRST, end - FIRST)


def at_random(rng):
    result = files(rng)
    rng.shuffle(result)
    return [piece for file in result for piece in pieces(*file)]


def chunks(count):
    """Chunks of neighbours, `count` files each, at random."""
    def make(rng):
        all_files = files(rng)
        starts = list(range(0, FILES, count))
        rng.shuffle(starts)
        result = []
        for start in starts:
            last = all_files[min(start + count, FILES) - 1]
            result += pieces(all_files[start][0],
                             sum(last) - all_files[start][0])
        return result
    return make


def windows(count):
    """A random order, of which the next `count` files are read by place."""
    def make(rng):
        result = files(rng)
        rng.shuffle(result)
        return [piece for at in range(0, FILES, count)
                for file in sorted(result[at:at + count])
                for piece in pieces(*file)]
    return make


def blocks(size, first=CONTAINER):
    """Blocks of a container, at random, of which `first` bytes are read."""
    def make(rng):
        starts = list(range(FIRST, FIRST + CONTAINER, size))
        rng.shuffle(starts)
        return [piece for start in starts[:first // size]
                for piece in pieces(start, size)]
    return make


# What is read, and how many requests are asked for at a time.
ROWS = {
    "hdd": [
        ("files in the order of their places", in_order, 4),
        ("files at random, 4 readers", at_random, 4),
        ("chunks of 64 neighbours at random", chunks(64), 4),
        ("chunks of 25 neighbours at random", chunks(25), 4),
        ("chunks of 7 neighbours at random", chunks(7), 4),
        ("a known order, 1,000 files at a time by place", windows(1000), 4),
        ("a known order, 1,500 files at a time by place", windows(1500), 4),
    ],
    "hdd600": [
        ("files in the order of their places", in_order, 4),
        ("files at random, 4 readers", at_random, 4),
        ("chunks of 64 neighbours at random", chunks(64), 4),
        ("blocks of 2 MiB at random", blocks(2 << 20), 4),
        ("pages of 4 MiB at random", blocks(4 << 20), 4),
        ("pages of 256 KiB at random", blocks(256 << 10), 4),
        ("pages of 4 KiB at random, 32 at a time",
         blocks(PAGE, 64 << 20), 32),
    ],
    "nas": [
        ("files in the order of their places", in_order, 4),
        ("files at random, 1 reader", at_random, 1),
        ("files at random, 2 readers", at_random, 2),
        ("files at random, 4 readers", at_random, 4),
        ("files at random, 16 readers", at_random, 16),
        ("files at random, 64 at a time", at_random, 64),
        ("blocks of 2 MiB at random", blocks(2 << 20), 8),
        ("pages of 4 KiB at random, 32 at a time",
         blocks(PAGE, 64 << 20), 32),
        ("pages of 4 KiB at random, 64 at a time",
         blocks(PAGE, 64 << 20), 64),
    ],
}


def seconds(profile, reads, depth):
    done = subprocess.run(
        [emulated_device.slowdev(), *testbed.PROFILES[profile],
         f"--simulate={depth}", f"--bytes={IMAGE}"],
        input="".join(f"{at} {size}\n" for at, size in reads),
        stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, help="no effect: there is no noise")
    seed = parser.parse_args().seed
    print("| device | reads | seconds | MB/s | requests a second |")
    print("|---|---|---|---|---|")
    for profile, rows in ROWS.items():
        for what, make, depth in rows:
            reads = make(random.Random(seed))
            took = seconds(profile, reads, depth)
            size = sum(length for _, length in reads)
            measure.row(profile, what, f"{took:.1f}",
                        f"{size / took / 1e6:.1f}", f"{len(reads) / took:.0f}")


if __name__ == "__main__":
    main()
