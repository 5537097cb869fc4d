# SPDX-License-Identifier: Apache-2.0
"""Measurements of met.py on one dataset: whole jobs of framework epochs, a
reader of the source beside the copying, the first sample."""
import collections
import contextlib
import os
import pathlib
import random
import shutil
import time

import brand_runs
import first_sample
import measure
from brand_runs import EpochReader, GroupMount

BATCH = 16  # files
PARTS = 4   # the tier holds a quarter of the dataset

# One framework epoch. `source`: bytes from the device; `copied`: to the tier,
# and `told`: from the source, as status counts them.
Epoch = collections.namedtuple("Epoch", "seconds bytes source copied told")
# A reader of the validation split: bytes a second, bytes that were copied
# meanwhile, and those that were copied afterwards, so were there to be copied.
Foreground = collections.namedtuple("Foreground", "speed copied left",
                                    defaults=(0,))


class Runs(brand_runs.Runs):
    """The tier is a folder of the machine's own disk, empty for each job."""

    def __init__(self, dataset, arguments):
        super().__init__(dataset, arguments.limit, arguments.memory)
        self.workers = arguments.readers
        self.advance = arguments.advance
        self.bytes, self.paged = dataset.bytes()
        self.tier = measure.trees() / f"met-tier-{os.getpid()}"

    def clear_tier(self):
        shutil.rmtree(self.tier, ignore_errors=True)
        self.tier.mkdir()

    def options(self, policy, seed=0):
        """`policy`: what differs, as a dictionary."""
        return {"policy": "met", "tier.path": self.tier,
                "tier.capacity": self.paged // PARTS, "memory": self.memory,
                "epoch.advance": self.advance, "seed": seed, **policy}

    @contextlib.contextmanager
    def mount(self, policy, seed):
        """(mount, group): cold, an empty tier, never mounted before."""
        self.clear_tier()
        self.dataset.device.cold()
        with self.group() as group, measure.folder() as folder:
            with GroupMount(group, self.dataset.root, pathlib.Path(folder),
                            self.options(policy, seed)) as mount:
                yield mount, group

    def device_bytes(self):
        return self.dataset.device.counters()[1]

    def raw_epoch(self, seed, rate):
        """Bytes a second of the same readers on the source, cold."""
        self.dataset.device.cold()
        with self.group() as group, EpochReader(group) as reader:
            reader.list(self.dataset.root / "train")
            seconds, totals = reader.epoch(seed, self.workers, BATCH, rate)
        return totals.bytes / seconds

    def job(self, repeat, epochs, rate, seed):
        """`epochs` framework epochs, each of all names in an order of its
        own."""
        policy = {"met.repeat": repeat, "met.epochs": epochs}
        with self.mount(policy, seed) as (mount, group):
            measured = []
            with EpochReader(group) as reader:
                reader.list(mount.path / "train")
                for number in range(epochs):
                    if number and self.advance == "manual":
                        mount.next_epoch()
                    measured.append(self._epoch(mount, reader, rate,
                                                f"{seed}{number:03d}"))
            view = mount.view()
        self._check(view, epochs)
        return measured

    @staticmethod
    def _check(view, epochs):
        if view["tier"]["trouble"]:
            raise RuntimeError(f"tier: {view['tier']['trouble']}")
        shown = [view["mini_epoch"][key] for key in ("shown_fewest",
                                                     "shown_most")]
        if (view["epoch"] != epochs - 1 or view["epoch_held"] or
                shown[0] < epochs - 1 or shown[1] > epochs + 1):
            raise RuntimeError(
                f"{epochs} epochs were read, the mount counts "
                f"{view['epoch'] + 1}, held: "
                f"{view['epoch_hold_reason'] or 'no'}; samples were shown "
                f"{shown[0]} to {shown[1]} times")

    def _epoch(self, mount, reader, rate, seed):
        before, device = mount.view()["tier"], self.device_bytes()
        seconds, totals = reader.epoch(seed, self.workers, BATCH, rate)
        after = mount.view()["tier"]
        return Epoch(seconds, totals.bytes, self.device_bytes() - device,
                     after["copied_bytes"] - before["copied_bytes"],
                     after["source_bytes"] - before["source_bytes"])

    def foreground(self, seed):
        """(during the copying, without, once more without): the first
        mini-epoch is in the tier before, and nobody reads of it. The last two
        are alike, so their difference is what the method itself makes."""
        # Halves of the dataset: copying takes longer than the reader.
        policy = {"met.repeat": 2, "met.epochs": 2, "met.mini_epochs": 2,
                  "tier.capacity": self.paged * 5 // 4}
        with self.mount(policy, seed) as (mount, _):
            names = sorted(
                path.relative_to(self.dataset.root)
                for path in self.dataset.root.glob("val/*/*"))
            # What a first read brings besides data is known in all three.
            self._read_some(mount, names, seed)
            # What asks for the first mini-epoch, if a mount does not.
            os.listdir(mount.path / "train")
            measure.harness.eventually(
                lambda: mount.view()["mini_epoch"]["ready"], timeout=600,
                what="the first mini-epoch")
            during = self._read_some(mount, names, seed)
            before = mount.view()["tier"]["copied_bytes"]
            self._wait_for_quiet(mount)
            during = during._replace(
                left=mount.view()["tier"]["copied_bytes"] - before)
            idle, again = (self._read_some(mount, names, seed)
                           for _ in range(2))
        return during, idle, again

    @staticmethod
    def _wait_for_quiet(mount):
        last = [-1, time.monotonic()]

        def quiet():
            copied = mount.view()["tier"]["copied_bytes"]
            if copied != last[0]:
                last[:] = copied, time.monotonic()
            return time.monotonic() - last[1] > 2

        measure.harness.eventually(quiet, timeout=600, what="the copying")

    def _read_some(self, mount, names, seed):
        for name in names:
            for root in (mount.path, self.dataset.root):
                forget(root / name)
        shuffled = names[:]
        random.Random(seed).shuffle(shuffled)
        before = mount.view()["tier"]["copied_bytes"]
        start, size = time.monotonic(), 0
        for name in shuffled:
            size += len((mount.path / name).read_bytes())
        seconds = time.monotonic() - start
        copied = mount.view()["tier"]["copied_bytes"] - before
        return Foreground(size / seconds, copied)

    def first(self, seed):
        """(never mounted before, with the saved catalogue), the tier empty."""
        root = self.dataset.root
        name = max(root.glob("train/*/*")).relative_to(root)
        results = []
        with measure.folder() as folder:
            for _ in range(2):
                self.clear_tier()
                results.append(first_sample.time_first(
                    self, {"met.epochs": 2, "seed": seed},
                    pathlib.Path(folder), name))
        return results


def forget(path):
    """What is cached of a file, of the mount's and of the source's."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
