#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a mount costs before the first sample, and beside the epochs: time from
the start of the command until one file was read whole (never mounted before,
and with the saved catalogue), the memory that takes, and what packing takes.

On emulated devices, cold, in groups of limited memory, over the datasets of
brand.py. The file is the last one by name: nothing that was read by chance."""
import argparse
import collections
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import brand  # noqa: E402
import brand_runs  # noqa: E402
import measure  # noqa: E402
from brand_runs import GroupMount, testbed  # noqa: E402

LABELS = ("native", "brand", "packed")
SAVED_TARGET = 1.0  # seconds, on hdd, with the saved catalogue
COLUMNS = ("device", "what", "first sample, never mounted before",
           "first sample, with saved catalogue", "the command returned",
           "catalogue was there", "peak memory", "of the daemon",
           "read from the source", "target")

# `state`: of the epoch; `indexing` if names still showed their own content.
First = collections.namedtuple(
    "First", "returned seconds state peak daemon source_bytes")


class Command:
    """`shufflefs -o … DATA MNT` as a user gives it, in a group: it returns when
    the mount serves, and leaves a daemon behind."""

    def __init__(self, runs, policy, group, folder):
        self.mount = GroupMount(group, runs.dataset.root, folder,
                                runs.options(policy))
        self.group = group

    def __enter__(self):
        argv = [word for word in self.mount.command() if word != "-f"]
        done = subprocess.run(argv, check=False, stdin=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return self.mount

    def __exit__(self, *unused):
        measure.harness.eventually(
            lambda: subprocess.run(["umount", self.mount.path],
                                   check=False).returncode == 0,
            what="unmounting")
        measure.harness.eventually(lambda: not self.group.processes(),
                           what="the daemon ends")


def peak_of(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB", text, re.M).group(1)) << 10


def time_first(runs, policy, folder, name):
    device = runs.dataset.device
    device.cold()
    before = device.counters()[1]
    with runs.group() as group:
        start = time.monotonic()
        with Command(runs, policy, group, folder) as mount:
            returned = time.monotonic() - start
            (mount.path / name).read_bytes()
            seconds = time.monotonic() - start
            state = mount.view()["epoch_state"]
            daemon = peak_of(group.processes()[0])
            read = device.counters()[1] - before
        return First(returned, seconds, state, group.peak(), daemon, read)


def first_sample(runs, policy):
    """(never mounted before, with the saved catalogue), each a First."""
    root = runs.dataset.root
    name = max(root.glob("train/*/*")).relative_to(root)
    with measure.folder() as folder:
        return [time_first(runs, policy, pathlib.Path(folder), name)
                for _ in range(2)]


def pack_cost(runs):
    """Seconds, bytes on disk and peak of the group that `shufflectl pack`
    takes, cold."""
    packed = runs.dataset.device.path / "pack_cost"
    shutil.rmtree(packed, ignore_errors=True)
    runs.dataset.device.cold()
    with runs.group() as group:
        start = time.monotonic()
        runs.dataset.pack_to(packed, group.inside)
        seconds = time.monotonic() - start
        peak = group.peak()
    size = sum(path.stat().st_blocks * 512 for path in packed.rglob("*"))
    shutil.rmtree(packed)
    return seconds, size, peak


def mebibytes(values):
    if None in values:
        return "-"
    return f"{max(values) / 2**20:.0f} MiB"


def print_first(profile, label, pairs):
    new = measure.median_mad([pair[0].seconds for pair in pairs])
    saved = measure.median_mad([pair[1].seconds for pair in pairs])
    target = "-"
    if profile == "hdd":
        met = "met" if saved[0] <= SAVED_TARGET else "**missed**"
        target = f"≤ {SAVED_TARGET:g} s with saved catalogue {met}"
    firsts = [first for pair in pairs for first in pair]
    measure.row(
        profile, label, "{:.2f} ± {:.2f} s".format(*new),
        "{:.2f} ± {:.2f} s".format(*saved),
        " / ".join(f"{statistics.median(p[i].returned for p in pairs):.2f}"
                   for i in (0, 1)) + " s",
        "yes" if all(f.state != "indexing" for f in firsts) else "no",
        mebibytes([first.peak for first in firsts]),
        mebibytes([first.daemon for first in firsts]),
        " / ".join(f"{max(p[i].source_bytes for p in pairs) / 1e6:.1f}"
                   for i in (0, 1)) + " MB", target)


def measure_profile(runs, profile, rounds):
    runs.dataset.device.attach(profile)
    policies = {label: brand.POLICIES[label] for label in LABELS}
    pairs = {label: [] for label in LABELS}
    for _ in range(rounds):
        for label, policy in policies.items():
            pairs[label].append(first_sample(runs, policy))
    for label in LABELS:
        print_first(profile, label, pairs[label])


def print_pack(runs, profile):
    """One run: writes are not slowed down on an emulated device, so this is
    what reading and checksumming take."""
    runs.dataset.device.attach(profile)
    seconds, size, peak = pack_cost(runs)
    read = runs.expected.bytes
    measure.row(profile, f"{seconds:.1f} s", f"{read / seconds / 1e6:.0f} MB/s",
                f"{size / 1e6:.0f} MB", f"{size / read:.3f}x",
                mebibytes([peak]))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=int, default=20000)
    parser.add_argument("--layout", default="40", help="see brand.py")
    parser.add_argument("--profile", action="append",
                        help="default hdd, nas, fast")
    parser.add_argument("--limit", default="512MiB", help="of the group")
    parser.add_argument("--memory", default="320MiB", help="of the pool")
    arguments = parser.parse_args()
    profiles = arguments.profile or ["hdd", "nas", "fast"]
    testbed.require_root()
    measure.enter()
    dataset = brand_runs.open_dataset(arguments.layout, arguments.files)
    try:
        dataset.pack()
        runs = brand_runs.Runs(dataset, arguments.limit, arguments.memory)
        runs.prepare()
        print(f"\nFrom the start of the command to the first sample, "
              f"{arguments.files:,} files, {arguments.rounds} rounds:\n")
        measure.row(*COLUMNS)
        print("|---" * len(COLUMNS) + "|")
        for profile in profiles:
            measure_profile(runs, profile, arguments.rounds)
        print("\nshufflectl pack, once (writing is not slowed down here):\n")
        measure.row("device", "seconds", "speed", "disk", "of the dataset",
                    "peak memory")
        print("|---" * 6 + "|")
        for profile in profiles:
            print_pack(runs, profile)
    except (testbed.DeviceError, testbed.GroupError) as error:
        sys.exit(f"first_sample: {error}")
    finally:
        dataset.device.detach()


if __name__ == "__main__":
    main()
