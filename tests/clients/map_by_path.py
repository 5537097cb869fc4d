#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A job that reads a tree three times, each time in another random order.

  map_by_path.py ROOT --shared N   # as DALI: by mappings, the last N of which
                                   # are kept, and used for the same path again
  map_by_path.py ROOT --read       # every file is opened and read

Prints the digests of each pass, as JSON.
"""
import argparse
import collections
import hashlib
import json
import mmap
import os
import random

PASSES = 3


class Mappings:
    """The last files that were mapped, by path."""

    def __init__(self, most):
        self.most, self.kept = most, collections.OrderedDict()

    def read(self, path):
        if path not in self.kept:
            with open(path, "rb") as file:
                self.kept[path] = mmap.mmap(file.fileno(), 0,
                                            prot=mmap.PROT_READ)
        if len(self.kept) > self.most:
            self.kept.popitem(last=False)[1].close()
        return bytes(self.kept[path])


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    way = parser.add_mutually_exclusive_group(required=True)
    way.add_argument("--shared", type=int)
    way.add_argument("--read", action="store_true")
    args = parser.parse_args()
    take = read if args.read else Mappings(args.shared).read
    paths = [os.path.join(folder, name)
             for folder, _, names in os.walk(args.root) for name in names]
    rng, passes = random.Random(5), []
    for _ in range(PASSES):
        rng.shuffle(paths)
        passes.append([hashlib.sha256(take(path)).hexdigest()[:16]
                       for path in paths])
    print(json.dumps(passes))


if __name__ == "__main__":
    main()
