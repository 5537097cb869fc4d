#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One file of 2 GB read from start to end in 1 MiB reads: the first read
through a fresh default mount, and the repeat, against the raw file in the page
cache. With --cold also both from the device, the page cache dropped. With
--threshold, trees of files of one size each: from which size on the kernel
should read files by itself. With --no-passthrough it never does. With --kept,
repeated reads of pages that the kernel keeps: of a mount whose daemon answered
the first read, of a file in memory (memfd), and of tmpfs with huge pages."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

BYTES = 2_000_000_000
PIECE = 1 << 20
SIZES_KIB = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
TREE_BYTES = 256 << 20
WAYS = {"passthrough": str(64 << 10), "daemon": "no"}


def build(root):
    with open(root / "train.bin", "wb") as file:
        for start in range(0, BYTES, PIECE):
            file.write(os.urandom(min(PIECE, BYTES - start)))


def build_sizes(root):
    for kib in SIZES_KIB:
        for number in range(TREE_BYTES // (kib << 10)):
            path = root / str(kib) / f"{number:05d}.bin"
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(os.urandom(kib << 10))


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
        # Of the reader alone. A busy machine changes it less than wall time.
        self.processor = measure.Pairs()

    def read(self, root):
        (seconds,), _, size = self.reader.do(f"large {root / 'train.bin'}")
        assert size == BYTES, size
        return seconds

    def processor_time(self, root):
        """Seconds of the reader's processor for one read of the file."""
        def now():
            stat = pathlib.Path(f"/proc/{self.reader.process.pid}/stat")
            words = stat.read_text().rsplit(")", 1)[1].split()
            return sum(map(int, words[11:13])) / os.sysconf("SC_CLK_TCK")
        before = now()
        self.read(root)
        return now() - before

    def warm_round(self):
        with measure.Mount(self.root, self.folder) as mount:
            self.first.add(self.read(self.root), self.read(mount.path))
            self.repeat.add(self.read(self.root), self.read(mount.path))
            self.processor.add(self.processor_time(self.root),
                               self.processor_time(mount.path))

    def cold_round(self):
        with measure.Mount(self.root, self.folder) as mount:
            drop(self.root / "train.bin")
            raw = self.read(self.root)
            drop(self.root / "train.bin")
            self.cold.add(raw, self.read(mount.path))
        self.read(self.root)


class Sizes:
    """Files of one size: opened, read to the end and closed, by raw reads and
    through two fresh mounts, which take turns. Times are of one file."""

    def __init__(self, reader, root, folder):
        self.reader = reader
        self.root = root
        self.folder = folder
        self.seed = 0
        self.pairs = {(way, which): measure.Pairs() for way in WAYS
                      for which in ("first", "repeat")}

    def mount(self, way):
        os.environ["SHUFFLEFS_KERNEL_BACKING"] = WAYS[way]
        mount = measure.Mount(self.root, self.folder / way)
        return mount.start()

    def round(self):
        mounts = {way: self.mount(way) for way in WAYS}
        try:
            for which in ("first", "repeat"):
                self.seed += 1
                roots = [self.root, *(m.path for m in mounts.values())]
                seconds, files, _ = self.reader.do(
                    f"files {self.seed} " + " ".join(map(str, roots)))
                files //= len(roots)
                for number, way in enumerate(WAYS, 1):
                    self.pairs[way, which].add(seconds[1] / files,
                                               seconds[2 * number + 1] / files)
            for way, mount in mounts.items():
                on = mount.status()["passthrough"]["on"]
                assert on == (way == "passthrough"), mount.status()
        finally:
            for mount in mounts.values():
                mount.close()


class Kept:
    """Where the bytes of a shuffled container could stay for a repeated read.
    All files have the same bytes, and all reads find them in memory."""

    def __init__(self, reader, root, folder):
        self.reader = reader
        self.raw = root / "train.bin"
        self.memory = os.memfd_create("kept")
        self.huge = folder / "huge"
        self.huge.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "huge=always,size=3g",
                        "kept", self.huge], check=True)
        for target in (f"/proc/self/fd/{self.memory}", self.huge / "train.bin"):
            shutil.copyfile(self.raw, target)
        self.pairs = {what: measure.Pairs() for what in (
            "kept for the mount", "a file in memory", "tmpfs with huge pages")}

    def read(self, path):
        (seconds,), _, size = self.reader.do(f"large {path}")
        assert size == BYTES, size
        return seconds

    def round(self, mount):
        paths = (mount.path / "train.bin",
                 f"/proc/{os.getpid()}/fd/{self.memory}",
                 self.huge / "train.bin")
        for path, pairs in zip(paths, self.pairs.values()):
            self.read(path)
            pairs.add(self.read(self.raw), self.read(path))

    def close(self):
        os.close(self.memory)
        subprocess.run(["umount", self.huge], check=True)


def kept(reader, root, folder, rounds):
    files = Kept(reader, root, folder)
    os.environ["SHUFFLEFS_KERNEL_BACKING"] = "no"
    try:
        with measure.Mount(root, folder) as mount:
            for _ in range(rounds):
                files.round(mount)
    finally:
        files.close()
    for what, pairs in files.pairs.items():
        pairs.row(f"2 GB, repeated read: {what}", "-", scale=1, inverse=True)


def threshold(reader, folder, rounds):
    root = measure.build_once("large_file_sizes", build_sizes)
    for kib in SIZES_KIB:
        reader.do(f"list {root / str(kib)}")
        reader.do(f"files 0 {root / str(kib)}")  # into the page cache
        sizes = Sizes(reader, root / str(kib), folder / str(kib))
        sizes.folder.mkdir()
        for _ in range(rounds):
            sizes.round()
        for (way, which), pairs in sizes.pairs.items():
            pairs.row(f"{kib} KiB, {which} read, {way}", "-", scale=1e6,
                      unit="µs", digits=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--threshold", action="store_true")
    parser.add_argument("--no-passthrough", action="store_true")
    parser.add_argument("--kept", action="store_true")
    args = parser.parse_args()
    measure.enter()
    measure.say(measure.machine())
    if args.no_passthrough:
        os.environ["SHUFFLEFS_KERNEL_BACKING"] = "no"
    if args.threshold:
        with measure.folder() as folder, measure.Reader() as reader:
            threshold(reader, pathlib.Path(folder), args.rounds)
        return
    root = measure.build_once("large_file", build)
    if args.kept:
        with measure.folder() as folder, measure.Reader() as reader:
            kept(reader, root, pathlib.Path(folder), args.rounds)
        return
    with measure.folder() as folder, measure.Reader() as reader:
        bench = Bench(reader, root, pathlib.Path(folder))
        bench.read(root)
        for _ in range(args.rounds):
            bench.warm_round()
        for _ in range(args.rounds if args.cold else 0):
            bench.cold_round()
    rate = {"scale": 1, "inverse": True}
    bench.first.row("2 GB file, first read", "≥ 0.90x", **rate)
    bench.repeat.row("2 GB file, repeated read", "≥ 0.95x", **rate)
    bench.processor.row("… processor time of the reader, repeat", "-", **rate)
    if args.cold:
        bench.cold.row("2 GB file, cold, from the device", "-", **rate)


if __name__ == "__main__":
    main()
