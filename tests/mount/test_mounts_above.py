# SPDX-License-Identifier: Apache-2.0
"""An overlay above a mount: stale once an epoch has changed, right where none
does. Only root mounts one."""
import errno
import os

import pytest

import harness
import trees

OPTIONS = {"policy": "lirs", "substitute": "directory",
           "epoch.advance": "manual"}


# Nobody else mounts one.
@pytest.fixture(params=["root"] if os.geteuid() == 0 else [])
def overlay(folder):
    """overlay(path) shows it, by an overlay that is gone after the test."""
    made = []

    def make(lower):
        upper = folder / f"upper{len(made)}"
        upper.mkdir()
        # An overlay's own files may not lie on one.
        harness.run(["mount", "-t", "tmpfs", "none", upper])
        made.append(upper)
        for name in ("up", "work", "merged"):
            (upper / name).mkdir()
        harness.run(["mount", "-t", "overlay", "overlay", "-o",
                     f"lowerdir={lower},upperdir={upper}/up,"
                     f"workdir={upper}/work", upper / "merged"])
        made.append(upper / "merged")
        return upper / "merged"

    yield make
    for path in reversed(made):
        harness.run(["umount", path])


def is_stale(path):
    try:
        path.read_bytes()
    except OSError as error:
        assert error.errno == errno.ESTALE, error
        return True
    return False


def warnings_of(mount, path):
    return [each for each in mount.status()["warnings"] if str(path) in each]


# [S-3.2g] A file system above a mount whose epochs change is named in the
# warnings of status.
@pytest.mark.parametrize("below", ["", ".shufflefs/epoch/3/tree"],
                         ids=["live", "fixed epoch"])
def test_an_overlay_is_stale_once_an_epoch_has_changed(mounts, folder, overlay,
                                                       below):
    source = trees.class_folders(folder / "source", 3, 20)
    mount = mounts(source, OPTIONS)
    above = overlay(mount.path / below)
    truth = trees.contents(mount.path / below)
    assert trees.contents(above) == truth
    assert warnings_of(mount, above) == [], "no epoch has changed"
    mount.next_epoch()
    # All but those that show in the new epoch what they showed before. The
    # kernel is told of the epoch after the write to `control` has returned.
    harness.eventually(
        lambda: sum(is_stale(above / name) for name in truth) > len(truth) / 2,
        what="names of an epoch that is over")
    assert len(warnings_of(mount, above)) == 1


def test_an_overlay_over_a_mount_of_its_own_is_right(mounts, folder, overlay):
    source = trees.class_folders(folder / "source", 3, 20)
    live = mounts(source, OPTIONS)
    own = mounts(source, {**OPTIONS, "epoch.start": 3})
    above = overlay(own.path)
    truth = trees.contents(own.path)
    for _ in range(3):
        assert trees.contents(above) == truth
        live.next_epoch()
    assert own.status()["warnings"] == []


def test_an_epoch_that_may_advance_by_itself_is_warned_of(mounts, folder,
                                                          overlay):
    source = trees.class_folders(folder / "source", 3, 20)
    mount = mounts(source, {**OPTIONS, "epoch.advance": "auto"})
    above = overlay(mount.path)
    assert len(warnings_of(mount, above)) == 1
