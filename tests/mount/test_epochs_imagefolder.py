# SPDX-License-Identifier: Apache-2.0
"""Stock ImageFolder and DataLoader over a view that advances by itself."""
import hashlib

import pytest
from PIL import Image

import trees

AUTO = {"policy": "lirs", "substitute": "directory", "epoch.advance": "auto"}
EPOCHS = 3
CLASSES, PER_CLASS = 6, 60


@pytest.fixture
def source(folder):
    return trees.train_and_val(folder / "source", CLASSES, PER_CLASS)


def pixels(root):
    """Sorted (digest of the pixels, class) of the source's files."""
    return sorted(
        (hashlib.sha256(Image.open(path).convert("RGB").tobytes())
         .hexdigest()[:16], path.parent.name)
        for path in root.glob("*/*.png"))


def epochs_of(mount, *arguments, folder="train"):
    return mount.client("imagefolder.py", mount.path / folder, "--epochs",
                        EPOCHS, *arguments, timeout=120)


def binding(epoch):
    """Which content each name showed."""
    shown = {name: content for name, content, _ in epoch}
    assert len(shown) == len(epoch), "a name was read twice in an epoch"
    return shown


def check_epochs(epochs, expected):
    for number, epoch in enumerate(epochs):
        found = sorted((content, label) for _, content, label in epoch)
        assert found == expected, f"epoch {number} is not the source"
        for name, _, label in epoch:
            assert name.split("/")[0] == label
    for i in range(len(epochs)):
        for k in range(i):
            changed = trees.moved(binding(epochs[k]), binding(epochs[i]))
            assert changed > len(expected) / 2, (
                f"epochs {k} and {i} differ in {changed} names only")


# [S-3.10a] In an epoch that is read through, each sample comes exactly once.
# [S-3.11a] Full passes of a stock loader are found, whatever its workers.
@pytest.mark.parametrize("workers", [0, 2, 4])
def test_each_epoch_is_the_source_and_no_two_are_alike(mounts, source,
                                                       workers):
    mount = mounts(source, AUTO)
    epochs = epochs_of(mount, "--workers", workers)
    check_epochs(epochs, pixels(source / "train"))
    assert mount.view()["epoch"] == EPOCHS - 1
    assert mount.status()["warnings"] == []
    assert mount.view()["warnings"] == []


@pytest.mark.parametrize("flag", ["--persistent", "--twice"])
def test_other_ways_of_a_loader(mounts, source, flag):
    mount = mounts(source, AUTO)
    epochs = epochs_of(mount, "--workers", 4, flag)
    check_epochs(epochs, pixels(source / "train"))


def test_the_last_incomplete_batch_may_be_dropped(mounts, source):
    mount = mounts(source, AUTO)
    expected = pixels(source / "train")
    for epoch in epochs_of(mount, "--workers", 2, "--drop-last"):
        found = [(content, label) for _, content, label in epoch]
        assert len(set(found)) == len(found) == len(expected) // 16 * 16
        assert set(found) <= set(expected)


# [S-3.10b] The same seed repeats every epoch, and another seed does not.
def test_the_same_seed_repeats_and_another_does_not(mounts, source):
    def run(seed):
        mount = mounts(source, {**AUTO, "seed": seed})
        epochs = epochs_of(mount)
        mount.unmount()
        return [binding(epoch) for epoch in epochs]

    first, again, other = run(7), run(7), run(8)
    assert first == again
    for one, two in zip(first, other):
        assert trees.moved(one, two) > len(one) / 2


@pytest.mark.parametrize("workers", [2, 4])
def test_a_signalled_epoch_repeats_whatever_the_workers(mounts, source,
                                                        workers):
    """Without detection nothing is carried: the seed alone decides."""
    manual = {**AUTO, "epoch.advance": "manual", "seed": 7}
    mount = mounts(source, manual)
    reference = []
    for _ in range(EPOCHS):
        reference.append(trees.contents(mount.path / "train"))
        mount.next_epoch()
    mount.unmount()

    mount = mounts(source, manual)
    for expected in reference:
        epochs = mount.client("imagefolder.py", mount.path / "train",
                              "--epochs", 1, "--workers", workers)
        assert sorted(binding(epochs[0])) == sorted(expected)
        assert trees.contents(mount.path / "train") == expected
        mount.next_epoch()


# [S-3.5a] Validation and test splits are the source, byte for byte and in its
# order.
def test_the_validation_split_is_the_source_byte_for_byte(mounts, source):
    mount = mounts(source, AUTO)
    for _ in range(2):
        mount.client("imagefolder.py", mount.path / "train", "--epochs", 1)
        assert (trees.contents(mount.path / "val")
                == trees.contents(source / "val"))
        for folder in sorted((source / "val").iterdir()):
            assert (trees.listing(mount.path / "val" / folder.name)
                    == trees.listing(folder))
        assert (epochs_of(mount, "--sorted", folder="val")[0]
                == mount.client("imagefolder.py", source / "val", "--epochs",
                                1, "--sorted")[0])
