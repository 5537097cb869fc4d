# SPDX-License-Identifier: Apache-2.0
"""Row groups and record batches come in the epoch's order."""
import concurrent.futures
import mmap
import os
import random

import pytest

import columnar
import harness

POLICIES = [
    {"policy": "lirs"},
    {"policy": "lirs", "lirs.unit": "page", "lirs.batch": "5"},
    {"policy": "reimu", "reimu.window": "4"},
    {"policy": "window", "window.samples": "20"},
]
GROUPS = [list(range(i * 10, i * 10 + 1 + i % 7)) for i in range(300)]
BODIES = [bytes([i]) * 8 * (1 + i % 5) for i in range(200)]


def name_of(options):
    return " ".join(map(str, options.values()))


def records(mount):
    return mount.view()["records"]


def indexed(mount):
    harness.eventually(
        lambda: records(mount)["indexed"] == records(mount)["containers"],
        what="the index")
    return mount


def manual(mounts, source, options, **kwargs):
    return indexed(mounts(source, {"epoch.advance": "manual", **options},
                          **kwargs))


@pytest.fixture
def source(folder):
    root = folder / "source"
    root.mkdir()
    (root / "a1.parquet").write_bytes(columnar.parquet(GROUPS))
    (root / "a2.parquet").write_bytes(columnar.parquet(GROUPS, ordinals=True))
    # Three, so none of the two files c#.arrow may be that of one of these.
    (root / "a3.parquet").write_bytes(columnar.parquet(GROUPS))
    (root / "c1.arrow").write_bytes(columnar.arrow_file(BODIES))
    (root / "d.feather").write_bytes(columnar.arrow_file(BODIES))
    (root / "c2.arrow").write_bytes(columnar.arrow_stream(BODIES))
    return root


def differing(raw, shown):
    """The stretch of bytes outside of which the two are the same."""
    assert len(raw) == len(shown)
    places = [at for at, pair in enumerate(zip(raw, shown))
              if pair[0] != pair[1]]
    return (places[0], places[-1] + 1) if places else (0, 0)


# [S-6.3a] Of a Parquet or Arrow file only the list of its row groups or record
# batches changes.
@pytest.mark.parametrize("policy", POLICIES, ids=name_of)
def test_only_the_list_of_groups_changes(mounts, source, policy):
    mount = manual(mounts, source, policy)
    seen = set()
    for _ in range(3):
        for name in ("a1.parquet", "a2.parquet"):
            raw = (source / name).read_bytes()
            shown = (mount.path / name).read_bytes()
            footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
            assert differing(raw, shown)[0] >= footer
            groups, ordinals = columnar.read_parquet(shown)
            assert groups != GROUPS and sorted(groups) == sorted(GROUPS)
            assert ordinals == (list(range(300)) if name == "a2.parquet"
                                else [None] * 300)
            seen.add(shown)
        for name in ("c1.arrow", "d.feather"):
            raw = (source / name).read_bytes()
            shown = (mount.path / name).read_bytes()
            footer = len(raw) - 10 - int.from_bytes(raw[-10:-6], "little")
            assert differing(raw, shown)[0] >= footer
            bodies = columnar.read_arrow_file(shown)
            assert bodies != BODIES and sorted(bodies) == sorted(BODIES)
            seen.add(shown)
        assert (os.stat(mount.path / "a1.parquet").st_mtime_ns
                == os.stat(source / "a1.parquet").st_mtime_ns)
        mount.next_epoch()
    assert len(seen) == 12
    assert records(mount) == {
        **records(mount), "containers": 6, "indexed": 6, "untouched": [],
        "records": 1500, "levels": {"row groups": 3, "record batches": 3}}


def test_the_batches_of_a_stream_move(mounts, source):
    mount = manual(mounts, source, {"policy": "lirs"})
    raw = (source / "c2.arrow").read_bytes()
    shown = (mount.path / "c2.arrow").read_bytes()
    head = len(columnar.arrow_stream([])) - 8
    assert shown != raw and shown[:head] == raw[:head]
    assert shown[-8:] == raw[-8:]

    def batches(stream):
        found, at = [], head
        while at < len(stream) - 8:
            size = 56 + int.from_bytes(stream[at + 32:at + 40], "little")
            found.append(stream[at:at + size])
            at += size
        return found

    assert sorted(batches(shown)) == sorted(batches(raw))


def test_the_same_seed_repeats(mounts, source):
    first = manual(mounts, source, {"policy": "reimu"})
    again = manual(mounts, source, {"policy": "reimu"})
    other = manual(mounts, source, {"policy": "reimu", "seed": 5})
    for epoch in range(3):
        fixed = first.control_dir / "epoch" / str(epoch) / "tree"
        for name in os.listdir(source):
            shown = (first.path / name).read_bytes()
            assert (again.path / name).read_bytes() == shown
            assert (other.path / name).read_bytes() != shown
            assert (fixed / name).read_bytes() == shown
        for mount in (first, again, other):
            mount.next_epoch()


@pytest.mark.parametrize("memory", ["16MiB", "256MiB"])
def test_any_place_can_be_read(mounts, source, memory):
    numbers = list(range(2000))
    groups = [numbers[i % 1000:] for i in range(1500)]
    (source / "a1.parquet").write_bytes(columnar.parquet(groups))
    mount = manual(mounts, source, {"policy": "lirs", "memory": memory})
    path = mount.path / "a1.parquet"
    whole = (mount.control_dir / "epoch/0/tree/a1.parquet").read_bytes()
    shown, _ = columnar.read_parquet(whole)
    assert shown != groups and sorted(shown) == sorted(groups)

    def read(seed):
        rng = random.Random(seed)
        with open(path, "rb", buffering=0) as file:
            for i in range(30):
                at = rng.randrange(len(whole))
                if i % 3 == 0:
                    at = len(whole) - rng.randrange(1, 100000)
                length = rng.randrange(1, 300000)
                got = os.pread(file.fileno(), length, at)
                assert got == whole[at:at + length], (at, length)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(4)))
    with open(path, "rb") as file, \
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert mapped[:] == whole


# [S-6.3b] A file of one row group or record batch keeps its order, and
# status.warnings says so.
def test_one_group_is_warned_of(mounts, folder):
    root = folder / "source"
    root.mkdir()
    one = columnar.parquet([list(range(1000))])
    (root / "one.parquet").write_bytes(one)
    (root / "many.parquet").write_bytes(columnar.parquet(GROUPS))
    mount = manual(mounts, root, {"policy": "lirs"})
    assert (mount.path / "one.parquet").read_bytes() == one
    assert mount.view()["warnings"] == [
        "one.parquet has one row group, and nothing in it moves: write smaller "
        "row groups"]
    assert "one.parquet has one row group" in mount.log()


# [S-6.3c] Files of a table and encrypted ones are shown as they are, also where
# record.as names them.
def test_what_is_untouched_and_why(mounts, source):
    data = columnar.parquet(GROUPS)
    reasons = {
        "delta/p=1/x.parquet": "belongs to a table, delta/_delta_log",
        "ice/data/x.parquet": "Iceberg table, ice/metadata",
        "dask/x.parquet": "belongs to a table, dask/_metadata",
        "val/x.parquet": "split",
        "pair/x.parquet": "sidecar",
        "locked.parquet": "footer is encrypted",
        "cut.parquet": "does not end as a Parquet file does",
        "short.arrow": "does not end as an Arrow file does",
        "junk.arrow": "first bytes",
    }
    for name in reasons:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(data)
    (source / "delta/_delta_log").mkdir()
    (source / "ice/metadata").mkdir()
    (source / "ice/metadata/v1.metadata.json").write_text("{}")
    (source / "dask/_metadata").write_bytes(data)
    (source / "pair/x.json").write_text("{}")
    (source / "locked.parquet").write_bytes(data[:-4] + b"PARE")
    (source / "cut.parquet").write_bytes(data[:-100])
    (source / "short.arrow").write_bytes(columnar.arrow_file(BODIES)[:-30])
    mount = manual(mounts, source, {
        "policy": "lirs", "record.as": "delta/*/*:parquet;dask/*:parquet"})
    for name in reasons:
        assert ((mount.path / name).read_bytes()
                == (source / name).read_bytes()), name
    untouched = {each["path"]: each["why"]
                 for each in records(mount)["untouched"]}
    assert set(untouched) == {*reasons, "dask/_metadata"}
    for name, why in reasons.items():
        assert why in untouched[name], name
    assert records(mount)["indexed"] == 6


def array(rows):
    """A NumPy file of so many numbers."""
    head = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({rows},), }}"
    return (b"\x93NUMPY\x01\x00\x76\x00" + head.ljust(117).encode() + b"\n"
            + bytes(8 * rows))


# [S-6.3d] Files that others may belong to row by row are shown as they are.
def test_rows_keep_the_labels_of_another_format(mounts, folder):
    root = folder / "source"
    pairs = [("array/X.parquet", "array/y.npy"),
             ("arrow/U.parquet", "arrow/v.arrow")]
    for table, labels in pairs:
        (root / table).parent.mkdir(parents=True)
        (root / table).write_bytes(columnar.parquet(GROUPS))
        (root / labels).write_bytes(
            array(sum(map(len, GROUPS))) if labels.endswith("npy")
            else columnar.arrow_file(BODIES))
    (root / "free.parquet").write_bytes(columnar.parquet(GROUPS))
    mount = manual(mounts, root, {"policy": "lirs"})
    for names in pairs:
        for name in names:
            assert ((mount.path / name).read_bytes()
                    == (root / name).read_bytes()), name
    assert {each["path"] for each in records(mount)["untouched"]} == {
        "array/X.parquet", "arrow/U.parquet", "arrow/v.arrow"}
    assert ((mount.path / "free.parquet").read_bytes()
            != (root / "free.parquet").read_bytes())


def test_a_pass_ends_when_all_columns_were_read(mounts, folder):
    root = folder / "source"
    root.mkdir()
    groups = [list(range(i, i + 5000)) for i in range(100)]
    (root / "a1.parquet").write_bytes(columnar.parquet(groups))
    mount = indexed(mounts(root, {"policy": "lirs", "epoch.advance": "auto"}))
    path = mount.path / "a1.parquet"
    for _ in range(3):
        with open(path, "rb") as file:
            file.seek(-1000, os.SEEK_END)
            file.read()
            file.seek(0)
            file.read(1000000)
    assert mount.view()["epoch"] == 0
    first = path.read_bytes()
    assert path.read_bytes() != first
    assert mount.view()["epoch"] == 1


def test_a_source_that_changes_is_an_error_and_no_wrong_byte(mounts, source):
    mount = manual(mounts, source, {"policy": "lirs"})
    (source / "a1.parquet").write_bytes(columnar.parquet(GROUPS[:-1]))
    with pytest.raises(OSError):
        (mount.path / "a1.parquet").read_bytes()
    assert "a1.parquet" in mount.log()
