#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What each benchmark could give at most. docs/benchmarks.md has these figures
beside what was measured.

* The model of each emulated device alone answers the reads of a benchmark, as
  fast as they can be asked. No file system, no daemon, no processor and no
  memory takes part.
* Where something else is slower, the least of all is the limit: what readers
  consume, the links of a cluster, the processors.
* `--round-trip` measures on this machine what FUSE needs for a request that
  asks for nothing. It is the only figure here with noise."""
import argparse
import collections
import math
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from brand_data import IMAGE, MEAN, SIGMA, testbed  # noqa: E402
import emulated_device  # noqa: E402
import limits_others  # noqa: E402
import measure  # noqa: E402

PAGE = 4096
LARGEST = 1 << 20  # bytes of a request of the daemon and of the block layer
FIRST = 1 << 30    # where the data begins on the device
CONTAINER = 1 << 30
MANY = 64  # requests that the daemon has under way on a network

# Files one behind the other.
Data = collections.namedtuple("Data", "count mean sigma",
                              defaults=(MEAN, SIGMA))
BRAND = Data(20_000)
HALF = Data(10_000)    # mixed_view
MET = Data(2_000)
CLUSTER = Data(4_000)
PICTURES = Data(9_936, 322_957, 0)  # yardstick
RECORDS = 22 * 1_251 * 114_660      # bytes of yardstick's containers


def pages(size):
    return (size + PAGE - 1) // PAGE * PAGE


def files(rng, data):
    """(offset, bytes)"""
    at, result = FIRST, []
    for _ in range(data.count):
        size = pages(data.mean if data.sigma == 0 else max(
            256, int(rng.lognormvariate(
                math.log(data.mean) - data.sigma ** 2 / 2, data.sigma))))
        result.append((at, size))
        at += size
    return result


def pieces(offset, size):
    """A range in requests as large as they may be."""
    return [(at, min(LARGEST, offset + size - at))
            for at in range(offset, offset + size, LARGEST)]


def in_order(data=BRAND):
    def make(rng):
        all_files = files(rng, data)
        return pieces(FIRST, sum(all_files[-1]) - FIRST)
    return make


def at_random(data=BRAND):
    return windows(1, data)


def chunks(count, data=BRAND):
    """Chunks of neighbours, `count` files each, at random."""
    def make(rng):
        all_files = files(rng, data)
        starts = list(range(0, data.count, count))
        rng.shuffle(starts)
        result = []
        for start in starts:
            last = all_files[min(start + count, data.count) - 1]
            result += pieces(all_files[start][0],
                             sum(last) - all_files[start][0])
        return result
    return make


def windows(count, data=BRAND):
    """A random order, of which the next `count` files are read by place."""
    def make(rng):
        result = files(rng, data)
        rng.shuffle(result)
        return [piece for at in range(0, data.count, count)
                for file in sorted(result[at:at + count])
                for piece in pieces(*file)]
    return make


def blocks(size, first=CONTAINER, of=CONTAINER):
    """Blocks of containers of `of` bytes, at random, of which `first` bytes are
    read."""
    def make(rng):
        starts = list(range(FIRST, FIRST + of, size))
        rng.shuffle(starts)
        return [piece for start in starts[:first // size]
                for piece in pieces(start, size)]
    return make


# Per device and benchmark: what is read, and how many requests are asked for at
# a time.
ROWS = {
    "hdd": {
        "brand": [
            ("files in the order of their places", in_order(), 4),
            ("files at random, 4 readers", at_random(), 4),
            ("chunks of 64 neighbours at random", chunks(64), 4),
            ("chunks of 25 neighbours at random", chunks(25), 4),
            ("chunks of 7 neighbours at random", chunks(7), 4)],
        "clairvoyant": [
            ("a known order, 1,000 files at a time by place",
             windows(1000), 4),
            ("a known order, 1,500 files at a time by place",
             windows(1500), 4)],
        "mixed_view": [
            ("folders: chunks of 64 neighbours", chunks(64, HALF), 4),
            ("containers: in the order of their places",
             lambda _: pieces(FIRST, CONTAINER), 4)],
        "met": [
            ("mini-epochs, an eleventh of the files by place",
             windows(182, MET), 4)],
        "cluster": [
            ("chunks of 8 neighbours at random", chunks(8, CLUSTER), 4)],
    },
    "hdd600": {
        "brand": [
            ("files in the order of their places", in_order(), 4),
            ("files at random, 4 readers", at_random(), 4),
            ("chunks of 64 neighbours at random", chunks(64), 4)],
        "records": [
            ("blocks of 2 MiB at random", blocks(2 << 20), 4),
            ("pages of 4 MiB at random", blocks(4 << 20), 4),
            ("pages of 256 KiB at random", blocks(256 << 10), 4),
            ("pages of 4 KiB at random, 32 at a time",
             blocks(PAGE, 64 << 20), 32)],
        "yardstick": [
            ("pictures in the order of their places", in_order(PICTURES), 4),
            ("pictures at random, 4 workers", at_random(PICTURES), 4),
            ("pictures at random, 8 workers", at_random(PICTURES), 8),
            ("chunks of 64 neighbours at random", chunks(64, PICTURES), 4)],
    },
    "nas": {
        "brand": [
            ("files in the order of their places", in_order(), 4),
            ("files at random, 1 reader", at_random(), 1),
            ("files at random, 2 readers", at_random(), 2),
            ("files at random, 4 readers", at_random(), 4),
            ("files at random, 16 readers", at_random(), 16),
            ("files at random, 64 at a time", at_random(), MANY)],
        "records": [
            ("blocks of 2 MiB at random", blocks(2 << 20), 8),
            ("pages of 4 KiB at random, 32 at a time",
             blocks(PAGE, 64 << 20), 32),
            ("pages of 4 KiB at random, 64 at a time",
             blocks(PAGE, 64 << 20), MANY)],
        "yardstick": [
            ("pictures at random, 4 workers", at_random(PICTURES), 4),
            ("pictures at random, 8 workers", at_random(PICTURES), 8),
            ("pictures at random, 64 at a time", at_random(PICTURES), MANY),
            ("TFRecords, blocks of 1 MiB at random",
             blocks(1 << 20, RECORDS, RECORDS), MANY)],
        "mixed_view": [
            ("folders: chunks of 64 neighbours", chunks(64, HALF), MANY),
            ("containers: blocks of 2 MiB", blocks(2 << 20), 8)],
        "met": [
            ("mini-epochs, 64 files at a time", at_random(MET), MANY)],
    },
    "nas40": {
        "cluster": [
            ("files at random, 64 at a time", at_random(CLUSTER), MANY)],
    },
}


def seconds(profile, reads, depth):
    done = subprocess.run(
        [emulated_device.slowdev(), *testbed.PROFILES[profile],
         f"--simulate={depth}", f"--bytes={IMAGE}"],
        input="".join(f"{at} {size}\n" for at, size in reads),
        stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def print_devices(seed):
    """{(device, benchmark, what): (bytes, seconds)}"""
    measure.row("device", "benchmark", "reads", "seconds", "MB/s",
                "requests a second")
    print("|---" * 6 + "|")
    all_reads = {}
    for profile, benchmarks in ROWS.items():
        for benchmark, rows in benchmarks.items():
            for what, make, depth in rows:
                reads = make(random.Random(seed))
                took = seconds(profile, reads, depth)
                size = sum(length for _, length in reads)
                all_reads[profile, benchmark, what] = size, took
                measure.row(profile, benchmark, what, f"{took:.1f}",
                            f"{size / took / 1e6:.1f}",
                            f"{len(reads) / took:.0f}")
    return all_reads


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5,
                        help="of --round-trip; nothing else has noise")
    parser.add_argument("--round-trip", action="store_true",
                        help="measure only that")
    arguments = parser.parse_args()
    if arguments.round_trip:
        measure.enter()
        return limits_others.print_round_trip(arguments.rounds)
    limits_others.print_table(print_devices(arguments.seed), CLUSTER)


if __name__ == "__main__":
    main()
