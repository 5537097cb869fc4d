# SPDX-License-Identifier: Apache-2.0
"""A tree whose catalogue is not ready passes through (design section 4)."""
import os
import signal

import pytest

import harness
import trees

LIRS = {"policy": "lirs", "substitute": "directory",
        "epoch.advance": "manual", "wait": "0s"}


@pytest.fixture
def stuck(mounts, folder):
    """A source whose scan stands still until resume() is called.

    One of its folders is itself a mount, whose daemon is stopped.
    """
    inner_source = trees.class_folders(folder / "inner", classes=2)
    source = trees.class_folders(folder / "source")
    (source / "slow").mkdir()
    inner = mounts(inner_source, {"policy": "native"},
                   mountpoint=source / "slow")
    os.kill(inner.process.pid, signal.SIGSTOP)

    def resume():
        os.kill(inner.process.pid, signal.SIGCONT)

    yield source, resume
    resume()


def start(mounts, source):
    mount = mounts(source, LIRS, start=False)
    mount.start(ready=False)
    harness.eventually(lambda: harness.mount_types(mount.path),
                       what="the mount")
    return mount


def state(mount):
    return mount.view()["epoch_state"]


# [S-4.1a] Until the catalogue is ready names show their own content.
def test_names_show_their_own_content_until_the_catalogue_is_ready(mounts,
                                                                   stuck):
    source, resume = stuck
    mount = start(mounts, source)
    assert state(mount) == "indexing"
    for label in ("c0", "c1"):
        assert (trees.contents(mount.path / label)
                == trees.contents(source / label))
        assert (sorted(os.listdir(mount.path / label))
                == sorted(os.listdir(source / label)))
    assert state(mount) == "indexing"

    resume()
    harness.eventually(lambda: state(mount) != "indexing", what="catalogue")
    # Content was read in this epoch: the policy begins at the next one.
    assert state(mount) == "waiting"
    expected = trees.contents(source / "c0")
    assert trees.contents(mount.path / "c0") == expected
    mount.next_epoch()
    assert state(mount) == "running"
    shown = trees.contents(mount.path / "c0")
    assert trees.moved(expected, shown) > len(expected) / 2
    assert trees.by_folder(shown) == trees.by_folder(expected)


# [S-4.1b] What was opened before stays open.
def test_what_was_opened_before_stays_open(mounts, stuck):
    source, resume = stuck
    mount = start(mounts, source)
    name = sorted(os.listdir(source / "c0"))[0]
    data = (source / "c0" / name).read_bytes()
    with open(mount.path / "c0" / name, "rb", buffering=0) as file:
        begin = file.read(20)
        resume()
        harness.eventually(lambda: state(mount) != "indexing",
                           what="catalogue")
        mount.next_epoch()
        trees.contents(mount.path / "c0")
        assert begin + file.readall() == data


def test_unmounting_does_not_wait_for_the_scan(mounts, stuck):
    source, resume = stuck
    mount = start(mounts, source)
    assert state(mount) == "indexing"
    mount.run(["umount" if mount.user.uid == 0 else "fusermount3",
               *([] if mount.user.uid == 0 else ["-u"]), mount.path])
    assert harness.mount_types(mount.path) == []
    resume()
    mount.expect_exit()


# [S-3.15c] A new file shows after the next mount, not before.
def test_a_saved_catalogue_is_used_again(mounts, folder):
    source = trees.class_folders(folder / "source")
    mount = mounts(source, {**LIRS, "wait": "5s"})
    before = trees.contents(mount.path)
    mount.unmount()
    mount.start()
    assert trees.contents(mount.path) == before
    mount.unmount()

    # Drift is noticed: a file that came later is found at the next mount.
    (source / "c0" / "999999.png").write_bytes(b"late")
    (source / "c9").mkdir()
    (source / "c9" / "999998.png").write_bytes(b"later")
    mount.start()
    assert (trees.by_folder(trees.contents(mount.path))
            == trees.by_folder(trees.contents(source)))
