# SPDX-License-Identifier: Apache-2.0
"""Passes over container files begin the next epoch."""
import os
import pathlib

import pytest

import containers
import harness

LINES = {"record.as": "*.svm:lines", "policy": "lirs", "epoch.advance": "auto"}


@pytest.fixture
def source(folder):
    (folder / "source").mkdir()
    containers.write_lines(folder / "source/train.svm",
                           containers.lines(30000))
    return folder / "source"


CONNECTIONS = pathlib.Path("/sys/fs/fuse/connections")


@pytest.fixture(autouse=True, scope="module")
def connections():
    """What the kernel says of mounts. The mount vanishes with the test."""
    if os.geteuid() == 0 and not os.path.ismount(CONNECTIONS):
        harness.run(["mount", "-t", "fusectl", "none", CONNECTIONS])


def answered(mount):
    """Until the kernel waits for no answer. While the daemon still answers a
    read, the kernel has the file open, and tells of its close only later."""
    number = os.minor(os.stat(mount.path).st_dev)
    waiting = CONNECTIONS / str(number) / "waiting"
    if os.geteuid() == 0:  # only root may mount what says so
        harness.eventually(lambda: int(waiting.read_text()) == 0,
                           what="answers")


def read_text(mount, name="train.svm"):
    with open(mount.path / name) as file:
        text = file.read()
        answered(mount)
    return text


# [S-6.1e] With epoch.advance = auto a pass ends when every byte of all
# containers was delivered once, and one that nobody holds open is opened
# again.
def test_the_epoch_advances_by_itself(mounts, source):
    containers.write_lines(source / "more.svm", containers.lines(9000, start=7))
    mount = mounts(source, {**LINES, "policy": "reimu"})
    seen = set()
    for epoch in range(4):
        for name in ("train.svm", "more.svm"):
            shown = read_text(mount, name)
            assert sorted(shown) == sorted((source / name).read_text())
            seen.add(shown)
            assert mount.view()["epoch"] == epoch
    assert len(seen) == 8


def test_a_pass_that_stops_early_or_is_not_closed_does_not_advance(mounts,
                                                                   source):
    mount = mounts(source, LINES)
    path = mount.path / "train.svm"
    for _ in range(3):
        with open(path) as file:
            file.read(100000)
    assert mount.view()["epoch"] == 0
    # As liblinear does: counts the lines, goes back, and reads them.
    with open(path) as file:
        first = file.read()
        file.seek(0)
        assert file.read() == first
        with open(path) as other:
            assert other.read() == first
        assert mount.view()["epoch"] == 0
        answered(mount)
    assert read_text(mount) != first, mount.view()["warnings"]
    assert mount.view()["epoch"] == 1


def test_an_open_right_after_the_last_close_begins_the_next_pass(mounts,
                                                                 source):
    mount = mounts(source, LINES)
    path = mount.path / "train.svm"
    for epoch in range(100):
        with open(path) as file, open(path) as other:
            file.read()
            other.read()
            assert mount.view()["epoch"] == epoch
            answered(mount)


SHARDS = {"record.as": "t-*:lines", "record.scope": "set", "policy": "lirs",
          "epoch.advance": "auto"}


@pytest.fixture
def shards(folder):
    """A set of four whose records are shuffled across all of them."""
    root = folder / "shards"
    root.mkdir()
    for shard in range(4):
        containers.write_lines(root / f"t-0000{shard}-of-00004",
                               containers.lines(2000, start=2000 * shard))
    return root


def read_shards(mount, numbers):
    return [line for number in numbers
            for line in read_text(mount, f"t-0000{number}-of-00004")
            .splitlines()]


def expected_of(shards):
    return sorted(line for path in shards.iterdir()
                  for line in path.read_text().splitlines())


def has_whole_passes(mount, shards, epoch):
    for number in range(epoch + 1, epoch + 3):
        assert sorted(read_shards(mount, range(4))) == expected_of(shards)
        assert mount.view()["epoch"] == number


# The job that goes on is not taken for one that begins an epoch.
@pytest.mark.parametrize("way", ["live", "kill", "kill after"])
def test_a_loader_reads_again_what_it_had_read_ahead(mounts, source, way):
    """It had read the whole container, but had trained on the half of it."""
    mount = mounts(source, LINES)
    path = mount.path / "train.svm"
    with open(path) as file:
        first = file.readlines()
        answered(mount)
        token = mount.read("token")
    if way == "kill":
        mount.kill()
        mount.start()
    assert mount.write_control(token, "token") is None, mount.read("error")
    if way == "kill after":
        mount.kill()
        mount.start()
    assert read_text(mount).splitlines(True) == first
    assert mount.view()["epoch"] == 0
    assert read_text(mount).splitlines(True) != first
    assert mount.view()["epoch"] == 1


@pytest.mark.parametrize("way", ["live", "kill", "moved", "moved and killed"])
def test_the_rest_of_the_shards_ends_the_pass_of_a_token(mounts, shards, way):
    mount = mounts(shards, SHARDS)
    for _ in range(2):
        read_shards(mount, range(4))
    seen = read_shards(mount, [0, 1])
    token = mount.read("token")
    read_shards(mount, [2])  # ahead: the checkpoint does not know of it
    if way == "kill":
        mount.kill()
        mount.start()
    if way.startswith("moved"):
        mount.unmount()
        mount = mounts(shards, SHARDS)
    assert mount.write_control(token, "token") is None, mount.read("error")
    if way == "moved and killed":
        mount.kill()
        mount.start()
    seen += read_shards(mount, [2, 3])
    assert sorted(seen) == expected_of(shards)
    assert mount.view()["epoch"] == 2
    has_whole_passes(mount, shards, 2)


def test_a_token_of_a_whole_pass_shows_it_once_more(mounts, shards):
    mount = mounts(shards, SHARDS)
    first = read_shards(mount, range(4))
    token = mount.read("token")
    for state in ("same", "other"):
        if state == "other":
            mount.unmount()
            mount = mounts(shards, SHARDS)
        assert mount.write_control(token, "token") is None, mount.read("error")
        assert read_shards(mount, range(4)) == first
        has_whole_passes(mount, shards, 0)


# [S-6.1c] A descriptor of a container reads the epoch in which it was opened
# to its end.
def test_the_memory_of_an_epoch_goes_with_its_last_descriptor(mounts, source):
    mount = mounts(source, {**LINES, "policy": "reimu",
                            "epoch.advance": "manual"})
    path = mount.path / "train.svm"
    for _ in range(3):
        shown = path.read_bytes()
        with open(path, "rb", buffering=0) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            mount.next_epoch()
            # It begins in the part, of which nobody reads the rest.
            assert os.pread(file.fileno(), 1000, 600_000) == (
                shown[600_000:601_000])
            assert mount.view()["pool_bytes"] > 0
            path.stat()
    harness.eventually(lambda: mount.view()["pool_bytes"] == 0)


def test_reading_a_fixed_epoch_delays_no_switch(mounts, source):
    mount = mounts(source, {**LINES, "policy": "reimu",
                            "epoch.advance": "manual"})
    (mount.control_dir / "epoch/5/tree/train.svm").read_bytes()
    assert mount.write_control('policy = "lirs"\n') is None
    assert mount.view()["policy"] == "lirs"
    (mount.path / "train.svm").read_bytes()
    assert mount.write_control('policy = "reimu"\n') is None
    assert mount.view()["policy"] == "lirs"
