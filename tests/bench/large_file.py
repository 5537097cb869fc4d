#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One file of 2 GB read from start to end in 1 MiB reads: the first read
through a fresh default mount, and the repeat, against the raw file in the page
cache. With --cold also both from the device, the page cache dropped."""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

BYTES = 2_000_000_000
PIECE = 1 << 20


def build(root):
    with open(root / "train.bin", "wb") as file:
        for start in range(0, BYTES, PIECE):
            file.write(os.urandom(min(PIECE, BYTES - start)))


def drop(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


class Bench:
    def __init__(self, reader, root, folder):
        self.reader = reader
        self.root = root
        self.folder = folder
        self.first = measure.Pairs()
        self.repeat = measure.Pairs()
        self.cold = measure.Pairs()

    def read(self, root):
        (seconds,), _, size = self.reader.do(f"large {root / 'train.bin'}")
        assert size == BYTES, size
        return seconds

    def warm_round(self):
        with measure.Mount(self.root, self.folder) as mount:
            self.first.add(self.read(self.root), self.read(mount.path))
            self.repeat.add(self.read(self.root), self.read(mount.path))

    def cold_round(self):
        with measure.Mount(self.root, self.folder) as mount:
            drop(self.root / "train.bin")
            raw = self.read(self.root)
            drop(self.root / "train.bin")
            self.cold.add(raw, self.read(mount.path))
        self.read(self.root)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cold", action="store_true")
    args = parser.parse_args()
    measure.enter()
    root = measure.build_once("large_file", build)
    with measure.folder() as folder, measure.Reader() as reader:
        bench = Bench(reader, root, pathlib.Path(folder))
        bench.read(root)
        for _ in range(args.rounds):
            bench.warm_round()
        for _ in range(args.rounds if args.cold else 0):
            bench.cold_round()
    rate = {"scale": 1, "inverse": True}
    bench.first.row("2 GB file, first read", "≥ 0.14x", **rate)
    bench.repeat.row("2 GB file, repeated read", "≥ 0.38x", **rate)
    if args.cold:
        bench.cold.row("2 GB file, cold, from the device", "-", **rate)


if __name__ == "__main__":
    main()
