# SPDX-License-Identifier: Apache-2.0
"""The tier of policy = met: whatever happens to it, the source is read instead."""
import collections
import os
import shutil
import subprocess

import pytest

import harness
import trees
from met import (names_of, options, read_all, refusal, source, staged, tier,
                 wait_staged, whole)


def test_a_second_mount_at_the_same_tier_is_refused(
        mounts, source, tier, folder):
    mounts(source, options(tier))
    other = trees.blobs(folder / "other", 3, 10)
    assert "tier.path" in refusal(mounts, other, options(tier))


def test_the_tier_is_needed(mounts, source):
    keys = options("")
    del keys["tier.path"], keys["tier.capacity"]
    assert "policy = met needs tier.path" in refusal(mounts, source, keys)


def test_a_mini_epoch_that_does_not_fit_is_refused(mounts, source, tier):
    keys = options(tier, met__mini_epochs=2)
    assert "half of tier.capacity" in refusal(mounts, source, keys)


@pytest.fixture
def small_tier(tier):
    """A device of its own, if root may mount one in the test's namespace."""
    if os.geteuid() != 0:
        yield tier
        return
    harness.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", tier])
    yield tier
    harness.run(["umount", tier])


def test_a_capacity_that_is_a_percentage(small_tier, mounts, source):
    """It is of the tier's whole device, whatever is in use of it."""
    device = os.statvfs(small_tier)
    half = device.f_blocks * device.f_frsize // 100 * 50
    mount = mounts(source, options(small_tier, tier__capacity="50%",
                                   met__epochs=4, met__repeat=2))
    assert mount.view()["tier"]["capacity"] == half
    assert 'tier.capacity = "50%"' in mount.read("control")
    for epoch in range(4):
        wait_staged(mount)
        read_all(mount, names_of(source), epoch)
        copies = sum(path.stat().st_blocks * 512
                     for path in small_tier.rglob("*") if path.is_file())
        assert 0 < copies <= half
        mount.next_epoch()
    assert mount.view()["tier"]["tier_bytes"] > 0


# [S-7.1h] If the tier is missing, full or fails, the source is read until it
# works again, and log and `status` say so.
def test_a_tier_that_is_missing_comes_back(mounts, source, tier):
    tier.rmdir()
    mount = mounts(source, options(tier))
    names = names_of(source)
    assert read_all(mount, names) == whole(source)
    assert str(tier) in mount.view()["tier"]["trouble"]
    assert mount.log().count("the source is read") == 1
    tier.mkdir()
    wait_staged(mount)
    mount.next_epoch()
    assert read_all(mount, names, 1) == whole(source)
    assert mount.view()["tier"]["tier_bytes"] > 0
    assert mount.view()["tier"]["trouble"] == ""


def test_a_tier_may_be_below_the_mount_point(mounts, source, folder):
    tier = folder / "over" / "tier"
    tier.mkdir(parents=True)
    mount = mounts(source, options(tier), mountpoint=tier.parent)
    names = names_of(source)
    wait_staged(mount)
    mount.next_epoch()
    assert read_all(mount, names, 1) == whole(source)
    assert mount.view()["tier"]["tier_bytes"] > 0
    assert mount.view()["tier"]["trouble"] == ""
    mount.unmount()
    assert list(tier.rglob("*.tier"))


def test_a_tier_that_may_not_be_written(mounts, source, tier):
    trees.give_to(source, harness.NOBODY)
    os.chmod(tier, 0o555)
    mount = mounts(source, options(tier), user=harness.NOBODY)
    names = names_of(source)
    shown = [mount.run(["sha256sum", *(mount.path / name for name in names)])
             .stdout.splitlines()]
    assert len(shown[0]) == len(names)
    assert (sorted(line[:16] for line in shown[0]) ==
            sorted(content for _, content in whole(source).elements()))
    assert "Permission denied" in mount.log()
    assert mount.log().count("the source is read") == 1


def remove(tier):
    """Removes it, also while the next copies come."""
    def is_gone():
        shutil.rmtree(tier, ignore_errors=True)
        return not tier.exists()

    harness.eventually(is_gone, what="the end of the tier")


def test_a_tier_that_vanishes_under_way(mounts, source, tier):
    mount = mounts(source, options(tier, met__epochs=8, met__repeat=4))
    names = names_of(source)
    wait_staged(mount)
    shown = read_all(mount, names)
    remove(tier)
    mount.next_epoch()
    shown += read_all(mount, names, 1)
    assert set(shown) <= set(whole(source))
    assert sum(shown.values()) == 2 * len(names)


def test_damaged_copies_are_read_from_the_source(mounts, source, tier):
    mount = mounts(source, options(tier, tier__capacity="64MiB"))
    wait_staged(mount)
    # All of what is to be there: nothing comes or goes meanwhile.
    harness.eventually(lambda: not list(tier.rglob("*.new")) and staged(mount),
                       what="the copies")
    damaged = 0
    for part in list(tier.rglob("*.tier")):
        data = bytearray(part.read_bytes())
        for at in range(0, len(data), 512):
            data[at] ^= 0x40
        part.write_bytes(data)
        damaged += 1
    assert damaged
    assert read_all(mount, names_of(source)) == whole(source)
    assert read_all(mount, names_of(source), 1) == whole(source)


# [S-7.1i] A source file that changes after it was copied shows what was
# copied, until the next mount.
def test_a_source_file_that_changes_after_it_was_copied(mounts, source, tier):
    mount = mounts(source, options(tier, tier__capacity="64MiB"))
    known = whole(source)
    wait_staged(mount)
    for name in names_of(source)[::7]:
        (source / name).write_bytes(b"changed")
    assert read_all(mount, names_of(source)) == known


# [S-7.1j] Nothing in the tier's directory is touched but what the mount made.
def test_what_is_not_ours_stays(mounts, source, tier):
    mine = {tier / "mine": b"1", tier / "shufflefs-tier" / "notes.txt": b"2"}
    (tier / "shufflefs-tier").mkdir()
    for path, data in mine.items():
        path.write_bytes(data)
    mount = mounts(source, options(tier, met__epochs=4, met__repeat=2))
    for epoch in range(3):
        if epoch:
            mount.next_epoch()
        read_all(mount, names_of(source), epoch)
    for path, data in mine.items():
        assert path.read_bytes() == data
    mode = os.stat(tier / "shufflefs-tier").st_mode & 0o777
    for part in tier.rglob("*.tier"):
        assert os.stat(part).st_mode & 0o077 == 0, (part, oct(mode))


def test_a_full_tier(mounts, source, folder):
    """A file system of 3 MiB where 6 MiB may be used; root makes one."""
    if harness.SELF.uid != 0:
        return
    image, small = folder / "image", folder / "small"
    small.mkdir()
    with open(image, "wb") as file:
        file.truncate(3 << 20)
    harness.run(["mkfs.ext4", "-q", "-F", image])
    harness.run(["mount", "-o", "loop", image, small])
    try:
        mount = mounts(source, options(small, met__epochs=4, met__repeat=2))
        names = names_of(source)
        shown = collections.Counter()
        for epoch in range(4):
            if epoch:
                mount.next_epoch()
            shown += read_all(mount, names, epoch)
        assert shown == whole(source, 4)
        assert str(small) in mount.view()["tier"]["trouble"]
        # Unmounted under way: lazily, for the daemon has files open there.
        harness.run(["umount", "-l", small])
        mount.next_epoch()
        assert set(read_all(mount, names, 4)) <= set(whole(source))
        mount.unmount()
    finally:
        subprocess.run(["umount", "-l", small], stderr=subprocess.DEVNULL,
                       check=False)
