# SPDX-License-Identifier: Apache-2.0
"""shufflectl with several mounts: which there are, and which one is meant."""
import datetime
import json
import os
import signal
import time

import pytest

import harness
import trees

MANUAL = {"policy": "lirs", "substitute": "directory",
          "epoch.advance": "manual"}


@pytest.fixture
def source(folder, user):
    root = trees.class_folders(folder / "source")
    trees.give_to(root, user)
    return root


@pytest.fixture
def pair(mounts, source, user):
    return [mounts(source, {**MANUAL, "epoch.start": 7 + i}, user=user)
            for i in range(2)]


def ctl(*arguments, **kwargs):
    return harness.run([harness.shufflectl(), *arguments], **kwargs)


def listed(user):
    lines = ctl("list", "--json", user=user).stdout.splitlines()
    return {entry["mountpoint"]: entry for entry in map(json.loads, lines)}


def test_list_names_each_mount(pair, source, user):
    entries = listed(user)
    for i, mount in enumerate(pair):
        entry = entries[str(mount.path)]
        assert entry["source"] == str(source)
        assert entry["state"] == "serves"
        assert entry["pid"] == mount.process.pid
        since = datetime.datetime.fromisoformat(
            entry["since"].replace("Z", "+00:00")).timestamp()
        assert time.time() - 100 * harness.SLOWDOWN < since < time.time() + 2
        assert entry["views"] == [{"name": "root", "policy": "lirs",
                                   "epoch": 7 + i, "epoch_state": "running"}]
    text = ctl("list", user=user).stdout.splitlines()
    assert text[0].split() == ["MOUNT", "SOURCE", "POLICY", "EPOCH", "PID",
                               "SINCE"]
    row = next(line for line in text if str(pair[1].path) in line)
    assert row.split()[1:5] == [str(source), "lirs", "8",
                                str(pair[1].process.pid)]


def test_a_mount_that_hangs_or_is_gone_hides_no_other(pair, user):
    hung, other = pair
    os.kill(hung.process.pid, signal.SIGSTOP)
    try:
        assert listed(user)[str(hung.path)]["state"] == "silent"
        text = ctl("status", user=user).stdout
        assert f"{hung.path}: its daemon does not answer" in text
        assert f"{other.path}:\nroot  lirs  epoch 8" in text
    finally:
        os.kill(hung.process.pid, signal.SIGCONT)
    hung.kill()
    entries = listed(user)
    assert entries[str(hung.path)]["state"] == "gone"
    assert entries[str(other.path)]["state"] == "serves"


def test_the_mount_of_another_user(mounts, source):
    """Root has no way into it."""
    mount = mounts(source, MANUAL, user=harness.NOBODY)
    entry = listed(harness.SELF)[str(mount.path)]
    mine = harness.NOBODY == harness.SELF
    assert entry["state"] == ("serves" if mine else "refused")
    assert (entry["pid"] is None) != mine


def test_list_says_that_there_is_nothing(user):
    done = ctl("list", user=user)
    if done.stdout == "":  # an ordinary user's machine may have others
        assert done.stderr == (
            "shufflectl: nothing is mounted by shufflefs; mount with: "
            "shufflefs DATA MOUNTPOINT\n")
    else:
        assert done.stdout.startswith("MOUNT") and done.stderr == ""


def test_status_of_several_mounts(pair, user):
    lines = ctl("status", "--json", user=user).stdout.splitlines()
    found = {entry["mountpoint"]: entry for entry in map(json.loads, lines)}
    for i, mount in enumerate(pair):
        assert found[str(mount.path)]["views"][0]["epoch"] == 7 + i
    one = ctl("status", "--json", pair[0].path, user=user).stdout
    assert json.loads(one)["views"][0]["epoch"] == 7


def test_a_word_may_be_a_mount(pair, user):
    """In the directory of the mount point."""
    cwd = pair[0].path.parent
    assert "epoch 7" in ctl("epoch", "mnt", user=user, cwd=cwd).stdout
    assert "epoch 7" in ctl("policy", "mnt", user=user, cwd=cwd).stdout
    ctl("policy", "mnt", "seed=5", user=user, cwd=cwd)
    view = pair[0].view()
    assert (view["seed"], view["policy"]) == (5, "lirs")
    done = ctl("policy", "mnt", "memory=1GiB", user=user, cwd=cwd, check=False)
    assert done.returncode == 1 and "memory" in done.stderr
    done = ctl("epoch", "other", user=user, cwd=cwd, check=False)
    assert done.returncode == 2
    assert "other: must be next or the number" in done.stderr
