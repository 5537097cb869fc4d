# SPDX-License-Identifier: Apache-2.0
"""Files whose records must not move, or only together with another's."""
import random

import numpy
import pytest

import containers
import record_checks

# What somebody mounts with who has read nothing.
ASKED_FOR_NOTHING = [{}, {"policy": "lirs"}, {"policy": "reimu"},
                     {"policy": "lirs", "pair": "off"}]


@pytest.fixture
def source(folder):
    (folder / "source").mkdir()
    return folder / "source"


@pytest.fixture(params=ASKED_FOR_NOTHING, ids=str)
def options(request):
    return {**record_checks.MANUAL, **request.param}


def write_tfrecord(path, count=300):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(containers.tfrecord(
        [b"%s %d" % (path.name.encode(), i) for i in range(count)]))


def write_shard(path, count=200):
    path.parent.mkdir(parents=True, exist_ok=True)
    containers.write_tar(path, [(f"{path.stem}/{i:05}", {"txt": b"%d" % i})
                                for i in range(count)])


def write_idx(path, rows, *shape):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes([0, 0, 8, 1 + len(shape)]) + b"".join(
        each.to_bytes(4, "big") for each in (len(rows), *shape))
        + b"".join(rows))


def reasons(mount):
    records = mount.view().get("records")
    return {} if records is None else record_checks.untouched(mount)


def test_rows_of_two_files_that_belong_together(mounts, source, options):
    rng = random.Random(1)
    write_idx(source / "mnist/train-images-idx3-ubyte",
              [rng.randbytes(784) for _ in range(300)], 28, 28)
    write_idx(source / "mnist/train-labels-idx1-ubyte",
              [bytes([i // 30]) for i in range(300)])
    (source / "arrays").mkdir()
    numpy.save(source / "arrays/X.npy", numpy.arange(6000).reshape(300, 20))
    numpy.save(source / "arrays/y.npy", numpy.arange(300))
    (source / "text").mkdir()
    for name in ("vocab.txt", "train.src", "train.tgt", "train.jsonl",
                 "labels.csv"):
        containers.write_lines(source / "text" / name,
                               [f"{name} {i}" for i in range(300)])
    containers.write_lines(source / "svm/a.svm", containers.lines(300))
    containers.write_lines(source / "svm/a.svm.weight",
                           [f"{i}" for i in range(300)])
    mount = record_checks.indexed(mounts(source, options))
    record_checks.is_the_source(mount)


def test_what_was_named_moves_and_its_sidecar_does_not(mounts, source):
    """A rule is the user's word: nothing else is taken along."""
    for name in ("a.svm", "a.svm.weight", "vocab.txt"):
        containers.write_lines(source / name, containers.lines(300))
    mount = record_checks.indexed(mounts(source, {
        **record_checks.MANUAL, "policy": "lirs", "record.as": "a.svm:lines"}))
    record_checks.is_the_source(mount, ["a.svm.weight", "vocab.txt"])
    assert ((mount.path / "a.svm").read_bytes()
            != (source / "a.svm").read_bytes())


def test_validation_stays_and_training_moves(mounts, source):
    still = ["validation.tfrecord", "val-00000-of-00001", "test.tar",
             "a.val.tfrecord"]
    moving = ["train.tfrecord", "train-00000-of-00001", "trial.tar"]
    for name in still + moving:
        (write_shard if name.endswith("tar") else write_tfrecord)(source / name)
    mount = record_checks.indexed(mounts(source, {**record_checks.MANUAL,
                                                  "policy": "lirs"}))
    for _ in range(2):
        for name in moving:
            shown = (mount.path / name).read_bytes()
            assert shown != (source / name).read_bytes(), name
            assert sorted(shown) == sorted((source / name).read_bytes())
        mount.next_epoch()
    record_checks.is_the_source(mount, still)
    why = record_checks.untouched(mount)
    assert sorted(why) == sorted(still)
    assert all("split" in each for each in why.values())


def test_an_index_of_offsets_keeps_its_file(mounts, source, options):
    """Where tools put them: beside the file, in a directory of their own."""
    for name in ("tfrecord2idx/a.tfrecord", "named/b.tfrecord",
                 "shards/train-00000-of-00001", "elsewhere/c.tfrecord"):
        write_tfrecord(source / name)
    for name in ("wds2idx/d.tar", "energon/e.tar", "other/f.tar"):
        write_shard(source / name)
    indexed = record_checks.files(source)
    (source / "index").mkdir()
    for name in ("tfrecord2idx/a.tfindex", "named/b.tfrecord.tfindex",
                 "shards/train-00000-of-00001.idx", "index/c.idx",
                 "wds2idx/d.idx", "energon/e.tar.idx", "other/f.index"):
        (source / name).write_text("0 100\n100 100\n")
    mount = record_checks.indexed(mounts(source, options))
    record_checks.is_the_source(mount)
    if "policy" in options:
        why = reasons(mount)
        assert sorted(why) == indexed
        assert all("it has a sidecar file" in each for each in why.values()), why


def test_a_directory_with_an_index_of_its_shards(mounts, source, options):
    """MosaicML's streaming finds samples by offsets in its index."""
    for name in ("mds/shard.00000.mds", "mds/shard.00001.mds"):
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_bytes(random.Random(2).randbytes(5000))
    for name in ("wds/shard-00000.tar", "wds/shard-00001.tar"):
        write_shard(source / name)
    for name in ("mds", "wds"):
        (source / name / "index.json").write_text('{"shards": []}')
    mount = record_checks.indexed(mounts(source, options))
    record_checks.is_the_source(mount)
    if "policy" in options:
        assert sorted(reasons(mount)) == ["wds/shard-00000.tar",
                                          "wds/shard-00001.tar"]


@pytest.mark.parametrize("policy", ["native", "static", "brand", "auto"])
def test_policies_of_files_leave_containers_alone(mounts, source, policy):
    write_tfrecord(source / "train.tfrecord")
    write_shard(source / "set-000000.tar")
    mount = mounts(source, {**record_checks.MANUAL, "policy": policy})
    record_checks.is_the_source(mount)
