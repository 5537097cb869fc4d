# SPDX-License-Identifier: Apache-2.0
"""shufflectl top and status --watch on live mounts."""
import os
import pty
import signal
import subprocess

import pytest

import harness
import trees

MANUAL = {"policy": "lirs", "substitute": "directory",
          "epoch.advance": "manual"}
TITLES = ["POLICY", "EPOCH", "DONE", "SAMPLES/S", "MIB/S", "SOURCE", "WAIT",
          "HITS", "ENDS", "IN", "MOUNT"]


@pytest.fixture
def mount(mounts, folder):
    return mounts(trees.class_folders(folder / "source"),
                  {**MANUAL, "open": "seen"})


def start(*arguments, stdout=subprocess.PIPE, within=()):
    return subprocess.Popen([*within, harness.shufflectl(), *arguments],
                            stdin=subprocess.DEVNULL, stdout=stdout,
                            stderr=subprocess.PIPE, text=True)


def expect_end(running, number=signal.SIGINT):
    running.send_signal(number)
    _, err = running.communicate(timeout=60 * harness.SLOWDOWN)
    assert (running.returncode, err) == (0, "")


@pytest.mark.parametrize("command", [["top"], ["status", "--watch"]],
                         ids=["top", "status"])
def test_lines_on_a_pipe(mount, command):
    running = start(*command, "--interval", "1s", mount.path)
    assert running.stdout.readline().split() == TITLES
    first = running.stdout.readline().split()
    assert first[:4] == ["lirs", "0", "0%", "0"] and first[-1] == str(mount.path)
    samples = len(trees.contents(mount.path))
    done, rates = [], []
    while done[-1:] != ["100%"] or rates[-1] != "0":  # all was read, then idle
        row = running.stdout.readline().split()
        done.append(row[2])
        rates.append(row[3])
    assert samples > 0 and max(map(int, rates)) > 0
    expect_end(running)


def test_sigterm_ends_it_and_a_count(mount):
    expect_end(wait_for_titles(start("top", mount.path)), signal.SIGTERM)
    done = harness.run([harness.shufflectl(), "top", "--count", "2",
                        "--interval", "10ms", mount.path])
    assert len(done.stdout.splitlines()) == 3


def wait_for_titles(running):
    assert running.stdout.readline().split() == TITLES
    return running


def test_a_signal_that_its_parent_ignores_does_nothing(mount):
    """As in the background of a script."""
    running = wait_for_titles(start("top", "--interval", "500ms", mount.path,
                                    within=["env", "--ignore-signal=INT"]))
    running.send_signal(signal.SIGINT)
    for _ in range(4):
        assert running.stdout.readline().startswith("lirs")
    expect_end(running, signal.SIGTERM)


def test_it_ends_with_the_mount(mount):
    running = wait_for_titles(start("top", "--interval", "100ms", mount.path))
    mount.unmount()
    _, err = running.communicate(timeout=60 * harness.SLOWDOWN)
    assert running.returncode == 0
    assert f"{mount.path}: is not inside a shufflefs mount" in err


def test_a_terminal_is_drawn_anew(mount):
    ours, theirs = pty.openpty()
    running = start("top", "--count", "2", "--interval", "50ms", mount.path,
                    stdout=theirs)
    os.close(theirs)
    _, err = running.communicate(timeout=60 * harness.SLOWDOWN)
    assert (running.returncode, err) == (0, "")
    shown = read_all(ours).decode()
    tables = shown.split("\x1b[H\x1b[J")
    assert tables[0] == "" and len(tables) == 4
    assert all(table.count("\n") == 2 and table.startswith("POLICY")
               for table in tables[1:])


def read_all(terminal):
    """What was written to it, whose other end is closed."""
    parts = []
    try:
        while part := os.read(terminal, 4096):
            parts.append(part)
    except OSError:  # as the end of a file
        pass
    os.close(terminal)
    return b"".join(parts)


def test_a_bad_interval(mount):
    done = harness.run([harness.shufflectl(), "top", "--interval", "0s",
                        mount.path], check=False)
    assert done.returncode == 2
    assert "--interval 0s: must be a time" in done.stderr
