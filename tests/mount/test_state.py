# SPDX-License-Identifier: Apache-2.0
"""The state directory: nobody else leads the daemon anywhere by it."""
import json
import os

import pytest

import harness
import trees

POLICY = "policy=lirs,substitute=directory,epoch.advance=manual"
FILES = ["ledger", "ledger.new", "lock", "catalogue", "catalogue.new",
         "places", "places.new", "devices", "devices.new", "control.toml",
         "control.toml.new", "learnt", "learnt.new"]


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source")


@pytest.fixture
def mountpoint(folder):
    path = folder / "mnt"
    path.mkdir()
    return path


@pytest.fixture
def victim(folder):
    """A file of the user who mounts that nobody else may write."""
    path = folder / "victim"
    path.write_text("what stands here stays here")
    path.chmod(0o600)
    yield path
    assert path.read_text() == "what stands here stays here"


def give(path, user=harness.NOBODY):
    os.chown(path, user.uid, user.gid, follow_symlinks=False)


def expect_refused(source, mountpoint, state, named):
    try:
        done = harness.run([harness.shufflefs(), "-f", "-o",
                            f"{POLICY},state={state}", source, mountpoint],
                           check=False, timeout=20)
    finally:  # it is not refused, but mounted
        if harness.mount_types(mountpoint):
            harness.run(["umount", "-l", mountpoint], check=False)
    assert done.returncode == 1, done
    assert harness.mount_types(mountpoint) == []
    lines = done.stderr.splitlines()
    assert len(lines) == 1 and str(named) in lines[0], lines
    return lines[0]


# [S-9.1a] A state directory that somebody else made or may write to is
# refused, and so is one that somebody else could replace.
@pytest.mark.parametrize("target", ["victim", "made"])
def test_what_a_stranger_prepared_is_not_used(source, mountpoint, victim,
                                              folder, target):
    if harness.SELF.uid != 0:
        return  # only root can play two users
    state = folder / "state"
    state.mkdir()
    for name in FILES:
        os.symlink(folder / target, state / name)
        give(state / name)
    give(state)
    line = expect_refused(source, mountpoint, state, state)
    assert "-o state=DIR" in line
    assert not (folder / "made").exists()
    assert sorted(os.listdir(state)) == sorted(FILES)


def test_a_directory_of_a_stranger_on_the_way_is_refused(source, mountpoint,
                                                         folder):
    if harness.SELF.uid != 0:
        return  # only root can play two users
    theirs = folder / "theirs"
    theirs.mkdir()
    give(theirs)
    expect_refused(source, mountpoint, theirs / "new/state", theirs)
    assert os.listdir(theirs) == []
    ours = folder / "ours"
    ours.mkdir()
    shared = folder / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    os.symlink(ours, shared / "link")
    give(shared / "link")
    expect_refused(source, mountpoint, shared / "link/state", shared / "link")
    assert os.listdir(ours) == []


def test_a_directory_that_others_may_write_is_refused(source, mountpoint,
                                                      folder):
    state = folder / "state"
    state.mkdir()
    for mode in (0o777, 0o1777, 0o770):
        state.chmod(mode)
        expect_refused(source, mountpoint, state, state)
    assert os.listdir(state) == []


# [S-9.1b] No link in the state directory is followed, and what is put in its
# place while it is in use is not touched.
@pytest.mark.parametrize("name", ["ledger", "lock"])
def test_a_link_for_what_is_written_in_place(source, mountpoint, victim,
                                             folder, name):
    state = folder / "state"
    state.mkdir()
    os.symlink(victim, state / name)
    expect_refused(source, mountpoint, state, state / name)


def test_links_for_what_is_replaced(mounts, source, victim, folder):
    state = folder / "state"
    state.mkdir()
    for name in set(FILES) - {"ledger", "lock"}:
        os.symlink(victim, state / name)
    mount = mounts(source, {"policy": "lirs", "substitute": "directory",
                            "epoch.advance": "manual", "state": state})
    assert mount.write_control("seed = 7\n") is None
    mount.next_epoch()
    assert not (state / "catalogue").is_symlink()
    mount.unmount()


def test_what_takes_its_place_is_not_touched(mounts, source, folder, victim):
    mount = mounts(source, {"policy": "lirs", "substitute": "directory",
                            "epoch.advance": "manual"})
    moved = folder / "moved"
    os.rename(mount.state, moved)
    mount.state.mkdir()
    for name in FILES:
        os.symlink(victim, mount.state / name)
    assert mount.write_control("seed = 7\n") is None
    mount.next_epoch()
    assert "seed" in (moved / "control.toml").read_text()
    mount.unmount()
    assert sorted(os.listdir(mount.state)) == sorted(FILES)


# [S-9.1c] Without a home directory the state has no place by itself.
def test_no_home_is_an_error_that_says_what_to_set(source, mountpoint):
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("HOME", "XDG_STATE_HOME")}
    os.chown(mountpoint, harness.NOBODY.uid, harness.NOBODY.gid)
    for home in ({}, {"HOME": ""}, {"HOME": "home", "XDG_STATE_HOME": "x"}):
        done = harness.run([harness.shufflefs(), "-f", "-o", POLICY, source,
                            mountpoint], user=harness.NOBODY, check=False,
                           env={**environment, **home})
        assert done.returncode == 1
        assert "HOME" in done.stderr and "-o state=DIR" in done.stderr
    assert not os.path.lexists("/tmp/.local")


# [S-3.10o] Whatever happens to the ledger's disk or file, verify claims no
# violation that was none.
@pytest.mark.parametrize("how", ["emptied", "removed"])
def test_a_ledger_that_is_taken_away_is_begun_anew(mounts, source, how):
    mount = mounts(source, {"policy": "lirs", "substitute": "directory",
                            "open": "seen"})
    files = [path for path in sorted(mount.path.glob("*/*")) if path.is_file()]

    def read(these):
        for path in these:
            mount.run(["cat", path])

    def verified():
        done = mount.run([harness.shufflectl(), "verify", mount.path],
                         check=False)
        return done.returncode, [line for line in done.stdout.splitlines()
                                 if "lirs:" in line]

    read(files)
    if how == "emptied":
        os.truncate(mount.state / "ledger", 0)
    else:
        (mount.state / "ledger").unlink()
    warning, = mount.view()["warnings"]
    assert "while it was in use; nothing is recorded" in warning
    mount.next_epoch()
    assert mount.view()["warnings"] == []
    assert mount.log().count("a new one begins, without earlier epochs") == 1
    read(files[1:])
    code, lines = verified()
    assert code == 0
    read_of = f"epoch 1, lirs: {len(files) - 1} of {len(files)} so far"
    assert len(lines) == 1 and read_of in lines[0], lines
    # A restart goes on with what the new one says.
    mount.kill()
    mount.start()
    assert mount.view()["epoch"] == 1
    assert mount.view()["consumed"] == len(files) - 1
    mount.unmount()


@pytest.fixture
def small_disk(folder):
    """A state directory on a disk of its own, or None."""
    if harness.SELF.uid != 0:
        yield None  # only root can make one
        return
    path = folder / "small"
    path.mkdir()
    harness.run(["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "tmpfs",
                 path])
    yield path
    harness.run(["umount", path])


# [S-3.10o] Whatever happens to the ledger's disk or file, verify claims no
# violation that was none.
@pytest.mark.parametrize("policy", ["lirs", "brand"])
def test_an_epoch_that_waits_for_space_contradicts_nothing(
        small_disk, mounts, source, policy):
    if small_disk is None:
        return
    mount = mounts(source, {"policy": policy, "substitute": "directory",
                            "open": "seen", "epoch.advance": "manual",
                            "state": small_disk})
    files = [path for path in sorted(mount.path.glob("*/*")) if path.is_file()]

    def verified():
        done = mount.run([harness.shufflectl(), "verify", "--json",
                          mount.path], check=False)
        last = json.loads(done.stdout)["epochs"][-1]
        assert last["bijection"] is True
        return (done.returncode, last["epoch"], last["shown_by_mount"],
                last["not_compared"])

    for path in files[:3]:
        path.read_bytes()
    with open(small_disk / "filler", "wb", buffering=0) as filler:
        with pytest.raises(OSError):
            while True:
                filler.write(bytes(512))
    # The page that the ledger has may still hold some records.
    while not mount.view()["warnings"]:
        mount.next_epoch()
    files[3].read_bytes()
    shown = mount.view()["epoch"]
    assert shown < 200
    code, last, compared, why = verified()
    assert code == 0 and last < shown and compared is None
    assert why.startswith("ledger: ") and "free some space" in why
    done = mount.run([harness.shufflectl(), "verify", mount.path])
    assert "; not compared with the mount: ledger: " in done.stdout
    (small_disk / "filler").unlink()

    others = iter(files[4:])

    def is_recorded():  # the next open a second later brings it there
        next(others).read_bytes()
        return not mount.view()["warnings"]

    harness.eventually(is_recorded, what="the epoch in the ledger")
    assert verified() == (0, shown, True, None)
    mount.unmount()


# A saved token has all that was read, or is not saved.
def test_a_token_is_not_saved_from_a_ledger_that_lags(small_disk, mounts,
                                                      folder):
    if small_disk is None:
        return
    # One more than a line has room for.
    source = trees.class_folders(folder / "many", classes=3, per_class=2731)
    mount = mounts(source, {"policy": "brand", "substitute": "directory",
                            "open": "seen", "epoch.advance": "manual",
                            "state": small_disk})
    files = [path for path in sorted(mount.path.glob("*/*")) if path.is_file()]

    def save():
        return mount.run([harness.shufflectl(), "token", mount.path, "--save",
                          folder / "saved"], check=False)

    for path in files[:100]:
        path.read_bytes()
    assert save().returncode == 0
    saved = (folder / "saved/token").read_text()
    with open(small_disk / "filler", "wb", buffering=0) as filler:
        with pytest.raises(OSError):
            while True:
                filler.write(bytes(512))
    read = 100
    while not mount.view()["warnings"]:
        files[read].read_bytes()
        read += 1
    done = save()
    assert done.returncode == 1 and "the mount's ledger lacks" in done.stderr
    assert (folder / "saved/token").read_text() == saved
    (small_disk / "filler").unlink()

    def is_saved():  # opens bring it to the ledger
        nonlocal read
        files[read].read_bytes()
        read += 1
        return save().returncode == 0

    harness.eventually(is_saved, what="a token")
    assert (folder / "saved/token").read_text().split()[5] == str(read)
    mount.unmount()
