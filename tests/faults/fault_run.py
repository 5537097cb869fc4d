# SPDX-License-Identifier: Apache-2.0
"""One run of source_faults.py: a policy, a way of reading, and its proof."""
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
import time
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mount"))

import faulty_source  # noqa: E402  (it needs the path above)
import harness  # noqa: E402

CLASSES = 4
TRIES = 200  # of a reader, for a name
EXPECTED = {errno.EIO, errno.ESTALE, errno.ENOENT}


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
        folders = self.folders()
        self.names = [f"{label}/{name}" for label, files in folders.items()
                      for name in files]
        self.samples = {data for files in folders.values()
                        for data in files.values()}
        (folder / "source").mkdir()
        self.source = faulty_source.FaultySource(folder / "source", folders,
                                                 args.seed, how == "direct")
        self.mount = harness.Mount(folder / "source", folder / "mount",
                                   {"epoch.advance": "manual",
                                    "seed": args.seed, **self.options(folder)})
        self.epochs = self.errors = 0
        self.wrong: list[str] = []

    def folders(self) -> dict[str, dict[str, bytes]]:
        return make_folders(self.args.files, self.args.bytes, self.args.seed)

    def options(self, folder: pathlib.Path) -> dict[str, object]:
        """The mount's; `folder` is the run's own."""
        options: dict[str, object] = {"policy": self.policy}
        if self.policy != "native":
            options["substitute"] = "directory"
        if self.policy == "brand":
            options["memory"] = "8MiB"
        if self.policy == "window":
            options["window.samples"] = 64
        return options

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
        """Of one epoch. struck: faults of the source since it began."""
        shown: collections.Counter[bytes] = collections.Counter()
        for item in items:
            self.errors += len(item.errors)
            if set(item.errors) - EXPECTED:
                self.note(f"{item.name}: errors {sorted(set(item.errors))}")
            if item.data is None:
                self.note(f"{item.name}: only errors {item.errors}")
            else:
                self.check_item(item, struck, shown)
        self.epochs += 1
        self.check_epoch(shown)

    def check_item(self, item: Item, struck: collections.Counter[bytes],
                   shown: collections.Counter[bytes]) -> None:
        assert item.data is not None
        if item.data not in self.samples:
            self.note(f"{item.name}: {self.difference(item.data)}")
            return
        shown[item.data] += 1
        if item.errors and not struck[item.data]:
            self.note(f"{item.name}: errors {item.errors} without a fault")

    def check_epoch(self, shown: collections.Counter[bytes]) -> None:
        for data in self.samples:
            if shown[data] != 1:
                self.note(f"{data[:8]!r}: {shown[data]} times")

    def difference(self, data: bytes) -> str:
        """Of what a reader got to the sample that it resembles most."""
        near = max(self.samples, key=lambda each: len(
            os.path.commonprefix([each, data])))
        same = len(os.path.commonprefix([near, data]))
        return (f"{len(data)} bytes instead of {len(near)}, {same} of them "
                f"right; then {data[same:same + 8]!r}")

    def injected(self) -> collections.Counter[str]:
        return self.source.injected

    def enough(self) -> bool:
        """Whether the next epoch may be the last one."""
        return self.injected().total() >= self.args.count

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
            while not (self.enough() or self.wrong):
                self.round(kinds)
                self.mount.unmount()
            seen = self.errors
            self.round([])
            if self.errors != seen:
                self.note(f"{self.errors - seen} errors of a sound source")
            self.verify()
            self.mount.unmount()
        finally:
            self.close()

    def close(self) -> None:
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
                          sorted(self.injected().items()))
        print(f"{self.policy:7} {self.how:7} {self.injected().total():7} faults "
              f"({kinds})  {self.epochs} epochs  {self.errors} errors seen  "
              f"{len(self.wrong)} wrong", flush=True)
        for line in self.wrong[:10]:
            print("   ", line, flush=True)
