# SPDX-License-Identifier: Apache-2.0
"""What the tests of policy = met share: a dataset of twice the tier."""
import collections
import hashlib
import json
import os
import random

import pytest

import harness
import trees

CLASSES, PER_CLASS = 4, 60


@pytest.fixture
def source(folder):
    return trees.blobs(folder / "source", CLASSES, PER_CLASS, largest=60_000)


@pytest.fixture
def tier(folder):
    (folder / "tier").mkdir()
    return folder / "tier"


def options(tier, **more):
    """A tier that holds half of the dataset, and an epoch moved by hand."""
    keys = {"policy": "met", "substitute": "directory", "memory": "16MiB",
            "tier.path": tier, "tier.capacity": "6MiB",
            "epoch.advance": "manual"}
    return {**keys, **{key.replace("__", "."): value
                       for key, value in more.items()}}


def names_of(root):
    return sorted(path.relative_to(root) for path in root.rglob("*.png"))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def read_all(mount, names, seed=0):
    """(class, content) of each name, read in a random order."""
    names = list(names)
    random.Random(seed).shuffle(names)
    return collections.Counter((name.parts[0], digest(mount.path / name))
                               for name in names)


def whole(source, times=1):
    return collections.Counter({(name.parts[0], digest(source / name)): times
                                for name in names_of(source)})


def not_cached(root):
    """The machine's cache holds nothing of the files: they are really read."""
    for path in root.iterdir():
        with open(path, "rb") as file:
            os.fdatasync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def staged(mount):
    return mount.view()["mini_epoch"]["ready"]


def wait_staged(mount):
    harness.eventually(lambda: staged(mount), what="a mini-epoch in the tier")


def refusal(mounts, source, keys):
    """What a mount says that must not come to be."""
    mount = mounts(source, keys, start=False).start(ready=False)
    assert mount.process.wait(30 * harness.SLOWDOWN) == 1
    mount.process = None
    return mount.log()


def verify(mount):
    out = harness.run([harness.shufflectl(), "verify", "--json", mount.path])
    return json.loads(out.stdout)["epochs"]
