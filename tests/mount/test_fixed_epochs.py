# SPDX-License-Identifier: Apache-2.0
"""Epochs by path: .shufflefs/epoch/<n>/ is immutable."""
import os

import pytest

import trees

MANUAL = {"policy": "lirs", "substitute": "directory",
          "epoch.advance": "manual"}


@pytest.fixture
def source(folder):
    return trees.train_and_val(folder / "source")


@pytest.fixture
def mount(mounts, source):
    return mounts(source, MANUAL)


def fixed(mount, epoch, layout="tree"):
    return mount.control_dir / "epoch" / str(epoch) / layout


# [S-3.9a] A fixed epoch is what the live view shows in that epoch.
def test_a_fixed_epoch_is_what_the_live_view_shows_in_it(mount):
    for epoch in range(4):
        assert mount.view()["epoch"] == epoch
        live = trees.contents(mount.path)
        assert trees.contents(fixed(mount, epoch)) == live
        for folder in ("train/c0", "val/c0"):
            assert (trees.listing(fixed(mount, epoch) / folder)
                    == trees.listing(mount.path / folder))
        mount.next_epoch()


# [S-3.9b] A fixed epoch never changes while policy, seed and source stay.
def test_a_fixed_epoch_never_changes(mount):
    numbers = (0, 1, 5, 10**6)
    before = {n: trees.contents(fixed(mount, n)) for n in numbers}
    assert trees.moved(before[0], before[1]) > 50
    assert trees.moved(before[5], before[10**6]) > 50
    for _ in range(2):
        mount.next_epoch()
        for n in numbers:
            assert trees.contents(fixed(mount, n)) == before[n]


def test_it_holds_over_a_restart_and_a_seed_is_part_of_it(mounts, mount,
                                                          source):
    before = trees.contents(fixed(mount, 3))
    mount.unmount()
    mount.start()
    assert trees.contents(fixed(mount, 3)) == before
    other = mounts(source, {**MANUAL, "seed": 9})
    assert trees.contents(fixed(other, 3)) != before


def test_each_epoch_is_the_source(mount, source):
    expected = trees.by_folder(trees.contents(source))
    for epoch in (0, 2, 77):
        found = trees.by_folder(trees.contents(fixed(mount, epoch)))
        assert found == expected


def test_ranked_epochs_beside_a_tree(mount, source):
    expected = trees.contents(source / "train")
    seen = set()
    for epoch in (0, 1, 9):
        names = sorted(name for name
                       in os.listdir(fixed(mount, epoch, "ranked"))
                       if "~train~" in name)
        assert len(names) == len(expected)
        seen.add(tuple(name[10:] for name in names))
        for name in names[::7]:
            data = (fixed(mount, epoch, "ranked") / name).read_bytes()
            path = name[10:].replace("~", "/").removeprefix("train/")
            assert trees.digest(data) == expected[path]
    assert len(seen) == 3


# [S-3.9c] Any epoch number resolves; only the live one is listed.
def test_only_the_live_epoch_is_listed(mount):
    assert os.listdir(mount.control_dir / "epoch") == ["0"]
    assert fixed(mount, 12).is_dir()
    mount.next_epoch()
    assert os.listdir(mount.control_dir / "epoch") == ["1"]
    assert sorted(os.listdir(mount.control_dir / "epoch" / "1")) == [
        "ranked", "tree"]


@pytest.mark.parametrize("name", ["-1", "01", "1x", "", " 1", "+1", "0x1",
                                  "99999999999999999999", "latest"])
def test_what_is_no_number_is_not_there(mount, name):
    path = mount.control_dir / "epoch" / (name or "none")
    assert not path.exists()


# [S-3.9d] Reading a fixed epoch does not move the live one.
def test_reading_a_fixed_epoch_does_not_move_the_live_one(mounts, source):
    mount = mounts(source, {**MANUAL, "epoch.advance": "auto"})
    for epoch in range(4):
        mount.client("digest_tree.py", fixed(mount, epoch))
    assert mount.view()["epoch"] == 0
    assert mount.view()["consumed"] == 0


def test_two_jobs_at_different_epochs_do_not_disturb_each_other(mount):
    """Open the same name in three epochs at once."""
    names = sorted(trees.contents(mount.path))
    shown = {n: trees.contents(fixed(mount, n)) for n in range(3)}
    for name in names[:30]:
        files = [open(fixed(mount, n) / name, "rb") for n in range(3)]
        for n, file in enumerate(files):
            with file:
                assert trees.digest(file.read()) == shown[n][name]


def test_training_from_a_fixed_epoch(mount, source):
    expected = mount.client("imagefolder.py", source / "train", "--epochs", 1)
    for n in (4, 5):
        epoch, = mount.client("imagefolder.py", fixed(mount, n) / "train",
                              "--epochs", 1, "--workers", 2)
        assert (sorted((content, label) for _, content, label in epoch)
                == sorted((content, label)
                          for _, content, label in expected[0]))


@pytest.mark.parametrize("kernel", ["new", "old"])
def test_a_fixed_epoch_follows_the_seed_and_the_policy(mounts, source, kernel,
                                                       monkeypatch):
    if kernel == "old":  # names are taken back one by one, or not believed
        monkeypatch.setenv("SHUFFLEFS_KERNEL_EPOCHS", "no")
    mount = mounts(source, MANUAL)
    shown = [trees.contents(fixed(mount, 5))]
    for change in ('seed = 9', 'policy = "native"', 'policy = "lirs"\nseed = 0'):
        assert mount.write_control(f'{change}\nepoch = "next"\n') is None
        shown.append(trees.contents(fixed(mount, 5)))
    assert shown[0] == shown[3]
    assert shown[2] == trees.contents(source)
    assert shown[0] != shown[1] != shown[2] != shown[0]
