# SPDX-License-Identifier: Apache-2.0
"""Of record_scale.py: a file of very many records. What the index of it takes,
how soon a mount that has it saved serves, and how long readers wait at the
switch of an epoch."""
import math
import os
import pathlib
import random
import statistics
import subprocess
import threading
import time

import measure
import scale_data
import scale_index

LINES = {"record.as": "*.svm:lines", "epoch.advance": "manual"}
FIXED = {"record.as": "*.bin:fixed", "epoch.advance": "manual",
         "record.bytes": str(scale_data.FIXED_BYTES)}
FILE = {"lines": "many.svm", "fixed": "many.bin"}
READ = 128 << 10       # bytes of a read
SOME = 16 << 20        # bytes of a reader that reads on

SWITCHED = {"lirs": {"policy": "lirs"},
            "reimu": {"policy": "reimu"}}


def write_files(data, count):
    for folder, name in FILE.items():
        (data / folder).mkdir()
        getattr(scale_data, f"write_many_{folder}")(data / folder / name,
                                                    count)


def header(*cells):
    print()
    measure.row(*cells)
    print("|---" * len(cells) + "|")


def bench_mount(root, folder, options):
    return measure.Mount(root, pathlib.Path(folder), options)


def mean(values):
    return f"{statistics.median(values):.3f} s"


# Memory ------------------------------------------------------------------


def memory_of(root, options):
    """`status` of the records, the daemon's memory with a saved index, and how
    long the first mount took until all was indexed."""
    with measure.folder() as folder:
        start = time.monotonic()
        with bench_mount(root, folder, options) as mount:
            scale_index.until_indexed(mount)
            seconds = time.monotonic() - start
        with bench_mount(root, folder, options) as mount:
            records = scale_index.until_indexed(mount)
            return records, mount.memory_mb()[0] * 1e6, seconds


def bare_memory(root):
    """The same without containers."""
    with measure.folder() as folder:
        with bench_mount(root, folder, {"policy": "lirs"}) as mount:
            return mount.memory_mb()[0] * 1e6


def print_memory(data, count):
    header("what", "records", "mean bytes", "index, by `status`",
           "resident beyond a mount without records", "target")
    for name, options in (("lines", LINES), ("fixed", FIXED)):
        root = data / name
        mean_bytes = (root / FILE[name]).stat().st_size / count
        records, resident, _ = memory_of(root, {"policy": "lirs", **options})
        if records["records"] != count:
            raise RuntimeError(f"{records} are not {count} records")
        bits = max(16, 2 + math.ceil(math.log2(mean_bytes)))
        bound = 64e3 + (count * bits / 8 if name == "lines" else 0)
        measure.row(
            name, f"{count:,}", f"{mean_bytes:.1f}",
            f"**{records['index_bytes'] / 1e6:.3f} MB** "
            f"({records['index_bytes'] / count:.2f} bytes a record)",
            f"{(resident - bare_memory(root)) / 1e6:.1f} MB",
            f"≤ {bound / 1e6:.3f} MB")


# Mounting again ----------------------------------------------------------


def first_byte(path, process):
    """Tries until the mount is there and reads the first byte."""
    end = time.monotonic() + 600
    while time.monotonic() < end:
        try:
            with open(path, "rb", buffering=0) as file:
                if file.read(1):
                    return
        except OSError:
            pass
        if process.poll() is not None:
            raise RuntimeError(f"{path}: the daemon ended")
        time.sleep(0.001)
    raise RuntimeError(f"{path}: nothing within 600 s")


def remount(root, folder, policy, what):
    """Seconds from the command until what() returns."""
    mount = bench_mount(root, folder, {"policy": policy, **LINES})
    start = time.monotonic()
    try:
        mount.start(ready=False)
        what(mount)
        return time.monotonic() - start
    finally:
        mount.close()


def print_remounts(data, profile, rounds):
    """The state lies on the device of the data, so that it is cold as well."""
    device = data.device
    root = device.path / "data" / "lines"
    state = device.path / "state"
    subprocess.run(["rm", "-rf", state], check=True)
    state.mkdir()
    subprocess.run(scale_index.shufflectl_index(root, state / "state"),
                   check=True, stdout=subprocess.DEVNULL)
    until = {
        # As scale_index.OPTIONS.
        "`status` says indexed": ("reimu", scale_index.until_indexed),
        "the first byte is read, lirs": ("lirs", lambda mount: first_byte(
            mount.path / FILE["lines"], mount.process)),
    }
    for warmth in ("warm", "cold"):
        for label, (policy, what) in until.items():
            times = []
            for _ in range(rounds + (warmth == "warm")):
                if warmth == "cold":
                    device.cold()
                times.append(remount(root, state, policy, what))
            times = times[-rounds:]
            measure.row(profile, warmth, label, f"**{mean(times)}**",
                        f"{max(times):.3f} s", "≤ 0.5 s")


# Switching ---------------------------------------------------------------


class OnGoing:
    """A reader of what it has open, in a thread: its longest wait."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self.fd).st_size
        self.at = 0
        self.longest = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._go)

    def read(self):
        start = time.monotonic()
        got = os.pread(self.fd, READ, self.at)
        self.longest = max(self.longest, time.monotonic() - start)
        self.at = (self.at + len(got)) % self.size

    def _go(self):
        while not self._stop.is_set():
            self.read()

    def __enter__(self):
        for _ in range(4):  # the first waits for what all readers wait for
            self.read()
        self.longest = 0.0
        self._thread.start()
        return self

    def __exit__(self, *unused):
        self._stop.set()
        self._thread.join()
        os.close(self.fd)


def timed_read(path, offset):
    """Seconds of opening a file and reading a page of it."""
    start = time.monotonic()
    fd = os.open(path, os.O_RDONLY)
    try:
        os.pread(fd, 4096, offset)
        return time.monotonic() - start
    finally:
        os.close(fd)


def sequential(path):
    """Seconds until the first bytes are there, and the longest wait of the
    reads behind it."""
    waits = []
    start = time.monotonic()
    fd = os.open(path, os.O_RDONLY)
    for at in range(0, SOME, READ):
        os.pread(fd, READ, at)
        now = time.monotonic()
        waits.append(now - start)
        start = now
    os.close(fd)
    return waits[0], max(waits[1:])


class Switches:
    """What readers of one mount wait for. At first there is no switch, only
    what any first reader waits for."""

    def __init__(self, mount):
        self.mount = mount
        self.path = mount.path / FILE["lines"]
        self.size = self.path.stat().st_size
        self.times = {}

    def add(self, label, seconds):
        self.times.setdefault(label, []).append(seconds)

    def command(self):
        start = time.monotonic()
        subprocess.run([os.environ["SHUFFLECTL_BIN"], "epoch", "-m",
                        self.mount.path, "next"], check=True,
                       stdout=subprocess.DEVNULL)
        return time.monotonic() - start

    def round(self, rng):
        offset = rng.randrange(self.size // 2, self.size - 4096)
        with OnGoing(self.path) as old:
            time.sleep(0.5)
            self.add(OLD + "before the switch", old.longest)
            old.longest = 0.0
            self.add("writing `next`", self.mount.switch_seconds())
            self.add("open and pread far behind the switch",
                     timed_read(self.path, offset))
            self.add(OLD + "during that", old.longest)
        self.add("the same once more",
                 timed_read(self.path, rng.randrange(self.size - 4096)))
        self.add("`shufflectl epoch next`", self.command())
        self.sequential("behind the switch")

    def sequential(self, when):
        first, longest = sequential(self.path)
        self.add(f"sequential reader {when}: first bytes", first)
        self.add(f"sequential reader {when}: longest wait after them", longest)


OLD = "reader of the old epoch: longest wait "
TARGETS = {"writing `next`": "at once",
           "`shufflectl epoch next`": "at once",
           "open and pread far behind the switch": "≤ 3 s",
           "sequential reader behind the switch: first bytes": "as at first",
           OLD + "during that": "as before"}


def print_switches(data, policy, rounds):
    root = data.device.path / "data" / "lines"
    rng = random.Random(0)
    options = {"memory": "512MiB", **SWITCHED[policy], **LINES}
    with measure.folder() as folder:
        with bench_mount(root, folder, options) as mount:
            scale_index.until_indexed(mount)
            switches = Switches(mount)
            switches.sequential("at first")
            for _ in range(rounds):
                switches.round(rng)
    for label, times in switches.times.items():
        measure.row(policy, label, f"**{mean(times)}**", f"{max(times):.3f} s",
                    TARGETS.get(label, "-"))


def print_many(data, arguments):
    print(f"\n### {arguments.count:,} records")
    data.attach("fast")
    print_memory(data.device.path / "data", arguments.count)
    header("device", "mounted", "until", "median", "longest", "target")
    for profile in ("fast", "hdd600"):
        data.attach(profile)
        print_remounts(data, profile, arguments.rounds)
    data.attach("fast")
    header("policy", "what", "median", "longest", "target")
    for policy in SWITCHED:
        print_switches(data, policy, arguments.rounds)


