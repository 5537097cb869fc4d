#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Class folders and containers side by side: one `brand` view of both against a
view of each alone, on emulated devices.

Four readers open the files of the folders in a random order. Another one reads
the containers of lines from start to end. Alone, the folders are a mount with
`policy=brand`, and the containers one with `policy=reimu`. Together they are
one mount with `policy=brand`, whose two producers share one pool. The readers
come one after the other, and at once: then two mounts with half the memory
each are the comparison.

Each measurement begins cold, in a group of its own that holds daemon and
readers, and all of a round are made in turn."""
import argparse
import collections
import pathlib
import random
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import brand_data  # noqa: E402
import measure  # noqa: E402
import records  # noqa: E402
from brand_data import testbed  # noqa: E402
from brand_runs import EpochReader, GroupMount  # noqa: E402

READERS = 4
SHARDS = 4
CLASSES = 40
BLOCKS = {"reimu.block": "2MiB", "reimu.window": "16",
          "record.as": "*.svm:lines"}
# Lines beside the folders might list their labels, so by default nothing moves.
BRAND = {"policy": "brand", "substitute": "directory", **BLOCKS}
REIMU = {"policy": "reimu", **BLOCKS}
PHOTOS, LINES = "photos", "lines"
COLUMNS = ("device", "what", "alone", "in the mixed view", "speed",
           "read from the source")

Measured = collections.namedtuple("Measured", "seconds source")


class Mixed:
    """A device with class folders and containers, made unless it is there."""

    def __init__(self, files, shard_bytes):
        self.device = testbed.Device(f"mixed-{files}-{shard_bytes >> 20}")
        self.root = self.device.path / "data"
        done = self.device.path / "complete"
        if self.device.exists():
            self.device.attach("fast")
            if done.exists():
                return
            self.device.destroy()
        measure.say(f"making {self.device.name}")
        self.device.create(brand_data.IMAGE)
        self.device.attach("fast")
        (self.root / LINES).mkdir(parents=True)
        brand_data.write_tree(self.root / PHOTOS, str(CLASSES), files)
        for shard in range(SHARDS):
            records.write_lines(self.root / LINES / f"{shard}.svm",
                                shard_bytes)
        done.touch()
        subprocess.run(["sync", "--file-system", done], check=True)

    def size(self, part):
        return sum(path.stat().st_size
                   for path in (self.root / part).rglob("*.*"))


class Job:
    """The readers of one part of a mount."""

    def __init__(self, part, group, root, seed):
        self.part, self.group, self.root, self.seed = part, group, root, seed
        self.seconds = None

    def run(self):
        if self.part == PHOTOS:
            with EpochReader(self.group) as reader:
                reader.list(self.root)
                self.seconds, _ = reader.epoch(self.seed, READERS)
            return
        names = sorted(self.root.glob("*.svm"))
        random.Random(self.seed).shuffle(names)
        self.seconds = sum(records.read(name, None, self.group.inside)[0]
                           for name in names)


class Bench:
    def __init__(self, data, arguments):
        self.data = data
        self.arguments = arguments
        self.groups = 0

    def _group(self):
        self.groups += 1
        return testbed.Group(f"mixed-{self.groups}", self.arguments.limit)

    def _mounts(self, group, folder, share, parts):
        """parts: [(folder of the source, options)]."""
        memory = testbed.parse_size(self.arguments.memory) // share
        return [GroupMount(group, self.data.root / part, folder / str(number),
                           {**options, "memory": memory})
                for number, (part, options) in enumerate(parts)]

    def _index(self, group, folder, share, parts):
        """Saves catalogues and indexes; a mounted device cannot be made cold."""
        self.data.device.cold()
        for mount in self._mounts(group, folder, share, parts):
            with mount:
                while (status := mount.view().get("records")) and (
                        status["indexed"] < status["containers"]):
                    time.sleep(0.02)

    def read(self, parts, jobs, seed, at_once=False):
        """{part: Measured}. jobs: [(part, number of its mount, folder in it)]"""
        share = len(parts)
        with self._group() as group, measure.folder() as folder:
            folder = pathlib.Path(folder)
            self._index(group, folder, share, parts)
            self.data.device.cold()
            mounts = self._mounts(group, folder, share, parts)
            for mount in mounts:
                mount.__enter__()
            try:
                todo = [Job(part, group, mounts[number].path / inside, seed)
                        for part, number, inside in jobs]
                return self._run(todo, at_once)
            finally:
                for mount in mounts:
                    mount.close()

    def _run(self, jobs, at_once):
        threads = [threading.Thread(target=job.run) for job in jobs]
        measured = {}
        begin = self.data.device.counters()[1]
        for job, thread in zip(jobs, threads):
            before = self.data.device.counters()[1]
            thread.start()
            if at_once:
                continue
            thread.join()
            measured[job.part] = Measured(
                job.seconds, self.data.device.counters()[1] - before)
        if at_once:
            start = time.monotonic()
            for thread in threads:
                thread.join()
            measured["both at once"] = Measured(
                time.monotonic() - start,
                self.data.device.counters()[1] - begin)
        return measured

    def round(self, seed):
        """(alone, mixed), each {what: Measured}."""
        alone_photos, alone_lines = (PHOTOS, BRAND), (LINES, REIMU)
        both = [("", BRAND)]
        inside = [(PHOTOS, 0, PHOTOS), (LINES, 0, LINES)]
        alone = self.read([alone_photos], [(PHOTOS, 0, "")], seed)
        alone |= self.read([alone_lines], [(LINES, 0, "")], seed)
        mixed = self.read(both, inside, seed)
        alone |= self.read([alone_photos, alone_lines],
                           [(PHOTOS, 0, ""), (LINES, 1, "")], seed, True)
        mixed |= self.read(both, inside, seed, True)
        return alone, mixed


def print_profile(data, profile, rounds):
    sizes = {PHOTOS: data.size(PHOTOS), LINES: data.size(LINES)}
    sizes["both at once"] = sum(sizes.values())
    for what, size in sizes.items():
        cells = []
        for side in (0, 1):
            middle, mad = measure.median_mad(
                [each[side][what].seconds for each in rounds])
            cells.append(f"{middle:.1f} ± {mad:.1f} s")
        ratio = measure.median_mad([alone[what].seconds / mixed[what].seconds
                                    for alone, mixed in rounds])[0]
        source = measure.median_mad(
            [mixed[what].source / size for _, mixed in rounds])[0]
        measure.row(profile, what, *cells, f"{ratio:.2f}x", f"{source:.3f}x")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=10000)
    parser.add_argument("--shard", default="256MiB", type=testbed.parse_size)
    parser.add_argument("--profile", action="append",
                        help="default hdd, nas")
    parser.add_argument("--limit", default="512MiB", help="of the group")
    parser.add_argument("--memory", default="320MiB",
                        help="of the mounts together")
    arguments = parser.parse_args()
    measure.enter()
    data = Mixed(arguments.files, arguments.shard)
    bench = Bench(data, arguments)
    measure.row(*COLUMNS)
    print("|---" * len(COLUMNS) + "|")
    try:
        for profile in arguments.profile or ("hdd", "nas"):
            data.device.detach()
            data.device.attach(profile)
            print_profile(data, profile, [bench.round(seed) for seed
                                          in range(arguments.rounds)])
    finally:
        data.device.detach()


if __name__ == "__main__":
    main()
