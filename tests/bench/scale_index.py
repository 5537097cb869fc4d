# SPDX-License-Identifier: Apache-2.0
"""Of record_scale.py: how fast containers are indexed, and how often the device
is read for footers."""
import json
import os
import pathlib
import subprocess
import time

import measure
import scale_data
from brand_data import testbed
from brand_runs import GroupMount

# To tell how well `lirs` mixes takes `status` 0.1 s for very many records.
OPTIONS = {"policy": "reimu", "record.as": "*.svm:lines"}
FOOTER_FILES = 8
# What a footer takes (62 KiB, 186 KiB): groups of Parquet, batches of Arrow.
FOOTERS = {"parquet": ((1700, 2), (5000, None)),
           "arrow": ((2600, 2), (7800, None))}
EXAMPLE = ("shufflectl index --state STATE -o " + ",".join(
    f"{key}={value}" for key, value in OPTIONS.items()) + " DATA")
COLUMNS = ("device", "file", "raw: dd bs=1M", "dd bs=4M iflag=direct",
           "`shufflectl index`", "against raw", "a mount, until indexed",
           "against raw", "target")


def shufflectl_index(root, state):
    options = ",".join(f"{key}={value}" for key, value in OPTIONS.items())
    return [os.environ["SHUFFLECTL_BIN"], "index", "--state", str(state), "-o",
            options, str(root)]


class Indexing:
    """One format on one device, in a group of its own each time."""

    def __init__(self, device, name, limit):
        self.device = device
        self.root = device.path / "data" / name
        self.file = self.root / name
        self.limit = limit

    def _timed(self, argv):
        """Bytes a second, and those that the device gave, a byte."""
        size = self.file.stat().st_size
        self.device.cold()
        with testbed.Group(f"record-scale-{os.getpid()}", self.limit) as group:
            before = self.device.counters()[1]
            start = time.monotonic()
            subprocess.run(group.inside(argv), check=True,
                           stdout=subprocess.DEVNULL)
            seconds = time.monotonic() - start
        return size / seconds, (self.device.counters()[1] - before) / size

    def raw(self, *flags):
        return self._timed(["dd", f"if={self.file}", "of=/dev/null",
                            "status=none", *flags])

    def command(self):
        with measure.folder() as folder:
            return self._timed(shufflectl_index(self.root,
                                                pathlib.Path(folder, "state")))

    def mount(self):
        """From the command of the mount until `status` says that it is so."""
        size = self.file.stat().st_size
        self.device.cold()
        with testbed.Group(f"record-scale-{os.getpid()}", self.limit) as group:
            with measure.folder() as folder:
                mount = GroupMount(group, self.root, pathlib.Path(folder),
                                   dict(OPTIONS))
                before = self.device.counters()[1]
                start = time.monotonic()
                try:
                    mount.start(ready=False)
                    until_indexed(mount)
                    seconds = time.monotonic() - start
                    source = self.device.counters()[1] - before
                finally:
                    mount.close()
        return size / seconds, source / size


def until(mount, condition):
    """The first view of `status` of which that holds. Asks often, as a program
    would that does nothing else."""
    end = time.monotonic() + 600
    while time.monotonic() < end:
        try:
            view = mount_status(mount)["views"][0]
            if condition(view):
                return view
        except (OSError, ValueError):
            if mount.process.poll() is not None:
                raise RuntimeError(mount.log()[-2000:]) from None
        time.sleep(0.002)
    raise RuntimeError(f"not within 600 s: {mount_status(mount)}")


def until_indexed(mount):
    def done(view):
        records = view.get("records")
        return records and records["indexed"] >= records["containers"]

    return until(mount, done)["records"]


def mount_status(mount):
    return json.loads((mount.control_dir / "status").read_text())


def speed(runs):
    middle, spread = measure.median_mad([run[0] for run in runs])
    return f"{middle / 1e6:.0f} ± {spread / 1e6:.0f} MB/s"


def ratio(runs, raws):
    middle, spread = measure.median_mad(
        [run[0] / raw[0] for run, raw in zip(runs, raws)])
    return f"**{middle:.2f}x** ± {spread:.2f}"


def print_speeds(device, profile, rounds, limit):
    for name in scale_data.WRITERS:
        one = Indexing(device, name, limit)
        raws, directs, commands, mounts = [], [], [], []
        for _ in range(rounds):
            raws.append(one.raw("bs=1M"))
            commands.append(one.command())
            mounts.append(one.mount())
            directs.append(one.raw("bs=4M", "iflag=direct"))
        measure.row(profile, name, speed(raws), speed(directs),
                    speed(commands), ratio(commands, raws),
                    speed(mounts), ratio(mounts, raws), "≥ 0.90x")
        measure.say(f"{profile} {name}: bytes from the device a byte of the "
                    "file: " + ", ".join(
                        f"{label} {max(run[1] for run in runs):.3f}"
                        for label, runs in (("raw", raws), ("index", commands),
                                            ("mount", mounts))))


def footer_folders():
    """name of a folder: its groups, and what is promised."""
    return {f"{kind}-{groups}": (kind, groups, target)
            for kind, cases in FOOTERS.items() for groups, target in cases}


def write_footers(data):
    for name, (kind, groups, _) in footer_folders().items():
        folder = data / name
        folder.mkdir()
        for index in range(FOOTER_FILES):
            write = getattr(scale_data, f"write_{kind}")
            write(folder / f"part-{index}.{kind}", groups)


class TellingMount(GroupMount):
    def command(self):
        return ["env", "SHUFFLEFS_DEVICE=nas", *super().command()]


def footer_reads(device, root, limit):
    """Requests and bytes of the device for all files of a folder. What the
    file system keeps of them (directory, inodes, extents) was read before, and
    the mount is told what the device is, so that it does not try."""
    device.cold()
    for entry in os.scandir(root):
        fd = os.open(entry.path, os.O_RDONLY)
        os.lseek(fd, 0, os.SEEK_DATA)  # reads the extents, and no data
        os.close(fd)
    with testbed.Group(f"record-scale-{os.getpid()}", limit) as group:
        with measure.folder() as folder:
            before = device.counters()
            with TellingMount(group, root, pathlib.Path(folder),
                              {"policy": "reimu"}) as mount:
                records = until_indexed(mount)
                after = device.counters()
    if records["indexed"] != FOOTER_FILES:
        raise RuntimeError(f"not all are containers: {records}")
    return [late - early for early, late in zip(before, after)]


def print_footers(device, profile, rounds, limit):
    measure.row("device", "what", "requests a file", "bytes a file",
                "the footer's bytes", "target")
    print("|---" * 6 + "|")
    for name, (kind, _, target) in footer_folders().items():
        root = device.path / "data" / name
        runs = [footer_reads(device, root, limit) for _ in range(rounds)]
        requests, size = (measure.median_mad(
            [run[place] / FOOTER_FILES for run in runs])[0]
            for place in (0, 1))
        footer = scale_data.footer_bytes(next(root.glob("part-0.*")))
        measure.row(profile, kind, f"**{requests:.2f}**", f"{size:.0f}",
                    str(footer), "-" if target is None else f"≤ {target}")
