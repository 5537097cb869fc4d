# SPDX-License-Identifier: Apache-2.0
"""A directory of the source takes another one's place while its catalogue is
being made. What the kernel checked the rights of must be what is shown."""
import errno
import json
import os

import pytest

import harness
import trees
from test_indexing import start, state
from test_indexing import stuck  # noqa: F401: a fixture

OPTIONS = {"policy": "native", "epoch.advance": "manual", "wait": "0s"}
if os.geteuid() == 0:
    OPTIONS["allow_other"] = None


def attempt(call, *arguments, **named):
    """What a call returns, or its errno."""
    try:
        return call(*arguments, **named)
    except OSError as error:
        return error.errno


@pytest.fixture
def indexing(mounts, stuck):
    """A mount without a catalogue. The source belongs to somebody who may not
    enter the victim. (source, mount, resume)."""
    source, resume = stuck
    owner = harness.NOBODY
    mine = source / "mine"
    mine.mkdir()
    (mine / "own.txt").write_text("own")
    (mine / "link").symlink_to("own target")
    for path in (source, mine, mine / "own.txt"):
        os.chown(path, owner.uid, owner.gid)
    victim = source / "victim"
    victim.mkdir()
    (victim / "secret.txt").write_text("the secret")
    (victim / "link").symlink_to("the secret's target")
    victim.chmod(0o700)
    mount = start(mounts, source, OPTIONS)
    assert state(mount) == "indexing"
    yield source, mount, resume
    victim = source / "victim"
    if victim.exists():
        victim.chmod(0o755)


@pytest.fixture
def hold():
    """Opens a directory, and closes it at the end."""
    opened = []

    def open_directory(path):
        opened.append(os.open(path, os.O_RDONLY | os.O_DIRECTORY))
        return opened[-1]

    yield open_directory
    for each in opened:
        os.close(each)


def has_catalogue(mount, resume):
    resume()
    harness.eventually(lambda: state(mount) != "indexing", what="catalogue")


def attack(source, mount, what):
    done = harness.run([harness.PYTHON, harness.CLIENTS / "swap_dirs.py",
                        source, mount.path, what], user=harness.NOBODY,
                       timeout=120)
    return json.loads(done.stdout)


# [S-3.16a] No name shows a sample to somebody whom the source refuses it.
def test_own_directory_opens_no_way_to_the_one_that_takes_its_place(indexing):
    if harness.NOBODY.uid == harness.SELF.uid:
        return  # who runs this may read everything there
    source, mount, _ = indexing
    assert attack(source, mount, "list") == {"names": [], "error": "ESTALE"}
    assert attack(source, mount, "read") == {"data": None}
    assert state(mount) == "indexing"


def swap(source):
    """mine is victim, and victim is mine."""
    (source / "mine").rename(source / "third")
    (source / "victim").rename(source / "mine")
    (source / "third").rename(source / "victim")


# A directory that was opened before its path led elsewhere.
def test_a_directory_that_another_one_took_the_place_of(indexing, hold):
    source, mount, _ = indexing
    held = hold(mount.path / "mine")
    assert os.stat("own.txt", dir_fd=held).st_size == 3
    assert os.readlink("link", dir_fd=held) == "own target"
    swap(source)
    for name in ("own.txt", "secret.txt", "link"):
        assert attempt(os.stat, name, dir_fd=held,
                       follow_symlinks=False) == errno.ESTALE
    assert attempt(os.listdir, held) == errno.ESTALE
    assert attempt(os.readlink, "link", dir_fd=held) == errno.ESTALE
    # Who comes by the path finds the directories as they are now.
    assert os.listdir(mount.path / "mine") == os.listdir(source / "mine")
    assert (mount.path / "victim" / "own.txt").read_text() == "own"
    assert os.readlink(mount.path / "victim" / "link") == "own target"


def test_the_same_once_the_catalogue_is_ready(indexing, hold):
    source, mount, resume = indexing
    held = hold(mount.path / "mine")
    swap(source)
    has_catalogue(mount, resume)
    # The scan may have asked for the rights of either. If for those of the
    # first, it lists nothing.
    for name in ("own.txt", "secret.txt", "link"):
        assert attempt(os.stat, name, dir_fd=held, follow_symlinks=False) in (
            errno.ESTALE, errno.ENOENT)
    assert attempt(os.listdir, held) in (errno.ESTALE, [])


# Its path is nobody's in the catalogue, so whoever owns it may lead it anywhere.
def test_a_directory_that_the_scan_does_not_find(indexing, hold, folder):
    source, mount, resume = indexing
    held = hold(mount.path / "mine")
    with open(mount.path / "mine" / "own.txt", "rb", buffering=0) as file:
        (source / "mine").rename(folder / "elsewhere")
        has_catalogue(mount, resume)
        (folder / "elsewhere").rename(source / "mine")
        # The scan may have seen its name before. Then it could not read it, and
        # nothing of it is found.
        listed = "mine" in os.listdir(mount.path)
        assert attempt(os.stat, "own.txt", dir_fd=held) == (
            errno.ENOENT if listed else errno.ESTALE)
        assert listed or attempt(os.listdir, held) == errno.ESTALE
        assert file.read() == b"own"  # what was opened before stays open
    assert listed or attempt(os.stat, mount.path / "mine") == errno.ENOENT


# [S-4.1b] What was opened before stays open.
def test_a_directory_that_its_owner_renames_is_found_again(indexing, hold):
    source, mount, resume = indexing
    shown = trees.contents(mount.path / "c0")
    held = hold(mount.path / "c0")
    (source / "c0").rename(source / "renamed")
    assert attempt(os.listdir, held) == errno.ESTALE
    assert trees.contents(mount.path / "renamed") == shown
    assert attempt(os.listdir, mount.path / "c0") == errno.ENOENT
    (source / "renamed").rename(source / "c0")
    assert trees.contents(mount.path / "c0") == shown
    assert sorted(os.listdir(held)) == sorted(os.listdir(source / "c0"))
    has_catalogue(mount, resume)
    assert trees.contents(mount.path / "c0") == shown
    assert sorted(os.listdir(held)) == sorted(os.listdir(source / "c0"))
