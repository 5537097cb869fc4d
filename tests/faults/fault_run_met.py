# SPDX-License-Identifier: Apache-2.0
"""A run of source_faults.py with policy = met, whose tier fails, too."""
from __future__ import annotations

import collections
import contextlib
import errno
import pathlib
import random
import subprocess
import threading
from collections.abc import Iterator

import namespace
from fault_run import Run

EPOCHS = 4  # met.epochs
PAUSE = 0.02  # seconds between two faults of the tier, on average
FULL = 0.1  # of them: each stops the copying for longer


class FaultyTier:
    """A small tmpfs that is full now and then, and whose copies get lost."""

    def __init__(self, path: pathlib.Path, size: int, seed: int) -> None:
        self.path, self.rng = path, random.Random(seed)
        self.injected: collections.Counter[str] = collections.Counter()
        path.mkdir()
        namespace._mount("tmpfs", str(path), "tmpfs", 0,
                         f"size={size},mode=700")

    def close(self) -> None:
        subprocess.run(["umount", "-l", self.path], check=True)

    @contextlib.contextmanager
    def failing(self) -> Iterator[None]:
        end = threading.Event()
        thread = threading.Thread(target=self._fail, args=(end,))
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()

    def _fail(self, end: threading.Event) -> None:
        while not end.wait(self.rng.expovariate(1 / PAUSE)):
            if self.rng.random() < FULL:
                self._full(end)
            else:
                self.rng.choice((self._torn, self._gone))()

    def _full(self, end: threading.Event) -> None:
        """No room until the copying has had time to meet it."""
        filler = self.path / "filler"
        with open(filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 16))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
        self.injected["tier full"] += 1
        end.wait(self.rng.random() * 0.05)
        filler.unlink()

    def _copy(self) -> pathlib.Path | None:
        copies = sorted(self.path.rglob("*.tier"))
        return self.rng.choice(copies) if copies else None

    def _torn(self) -> None:
        copy = self._copy()
        with contextlib.suppress(FileNotFoundError):
            if copy is None or not (size := copy.stat().st_size):
                return
            with open(copy, "r+b", buffering=0) as file:
                file.seek(self.rng.randrange(size))
                file.write(self.rng.randbytes(1000))
            self.injected["tier torn"] += 1

    def _gone(self) -> None:
        copy = self._copy()
        with contextlib.suppress(FileNotFoundError):
            if copy is not None:
                copy.unlink()
                self.injected["tier gone"] += 1


class MetRun(Run):
    """Over met.epochs epochs each sample comes as often as every other."""

    def options(self, folder: pathlib.Path) -> dict[str, object]:
        held = sum(len(data) for data in self.samples)
        self.tier = FaultyTier(folder / "tier", held * 3 // 4, self.args.seed)
        self.shown: collections.Counter[bytes] = collections.Counter()
        return {"policy": "met", "substitute": "directory", "memory": "10MiB",
                "tier.path": self.tier.path,
                "tier.capacity": max(4 << 20, held),
                "met.epochs": EPOCHS, "met.repeat": 2}

    def injected(self) -> collections.Counter[str]:
        return self.source.injected + self.tier.injected

    def enough(self) -> bool:
        return super().enough() and self.epochs % EPOCHS == EPOCHS - 1

    def round(self, kinds: list[str]) -> None:
        with self.tier.failing() if kinds else contextlib.nullcontext():
            super().round(kinds)

    def check_epoch(self, shown: collections.Counter[bytes]) -> None:
        self.shown += shown
        if self.epochs % EPOCHS:
            return
        for data in self.samples:
            if self.shown[data] != EPOCHS:
                self.note(f"{data[:8]!r}: {self.shown[data]} times in "
                          f"{EPOCHS} epochs")
        self.shown.clear()

    def close(self) -> None:
        super().close()
        self.tier.close()
