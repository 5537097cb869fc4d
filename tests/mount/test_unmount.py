# SPDX-License-Identifier: Apache-2.0
"""Unmounting under load neither hangs nor crashes."""
import os
import signal
import subprocess

import pytest

import harness
import trees
from test_crash import GONE, finish_load, start_load

LIRS = {"policy": "lirs", "substitute": "directory", "epoch.advance": "auto"}
READERS = 4


@pytest.fixture
def source(folder, user):
    root = trees.blobs(folder / "source", classes=3, per_class=60)
    trees.give_to(root, user)
    return root


@pytest.fixture
def loaded(mounts, source, folder, user):
    """A mount with readers under way, and the readers."""
    known = set(trees.contents(source).values())
    mount = mounts(source, LIRS, user=user)
    return mount, [start_load(mount, folder, known) for _ in range(READERS)]


def test_a_busy_mount_is_not_unmounted(mounts, source, user):
    mount = mounts(source, LIRS, user=user)
    script = 'exec 3<"$0"; echo held; exec sleep 1000'
    holder = subprocess.Popen(
        harness.as_user(user, ["sh", "-c", script, mount.path / "c0"]),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    unmount = ["umount"] if user.uid == 0 else ["fusermount3", "-u"]
    done = mount.run([*unmount, mount.path], check=False)
    holder.kill()
    holder.communicate()
    assert done.returncode != 0 and "busy" in done.stderr
    assert mount.view()["epoch"] == 0
    mount.unmount()


def test_lazy_unmount_under_load(loaded):
    mount, readers = loaded
    lazy = (["umount", "-l"] if mount.user.uid == 0 else
            ["fusermount3", "-uz"])
    mount.run([*lazy, mount.path])
    for reader in readers:
        assert finish_load(reader)["count"] > 0
    mount.expect_exit()


# A supervisor, or a user, may send more of them until the daemon has ended.
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_more_signals_do_not_cut_the_end_short(mounts, source, user, number):
    mount = mounts(source, LIRS, user=user)
    while mount.process.poll() is None:
        mount.process.send_signal(number)
    mount.expect_exit()


# [S-3.12e] Unmounting under load neither hangs nor crashes.
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_under_load(loaded, number):
    mount, readers = loaded
    os.kill(mount.process.pid, number)
    for reader in readers:
        result = finish_load(reader)
        assert result["count"] > 0
        assert set(map(int, result["errors"])) <= GONE
    mount.expect_exit()
    assert harness.mount_types(mount.path) == []


def test_umount_as_soon_as_the_readers_stop(loaded):
    mount, readers = loaded
    for reader in readers:
        reader.terminate()
    for reader in readers:
        result = finish_load(reader)
        assert result["count"] > 0 and not result["errors"]
    mount.unmount()
    assert harness.mount_types(mount.path) == []


def test_umount_waits_as_long_as_it_is_told(mounts, source):
    """Also longer than a clock can count."""
    mount = mounts(source, LIRS)
    holder = subprocess.Popen(["sleep", "1000"], cwd=mount.path)
    waiting = subprocess.Popen([harness.shufflectl(), "umount", "--wait",
                                "9999999h", mount.path],
                               stderr=subprocess.PIPE, text=True)
    try:
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(timeout=1)
    finally:
        holder.kill()
        holder.wait()
    _, said = waiting.communicate(timeout=60 * harness.SLOWDOWN)
    assert waiting.returncode == 0, said
    mount.expect_exit()


def test_a_copy_in_another_namespace_is_named(mounts, source):
    if harness.SELF.uid != 0:
        return  # only root makes mount namespaces
    mount = mounts(source, LIRS)
    holder = subprocess.Popen(
        ["unshare", "-m", "--propagation", "private", "sh", "-c",
         "echo there; exec sleep 1000"], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "there\n"
        done = harness.run([harness.shufflectl(), "umount", "--wait", "100ms",
                            mount.path], check=False)
        assert done.returncode == 1
        assert f"process {holder.pid} (" in done.stderr, done.stderr
        assert harness.mount_types(mount.path) == []
    finally:
        holder.kill()
        holder.wait()
    mount.expect_exit()


def test_whose_mount_it_is_is_said(mounts, source, folder):
    """Nobody but root and its owner unmounts it."""
    if harness.NOBODY == harness.SELF:
        return  # only root can play two users
    mount = mounts(source, LIRS, user=harness.SELF)
    done = harness.run([harness.shufflectl(), "umount", mount.path],
                       user=harness.NOBODY, check=False)
    assert done.returncode == 1
    assert "is the mount of another user" in done.stderr
    assert "only that user (0) or root may unmount it" in done.stderr
    script = (f"import sys; sys.path.insert(0, {str(harness.MODULE)!r}); "
              f"import shufflefs; shufflefs.attach({str(mount.path)!r})")
    done = harness.run([harness.PYTHON, "-c", script], user=harness.NOBODY,
                       check=False)
    assert "is the mount of another user" in done.stderr
    closed = folder / "closed"
    closed.mkdir()
    done = harness.run([harness.shufflefs(), "-o", f"state={folder}/st", source,
                        closed], user=harness.NOBODY, check=False)
    assert done.returncode == 1
    assert "choose a mount point that you may write to" in done.stderr


def test_a_parent_that_ignores_its_children_changes_nothing(mounts, source,
                                                            user):
    """Ignored signals are passed on to programs."""
    deaf = ["env", "--ignore-signal=CHLD"]
    mount = mounts(source, LIRS, user=user)
    stay = ["sh", "-c", 'cd "$0" && echo in && exec sleep 1000', mount.path]
    with subprocess.Popen(harness.as_user(user, stay), text=True,
                          stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == "in\n"
        done = mount.run([*deaf, harness.shufflectl(), "umount", "--wait", "0s",
                          mount.path], check=False)
        assert done.returncode == 1 and "busy" in done.stderr, done
        assert harness.mount_types(mount.path) == ["fuse.shufflefs"]
        holder.kill()
    mount.kill()
    mount.inside = deaf
    mount.start()
    assert len(harness.mount_types(mount.path)) == 1
    mount.unmount()
