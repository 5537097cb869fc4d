#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A container file of lines of about 330 bytes, read from start to end through
shuffled views, against the file itself: cold, larger than memory, on emulated
devices, reader and daemon together in the group that the reader of the raw file
has alone; and with everything cached, of lines of 100 KB as well.

`lirs` by instance, and pages of 4 KiB on a disk that seeks, are read for some
megabytes only: all of it would take hours. fio's random reads of the same file, of the page that a
record lies in, stand beside it: one at a time, as who reads row by row, and as
many as the daemon has."""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402
from brand_data import testbed  # noqa: E402
from brand_runs import GroupMount  # noqa: E402

MEAN = 330  # bytes of a line
# Bytes that are read of an order that is slow: some seconds of it.
FIRST = {"hdd600": 2 << 20, "fast": 64 << 20}
FIRST_ELSEWHERE = 8 << 20
NAME = "kdd.svm"
LARGE = "large.svm"
LARGE_MEAN = 100000  # bytes of a line of it
DEPTH = 32  # reads of the daemon at a time
BASE = {"record.as": "*.svm:lines", "memory": "{memory}"}
REIMU = {"policy": "reimu", "reimu.block": "2MiB", "reimu.window": "16"}
INSTANCE = "lirs, by instance"
FIO = "fio, random reads of 4 KiB, {} at a time"
EVERY = ("hdd600", "nas", "fast")
# What is measured, and on which devices only some of it is read.
VIEWS = {
    "reimu, 16 blocks of 2 MiB": (REIMU, ()),
    "lirs, pages of 256 KiB, 16 mixed": (
        {"policy": "lirs", "lirs.unit": "page", "lirs.page": "256KiB",
         "lirs.batch": "16"}, ()),
    "lirs, pages of 4 MiB, 4 mixed": (
        {"policy": "lirs", "lirs.unit": "page", "lirs.page": "4MiB",
         "lirs.batch": "4"}, ()),
    "lirs, pages of 4 KiB": (
        {"policy": "lirs", "lirs.unit": "page", "lirs.page": "4KiB"},
        ("hdd600",)),
    INSTANCE: ({"policy": "lirs"}, EVERY),
}
COLUMNS = ("device", "what", "MB/s", "against raw", "read from the source",
           "before the first byte")


def write_lines(path, size):
    rng = random.Random(0)
    tails = [" ".join(f"{rng.randrange(4000)}:{rng.random():.5f}"
                      for _ in range(rng.randrange(10, 36))) for _ in range(997)]
    with open(path, "w") as file:
        for index in range(size // MEAN):
            file.write(f"{index % 2} 1:{index} {tails[index % 997]}\n")


def write_large_lines(path, size):
    rng = random.Random(1)
    with open(path, "w") as file:
        for index in range(size // LARGE_MEAN):
            line = rng.randbytes(LARGE_MEAN // 2 - 6).hex()
            file.write(f"{index:09} {line}\n")


class Container:
    """A device with two container files, made unless it is there."""

    def __init__(self, size):
        self.device = testbed.Device(f"records2-{size >> 20}")
        self.root = self.device.path / "data"
        done = self.device.path / "complete"
        if self.device.exists():
            self.device.attach("fast")
            if done.exists():
                return
            self.device.destroy()
        measure.say(f"making {self.device.name}")
        self.device.create(testbed.parse_size("8GiB"))
        self.device.attach("fast")
        self.root.mkdir()
        write_lines(self.root / NAME, size)
        write_large_lines(self.root / LARGE, size // 2)
        done.touch()
        subprocess.run(["sync", "--file-system", done], check=True)


def read(path, most, wrap=list):
    """Seconds and bytes of reading a file from its start, 1 MiB at a time."""
    size = min(most or path.stat().st_size, path.stat().st_size)
    count = [f"count={size >> 20}"] if most else []
    start = time.monotonic()
    subprocess.run(wrap(["dd", f"if={path}", "of=/dev/null", "bs=1M",
                         "status=none", *count]), check=True)
    return time.monotonic() - start, size


def await_index(mount):
    """Returns when all containers of the view are indexed."""
    def status():
        return mount.view()["records"]
    while status()["indexed"] < status()["containers"]:
        time.sleep(0.02)


class Bench:
    def __init__(self, container, arguments):
        self.container = container
        self.limit = arguments.limit
        self.memory = arguments.memory
        self.groups = 0

    def group(self):
        self.groups += 1
        return testbed.Group(f"records-{self.groups}", self.limit)

    def raw(self):
        device = self.container.device
        device.cold()
        before = device.counters()[1]
        with self.group() as group:
            seconds, size = read(self.container.root / NAME, None,
                                 group.inside)
        return size / seconds, (device.counters()[1] - before) / size, None

    def view(self, options, most):
        """Speed, source bytes a byte read, seconds until the first byte."""
        device = self.container.device
        options = {key: value.format(memory=self.memory)
                   for key, value in {**BASE, **options}.items()}
        with self.group() as group, measure.folder() as folder:
            # A mounted device cannot be made cold: one mount keeps the index.
            device.cold()
            with GroupMount(group, self.container.root, pathlib.Path(folder),
                            options) as mount:
                await_index(mount)
            device.cold()
            with GroupMount(group, self.container.root, pathlib.Path(folder),
                            options) as mount:
                await_index(mount)
                before = device.counters()[1]
                first, _ = read(mount.path / NAME, 1 << 20, group.inside)
                seconds, size = read(mount.path / NAME, most, group.inside)
                source = device.counters()[1] - before
        return size / (seconds + first), source / size, first

    def random_reads(self, depth):
        """Records a second that fio reads, as megabytes of records."""
        self.container.device.cold()
        command = ["fio", "--name=random", "--rw=randread", "--bs=4k",
                   "--direct=1", "--ioengine=io_uring", f"--iodepth={depth}",
                   "--runtime=5", "--time_based", "--readonly",
                   f"--filename={self.container.root / NAME}",
                   "--output-format=json"]
        done = subprocess.run(command, check=True, capture_output=True)
        reads = json.loads(done.stdout)["jobs"][0]["read"]["iops"]
        return reads * MEAN, 4096 / MEAN, None

    def cached(self, name):
        """Speeds of the raw file; of a view's first reading, a second one of
        the same epoch, and one of the next epoch."""
        path = self.container.root / name
        read(path, None)
        runs = [read(path, None)]
        with measure.folder() as folder:
            options = {**BASE, **REIMU, "memory": "1GiB",
                       "epoch.advance": "manual"}
            with measure.Mount(self.container.root, pathlib.Path(folder),
                               options) as mount:
                await_index(mount)
                read(path, None)  # what indexing dropped
                runs.append(read(mount.path / name, None))
                runs.append(read(mount.path / name, None))
                mount.switch_seconds()
                runs.append(read(mount.path / name, None))
        return [size / seconds for seconds, size in runs]


def print_row(profile, label, rounds, raws):
    speed, spread = measure.median_mad([each[0] for each in rounds])
    ratio = measure.median_mad([each[0] / raw[0]
                                for each, raw in zip(rounds, raws)])[0]
    source = measure.median_mad([each[1] for each in rounds])[0]
    first = [each[2] for each in rounds]
    measure.row(profile, label, f"{speed / 1e6:.1f} ± {spread / 1e6:.1f}",
                f"{ratio:.3f}x", f"{source:.3f}x",
                "-" if None in first else
                f"{measure.median_mad(first)[0]:.2f} s")


def view_on(profile, label):
    """The options of a view, and how many bytes are read there; None: all."""
    options, some = VIEWS[label]
    most = FIRST.get(profile, FIRST_ELSEWHERE) if profile in some else None
    return options, most


def print_view(bench, profile, rounds, label):
    """Prints its row, and that of the file itself."""
    raws, views = [], []
    for _ in range(rounds):
        raws.append(bench.raw())
        views.append(bench.view(*view_on(profile, label)))
    print_row(profile, "raw file", raws, raws)
    print_row(profile, label, views, raws)


def print_profile(bench, profile, rounds):
    """Prints its rows; the ratios between them."""
    measured = {}
    for _ in range(rounds):
        measured.setdefault("raw file", []).append(bench.raw())
        for label in VIEWS:
            measured.setdefault(label, []).append(
                bench.view(*view_on(profile, label)))
        for depth in (1, DEPTH):
            measured.setdefault(FIO.format(depth), []).append(
                bench.random_reads(depth))
    for label, each in measured.items():
        print_row(profile, label, each, measured["raw file"])
    speeds = {label: measure.median_mad([run[0] for run in each])[0]
              for label, each in measured.items()}
    reimu = speeds["reimu, 16 blocks of 2 MiB"]
    pages = speeds["lirs, pages of 4 MiB, 4 mixed"]
    instances = speeds[INSTANCE]
    return (f"{profile}: reimu {reimu / speeds['raw file']:.2f} of sequential, "
            f"{reimu / speeds[FIO.format(1)]:.1f}x rows one at a time (REIMU's "
            f"paper: 0.91, 42.7x); pages of 4 MiB {pages / instances:.1f}x "
            f"instances; instances {instances / speeds[FIO.format(DEPTH)]:.2f} "
            f"of fio with {DEPTH} reads at a time")


def print_cached(bench, rounds, name, of):
    runs = [bench.cached(name) for _ in range(rounds)]
    for place, label in enumerate(("raw file, warm", "reimu, first reading",
                                   "reimu, the same epoch again",
                                   "reimu, the next epoch")):
        speed, spread = measure.median_mad([run[place] for run in runs])
        ratio = measure.median_mad([run[place] / run[0] for run in runs])[0]
        measure.row("cached", f"{of}: {label}",
                    f"{speed / 1e6:.0f} ± {spread / 1e6:.0f}", f"{ratio:.2f}x",
                    "-", "-")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", default="1GiB", type=testbed.parse_size)
    parser.add_argument("--profile", action="append",
                        help=f"default {', '.join(EVERY)}")
    parser.add_argument("--only", choices=VIEWS, help="this view alone")
    parser.add_argument("--limit", default="512MiB", help="of the group")
    parser.add_argument("--memory", default="320MiB", help="of the mount")
    arguments = parser.parse_args()
    measure.enter()
    container = Container(arguments.size)
    bench = Bench(container, arguments)
    measure.row(*COLUMNS)
    print("|---" * len(COLUMNS) + "|")
    ratios = []
    try:
        for profile in arguments.profile or EVERY:
            container.device.detach()
            container.device.attach(profile)
            if arguments.only:
                print_view(bench, profile, arguments.rounds, arguments.only)
                continue
            ratios.append(print_profile(bench, profile, arguments.rounds))
        if arguments.only:
            return
        container.device.detach()
        container.device.attach("fast")
        print_cached(bench, arguments.rounds, NAME, "lines of 330 bytes")
        print_cached(bench, arguments.rounds, LARGE, "lines of 100 KB")
    finally:
        container.device.detach()
    print("\n" + "\n".join(ratios))


if __name__ == "__main__":
    main()
