# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the daemon: the same command mounts again and goes on."""
import errno
import json
import os
import signal
import subprocess

import pytest

import harness
import trees

MANUAL = {"policy": "lirs", "substitute": "directory",
          "epoch.advance": "manual"}
AUTO = {**MANUAL, "epoch.advance": "auto"}
# What a reader may be told while the daemon is dead. What the kernel has
# cached it goes on to serve.
GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.ENOENT,
        errno.EINTR, errno.ENODEV}


@pytest.fixture
def source(folder, user):
    root = trees.class_folders(folder / "source", classes=4, per_class=100)
    trees.give_to(root, user)
    return root


def start_load(mount, folder, known):
    """A reader that runs until the mount is gone, already under way."""
    digests = folder / "digests.json"
    digests.write_text(json.dumps(sorted(known)))
    load = subprocess.Popen(
        harness.as_user(mount.user, [harness.PYTHON,
                                     harness.CLIENTS / "load.py", mount.path,
                                     digests]),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    assert load.stdout.readline() == "reading\n"
    return load


def finish_load(load):
    out, _ = load.communicate(timeout=60 * harness.SLOWDOWN)
    assert load.returncode == 0, "the load read bytes that no file holds"
    return json.loads(out)


def mapping(mount):
    return mount.client("digest_tree.py", mount.path)


# [S-3.12a] After kill -9 of the daemon the same command mounts again and
# continues the epoch.
@pytest.mark.parametrize("over_source", [False, True],
                         ids=["beside", "over the source"])
def test_the_same_command_mounts_again_and_continues(
        mounts, source, folder, user, over_source):
    known = set(trees.contents(source).values())
    mount = mounts(source, MANUAL, user=user,
                   mountpoint=source if over_source else None)
    for _ in range(3):
        mount.next_epoch()
    before = mapping(mount)
    order = mount.read("order")
    load = start_load(mount, folder, known)
    mount.kill()
    mount.start()
    load.terminate()
    result = finish_load(load)
    assert result["count"] > 0
    assert set(map(int, result["errors"])) <= GONE

    assert mount.view()["epoch"] == 3
    assert mapping(mount) == before
    assert mount.read("order") == order
    types = harness.mount_types(mount.path)
    assert types.count("fuse.shufflefs") == 1, "the dead mount is still there"
    mount.next_epoch()
    assert trees.moved(before, mapping(mount)) > len(before) / 2


# [S-3.12g] What was set through the control file survives a crash, and ends
# with a clean unmount.
@pytest.mark.parametrize("written", ["control", "token"])
def test_keys_of_the_control_file_survive_a_crash(mounts, source, user,
                                                  written):
    mount = mounts(source, MANUAL, user=user)
    if written == "control":
        assert mount.write_control("seed = 6\nepoch = 4\n") is None
    else:
        assert mount.write_control("seed = 6\nepoch = 4\n") is None
        token = mount.read("token")
        assert mount.write_control("seed = 0\nepoch = 0\n") is None
        assert mount.write_control(token, file="token") is None
    before = mapping(mount)
    text = mount.read("control")
    for _ in range(2):
        mount.kill()
        mount.start()
        view = mount.view()
        assert (view["seed"], view["epoch"]) == (6, 4)
        assert mapping(mount) == before
        assert mount.read("control") == text
    said = "continuing with what was set through the control file: seed = 6"
    assert mount.log().count(said + "\n") == 2, mount.log()
    mount.unmount()
    mount.start()
    assert (mount.view()["seed"], mount.view()["epoch"]) == (0, 0)
    assert mount.log().count(said) == 2


def test_a_switch_that_waited_waits_on_after_a_crash(mounts, source, user):
    mount = mounts(source, MANUAL, user=user)
    mount.next_epoch()
    before = mapping(mount)
    assert mount.write_control('policy = "window"\n') is None
    for _ in range(2):
        view = mount.view()
        assert (view["policy"], view["epoch"]) == ("lirs", 1)
        assert view["epoch_state"] == "waiting"
        assert mapping(mount) == before
        mount.kill()
        mount.start()
    mount.next_epoch()
    mount.kill()
    mount.start()
    view = mount.view()
    assert (view["policy"], view["epoch"]) == ("window", 2)
    assert view["epoch_state"] == "running"


def test_another_command_line_rules_after_a_crash(mounts, source, user):
    mount = mounts(source, MANUAL, user=user)
    assert mount.write_control("seed = 6\n") is None
    mount.kill()
    mount.options["epoch.pad"] = 4
    mount.start()
    assert mount.view()["seed"] == 0
    assert mount.log().count("the command line is another one\n") == 1


# [S-3.12b] What was consumed stays consumed.
def test_what_was_consumed_stays_consumed(mounts, source, user):
    mount = mounts(source, {**MANUAL, "open": "seen"}, user=user)
    mount.next_epoch()
    mount.client("digest_tree.py", mount.path / "c0")
    consumed = harness.eventually(lambda: mount.view()["consumed"])
    mount.kill()
    mount.start()
    assert mount.view()["epoch"] == 1
    assert 0 < mount.view()["consumed"] <= consumed


def test_an_epoch_that_advances_by_itself_goes_on(mounts, source, user):
    """Half a pass before the crash and the other half after it."""
    expected = sorted(trees.contents(source).values())
    mount = mounts(source, AUTO, user=user)
    mapping(mount)  # a whole pass by a reader that is gone: epoch 0
    first = {f"{half}/{name}": value for half in ("c0", "c1") for name, value
             in mount.client("digest_tree.py", mount.path / half).items()}
    epoch = mount.view()["epoch"]
    mount.kill()
    mount.start()
    second = {f"{half}/{name}": value for half in ("c2", "c3") for name, value
              in mount.client("digest_tree.py", mount.path / half).items()}
    assert mount.view()["epoch"] == epoch
    assert sorted([*first.values(), *second.values()]) == expected


def test_many_crashes_leave_no_mounts(mounts, source, user):
    mount = mounts(source, MANUAL, user=user)
    for _ in range(4):
        mount.kill()
        mount.start()
    assert harness.mount_types(mount.path) == ["fuse.shufflefs"]
    mount.unmount()
    assert harness.mount_types(mount.path) == []


# [S-3.12c] A live mount is never replaced, and one state serves one daemon.
def test_a_live_mount_is_not_replaced(mounts, source, user):
    mount = mounts(source, MANUAL, user=user)
    again = harness.run(mount.command(), check=False)
    assert again.returncode == 1
    lines = [line for line in again.stderr.splitlines()
             if line.startswith("shufflefs: ")]
    assert len(lines) == 1, again.stderr
    assert mount.view()["epoch"] == 0


def test_a_mount_that_is_silent_for_a_while_is_not_replaced(mounts, source,
                                                            folder, user):
    """Another state says nothing about the daemon of the mount."""
    mount = mounts(source, MANUAL, user=user)
    mount.next_epoch()
    shown = mapping(mount)
    other = trees.class_folders(folder / "other")
    trees.give_to(other, user)
    first = mounts(other, MANUAL, user=user)
    first.kill()  # its state names a mount that is gone
    harness.run(["umount", "-l", first.path])
    mount.process.send_signal(signal.SIGSTOP)
    try:
        for state in (first.state, first.state.parent / "unused"):
            done = harness.run(harness.as_user(user, [
                harness.shufflefs(), "-f", "-o", f"policy=lirs,state={state}",
                other, mount.path]), check=False)
            assert done.returncode == 1, done.stderr
            assert "does not answer" in done.stderr
    finally:
        mount.process.send_signal(signal.SIGCONT)
    assert harness.mount_types(mount.path) == ["fuse.shufflefs"]
    assert mount.view()["epoch"] == 1
    assert mapping(mount) == shown


# [S-3.12f] After unmounting, a source that was mounted over is there as
# before.
def test_the_source_is_back_after_unmounting_over_it(mounts, source, user):
    before = trees.contents(source)
    mount = mounts(source, MANUAL, user=user, mountpoint=source)
    mount.next_epoch()
    assert trees.by_folder(mapping(mount)) == trees.by_folder(before)
    mount.unmount()
    assert trees.contents(source) == before
    assert ".shufflefs" not in os.listdir(source)
