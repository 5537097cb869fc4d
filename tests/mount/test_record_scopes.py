# SPDX-License-Identifier: Apache-2.0
"""Records of one container come from others too (record.scope)."""
import collections
import concurrent.futures
import fcntl
import mmap
import os
import signal
import threading

import pytest

import containers
import harness
import record_checks
from record_sets import COUNTS, READERS, SCOPES, shard, write_sets

POLICIES = [
    {"policy": "lirs"},
    {"policy": "lirs", "lirs.unit": "page", "lirs.page": "4KiB",
     "lirs.batch": "3"},
    {"policy": "reimu", "reimu.block": "4KiB", "reimu.window": "3"},
    {"policy": "window", "window.samples": "60"},
]
LINES = {"record.as": "*.svm:lines"}


def name_of(options):
    return " ".join(map(str, options.values()))


def records(root):
    """{name of a container: its records, in order}."""
    return {name: READERS[name[0]](root / name)
            for name in record_checks.files(root) if name[0] in READERS}


def of_sets(shown):
    """{set: how often each record is in it}."""
    sets = collections.defaultdict(collections.Counter)
    for name, content in shown.items():
        sets[name[0]].update(content)
    return sets


def counts(shown):
    return {name: len(content) for name, content in shown.items()}


@pytest.fixture
def source(folder):
    write_sets(folder / "source")
    return folder / "source"


def sizes_hold(root):
    """Whether stat, reads and mappings agree on every file."""
    for name in record_checks.files(root):
        size = os.stat(root / name).st_size
        with open(root / name, "rb") as file:
            assert os.fstat(file.fileno()).st_size == size, name
            assert file.seek(0, os.SEEK_END) == size, name
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                assert len(mapped) == size, name
                file.seek(0)
                assert mapped[:] == file.read(), name


# [S-6.4a] With record.scope = set or view a container shows as many records as
# it has, and they come from all of its family.
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("policy", POLICIES, ids=name_of)
def test_records_come_from_all_of_the_family(mounts, source, policy, scope):
    options = {**record_checks.MANUAL, **LINES, **policy,
               "record.scope": scope}
    raw = records(source)
    mount, again = (mounts(source, options) for _ in range(2))
    seen = []
    for epoch in range(3):
        shown = records(mount.path)
        assert of_sets(shown) == of_sets(raw)
        assert counts(shown) == counts(raw)
        assert records(again.path) == shown, "the same seed repeats"
        fixed = mount.control_dir / f"epoch/{epoch}/tree"
        assert records(fixed) == shown, "so do epochs by path"
        assert shown not in [raw, *seen], "no two orders are alike"
        for name in raw:
            assert not seen or set(shown[name]) != set(seen[-1][name]), name
        sizes_hold(mount.path)
        sizes_hold(fixed)
        seen.append(shown)
        mount.next_epoch()
        again.next_epoch()
    assert record_checks.untouched(mount) == {}


def test_by_itself_a_container_keeps_its_records_and_its_size(mounts, source):
    mount = mounts(source, {**record_checks.MANUAL, **LINES, "policy": "lirs"})
    raw = records(source)
    for name, content in records(mount.path).items():
        assert collections.Counter(content) == collections.Counter(raw[name])
        assert (os.stat(mount.path / name).st_size
                == os.stat(source / name).st_size)


# [S-6.4b] Its size follows from the records that it shows, and is right from
# the first stat on.
def test_who_asks_early_waits_for_the_size(mounts, folder):
    source = folder / "source"
    source.mkdir()
    lines = containers.lines(300000)
    for number in range(3):
        containers.write_lines(source / shard("l", number, ".svm", of=3),
                               lines[number::3])
    mount = mounts(source, {**LINES, "policy": "lirs", "record.scope": "set"})
    names = record_checks.files(source)
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        sizes = list(pool.map(lambda name: os.stat(mount.path / name).st_size,
                              2 * names))
    assert sizes[:3] == sizes[3:]
    assert sizes[:3] != [os.stat(source / name).st_size for name in names]
    for name, size in zip(names, sizes):
        assert len((mount.path / name).read_bytes()) == size


@pytest.fixture
def lease():
    """lease(path) keeps others from opening it, until close() of the result.

    The kernel gives up on the holder after lease-break-time, 45 seconds.
    """
    before = signal.signal(signal.SIGIO, lambda *_: None)
    held = []

    def take(path):
        held.append(open(path, "rb+"))
        fcntl.fcntl(held[-1], fcntl.F_SETLEASE, fcntl.F_WRLCK)
        return held[-1]

    yield take
    for file in held:
        file.close()
    signal.signal(signal.SIGIO, before)


def read_plainly(path, chunk):
    """As programs do that ask for no size."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        pieces = []
        while piece := os.read(descriptor, chunk):
            pieces.append(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)


def test_others_are_served_while_some_wait(mounts, source, lease):
    # It is tried again for seven seconds.
    held = lease(source / shard("t", 2))
    mount = mounts(source, {**record_checks.MANUAL, "policy": "lirs",
                            "record.scope": "set"})
    paths = [mount.path / shard("t", number) for number in range(len(COUNTS))]
    other = shard("w", 1, ".tar")
    with concurrent.futures.ThreadPoolExecutor(48) as pool:
        try:
            sizes = [pool.submit(os.stat, path) for path in 8 * paths]
            contents = [pool.submit(read_plainly, path, chunk)
                        for chunk in (500, 4096, 200000) for path in paths]
            assert len(os.listdir(mount.path)) == 3 * len(COUNTS)
            shown = (mount.path / other).read_bytes()
            assert len(shown) == os.stat(mount.path / other).st_size
            assert not any(each.done() for each in [*sizes, *contents])
        finally:
            held.close()
        sizes = [each.result().st_size for each in sizes]
        contents = [each.result() for each in contents]
    assert contents == 3 * [path.read_bytes() for path in paths]
    assert sizes == 8 * [len(content) for content in contents[:len(paths)]]
    assert record_checks.untouched(mount) == {}
    assert of_sets(records(mount.path)) == of_sets(records(source))


def test_a_descriptor_keeps_its_epoch_and_its_size(mounts, source):
    mount = mounts(source, {**record_checks.MANUAL, **LINES, "policy": "reimu",
                            "record.scope": "set"})
    sizes = collections.defaultdict(set)
    for name in record_checks.files(source):
        whole = (mount.path / name).read_bytes()
        with open(mount.path / name, "rb") as old:
            head = old.read(100)
            for _ in range(3):
                mount.next_epoch()
                size = os.stat(mount.path / name).st_size
                assert len((mount.path / name).read_bytes()) == size
                sizes[name].add(size)
            assert os.fstat(old.fileno()).st_size == len(whole)
            assert head + old.read() == whole
    assert all(len(each) > 1 for each in sizes.values()), "they change"


def test_readers_go_on_over_a_switch(mounts, source):
    mount = mounts(source, {**LINES, "policy": "lirs", "record.scope": "set",
                            "epoch.advance": "auto"})
    fixed = mount.control_dir / "epoch/0/tree"
    name = shard("t", 3)
    half, done = threading.Event(), threading.Event()

    def slow():
        with open(mount.path / name, "rb") as file:
            head = file.read(1000)
            half.set()
            assert done.wait(60)
            return head + file.read()

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        reader = pool.submit(slow)
        assert half.wait(60)
        try:
            passes = [records(mount.path) for _ in range(4)]
        finally:
            done.set()
        assert reader.result() == (fixed / name).read_bytes()
    assert mount.view()["epoch"] > 0
    for shown in passes:
        assert of_sets(shown) == of_sets(records(source))


def test_the_epoch_advances_by_itself(mounts, source):
    mount = mounts(source, {**LINES, "policy": "reimu", "record.scope": "view"})
    for epoch in range(4):
        shown = {name: READERS[name[0]](mount.path / name)
                 for name in record_checks.files(source)}
        assert of_sets(shown) == of_sets(records(source))
        assert mount.view()["epoch"] == epoch


# Else a pass would show some files of one epoch and some of the next one, and
# so would all later passes.
@pytest.mark.parametrize("cut", [1, 5, 12])
@pytest.mark.parametrize("end", ["kill", "close"])
def test_a_pass_goes_on_after_a_restart(mounts, source, cut, end):
    mount = mounts(source, {**LINES, "policy": "reimu", "record.scope": "set"})
    names = record_checks.files(source)
    raw = of_sets(records(source))

    def read(some):
        return {name: READERS[name[0]](mount.path / name) for name in some}

    shown = read(names[:cut])
    getattr(mount, end)()
    mount.start()
    shown |= read(names[cut:])
    assert of_sets(shown) == raw
    assert mount.view()["epoch"] == 0
    for epoch in (1, 2):
        assert of_sets(read(names)) == raw
        assert mount.view()["epoch"] == epoch


def test_a_policy_that_comes_later_mixes_the_same(mounts, source):
    options = {**record_checks.MANUAL, **LINES, "record.scope": "set"}
    mount = mounts(source, {**options, "policy": "native"})
    assert records(mount.path) == records(source)
    assert mount.write_control('policy = "lirs"\nepoch = "next"\n') is None
    wanted = mounts(source, {**options, "policy": "lirs"})
    wanted.next_epoch()
    assert records(mount.path) == records(wanted.path) != records(source)
    sizes_hold(mount.path)
    assert mount.write_control('policy = "native"\nepoch = "next"\n') is None
    assert records(mount.path) == records(source)
    sizes_hold(mount.path)


def test_what_shufflectl_has_read_is_not_read_again(mounts, source, folder):
    (folder / "state").mkdir()
    keys = {**LINES, "policy": "lirs", "record.scope": "set",
            "state": folder / "state"}
    options = ",".join(f"{key}={value}" for key, value in keys.items())
    harness.run([harness.shufflectl(), "index", "-o", options, source,
                 folder / "mount0/mnt"])
    mount = record_checks.indexed(mounts(source, keys))
    assert mount.view()["records"]["read_through"] == 0
    assert of_sets(records(mount.path)) == of_sets(records(source))


def test_wrong_words_are_refused(mounts, source):
    mount = mounts(source, {"record.scope": "all"}, start=False)
    done = harness.run(mount.command(), check=False)
    assert done.returncode != 0
    assert "record.scope" in done.stderr and "file, set or view" in done.stderr
