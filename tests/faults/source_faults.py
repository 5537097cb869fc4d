#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads through a mount whose source fails again and again.

  source_faults.py [--count N] [--seed N] [--policy P...] [--how H...]
                   [--kinds K...] [--chance P] [--files N] [--threads N]

The source is faulty_source.py. It lets the kernel cache what was read (--how
cached), or not (--how direct). For each policy, until --count faults were
injected:
  eio       opens and reads end with EIO
  short     reads give less than was asked for, and more when asked again; past
            the cache only: a FUSE server must not do so otherwise
  stopped   reads are answered late
  vanished  lookups and opens end with ENOENT or ESTALE
  changed   a stat tells another size or time
Readers try again after an error. Each epoch has to show every sample once,
byte for byte. A reader may see an error only of a sample into which a fault
was injected, and none of `short` and `stopped`. In the end the source is
sound, and an epoch has to be so too; `shufflectl verify` has to prove all of
them. Prints a row each, with the seed that repeats it as far as threads can be
repeated; ends with 1 if one is wrong. Each epoch has a mount of its own, or
caches would ask the source for nothing. Needs root.

Environment: SHUFFLEFS_BIN and SHUFFLECTL_BIN, as for the mount tests.
"""
from __future__ import annotations

import argparse
import collections
import concurrent.futures
import errno
import json
import os
import pathlib
import random
import sys
import tempfile
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mount"))

import faulty_source  # noqa: E402  (it needs the path above)
import harness  # noqa: E402
import namespace  # noqa: E402

CLASSES = 4
TRIES = 200  # of a reader, for a name
EXPECTED = {errno.EIO, errno.ESTALE, errno.ENOENT}
# "full" is a matter of the tier: see --policy met.
POLICIES = ("native", "lirs", "brand", "window")
HOW = ("cached", "direct")


class Item(NamedTuple):
    name: str
    data: bytes | None  # None: it could not be read
    errors: list[int]


def make_folders(files: int, largest: int,
                 seed: int) -> dict[str, dict[str, bytes]]:
    rng = random.Random(seed)
    folders: dict[str, dict[str, bytes]] = {
        f"c{label}": {} for label in range(CLASSES)}
    for number in range(files):
        name = f"{rng.getrandbits(40):x}-{number}.bin"
        folders[f"c{number % CLASSES}"][name] = (
            b"%d " % number + rng.randbytes(rng.randrange(largest)))
    return folders


def read_once(path: pathlib.Path, step: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        parts = []
        while part := os.read(descriptor, step):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def read_name(root: pathlib.Path, name: str, step: int) -> Item:
    errors: list[int] = []
    while len(errors) < TRIES:
        try:
            return Item(name, read_once(root / name, step), errors)
        except OSError as error:
            errors.append(error.errno or 0)
            time.sleep(0.0005)
    return Item(name, None, errors)


class Run:
    """One policy and one way of reading."""

    def __init__(self, args: argparse.Namespace, policy: str, how: str,
                 folder: pathlib.Path) -> None:
        self.args, self.policy, self.how = args, policy, how
        self.rng = random.Random(args.seed)
        folders = make_folders(args.files, args.bytes, args.seed)
        self.names = [f"{label}/{name}" for label, files in folders.items()
                      for name in files]
        self.samples = {data for files in folders.values()
                        for data in files.values()}
        (folder / "source").mkdir()
        self.source = faulty_source.FaultySource(folder / "source", folders,
                                                 args.seed, how == "direct")
        options = {"policy": policy, "epoch.advance": "manual",
                   "seed": args.seed}
        if policy != "native":
            options["substitute"] = "directory"
        if policy == "brand":
            options["memory"] = "8MiB"
        if policy == "window":
            options["window.samples"] = 64
        self.mount = harness.Mount(folder / "source", folder / "mount",
                                   options)
        self.epochs = self.errors = self.gone = 0
        self.wrong: list[str] = []

    def note(self, what: str) -> None:
        self.wrong.append(f"epoch {self.epochs}: {what}")

    def epoch(self) -> None:
        before = self.source.seen_in.copy()
        self.rng.shuffle(self.names)
        step = self.rng.choice((1 << 20, 4096, 5000))
        with concurrent.futures.ThreadPoolExecutor(self.args.threads) as pool:
            items = list(pool.map(
                lambda name: read_name(self.mount.path, name, step),
                self.names))
        self.check(items, self.source.seen_in - before)

    def check(self, items: list[Item],
              struck: collections.Counter[bytes]) -> None:
        shown: collections.Counter[bytes] = collections.Counter()
        for name, data, errors in items:
            self.errors += len(errors)
            if set(errors) - EXPECTED:
                self.note(f"{name}: errors {sorted(set(errors))}")
            if data is None:
                self.gone += 1
                self.note(f"{name}: only errors {sorted(set(errors))}")
            elif data not in self.samples:
                self.note(f"{name}: {self.difference(data)}")
            else:
                shown[data] += 1
                if errors and not struck[data]:
                    self.note(f"{name}: errors {errors} without a fault")
        for data in self.samples:
            if shown[data] > 1:
                self.note(f"{data[:8]!r}: {shown[data]} times")
        missing = sum(not shown[data] for data in self.samples)
        if missing > sum(data is None for _, data, _ in items):
            self.note(f"{missing} samples missing")
        self.epochs += 1

    def difference(self, data: bytes) -> str:
        """Of what a reader got to the sample that it resembles most."""
        near = max(self.samples, key=lambda each: len(
            os.path.commonprefix([each, data])))
        same = len(os.path.commonprefix([near, data]))
        return (f"{len(data)} bytes instead of {len(near)}, {same} of them "
                f"right; then {data[same:same + 8]!r}")

    def faults(self) -> int:
        return self.source.injected.total()

    def round(self, kinds: list[str]) -> None:
        """An epoch of a mount of its own: no cache has read it before."""
        self.mount.start()
        self.source.arm(kinds, self.args.chance)
        self.epoch()
        self.source.disarm()
        self.mount.next_epoch()

    def go(self) -> None:
        kinds = [kind for kind in self.args.kinds
                 if self.how == "direct" or kind != "short"]
        try:
            while self.faults() < self.args.count and not self.wrong:
                self.round(kinds)
                self.mount.unmount()
            seen = self.errors
            self.round([])
            if self.errors != seen:
                self.note(f"{self.errors - seen} errors of a sound source")
            self.verify()
            self.mount.unmount()
        finally:
            self.mount.close()
            self.source.close()

    def verify(self) -> None:
        proof = json.loads(self.mount.run(
            [harness.shufflectl(), "verify", "--json", self.mount.path],
            check=False).stdout)
        if self.policy != "native" and not proof["proven"]:
            self.note("not proven")

    def row(self) -> None:
        kinds = ", ".join(f"{count} {kind}" for kind, count in
                          sorted(self.source.injected.items()))
        print(f"{self.policy:7} {self.how:7} {self.faults():7} faults "
              f"({kinds})  {self.epochs} epochs  {self.errors} errors seen  "
              f"{len(self.wrong)} wrong", flush=True)
        for line in self.wrong[:10]:
            print("   ", line, flush=True)


def run(arguments: list[str] | None = None) -> bool:
    """All of it, in a mount namespace; whether all was right."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", nargs="+", default=POLICIES)
    parser.add_argument("--how", nargs="+", default=HOW, choices=HOW)
    parser.add_argument("--kinds", nargs="+", default=faulty_source.KINDS,
                        choices=faulty_source.KINDS)
    parser.add_argument("--chance", type=float, default=0.05)
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--bytes", type=int, default=30_000)
    parser.add_argument("--threads", type=int, default=4)
    args = parser.parse_args(arguments)
    right = True
    for policy in args.policy:
        for how in args.how:
            with tempfile.TemporaryDirectory(prefix="shufflefs-faulty-") as top:
                each = Run(args, policy, how, pathlib.Path(top))
                each.go()
            each.row()
            right = right and not each.wrong
    return right


if __name__ == "__main__":
    namespace.enter()
    sys.exit(0 if run() else 1)
