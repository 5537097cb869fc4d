#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""met over containers on emulated devices: TFRecord files on a slow one, a tier
for a quarter of them on the machine's own disk, and readers that go from shard
to shard in a random order, each from start to end, and consume at a fixed rate,
above what they get of the slow device.

Two passes over the dataset, at least three epochs, each mini-epoch repeated 1,
2, 4 or 8 times: throughput against the consumption, bytes of the device against
dataset / factor. The same readers on the raw directory before each job, at the
same rate."""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "mount")]
import measure  # noqa: E402

import brand_data  # noqa: E402
import containers  # noqa: E402
import met_runs  # noqa: E402
import met_table  # noqa: E402
from brand_data import testbed  # noqa: E402

SHARDS = 4
MEAN = 20_000  # bytes of a record
FRAMES = 100   # that differ
PASSES, LEAST_EPOCHS = 2, 3
VERSION = "1"  # of what is written here


class Dataset:
    """Shards of records on a device, written unless they are there."""

    def __init__(self, megabytes):
        self.shard_bytes = (megabytes << 20) // SHARDS
        self.device = testbed.Device(f"met-records-{megabytes}-{SHARDS}")
        self.root = self.device.path / "data"

    def open(self):
        done = self.device.path / "complete"
        if self.device.exists():
            self.device.attach("fast")
            if done.exists() and done.read_text() == VERSION:
                return
            self.device.destroy()
        measure.say(f"making {self.device.name}")
        self.device.create(brand_data.IMAGE)
        self.device.attach("fast")
        self.root.mkdir(parents=True)
        frames = some_frames()
        for number in range(SHARDS):
            self._write(number, frames)
        os.sync()
        done.write_text(VERSION)

    def _write(self, number, frames):
        rng = random.Random(number)
        left = self.shard_bytes
        with open(self.root / f"train-{number:03}.tfrecord", "wb") as file:
            while left > 0:
                frame = rng.choice(frames)
                file.write(frame)
                left -= len(frame)

    def bytes(self):
        size = sum(path.stat().st_size for path in self.root.iterdir())
        return size, size

    def read_all(self):
        for path in self.root.iterdir():
            path.read_bytes()


def some_frames():
    """Records as files hold them; readers of this bench count bytes alone."""
    rng = random.Random("met records")
    return [containers.tfrecord([rng.randbytes(
        rng.randrange(MEAN // 2, MEAN * 3 // 2))]) for _ in range(FRAMES)]


class Runs(met_runs.Runs):
    def read(self, root, group, seed, rate):
        """All shards by readers of their own in a random order: (bytes a
        second of all together, bytes)."""
        shards = sorted(root.glob("*.tfrecord"))
        random.Random(seed).shuffle(shards)
        readers = [subprocess.Popen(
            group.inside([sys.executable, HERE / "paced_reader.py",
                          str(rate / self.workers),
                          *map(str, shards[i::self.workers])]),
            stdout=subprocess.PIPE, text=True) for i in range(self.workers)]
        results = [reader.communicate()[0].split() for reader in readers]
        if any(reader.returncode for reader in readers):
            raise RuntimeError("a reader failed")
        size = sum(int(result[1]) for result in results)
        return size / max(float(result[0]) for result in results), size

    def raw(self, seed, rate):
        self.dataset.device.cold()
        with self.group() as group:
            return self.read(self.dataset.root, group, seed, rate)[0]

    def job(self, repeat, epochs, rate, seed):
        # A window of blocks is to fit into the memory of this small mount.
        policy = {"met.repeat": repeat, "met.epochs": epochs,
                  "reimu.window": 16}
        with self.mount(policy, seed) as (mount, group):
            measure.harness.eventually(
                lambda: mount.view()["records"]["indexed"] == SHARDS,
                timeout=600, what="the index")
            measured = []
            for number in range(epochs):
                if number:
                    mount.next_epoch()
                device, before = self.device_bytes(), mount.view()["tier"]
                speed, size = self.read(mount.path, group, f"{seed} {number}", rate)
                after = mount.view()["tier"]
                measured.append({
                    "bytes": size, "seconds": size / speed,
                    "source": self.device_bytes() - device,
                    **{key: after[key] - before[key] for key in (
                        "copied_bytes", "captured_bytes", "source_bytes",
                        "tier_bytes")}})
            trouble = mount.view()["tier"]["trouble"]
        if trouble:
            raise RuntimeError(f"tier: {trouble}")
        return measured


def measure_profile(runs, profile, arguments):
    runs.dataset.device.attach(profile)
    entry = {"profile": profile, "bytes": runs.bytes, "paged": runs.paged,
             "readers": arguments.readers, "limit": arguments.limit,
             "memory": arguments.memory, "raw": [], "jobs": []}
    most = runs.raw(0, 0)
    for number in range(arguments.rounds):
        for factor in arguments.rate:
            for repeat in arguments.repeat:
                rate = factor * most
                entry["raw"].append(runs.raw(number, rate))
                epochs = max(LEAST_EPOCHS, PASSES * repeat)
                job = runs.job(repeat, epochs, rate, number + 1)
                measure.say(f"{profile}: raw {entry['raw'][-1] / 1e6:.1f}, "
                            f"repeated {repeat}, {rate / 1e6:.1f} MB/s wanted: "
                            + ", ".join(
                                f"{each['bytes'] / each['seconds'] / 1e6:.1f}"
                                f" ({each['source'] / runs.paged:.2f})"
                                for each in job))
                entry["jobs"].append({"factor": factor, "repeat": repeat,
                                      "rate": rate, "epochs": job})
    return entry


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--profile", action="append", choices=testbed.PROFILES,
                        help="default: nas and hdd")
    parser.add_argument("--megabytes", type=int, default=3072)
    parser.add_argument("--readers", type=int, default=2)
    parser.add_argument("--rate", type=float, action="append",
                        help="consumption, times raw; 1.5, 2 and 3")
    parser.add_argument("--repeat", type=int, action="append",
                        help="1, 2, 4 and 8")
    parser.add_argument("--limit", default="384MiB", help="of the group")
    parser.add_argument("--memory", default="160MiB", help="of the mount")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--discard", action="store_true",
                        help="remove the dataset at the end")
    arguments = parser.parse_args()
    arguments.advance = "manual"
    arguments.rate = arguments.rate or [1.5, 2.0, 3.0]
    arguments.repeat = arguments.repeat or [1, 2, 4, 8]
    return arguments


def main():
    arguments = parse()
    testbed.require_root()
    measure.enter()
    dataset = Dataset(arguments.megabytes)
    measured = []
    try:
        dataset.open()
        dataset.read_all()
        runs = Runs(dataset, arguments)
        for profile in arguments.profile or ("nas", "hdd"):
            measured.append(measure_profile(runs, profile, arguments))
            if arguments.save:
                arguments.save.write_text(json.dumps(measured))
    except (testbed.DeviceError, RuntimeError) as error:
        sys.exit(f"met_records: {error}")
    finally:
        (dataset.device.destroy if arguments.discard else
         dataset.device.detach)()
    print(f"\n{SHARDS} TFRecord files, {measured[0]['bytes'] / 1e6:.0f} MB, a "
          f"tier of a quarter of it, {arguments.readers} readers, daemon and "
          f"readers in a group of {arguments.limit}, "
          f"memory={arguments.memory}\n")
    met_table.header(*met_table.JOBS)
    for entry in measured:
        met_table.print_jobs(entry)


if __name__ == "__main__":
    main()
