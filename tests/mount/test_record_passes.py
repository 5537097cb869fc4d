# SPDX-License-Identifier: Apache-2.0
"""Passes over container files begin the next epoch (design 6)."""
import pytest

import containers

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
