# SPDX-License-Identifier: Apache-2.0
"""The dataset of met.py: class folders of files of about 100 KB on an emulated
device, and a validation split, which is native, of a quarter as many."""
import os
import random

import brand_data
import measure
from brand_data import testbed

CLASSES = 20
PAGE = 4096
VERSION = "1"  # of what is written here


class Dataset:
    """A device with `files` files that train, built unless it is there."""

    def __init__(self, files):
        self.files = files
        self.device = testbed.Device(f"met-{files}")
        self.root = self.device.path / "data"
        self.packed = None

    def open(self):
        """Attached as `fast`, complete."""
        done = self.device.path / "complete"
        if self.device.exists():
            self.device.attach("fast")
            if done.exists() and done.read_text() == VERSION:
                return
            self.device.destroy()
        measure.say(f"making {self.device.name}")
        self.device.create(brand_data.IMAGE)
        self.device.attach("fast")
        brand_data.write_tree(self.root, CLASSES, self.files)
        self._write_validation()
        os.sync()
        done.write_text(VERSION)

    def _write_validation(self):
        rng = random.Random(f"met {self.files}")
        pool = rng.randbytes(brand_data.POOL)
        for index in range(self.files // 4):
            folder = self.root / f"val/class{index % CLASSES:04d}"
            folder.mkdir(parents=True, exist_ok=True)
            brand_data.write_file(folder / f"{index:06d}.jpg",
                                  self.files + index, rng, pool)

    def read_all(self):
        """The disk below may have a cold cache of its own."""
        for path in self.root.rglob("*.jpg"):
            path.read_bytes()

    def bytes(self):
        """What trains: (its bytes, those of whole pages, as a device reads)."""
        sizes = [path.stat().st_size for path in self.root.glob("train/*/*")]
        return sum(sizes), sum(-(-size // PAGE) * PAGE for size in sizes)
