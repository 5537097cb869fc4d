# SPDX-License-Identifier: Apache-2.0
"""Indexes of offsets beside TFRecord files follow the order of the records."""
import os
import random

import pytest

import containers
import record_checks

POLICIES = [{"policy": "lirs"}, {"policy": "lirs", "lirs.unit": "page"},
            {"policy": "reimu", "reimu.block": "16KiB", "reimu.window": "4"}]


@pytest.fixture
def source(folder):
    """Two files, with an index each: called as two programs call it."""
    rng = random.Random(7)
    (folder / "source").mkdir()
    for name, index in (("a.tfrecord", "a.idx"),
                        ("b.tfrecord", "b.tfrecord.idx")):
        data = containers.tfrecord([rng.randbytes(rng.randrange(600))
                                    for _ in range(1000)])
        (folder / "source" / name).write_bytes(data)
        (folder / "source" / index).write_text(containers.tfrecord_index(data))
    return folder / "source"


PAIRS = [("a.tfrecord", "a.idx"), ("b.tfrecord", "b.tfrecord.idx")]


# [S-6.5a] An index beside a TFRecord file leads to the records where the epoch
# shows them.
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_an_index_leads_to_every_record(mounts, source, policy):
    mount = record_checks.indexed(
        mounts(source, {**record_checks.MANUAL, **policy}))
    assert record_checks.untouched(mount) == {}
    fixed = mount.control_dir / "epoch"
    for name, index in PAIRS:
        raw = containers.read_tfrecord(source / name)
        seen = [raw]
        sizes = set()
        for epoch in range(2, 5):
            root = fixed / str(epoch) / "tree"
            shown = containers.read_by_index(root / name, root / index)
            assert shown == containers.read_tfrecord(root / name)
            assert sorted(shown) == sorted(raw) and shown not in seen
            seen.append(shown)
            sizes.add((root / index).stat().st_size)
        sizes.add((mount.path / index).stat().st_size)
        assert len(sizes) == 1
    for _ in range(3):
        for name, index in PAIRS:
            assert (containers.read_by_index(mount.path / name,
                                             mount.path / index)
                    == containers.read_tfrecord(mount.path / name))
            assert (len((mount.path / index).read_bytes())
                    == (mount.path / index).stat().st_size)
        mount.next_epoch()


def test_an_index_of_equal_lines_keeps_its_size(mounts, source):
    for _, index in PAIRS:
        lines = (source / index).read_text().splitlines()
        (source / index).write_text(
            "".join("%9s %5s\n" % tuple(line.split()) for line in lines))
    mount = record_checks.indexed(
        mounts(source, {**record_checks.MANUAL, "policy": "lirs"}))
    for name, index in PAIRS:
        assert (mount.path / index).stat().st_size == 16 * 1000
        assert (len(containers.read_by_index(mount.path / name,
                                             mount.path / index)) == 1000)


# [S-6.5b] A descriptor of an index stays in its epoch as one of its file does.
def test_descriptors_of_both_stay_together(mounts, source):
    mount = record_checks.indexed(
        mounts(source, {**record_checks.MANUAL, "policy": "lirs"}))
    with open(mount.path / "a.tfrecord", "rb") as file, \
            open(mount.path / "a.idx") as index:
        old = mount.path / "a.tfrecord"
        whole = old.read_bytes()
        mount.next_epoch()
        assert old.read_bytes() != whole
        spans = [tuple(map(int, line.split())) for line in index]
        assert file.read() == whole
        text = containers.tfrecord_index(whole)
        assert spans == [tuple(map(int, line.split()))
                         for line in text.splitlines()]


# [S-6.5c] An index that is not the one of the records leaves both files as
# they are.
def test_another_index_is_no_index(mounts, source):
    lines = (source / "a.idx").read_text().splitlines(True)
    (source / "a.idx").write_text("".join(lines[:-1]))
    mount = record_checks.indexed(
        mounts(source, {**record_checks.MANUAL, "policy": "lirs"}))
    record_checks.is_the_source(mount, ["a.tfrecord", "a.idx"])
    assert record_checks.untouched(mount) == {
        "a.tfrecord": "it has a sidecar file, a.idx, which is not an index of "
                      "its records"}
    assert ((mount.path / "b.tfrecord").read_bytes()
            != (source / "b.tfrecord").read_bytes())


# [S-6.5d] Once an index was read in the live view no pass over containers
# begins the next epoch.
def test_who_reads_an_index_stays_in_the_epoch(mounts, source):
    options = {"policy": "lirs", "epoch.advance": "auto"}
    mount = record_checks.indexed(mounts(source, options))
    (mount.control_dir / "epoch/3/tree/a.idx").read_bytes()
    for epoch in range(2):
        for name, _ in PAIRS:
            (mount.path / name).read_bytes()
            assert mount.view()["epoch"] == epoch
    index = (mount.path / "a.idx").read_text()
    for _ in range(3):
        for name, _ in PAIRS:
            (mount.path / name).read_bytes()
        assert mount.view()["epoch"] == 1
    assert any("index of offsets" in each
               for each in mount.view()["warnings"])
    mount.next_epoch()
    assert (mount.path / "a.idx").read_text() != index


# A restart changes nothing about that.
@pytest.mark.parametrize("way", ["kill", "unmount", "token"])
def test_who_read_an_index_stays_in_the_epoch_after_a_restart(mounts, source,
                                                              way):
    options = {"policy": "lirs", "epoch.advance": "auto"}
    mount = record_checks.indexed(mounts(source, options))
    spans = [tuple(map(int, line.split()))
             for line in (mount.path / "a.idx").read_text().splitlines()]

    def records():
        """By the places of the first pass, as DALI reads."""
        whole = (mount.path / "a.tfrecord").read_bytes()
        (mount.path / "b.tfrecord").read_bytes()
        return [whole[at:at + size] for at, size in spans]

    first = records()
    token = mount.read("token")
    if way == "token":
        mount.unmount()
        mount = record_checks.indexed(mounts(source, options))
        assert mount.write_control(token, "token") is None
    else:
        getattr(mount, way)()
        record_checks.indexed(mount.start())
    for _ in range(3):
        assert records() == first
        assert mount.view()["epoch"] == 0
    assert any("index of offsets" in each
               for each in mount.view()["warnings"])


def test_at_once_after_mounting(mounts, source):
    """Whoever comes before the index is made gets whole files all the same."""
    for _ in range(5):
        mount = mounts(source, {**record_checks.MANUAL, "policy": "lirs"})
        for name, index in PAIRS:
            before = os.stat(mount.path / index).st_size
            text = (mount.path / index).read_bytes()
            assert len(text) >= before
            assert (mount.path / index).stat().st_size == len(text)
            assert len(containers.read_by_index(mount.path / name,
                                                mount.path / index)) == 1000
        mount.unmount()
