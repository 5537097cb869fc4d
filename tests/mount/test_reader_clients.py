# SPDX-License-Identifier: Apache-2.0
"""TFRecord and WebDataset readers from PyPI accept shuffled records."""
import hashlib
import os
import random
import re
import struct

import pytest

import containers
import harness
import readers
import record_checks

POLICIES = [{"policy": "lirs"},
            {"policy": "reimu", "reimu.block": "8KiB", "reimu.window": "4"}]


@pytest.fixture(scope="module")
def tfrecord():
    with readers.Client("read_tfrecord.py") as client:
        yield client


@pytest.fixture(scope="module")
def webdataset():
    with readers.Client("read_webdataset.py") as client:
        yield client


@pytest.fixture
def source(folder):
    (folder / "source").mkdir()
    return folder / "source"


def data_of(count, seed=0):
    rng = random.Random(seed)
    return [f"{seed} {i} ".encode() + rng.randbytes(rng.randrange(300))
            for i in range(count)]


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_tfrecord(mounts, source, tfrecord, policy):
    data = data_of(1000)
    (source / "train.tfrecord").write_bytes(containers.tfrecord(data))

    def read(root):
        # Our own reader compares the checksums of what the other one reads.
        checked = containers.read_tfrecord(root / "train.tfrecord")
        shown = tfrecord("records", root / "train.tfrecord")
        assert shown == [hashlib.sha256(each).hexdigest()[:16]
                         for each in checked]
        return shown

    record_checks.shuffles(mounts, source, policy, read)


def test_tfrecord_of_examples(mounts, source, tfrecord):
    path = source / "train-00000-of-00001"
    tfrecord("write", path, 500)

    def read(root):
        return tfrecord("examples", root / path.name)

    assert read(source) == [[i, i / 4, i % 251] for i in range(500)]
    record_checks.shuffles(mounts, source, POLICIES[0], read)


def test_tfrecord_with_its_index(mounts, source, tfrecord):
    """An index beside the file holds it, one elsewhere is made of the view."""
    frames = data_of(400)
    for name in ("a", "b"):
        (source / f"{name}.tfrecord").write_bytes(containers.tfrecord(frames))
    make_index(source / "a.tfrecord", source / "a.tfindex")
    mount = record_checks.indexed(mounts(source, {**record_checks.MANUAL,
                                                  **POLICIES[0]}))
    digests = [hashlib.sha256(each).hexdigest()[:16] for each in frames]
    for epoch in range(2):
        assert tfrecord("records", mount.path / "a.tfrecord",
                        mount.path / "a.tfindex", 3) == digests
        own = source.parent / f"index{epoch}"
        make_index(mount.path / "b.tfrecord", own)
        shown = tfrecord("records", mount.path / "b.tfrecord", own, 3)
        assert shown != digests and sorted(shown) == sorted(digests)
        mount.next_epoch()
    assert list(record_checks.untouched(mount)) == ["a.tfrecord"]


def make_index(path, index):
    """As the package's tfrecord2idx does: offset and length of each record."""
    content = path.read_bytes()
    at, lines = 0, []
    while at < len(content):
        length = struct.unpack_from("<Q", content, at)[0] + 16
        lines.append(f"{at} {length}\n")
        at += length
    index.write_text("".join(lines))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("workers", [0, 4])
def test_webdataset(mounts, source, webdataset, policy, workers):
    for shard in range(8):
        containers.write_tar(
            source / f"set-{shard:06}.tar",
            [(f"{shard:02}/{i:05}",
              {"jpg": b"j" * (i * 7 % 900), "cls": b"%d" % (i % 10),
               "seg.png": b"%d %d" % (shard, i)}) for i in range(60)])

    def read(root):
        return webdataset(root / "set-{000000..000007}.tar", workers)

    raw = read(source)
    assert len(raw) == 480
    assert [name for name, _ in raw[0][1:]] == ["cls", "jpg", "seg.png"]
    record_checks.shuffles(mounts, source, policy, read)


def test_the_example_for_webdataset(source):
    """It mounts by the Python package, and all shards exchange samples."""
    for shard in range(4):
        containers.write_tar(
            source / f"part{shard}.tar",
            [(f"{shard}-{i:02}", {"txt": b"%d" % i, "cls": b"1"})
             for i in range(50)])
    done = harness.run(
        [readers.python(), "-B", harness.EXAMPLES / "webdataset_example.py",
         source, "--epochs", 4],
        env={**os.environ, "PYTHONPATH": str(harness.MODULE)})
    lines = re.findall(
        r"^epoch (\d): 200 different samples of 200, first (.*)$",
        done.stdout, re.MULTILINE)
    assert [epoch for epoch, _ in lines] == ["0", "1", "2", "3"], done
    first = [keys.split() for _, keys in lines]
    assert len({tuple(keys) for keys in first}) == 4
    assert len({key[0] for keys in first for key in keys}) > 1
