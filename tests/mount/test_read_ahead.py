# SPDX-License-Identifier: Apache-2.0
"""Orders that are known in advance, read ahead on a device that is slow."""
import collections
import os
import random

import pytest

import containers
import trees
from record_checks import indexed

LARGER_THAN_MEMORY = 1 << 42
CLASSES, PER_CLASS = 4, 250
SAMPLES = CLASSES * PER_CLASS
LIRS = {"policy": "lirs", "substitute": "directory", "memory": "16MiB",
        "epoch.advance": "manual"}


@pytest.fixture(params=["hdd", "nas"])
def device(request, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", request.param)
    return request.param


@pytest.fixture
def source(folder):
    """Larger than any memory by a file that has a size and no content."""
    root = trees.train_and_val(folder / "source", CLASSES, PER_CLASS)
    os.truncate(sorted((root / "val" / "c0").iterdir())[0], LARGER_THAN_MEMORY)
    return root


def contents(root):
    return collections.Counter(path.read_bytes()
                               for path in root.rglob("*.png"))


def read_names(folder, names):
    """What the names of a directory tree show, read in this order."""
    return [(folder / name).read_bytes() for name in names]


# [S-5.1a] Who reads along an order that is known finds the next samples in
# memory.
@pytest.mark.parametrize("order", ["names", "listing", "ranked"])
def test_readers_in_order_are_read_ahead_of(mounts, source, device, order):
    options = dict(LIRS)
    if order == "ranked":
        options["layout"] = "ranked"
    mount = mounts(source, options)
    expected = contents(source / "train")
    for _ in range(3):
        if order == "ranked":
            names = sorted(os.listdir(mount.path))
            folder = mount.path
        else:
            folder = mount.path / "train"
            names = [f"{c}/{name}" for c in sorted(os.listdir(folder))
                     for name in os.listdir(folder / c)]
        if order == "names":
            names.sort()
        assert collections.Counter(read_names(folder, names)) == expected
        view = mount.view()
        # The kernel keeps what it has; only the first epoch asks for it.
        assert view["hits"] > 0.9 * SAMPLES
        assert view["pool_bytes"] <= view["memory_limit"] == 14 << 20
        assert device in view["supply"]
        mount.next_epoch()


def write_shards(folder):
    """Two containers. Returns the records of each, as it has them."""
    folder.mkdir()
    shards = []
    for shard in range(2):
        records = [b"%d:%d " % (shard, i) + bytes(i % 900)
                   for i in range(2000)]
        (folder / f"{shard}.tfrecord").write_bytes(
            containers.tfrecord(records))
        shards.append(records)
    return shards


# [S-5.1d] Beside containers whose records are shuffled, other files are read
# ahead, too.
@pytest.mark.parametrize("substitute", ["directory", "never"])
def test_files_beside_containers_are_read_ahead(mounts, source, device,
                                                substitute):
    shards = write_shards(source / "shards")
    mount = mounts(source, {**LIRS, "memory": "32MiB",
                            "substitute": substitute})
    indexed(mount)
    expected = contents(source / "train")
    folder = mount.path / "train"
    for epoch in range(2):
        names = sorted(str(path.relative_to(folder))
                       for path in folder.rglob("*.png"))
        assert collections.Counter(read_names(folder, names)) == expected
        # The kernel keeps what it has; only the first epoch asks for all of it.
        if epoch == 0:
            assert mount.view()["hits"] > 0.9 * SAMPLES
        for shard, records in enumerate(shards):
            shown = containers.read_tfrecord(
                mount.path / "shards" / f"{shard}.tfrecord")
            assert shown != records
            assert sorted(shown) == sorted(records)
        view = mount.view()
        assert view["pool_bytes"] <= view["memory_limit"] == 30 << 20
        assert view["memory_guaranteed"] == 30 << 20
        assert "orders that are known" in view["supply"]
        assert "records of containers" in view["supply"]
        mount.next_epoch()


# [S-5.1d] Beside containers whose records are shuffled, other files are read
# ahead, too.
# If `memory` is too small for both, it is for the records.
def test_little_memory_is_for_the_records(mounts, source, device):
    shards = write_shards(source / "shards")
    mount = mounts(source, LIRS)
    indexed(mount)
    shown = containers.read_tfrecord(mount.path / "shards" / "0.tfrecord")
    assert shown != shards[0]
    assert "orders that are known" not in mount.view()["supply"]


# [S-5.1b] Epochs by path are read ahead beside the live one.
@pytest.mark.parametrize("layout", ["tree", "ranked"])
def test_fixed_epochs_are_read_ahead(mounts, source, device, layout):
    mount = mounts(source, LIRS)
    folder = mount.path / ".shufflefs/epoch/5" / layout
    names = sorted(str(path.relative_to(folder))
                   for path in folder.rglob("*.png")
                   if "val" not in str(path.relative_to(folder)))
    assert len(names) == SAMPLES
    first = read_names(folder, names)
    assert collections.Counter(first) == contents(source / "train")
    assert mount.view()["hits"] > 0.9 * SAMPLES


# [S-5.1c] Who reads at random is left to the source.
def test_readers_at_random_are_not(mounts, source, device):
    mount = mounts(source, LIRS)
    names = [f"{path.parent.name}/{path.name}"
             for path in sorted((source / "train").rglob("*.png"))]
    random.Random(3).shuffle(names)
    shown = read_names(mount.path / "train", names)
    assert collections.Counter(shown) == contents(source / "train")
    assert mount.view()["hits"] < 0.2 * SAMPLES


def test_what_fits_in_memory_is_the_kernels_to_keep(mounts, source, device):
    os.truncate(sorted((source / "val" / "c0").iterdir())[0], 1000)
    mount = mounts(source, LIRS)
    assert contents(mount.path / "train") == contents(source / "train")
    assert mount.view()["memory_limit"] is None


def test_only_the_reader_of_a_file_that_changed_is_told(mounts, source,
                                                        device):
    mount = mounts(source, {**LIRS, "substitute": "never"})
    names = sorted(str(path.relative_to(mount.path / "train"))
                   for path in (mount.path / "train").rglob("*.png"))
    broken = names[200]
    expected = contents(source / "train")
    expected[(source / "train" / broken).read_bytes()] -= 1
    with open(source / "train" / broken, "ab") as file:
        file.write(b"grown")
    shown, failed = collections.Counter(), []
    for name in names:
        try:
            shown[(mount.path / "train" / name).read_bytes()] += 1
        except OSError:
            failed.append(name)
    assert failed == [broken]
    assert shown == +expected
