# SPDX-License-Identifier: Apache-2.0
"""The datasets of brand.py: class folders on an emulated device, written class
by class, with a file for sequential reads beside them."""
import json
import math
import os
import random
import subprocess
import sys

import measure

sys.path.insert(0, str(measure.HERE / "testbed"))
import testbed  # noqa: E402
from emulated_device import run  # noqa: E402

# The distance of a seek counts against the size of the image: never change it
# between runs that are compared.
IMAGE = testbed.parse_size("8GiB")
SEQUENTIAL = testbed.parse_size("512MiB")
MEAN, SIGMA = 100_000, 0.5  # of the lognormal sizes, bytes
TAIL_GROUPS, TAIL_LEAST = 1000, 5
POOL = 4 << 20  # contents are slices of so many random bytes
VERSION = 1     # of what is written here


def group_sizes(layout, files):
    """How many files each class has: `layout` is a number of equal classes, or
    `zipf`, a long tail."""
    if layout != "zipf":
        classes = int(layout)
        return [files * (k + 1) // classes - files * k // classes
                for k in range(classes)]
    groups = min(TAIL_GROUPS, files // (4 * TAIL_LEAST))
    # The first sizes follow 1/rank; the scale is found by halving.
    low, high = 0.0, float(files)
    for _ in range(60):
        scale = (low + high) / 2
        sizes = [max(TAIL_LEAST, int(scale / rank))
                 for rank in range(1, groups + 1)]
        low, high = (scale, high) if sum(sizes) < files else (low, scale)
    sizes[0] += files - sum(sizes)
    return sizes


def write_file(path, index, rng, pool, mean=MEAN, sigma=SIGMA):
    """`sigma` 0: all have `mean` bytes."""
    size = mean if sigma == 0 else max(256, int(rng.lognormvariate(
        math.log(mean) - sigma * sigma / 2, sigma)))
    with open(path, "wb") as file:
        file.write(index.to_bytes(16, "little"))  # no two are alike
        size -= 16
        while size > 0:
            start = rng.randrange(POOL // 2)
            piece = pool[start:start + min(size, POOL // 2)]
            file.write(piece)
            size -= len(piece)


def write_tree(root, layout, files, mean=MEAN, sigma=SIGMA):
    rng = random.Random(f"{layout} {files}")
    pool = rng.randbytes(POOL)
    index = 0
    for label, count in enumerate(group_sizes(layout, files)):
        folder = root / "train" / f"class{label:04d}"
        folder.mkdir(parents=True)
        for _ in range(count):
            # Not one consecutive sequence, as frames of a film have.
            name = f"{index * 7919 % 1000003:09d}.jpg"
            write_file(folder / name, index, rng, pool, mean, sigma)
            index += 1


class Dataset:
    """A device with a tree of `files` files of `mean` bytes, built unless it is
    there."""

    def __init__(self, layout, files, mean=MEAN, sigma=SIGMA):
        self.layout = layout
        self.files = files
        self.mean = mean
        self.sigma = sigma
        name = f"brand-{layout}-{files}"
        if mean != MEAN:
            name += f"-{mean}"
        if sigma != SIGMA:
            name += f"-{sigma:g}"
        self.device = testbed.Device(name)
        self.root = self.device.path / "data"
        self.packed = self.device.path / "packed"
        self.sequential = self.device.path / "sequential"

    def open(self):
        """Attached as `fast`, complete."""
        wanted = {"version": VERSION, "layout": self.layout,
                  "files": self.files}
        done = self.device.path / "complete"
        if self.device.exists():
            self.device.attach("fast")
            if done.exists() and json.loads(done.read_text()) == wanted:
                return
            self.device.destroy()
        measure.say(f"making {self.device.name}")
        self.device.create(IMAGE)
        self.device.attach("fast")
        self.root.mkdir()
        self.write()
        with open(self.sequential, "wb") as file:
            for _ in range(SEQUENTIAL >> 20):
                file.write(os.urandom(1 << 20))
        os.sync()
        done.write_text(json.dumps(wanted))

    def write(self):
        write_tree(self.root, self.layout, self.files, self.mean, self.sigma)

    def pack(self):
        """Makes the packed chunk files, unless they are there."""
        done = self.device.path / "packed.complete"
        if not done.exists():
            self.pack_to(self.packed)
            done.touch()

    def pack_to(self, packed, wrap=list):
        """Synced, so that it costs what it costs. `wrap` the command line."""
        measure.say("$ shufflectl pack DATA PACKED")
        subprocess.run(
            wrap([os.environ["SHUFFLECTL_BIN"], "pack", self.root, packed]),
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        run("sync", "--file-system", packed)
