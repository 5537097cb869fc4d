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
READ = 16 << 10        # bytes of a read: 600 records
PAUSE = 0.01           # seconds between two of a slow reader
SOME = 512 << 10       # bytes of a reader that reads on
SWITCHED = ("lirs", "reimu")


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


def first_page(path):
    with open(path, "rb", buffering=0) as file:
        return file.read(4096)


def first_bytes(mount):
    """Waits until the catalogue is there, before which a file is shown as it
    is, and reads the first bytes of the shuffled one."""
    scale_index.until(mount, lambda view: view["epoch_state"] != "indexing")
    name = FILE["lines"]
    if first_page(mount.path / name) == first_page(mount.source / name):
        raise RuntimeError(f"{name}: shown unshuffled")


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
        "first bytes are read, lirs": ("lirs", first_bytes),
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
                        f"{max(times):.3f} s",
                        "≤ 0.5 s" if policy == "reimu" else "-")


# Switching ---------------------------------------------------------------


class OnGoing:
    """A reader of what it has open, in a thread: its longest wait. Slow, so
    that it hardly waits for what must be read for it."""

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
        while not self._stop.wait(PAUSE):
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
            time.sleep(3)
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
    options = {"policy": policy, "memory": "512MiB", **LINES}
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


def print_memories(data, arguments):
    print(f"\n### Memory of {arguments.count:,} records")
    data.attach("fast")
    print_memory(data.device.path / "data", arguments.count)


def print_mounts(data, arguments):
    print(f"\n### Mounting again with {arguments.count:,} records")
    header("device", "mounted", "until", "median", "longest", "target")
    for profile in ("fast", "hdd600"):
        data.attach(profile)
        print_remounts(data, profile, arguments.rounds)


def print_epochs(data, arguments):
    print(f"\n### Switching the epoch of {arguments.count:,} records")
    data.attach("fast")
    header("policy", "what", "median", "longest", "target")
    for policy in SWITCHED:
        print_switches(data, policy, arguments.rounds)


