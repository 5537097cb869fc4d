# SPDX-License-Identifier: Apache-2.0
"""policy = met over containers: mini-epochs of blocks of records."""
import collections
import random
import shutil

import pytest

import containers
import harness
from met import not_cached, tier

EPOCHS, REPEAT = 6, 3
RECORDS = 1536  # of 1 KiB, framed: whole blocks


def fields(number):
    rng = random.Random(number)
    return b"%d " % number + rng.randbytes(rng.randrange(300, 2500))


def frame(number):
    """With the frame of a TFRecord 1 KiB, so that epochs are whole mini-epochs."""
    return b"%8d" % number + random.Random(number).randbytes(1000)


@pytest.fixture
def source(folder):
    """Containers of three kinds, and a file that is none."""
    root = folder / "source"
    root.mkdir()
    for shard in range(2):
        (root / f"t-{shard}.tfrecord").write_bytes(containers.tfrecord(
            frame(shard * RECORDS + i) for i in range(RECORDS)))
    containers.write_tar(root / "w.tar", (
        (f"{i:06}", {"bin": fields(i), "cls": b"%d" % (i % 7)})
        for i in range(RECORDS)))
    containers.write_lines(root / "l.svm", containers.lines(30_000), end="")
    (root / "README").write_text("what this is\n" * 9)
    return root


def options(tier, **more):
    keys = {"policy": "met", "memory": "64MiB", "record.as": "*.svm:lines",
            "tier.path": tier, "tier.capacity": "8MiB",
            "met.epochs": EPOCHS, "met.repeat": REPEAT,
            "met.mini_epochs": 6, "reimu.block": "64KiB",
            "epoch.advance": "manual"}
    return {**keys, **{key.replace("__", "."): value
                       for key, value in more.items()}}


def read_slowly(mount, path):
    """Reads on when the mini-epoch that is read is in the tier."""
    content = b""
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(1 << 18):
            content += piece
            harness.eventually(lambda: mount.view()["mini_epoch"]["ready"],
                               what="the mini-epoch")
    return content


def lines_of(path):
    return path.read_bytes().split(b"\n")


READERS = {".tfrecord": containers.read_tfrecord, ".tar": containers.read_tar,
           ".svm": lines_of}


def records(root):
    """{container: its records in order}."""
    return {path.name: READERS[path.suffix](path)
            for path in sorted(root.iterdir()) if path.suffix in READERS}


def read_epochs(mount, count):
    """What each of the next epochs shows."""
    for epoch in range(count):
        if epoch:
            mount.next_epoch()
        yield records(mount.path)


# [S-7.1k] Of containers an epoch shows as many records as there are; over
# met.epochs epochs every record comes as often as every other.
def test_every_record_comes_as_often_as_every_other(mounts, source, tier):
    raw = records(source)
    mount = mounts(source, options(tier))
    counts = collections.defaultdict(collections.Counter)
    for shown in read_epochs(mount, EPOCHS):
        for name, content in shown.items():
            unit = 2 if name == "w.tar" else 1  # files a sample
            assert len(content) == len(raw[name]), name
            distinct = len(set(content))
            assert distinct < len(content) * 0.6, name
            samples = [tuple(content[i:i + unit])
                       for i in range(0, len(content), unit)]
            # A reader takes equal keys in a row for one sample.
            assert all(a != b for a, b in zip(samples, samples[1:])), name
            counts[name].update(content)
    for name, content in raw.items():
        assert counts[name] == {record: EPOCHS * times for record, times
                                in collections.Counter(content).items()}, name
    assert (mount.path / "README").read_text() == "what this is\n" * 9


# [S-7.1l] What follows in a container that is read is copied into the tier
# meanwhile, so what comes again is not read from the source.
def test_what_comes_again_comes_from_the_tier(mounts, source, tier):
    mount = mounts(source, options(tier))
    served = 0
    for epoch in range(EPOCHS):
        if epoch:
            mount.next_epoch()
        for name in ("t-0.tfrecord", "t-1.tfrecord"):
            not_cached(source)
            served += len(read_slowly(mount, mount.path / name))
    view = mount.view()
    assert view["mini_epoch"]["of"] == 6
    assert view["mini_epoch"]["factor"] == REPEAT
    tier = view["tier"]
    assert tier["trouble"] == ""
    assert tier["tier_bytes"] > served * 0.3
    read = tier["copied_bytes"] + tier["source_bytes"]
    # Each block is copied once; these files are so small that readers are often
    # ahead of the copying.
    assert tier["copied_bytes"] + tier["captured_bytes"] < served * 0.4
    assert read < served * 0.9
    assert tier["saved_bytes"] == (
        tier["tier_bytes"] + tier["source_bytes"] - read)


# [S-7.1m] An epoch of containers follows from seed and number: it is the same
# after a restart, by path, and however the tier does.
def test_an_epoch_is_the_same_after_a_restart(mounts, source, tier, folder):
    mount = mounts(source, options(tier))
    first = [shown for shown in read_epochs(mount, 2)]
    mount.kill()
    mount.start()
    assert mount.view()["epoch"] == 1
    assert records(mount.path) == first[1]
    assert records(mount.control_dir / "epoch" / "0" / "tree") == first[0]

    def gone():  # the daemon may be writing to it
        shutil.rmtree(tier, ignore_errors=True)
        return not tier.exists()

    harness.eventually(gone, what="no tier")
    assert records(mount.control_dir / "epoch" / "1" / "tree") == first[1]


def test_nothing_repeats_unless_the_number_of_epochs_is_known(
        mounts, source, tier):
    keys = options(tier)
    del keys["met.epochs"]
    mount = mounts(source, keys)
    raw = records(source)
    shown = records(mount.path)
    for name, content in raw.items():
        assert shown[name] != content, name
        assert (collections.Counter(shown[name]) ==
                collections.Counter(content)), name
    assert mount.view()["mini_epoch"]["factor"] == 1
    assert "every mini-epoch is shown once" in mount.log()


def test_records_of_a_view_make_mini_epochs_together(mounts, source, tier):
    raw = records(source)
    mount = mounts(source, options(tier, record__scope="view"))
    counts = collections.Counter()
    for shown in read_epochs(mount, EPOCHS):
        both = shown["t-0.tfrecord"] + shown["t-1.tfrecord"]
        assert len(set(both)) < len(both) * 0.6
        assert len(shown["t-0.tfrecord"]) == RECORDS
        counts.update(both)
    assert counts == dict.fromkeys(
        raw["t-0.tfrecord"] + raw["t-1.tfrecord"], EPOCHS)


def test_all_is_copied_where_all_fits(mounts, source, tier):
    keys = options(tier, tier__capacity="64MiB")
    del keys["met.mini_epochs"]
    mount = mounts(source, keys)
    size = sum(path.stat().st_size for path in source.iterdir()
               if path.suffix in READERS)
    harness.eventually(
        lambda: mount.view()["tier"]["staged_bytes"] > size,
        what="all containers in the tier")
    raw = records(source)
    for shown in read_epochs(mount, 2):
        for name, content in raw.items():
            assert (collections.Counter(shown[name]) ==
                    collections.Counter(content)), name
    assert mount.view()["mini_epoch"]["why"] == (
        "1: all containers fit into the tier")
