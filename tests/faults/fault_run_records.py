# SPDX-License-Identifier: Apache-2.0
"""A run of source_faults.py over the records of containers."""
from __future__ import annotations

import collections
import io
import pathlib
import random

from fault_run import Item, Run

import containers  # found by fault_run

SHARDS = 20  # of each format
RECORDS = 1000  # of a shard


def records_of(name: str, data: bytes) -> list[bytes]:
    """What a reader gets. Raises AssertionError where a checksum is wrong."""
    if name.endswith(".tfrecord"):
        return list(containers.tfrecords_of(io.BytesIO(data)))
    return data.split(b"\n")


class RecordRun(Run):
    """An epoch shows every record of a container once, in another order."""

    def folders(self) -> dict[str, dict[str, bytes]]:
        rng = random.Random(self.args.seed)

        def record(number: int) -> bytes:
            return b"%d " % number + rng.randbytes(rng.randrange(20, 400))

        frames = {f"t-{shard}.tfrecord": containers.tfrecord(
            [record(number) for number in range(RECORDS)])
            for shard in range(SHARDS)}
        lines = {f"l-{shard}.txt": b"\n".join(
            record(number).hex().encode() for number in range(RECORDS))
            + b"\n" for shard in range(SHARDS)}
        self.contents = {f"{folder}/{name}": data for folder, files in (
            ("frames", frames), ("lines", lines))
            for name, data in files.items()}
        return {"frames": frames, "lines": lines}

    def options(self, folder: pathlib.Path) -> dict[str, object]:
        return {"policy": "lirs", "record.as": "*.txt:lines",
                "memory": "32MiB"}

    def check_item(self, item: Item, struck: collections.Counter[bytes],
                   shown: collections.Counter[bytes]) -> None:
        assert item.data is not None
        original = self.contents[item.name]
        try:
            got = collections.Counter(records_of(item.name, item.data))
        except AssertionError:
            got = collections.Counter()
        if got != collections.Counter(records_of(item.name, original)):
            self.note(f"{item.name}: not its records")
        elif item.data == original and not struck[original]:
            # One whose index cannot be made shows its own order.
            self.note(f"{item.name}: not shuffled, without a fault")
        if item.errors and not struck[original]:
            self.note(f"{item.name}: errors {item.errors} without a fault")

    def check_epoch(self, shown: collections.Counter[bytes]) -> None:
        """Each container was checked by itself."""
