# SPDX-License-Identifier: Apache-2.0
"""Passes over container files begin the next epoch."""
import os

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


# [S-6.1e] With epoch.advance = auto a pass ends when every byte of all
# containers was delivered once, and one that nobody holds open is opened
# again.
def test_the_epoch_advances_by_itself(mounts, source):
    containers.write_lines(source / "more.svm", containers.lines(9000, start=7))
    mount = mounts(source, {**LINES, "policy": "reimu"})
    seen = set()
    for epoch in range(4):
        for name in ("train.svm", "more.svm"):
            shown = (mount.path / name).read_text()
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
    assert path.read_text() != first
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
