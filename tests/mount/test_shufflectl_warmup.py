# SPDX-License-Identifier: Apache-2.0
"""shufflectl warmup: what is in memory afterwards, and what it could not do."""
import json
import os
import pty
import re
import subprocess

import pytest

import harness
import trees


@pytest.fixture
def source(folder, user):
    root = trees.blobs(folder / "source")
    trees.give_to(root, user)
    return root


def warmup(user, *arguments, check=True):
    return harness.run([harness.shufflectl(), "warmup", *arguments], user=user,
                       check=check)


def drop(path):
    """Takes a file out of the page cache."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def is_cached(path):
    """Whether the page cache holds it. None if the file system cannot say."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        try:
            return os.preadv(file.fileno(), [bytearray(size)], 0,
                             os.RWF_NOWAIT) == size
        except BlockingIOError:
            return False
        except OSError:
            return None


def total(source):
    return sum(path.stat().st_size for path in source.rglob("*.png"))


def test_all_of_it_is_read(source, user):
    for path in source.rglob("*.png"):
        drop(path)
    done = warmup(user, source)
    lines = done.stdout.splitlines()
    assert "120 of 120 files are in memory now" in lines[0]
    assert lines[1].startswith("read in ") and len(lines) == 2
    found = json.loads(warmup(user, "--json", source).stdout)
    assert found["read_bytes"] == found["bytes"] == total(source)
    assert found["left_out_files"] == found["unreadable_files"] == 0
    for path in source.rglob("*.png"):
        assert is_cached(path) in (True, None)


def test_what_does_not_fit_is_told(source, user):
    done = warmup(user, "--limit", "1M", source)
    assert "left out: " in done.stdout and "--limit is 1.00 MiB" in done.stdout
    found = json.loads(warmup(user, "--limit", "1M", "--json", source).stdout)
    assert 0 < found["read_bytes"] <= 1 << 20
    assert found["read_bytes"] + found["left_out_bytes"] == total(source)
    assert found["read_files"] + found["left_out_files"] == 120


def test_a_file_that_cannot_be_read_is_named(source):
    user = harness.NOBODY
    trees.give_to(source, user)
    locked = sorted(source.rglob("*.png"))[7]
    os.chmod(locked, 0)
    done = warmup(user, source, check=False)
    assert done.returncode == 1
    assert "119 of 120 files are in memory now" in done.stdout
    name = locked.relative_to(source)
    assert f"unreadable: 1 file, the first {name}: Permission denied" in (
        done.stdout)
    assert done.stderr == ("shufflectl: 1 file cannot be read; make it "
                           "readable, or a job will fail at it\n")


def test_wrong_words_are_refused(source, user):
    for words, why in (
            (["--limit", "lots"], "--limit lots: is not a size"),
            (["--readers", "0"], "--readers 0: must be from 1 to 256")):
        done = warmup(user, *words, source, check=False)
        assert done.returncode == 2 and why in done.stderr


def test_a_mount_is_warmed_by_its_source(mounts, source, user):
    mount = mounts(source, {"policy": "lirs"}, user=user)
    done = warmup(user, mount.path, check=False)
    assert done.returncode == 1
    assert f"give its source, {source}" in done.stderr


def on_a_terminal(words):
    """What the command writes to a terminal, and to a pipe for its output."""
    ours, its = pty.openpty()
    running = subprocess.Popen(words, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=its)
    os.close(its)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 1 << 16)
        except OSError:  # the command has ended
            break
    os.close(ours)
    out = running.communicate(timeout=60 * harness.SLOWDOWN)[0]
    assert running.returncode == 0, shown
    return shown.decode(), out.decode()


def test_a_terminal_shows_a_progress_bar(source):
    words = [harness.shufflectl(), "warmup", source]
    shown, out = on_a_terminal(words)
    lines = shown.split("\r\x1b[K")
    assert lines[-1] == "" and "\n" not in shown  # nothing of it is left
    bars = [line for line in lines if line.startswith("reading: ")]
    for bar in bars:
        match = re.fullmatch(
            r"reading: \[(#*)( *)\] +(\d+) %, \S+ \S+ of \S+ \S+"
            r"(, \S+ \S+/s, \d+ (s|min) left)?", bar)
        assert match, bar
        assert len(match[1]) + len(match[2]) == 12
        assert len(bar) <= 80
    assert bars[-1].startswith("reading: [############] 100 %")
    assert "120 of 120 files are in memory now" in out and "[#" not in out


def test_a_pipe_shows_none(source):
    done = harness.run([harness.shufflectl(), "warmup", source])
    assert done.stderr == "" and "\r" not in done.stdout
    both = harness.run(["sh", "-c", '"$0" warmup "$1" 2>&1',
                        harness.shufflectl(), source])
    assert len(both.stdout.splitlines()) == 2 and "%" not in both.stdout
