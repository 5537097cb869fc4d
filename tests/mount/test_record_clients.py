# SPDX-License-Identifier: Apache-2.0
"""Stock readers of Debian accept shuffled records: each whole, and once."""
import concurrent.futures
import csv
import gzip
import json
import mmap
import os
import random
import shutil

import h5py
import numpy
import pytest

import containers
import harness
import record_checks

LIRS = {"policy": "lirs"}
POLICIES = [LIRS, {"policy": "reimu", "reimu.block": "16KiB",
                   "reimu.window": "4"}]


@pytest.fixture
def source(folder):
    (folder / "source").mkdir()
    return folder / "source"


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_tarfile(mounts, source, policy):
    for shard in range(2):
        containers.write_tar(
            source / f"set-{shard:06}.tar",
            [(f"{shard}/{i:05}", {"txt": b"t" * (i % 700), "cls": b"%d" % i})
             for i in range(500)])

    def read(root):
        members = [member for shard in range(2)
                   for member in containers.read_tar(
                       root / f"set-{shard:06}.tar")]
        # Both files of a sample stand together, as in the source.
        return list(zip(members[::2], members[1::2]))

    for one, two in read(source):
        assert one[0].replace(".txt", ".cls") == two[0]
    record_checks.shuffles(mounts, source, policy, read)


def write_svm(path, rows=3000):
    rng = random.Random(3)
    path.write_text("".join(
        f"{label:+d} 1:{rng.random() + label / 4:.4f} 2:{rng.random():.4f} "
        f"{rng.randrange(3, 40)}:1\n"
        for label in (-1, 1) for _ in range(rows // 2)))


def test_liblinear_reads_its_file_twice_through_one_open(mounts, source):
    write_svm(source / "train.svm")
    mount = mounts(source, {**LIRS, "record.as": "*.svm:lines",
                            "epoch.advance": "auto"})
    models = set()
    for epoch in range(3):
        trained = []
        copied = source.parent / f"epoch{epoch}.svm"
        shutil.copy(mount.control_dir / f"epoch/{epoch}/tree/train.svm", copied)
        for path in (mount.path / "train.svm", copied):
            model = source.parent / "model"
            # The dual solver's path depends on the order of the rows.
            harness.run(["liblinear-train", "-q", "-s", "3", "-e", "0.5",
                         path, model])
            trained.append(model.read_text())
        assert trained[0] == trained[1]
        assert mount.view()["epoch"] == epoch
        models.add(trained[0])
    assert len(models) == 3


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_csv_with_a_header(mounts, source, policy):
    with open(source / "x.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "value"])
        writer.writerows([i, f'a "word", {i}' * (i % 3), i / 8]
                         for i in range(3000))

    def read(root):
        with open(root / "x.csv", newline="") as file:
            reader = csv.DictReader(file)
            assert reader.fieldnames == ["id", "text", "value"]
            return list(reader)

    assert len(read(source)) == 3000
    record_checks.shuffles(mounts, source, {
        **policy, "record.as": "*.csv:lines", "record.header": "1"}, read)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_csv_with_newlines_in_quotes(mounts, source, policy):
    with open(source / "x.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "two\nlines"])
        writer.writerows([i, 'said "this"\r\nand\nthat, ' * (i % 3)]
                         for i in range(3000))
    options = {**policy, "record.as": "*.csv:lines", "record.header": "1"}

    def read(root):
        with open(root / "x.csv", newline="") as file:
            header, *rows = csv.reader(file)
        assert header == ["id", "two\nlines"]
        return rows

    assert len(read(source)) == 3000
    plain = record_checks.indexed(mounts(source, {**record_checks.MANUAL,
                                                  **options}))
    record_checks.is_the_source(plain)
    assert "quoted newlines" in record_checks.untouched(plain)["x.csv"]
    record_checks.shuffles(mounts, source, {**options, "record.csv": "quoted"},
                           read)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("last", ["\n", ""], ids=["closed", "open"])
def test_jsonl(mounts, source, policy, last):
    rows = [{"id": i, "text": "wörter \u2028 " * (i % 5), "deep": [{"x": i}]}
            for i in range(2000)]
    (source / "x.jsonl").write_text("\n".join(
        json.dumps(row, ensure_ascii=i % 2 == 0)
        for i, row in enumerate(rows)) + last)

    def read(root):
        with open(root / "x.jsonl") as file:
            return [json.loads(line) for line in file]

    assert read(source) == rows
    record_checks.shuffles(mounts, source,
                           {**policy, "record.as": "*.jsonl:lines"}, read)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
@pytest.mark.parametrize("mode", [None, "r", "c"])
def test_numpy(mounts, source, policy, mode):
    rng = numpy.random.default_rng(5)
    numpy.save(source / "rows.npy", rng.random((2000, 3, 5)))
    numpy.save(source / "pairs.npy", numpy.array(
        [(i, i / 2) for i in range(3000)], dtype=[("a", "<i4"), ("b", ">f8")]))

    def read(root):
        arrays = [numpy.load(root / name, mmap_mode=mode)
                  for name in ("rows.npy", "pairs.npy")]
        assert [each.shape for each in arrays] == [(2000, 3, 5), (3000,)]
        assert arrays[1].dtype.names == ("a", "b")
        return [row.tobytes() for each in arrays for row in each]

    record_checks.shuffles(mounts, source, {**policy, "record.as": "*.npy:npy"},
                           read)


def test_numpy_that_has_no_rows_of_one_piece(mounts, source):
    rng = numpy.random.default_rng(6)
    numpy.save(source / "columns.npy", numpy.asfortranarray(rng.random((50, 9))))
    numpy.save(source / "objects.npy", numpy.array(
        [{"a": 1}, [2], "c"] * 9, dtype=object))
    numpy.save(source / "scalar.npy", numpy.float32(3))
    numpy.savez(source / "several.npz", a=rng.random(50), b=rng.random(50))
    mount = record_checks.indexed(mounts(source, {
        **record_checks.MANUAL, **LIRS, "record.as": "*.np?:npy"}))
    record_checks.is_the_source(mount)
    why = record_checks.untouched(mount)
    assert sorted(why) == record_checks.files(source)
    assert "Fortran" in why["columns.npy"]
    assert "objects" in why["objects.npy"]


def test_idx_images(mounts, source):
    """As MNIST has them, labels in the last pixel: named, so they move."""
    rng = random.Random(7)
    images = [rng.randbytes(28 * 28) for _ in range(900)]
    head = bytes([0, 0, 8, 3]) + b"".join(
        each.to_bytes(4, "big") for each in (900, 28, 28))
    (source / "images-idx3-ubyte").write_bytes(head + b"".join(images))

    def read(root):
        content = (root / "images-idx3-ubyte").read_bytes()
        assert content[:16] == head
        return [each.tobytes() for each in
                numpy.frombuffer(content, numpy.uint8, offset=16)
                .reshape(900, 784)]

    assert read(source) == images
    record_checks.shuffles(mounts, source,
                           {**LIRS, "record.as": "*-ubyte:idx"}, read)


def test_hdf5_and_compressed_files_are_untouched(mounts, source):
    with h5py.File(source / "x.h5", "w") as file:
        file["rows"] = numpy.arange(90000).reshape(3000, 30)
    data = containers.tfrecord([b"%d" % i for i in range(500)])
    write_svm(source / "plain.svm", rows=500)
    rows = (source / "plain.svm").read_bytes()
    for name, content in (("rows.svm.gz", rows), ("part.svm", rows),
                          ("a.tfrecord.gz", data), ("b.tfrecord", data),
                          ("c.tar", data), ("d.tar.gz", data)):
        (source / name).write_bytes(gzip.compress(content))
    mount = record_checks.indexed(mounts(source, {
        **record_checks.MANUAL, **LIRS, "record.as": "*.svm*:lines"}))
    names = [name for name in record_checks.files(source)
             if name != "plain.svm"]
    record_checks.is_the_source(mount, names)
    assert (mount.path / "plain.svm").read_bytes() != rows
    assert set(record_checks.untouched(mount)) == {
        "rows.svm.gz", "part.svm", "b.tfrecord", "c.tar"}
    with h5py.File(mount.path / "x.h5") as file:
        assert file["rows"][2999].tolist() == list(range(89970, 90000))


def shards(source, count):
    for shard in range(count):
        (source / f"train-{shard:05}-of-{count:05}").write_bytes(
            containers.tfrecord([b"%d %d " % (shard, i) + b"x" * (i % 200)
                                 for i in range(150)]))


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_eight_interleaved_readers_of_sixteen_shards(mounts, source, policy):
    shards(source, 16)

    def interleave(root, reader):
        """All shards at once, a record of each in turn: its every eighth."""
        read = [containers.tfrecords(root / name)
                for name in record_checks.files(source)]
        mine = []
        for turn, row in enumerate(zip(*read)):
            if turn % 8 == reader:
                mine += row
        return mine

    def read(root):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            parts = list(pool.map(lambda i: interleave(root, i), range(8)))
        return [each for part in parts for each in part]

    assert len(read(source)) == 2400
    record_checks.shuffles(mounts, source, policy, read)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_readers_at_several_places(mounts, source, policy):
    containers.write_tar(source / "a.tar", [
        (f"{i:06}", {"bin": bytes([i % 256]) * (i % 3000)})
        for i in range(3000)])
    mount = mounts(source, {**policy, **record_checks.MANUAL,
                            "memory": "16MiB"})
    path = mount.path / "a.tar"
    whole = (mount.control_dir / "epoch/0/tree/a.tar").read_bytes()
    assert whole != (source / "a.tar").read_bytes()

    def jump(seed):
        rng = random.Random(seed)
        with open(path, "rb", buffering=0) as file:
            for _ in range(60):
                at = rng.randrange(len(whole))
                assert (os.pread(file.fileno(), 20000, at)
                        == whole[at:at + 20000])

    def follow(_):
        assert path.read_bytes() == whole

    def look(seed):
        rng = random.Random(seed)
        with open(path, "rb") as file, \
                mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            for _ in range(200):
                at = rng.randrange(len(whole))
                assert mapped[at:at + 5000] == whole[at:at + 5000]

    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        running = [pool.submit(each, seed) for seed in range(3)
                   for each in (jump, follow, look)]
        for each in running:
            each.result()
