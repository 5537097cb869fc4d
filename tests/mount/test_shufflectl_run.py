# SPDX-License-Identifier: Apache-2.0
"""shufflectl run: a mount for as long as a command runs."""
import fcntl
import json
import os
import signal
import subprocess
import termios

import pytest

import harness
import trees
from test_hanging_source import Source

KEYS = "policy=lirs,substitute=directory,epoch.advance=manual"
OURS = 125  # a failure of run itself, as env and timeout have it
TRAP = ("trap 'echo got; exit 9' {0}; echo ready; while :; do sleep 0.02; "
        "done")


@pytest.fixture
def source(folder, user):
    root = trees.class_folders(folder / "data")
    trees.give_to(root, user)
    return root


class Runner:
    """Runs commands on a mount of the source."""

    def __init__(self, source, place, user):
        self.source, self.user = source, user
        self.environment = {**os.environ, "HOME": "/nonexistent",
                            "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
                            "XDG_RUNTIME_DIR": str(place)}

    def argv(self, *command, options=("-o", KEYS), source=None):
        return harness.as_user(self.user, [
            harness.shufflectl(), "run", *options, source or self.source, "--",
            *command])

    def __call__(self, *command, **kwargs):
        return harness.run(self.argv(*command, **kwargs), check=False,
                           env=self.environment)

    def start(self, *command, **kwargs):
        return subprocess.Popen(
            self.argv(*command), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.environment, **kwargs)


@pytest.fixture
def runner(source, place, user):
    return Runner(source, place, user)


def test_the_command_reads_a_mount_that_then_is_gone(runner, place):
    done = runner("sh", "-c", 'test "$SHUFFLEFS_MOUNT" = "$1" && '
                  'cat "$2/.shufflefs/status" && stat -c %a "$1/.."', "sh",
                  "{}", "{}")
    assert done.returncode == 0, done.stderr
    assert '"policy": "lirs"' in done.stdout
    assert done.stdout.endswith("\n700\n")
    assert list(place.iterdir()) == []


# [S-3.12m] shufflectl run leaves no mount behind, however its command ends.
def test_a_place_behind_a_link(runner, place, folder):
    (folder / "link").symlink_to(place)
    os.lchown(folder / "link", runner.user.uid, runner.user.gid)
    runner.environment["XDG_RUNTIME_DIR"] = str(folder / "link")
    root = runner("sh", "-c", "echo $SHUFFLEFS_MOUNT").stdout.strip()
    assert root.startswith(f"{place}/")
    assert harness.mount_types(root) == []
    assert list(place.iterdir()) == []


def test_the_mark_is_replaced_wherever_it_is(runner, place):
    done = runner("echo", "--data={}/a:{}", "--")
    data, rest = done.stdout.split(" ")
    first, second = data.removeprefix("--data=").split(":")
    assert first == second + "/a" and second.startswith(f"{place}/")
    assert rest == "--\n"
    marked = runner("echo", "{}", "@", options=["-I", "@"]).stdout.split()
    assert marked[0] == "{}" and marked[1].startswith(f"{place}/")


@pytest.mark.parametrize("script, code", [
    ("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)])
def test_the_exit_status_is_that_of_the_command(runner, script, code):
    done = runner("sh", "-c", script)
    assert (done.returncode, done.stdout) == (code, "")
    assert "shufflectl:" not in done.stderr


def test_what_cannot_be_started(runner, folder):
    done = runner("no-such-program")
    assert done.returncode == 127
    assert "shufflectl: no-such-program: No such file" in done.stderr
    done = runner(folder)
    assert done.returncode == 126
    assert f"shufflectl: {folder}: Permission denied" in done.stderr


def test_failures_of_run_itself(runner, folder):
    done = runner("touch", folder / "started", source=folder / "absent")
    assert done.returncode == OURS
    assert f"shufflefs: {folder}/absent: No such file" in done.stderr
    assert "absent: not mounted; touch was not started" in done.stderr
    done = runner("touch", folder / "started", options=["-o", "policy=lris"])
    assert done.returncode == OURS and "lris: must be" in done.stderr
    assert runner("touch", folder / "started",
                  options=["--frob"]).returncode == OURS
    assert not (folder / "started").exists()
    done = runner()
    assert done.returncode == OURS and "the command is missing" in done.stderr


# [S-3.12n] shufflectl run passes signals on to its command, and exits as the
# command does.
@pytest.mark.parametrize("name", ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2",
                                  "ALRM", "XCPU"])
def test_signals_are_passed_on(runner, name):
    running = runner.start("sh", "-c", TRAP.format(name))
    assert running.stdout.readline() == "ready\n"
    running.send_signal(getattr(signal, f"SIG{name}"))
    out, err = running.communicate(timeout=60 * harness.SLOWDOWN)
    assert (out, running.returncode) == ("got\n", 9), err


def test_a_signal_that_ends_the_command(runner):
    running = runner.start("sh", "-c", "echo ready; exec sleep 1000")
    assert running.stdout.readline() == "ready\n"
    running.terminate()
    running.communicate(timeout=60 * harness.SLOWDOWN)
    assert running.returncode == 128 + signal.SIGTERM


# [S-3.12m] shufflectl run leaves no mount behind, however its command ends.
def test_the_command_is_killed(runner, place):
    running = runner.start("sh", "-c", "echo $$; exec sleep 1000")
    os.kill(int(running.stdout.readline()), signal.SIGKILL)
    running.communicate(timeout=60 * harness.SLOWDOWN)
    assert running.returncode == 128 + signal.SIGKILL
    assert list(place.iterdir()) == []


def test_the_daemon_is_killed(runner, place):
    running = runner.start("sh", "-c", "echo ready; exec sleep 1000")
    assert running.stdout.readline() == "ready\n"
    mountpoint = next(place.iterdir()) / "mnt"
    listed = harness.run([harness.shufflectl(), "list", "--json"],
                         user=runner.user).stdout
    daemon = next(mount["pid"] for mount in map(json.loads, listed.splitlines())
                  if mount["mountpoint"] == str(mountpoint))
    os.kill(daemon, signal.SIGKILL)
    running.terminate()
    _, err = running.communicate(timeout=60 * harness.SLOWDOWN)
    assert running.returncode == 128 + signal.SIGTERM
    assert "shufflectl:" not in err


COUNT = """
import signal, time
came = []
signal.signal(signal.SIGINT, lambda *_: came.append(time.monotonic()))
print("ready", flush=True)
while not came or time.monotonic() < came[0] + 0.5:
    time.sleep(0.02)
print(len(came), flush=True)
"""


def test_an_interrupt_of_the_terminal_comes_once(runner):
    """The terminal sends it to the command, too."""
    ours, theirs = os.openpty()
    running = runner.start(
        harness.PYTHON, "-c", COUNT, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0))
    assert running.stdout.readline() == "ready\n"
    os.write(ours, b"\x03")
    out, err = running.communicate(timeout=60 * harness.SLOWDOWN)
    os.close(ours)
    os.close(theirs)
    assert (out, running.returncode) == ("1\n", 0), err


def test_a_process_that_is_left_behind(runner, source):
    """It keeps its file; run does not wait for it."""
    name = next(source.rglob("*.png")).relative_to(source)
    done = runner("sh", "-c", 'sleep 1000 <"$1" >/dev/null 2>&1 & echo $!',
                  "sh", f"{{}}/{name}")
    left = int(done.stdout)
    try:
        assert done.returncode == 0
        assert f"busy: used by {left} (sleep); detached" in done.stderr
        head = harness.run(["head", "-c", "4", f"/proc/{left}/fd/0"],
                           user=runner.user)
        assert head.stdout.endswith("PNG")
    finally:
        os.kill(left, signal.SIGKILL)


def test_a_command_that_unmounts(runner):
    done = runner(harness.shufflectl(), "umount", "{}")
    assert (done.returncode, done.stderr.count("shufflectl:")) == (0, 0)


def test_a_place_that_others_may_change_is_not_used(runner, folder, place):
    place.chmod(0o777)
    other = folder / "other"
    other.mkdir()
    os.chown(other, runner.user.uid, runner.user.gid)
    runner.environment["TMPDIR"] = str(other)
    assert runner("echo", "{}").stdout.startswith(f"{other}/shufflefs-")
    assert list(other.iterdir()) == []


def test_an_interrupt_while_it_mounts(folder):
    """The source hangs: nothing waits for it."""
    place = folder / "mine"
    place.mkdir()
    hanging = Source(folder)
    try:
        hanging.hang("list")
        runner = Runner(hanging.path, place, harness.SELF)
        running = subprocess.Popen(
            runner.argv("touch", folder / "started",
                        options=["-o", "wait=1h"]),
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            env=runner.environment)
        harness.eventually(
            lambda: any(harness.mount_types(each / "mnt")
                        for each in place.iterdir()), what="mount")
        running.terminate()
        _, err = running.communicate(timeout=60 * harness.SLOWDOWN)
        assert running.returncode == 128 + signal.SIGTERM
        assert "interrupted while mounting; touch was not started" in err
        assert not (folder / "started").exists()
        assert list(place.iterdir()) == []
    finally:
        hanging.close()
