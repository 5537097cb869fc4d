# SPDX-License-Identifier: Apache-2.0
"""shufflectl on a live mount."""
import json
import os
import signal
import subprocess

import pytest

import harness
import trees

MANUAL = {"policy": "lirs", "substitute": "directory",
          "epoch.advance": "manual"}


@pytest.fixture
def source(folder):
    return trees.train_and_val(folder / "source")


@pytest.fixture
def mount(mounts, source):
    return mounts(source, MANUAL)


def ctl(*arguments, **kwargs):
    return harness.run([harness.shufflectl(), *arguments], **kwargs)


def test_status_in_one_line_and_as_json(mount):
    line = ctl("status", mount.path).stdout.splitlines()[0]
    for word in ("lirs", "epoch 0", "labels", "warnings"):
        assert word in line
    status = json.loads(ctl("status", "--json", mount.path).stdout)
    assert status["views"][0]["policy"] == "lirs"


def test_epoch_shows_and_moves(mount):
    assert "0" in ctl("epoch", "-m", mount.path).stdout
    before = trees.contents(mount.path)
    ctl("epoch", "-m", mount.path, "next")
    assert mount.view()["epoch"] == 1
    assert trees.moved(before, trees.contents(mount.path)) > 50
    ctl("epoch", "-m", mount.path, "0")
    assert trees.contents(mount.path) == before


def test_policy_switches_with_its_keys(mount):
    ctl("policy", "-m", mount.path, "window", "window.samples=7")
    view = mount.view()
    assert view["policy"] == "window"
    assert "samples = 7" in mount.read("control")
    done = ctl("policy", "-m", mount.path, "fastest", check=False)
    assert done.returncode != 0 and "policy" in done.stderr


def test_order_is_the_control_file(mount):
    assert ctl("order", mount.path).stdout == mount.read("order")


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_closed_pipe_ends_it_quietly(mount, form):
    """As `shufflectl order | head` closes it."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run([harness.shufflectl(), "order", *form, mount.path],
                          stdin=subprocess.DEVNULL, stdout=write_end,
                          stderr=subprocess.PIPE, check=False)
    os.close(write_end)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def test_a_full_disk_is_an_error(mount):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([harness.shufflectl(), "order", mount.path],
                              stdout=full, stderr=subprocess.PIPE, text=True,
                              check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("shufflectl: cannot write the output")


# [S-3.10c] The ledger proves each epoch that was counted.
def test_verify_proves_a_read_through_epoch(mounts, source):
    mount = mounts(source, {**MANUAL, "open": "seen"})
    trees.contents(mount.path)
    mount.next_epoch()
    trees.contents(mount.path)
    mount.next_epoch()
    done = ctl("verify", mount.path)
    assert done.returncode == 0
    assert mount.write_control("seed = 6\n") is None
    done = ctl("verify", mount.path)
    assert done.stdout.count("; switched: seed 0 to 6") == 1, done.stdout
    result = json.loads(ctl("verify", "--json", mount.path).stdout)
    assert result["proven"] is True
    assert result["epochs"][-1]["switched"] == ["seed 0 to 6"]


def test_umount(mounts, source, user):
    """Also right after a switch, when the daemon lists the mount itself."""
    trees.give_to(source, user)
    mount = mounts(source, MANUAL, user=user)
    for _ in range(5):
        mount.client("digest_tree.py", mount.path)
        mount.next_epoch()
        ctl("umount", mount.path, user=user)
        mount.expect_exit()
        assert harness.mount_types(mount.path) == []
        mount.start()


# [S-3.12h] While a mount is busy, shufflectl umount tries again for as long
# as --wait says.
def test_umount_waits_for_a_busy_mount(mounts, source, user):
    trees.give_to(source, user)
    mount = mounts(source, MANUAL, user=user)
    script = 'exec 3<"$0"; echo held; read _'
    holder = subprocess.Popen(
        harness.as_user(user, ["sh", "-c", script, mount.path / "train"]),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "held\n"
    done = ctl("umount", "--wait", "0s", mount.path, user=user, check=False)
    assert done.returncode == 1 and "busy" in done.stderr
    assert str(holder.pid) in done.stderr
    waiting = subprocess.Popen(
        harness.as_user(user, [harness.shufflectl(), "umount", "--wait",
                               "1h", mount.path]),
        stderr=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        waiting.wait(timeout=0.3)
    holder.communicate("end\n")
    assert waiting.wait(timeout=60 * harness.SLOWDOWN) == 0
    assert waiting.stderr.read() == ""
    mount.expect_exit()


# [S-3.12j] shufflectl umount returns when the daemon has ended.
def test_umount_returns_when_the_daemon_has_ended(mounts, source, user):
    trees.give_to(source, user)
    mount = mounts(source, MANUAL, user=user)
    for _ in range(6):
        mount.client("digest_tree.py", mount.path)
        ctl("umount", mount.path, user=user)
        assert os.waitid(os.P_PID, mount.process.pid,
                         os.WEXITED | os.WNOHANG | os.WNOWAIT), "it runs on"
        mount.expect_exit()
        mount.start()


def test_umount_waits_whatever_bytes_the_path_of_the_state_has(mounts, folder,
                                                               source):
    state = os.fsdecode(os.fsencode(folder) + b"/\xff\n")
    mount = mounts(source, {**MANUAL, "state": state}, start=False)
    for _ in range(3):
        mount.start()
        ctl("umount", mount.path)
        assert os.waitid(os.P_PID, mount.process.pid,
                         os.WEXITED | os.WNOHANG | os.WNOWAIT), "it runs on"
        mount.expect_exit()


def test_a_proof_and_a_token_whatever_bytes_paths_have(mounts, folder, source):
    state = os.fsdecode(os.fsencode(folder) + b"/\xff")
    path = os.fsdecode(b"tr\xff")
    os.rename(source / "train", source / path)
    mount = mounts(source, {**MANUAL, "policy": "brand", "state": state,
                            "path": path})
    mount.client("digest_tree.py", mount.path / path)
    proof = json.loads(ctl("verify", "--json", mount.path).stdout)
    assert proof["proven"] and proof["opened_in_part"] == 0
    assert len(proof["epochs"]) == 1
    assert proof["epochs"][0]["shown_by_mount"] is True
    ctl("token", "--save", folder / "saved", mount.path)
    ctl("token", "--restore", folder / "saved", "--view", path, mount.path)
    assert "epoch 0" in ctl("epoch", "-m", mount.path, "--view", path).stdout


def test_a_daemon_that_does_not_answer(mounts, source, user):
    """It is not replaced, and who asked it something can be freed."""
    trees.give_to(source, user)
    mount = mounts(source, MANUAL, user=user)
    os.kill(mount.process.pid, signal.SIGSTOP)
    reader = subprocess.Popen(
        harness.as_user(user, ["ls", mount.path / "train"]),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True)
    again = harness.run(mount.command(), check=False)
    assert again.returncode == 1
    assert "does not answer; end it with" in again.stderr
    # All at once: each waits for some seconds.
    asked = {command: subprocess.Popen(
        harness.as_user(user, [harness.shufflectl(), command, mount.path]),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True)
        for command in ("status", "epoch", "verify", "peers", "order", "token")}
    for command, process in asked.items():
        _, error = process.communicate(timeout=60 * harness.SLOWDOWN)
        assert process.returncode == 1, command
        assert "does not answer; end it with: shufflectl" in error
    done = ctl("umount", "-l", mount.path, user=user, check=False)
    if done.returncode != 0:  # an ordinary user, and no fusectl
        assert user.uid != 0 and "does not answer" in done.stderr
        os.kill(mount.process.pid, signal.SIGCONT)
        assert reader.wait(timeout=60 * harness.SLOWDOWN) == 0
        return
    assert reader.wait(timeout=60 * harness.SLOWDOWN) != 0
    os.kill(mount.process.pid, signal.SIGCONT)
    mount.expect_exit()


def test_what_is_no_mount_is_said_so(folder):
    (folder / "plain").mkdir()
    for command in ("status", "epoch", "order", "verify", "umount"):
        done = ctl(command, "-m", folder / "plain", check=False)
        assert done.returncode == 1, command
        assert done.stderr.count("\n") == 1 and "plain" in done.stderr


def test_check_needs_no_mount_and_no_root(source):
    trees.give_to(source, harness.NOBODY)
    done = harness.run([harness.shufflectl(), "check", source],
                       user=harness.NOBODY,
                       env={**os.environ, "HOME": "/nonexistent"})
    assert "class folders" in done.stdout and "shufflefs " in done.stdout
    result = json.loads(ctl("check", "--json", source).stdout)
    assert result
