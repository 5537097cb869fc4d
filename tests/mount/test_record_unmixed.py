# SPDX-License-Identifier: Apache-2.0
"""What is not mixed by record.scope, and how that is told."""
import itertools

import pytest

import containers
import record_checks
from record_sets import SCOPES, data, read_lines, shard


# [S-6.4c] No record crosses the border of a split.
@pytest.mark.parametrize("scope", SCOPES)
def test_splits_stay_apart(mounts, folder, scope):
    source = folder / "source"
    (source / "test").mkdir(parents=True)
    names = [shard("train", 0, of=2), shard("train", 1, of=2)]
    kept = [shard("validation", 0, of=2), shard("validation", 1, of=2),
            "test/" + shard("t", 0, of=2), "test/" + shard("t", 1, of=2)]
    for i, name in enumerate([*names, *kept]):
        (source / name).write_bytes(containers.tfrecord(data(1000 * i, 80)))
    mount = mounts(source, {**record_checks.MANUAL, "policy": "lirs",
                            "record.scope": scope})
    record_checks.indexed(mount)
    shown = [containers.read_tfrecord(mount.path / name) for name in names]
    assert sorted(shown[0] + shown[1]) == sorted(data(0, 80) + data(1000, 80))
    assert not set(shown[0]) <= set(data(0, 80))
    record_checks.is_the_source(mount, kept)
    why = record_checks.untouched(mount)
    assert sorted(why) == sorted(kept)
    assert all("split" in each for each in why.values())


# [S-6.4d] What cannot be mixed is shown as it is, or keeps its own records.
def test_a_set_that_cannot_be_mixed_is_shown_as_it_is(mounts, folder):
    source = folder / "source"
    source.mkdir()
    some = ["a,b", *(f"{n},{'x' * (n % 40)}" for n in range(100))]
    for i, header in enumerate(("a,b", "b,a")):
        containers.write_lines(source / shard("l", i, ".csv", of=2),
                               [header, *some[1:]])
    for i in (0, 2):
        (source / shard("t", i, of=3)).write_bytes(
            containers.tfrecord(data(100 * i, 50)))
    (source / shard("u", 0, of=2)).write_bytes(containers.tfrecord(data(0, 50)))
    (source / shard("u", 1, of=2)).write_bytes(b"something else")
    (source / "v.tfrecord").write_bytes(containers.tfrecord(data(0, 50)))
    mount = mounts(source, {
        **record_checks.MANUAL, "policy": "lirs", "record.scope": "set",
        "record.as": "*.csv:lines", "record.header": 1})
    record_checks.indexed(mount)
    names = [name for name in record_checks.files(source) if name[0] != "v"]
    record_checks.is_the_source(mount, names)
    why = record_checks.untouched(mount)
    assert sorted(why) == names
    assert all(each.startswith("record.scope: ") for each in why.values())
    assert "begins with another header than" in why[names[0]]
    assert "of its set 2 containers of 3 are there" in why[shard("t", 0, of=3)]
    assert shard("u", 1, of=2) in why[shard("u", 0, of=2)]
    alone = containers.read_tfrecord(mount.path / "v.tfrecord")
    assert alone != data(0, 50) and sorted(alone) == sorted(data(0, 50))


def test_a_view_is_mixed_by_formats_and_headers(mounts, folder):
    source = folder / "source"
    for i, (name, header) in enumerate((
            ("a/x.csv", "h"), ("b/y.csv", "h"), ("a/z.csv", "g"),
            ("b/z.csv", "g"), ("a/k.csv", "alone"), ("a/h.tsv", "h"))):
        containers.write_lines(
            source / name,
            [header, *(f"{n}{'y' * (n % 9)}" for n in range(99 * i, 99 * i + 99))])
    (source / "a/bad.tfrecord").write_bytes(b"x" * 50)
    for i, name in enumerate(("a/a.tfrecord", "b/b.tfrecord")):
        (source / name).write_bytes(containers.tfrecord(data(100 * i, 70)))
    mount = mounts(source, {
        **record_checks.MANUAL, "policy": "lirs", "record.scope": "view",
        "record.as": "*.csv:lines;*.tsv:lines", "record.header": 1})
    record_checks.indexed(mount)
    for names in (["a/x.csv", "b/y.csv"], ["a/z.csv", "b/z.csv"], ["a/k.csv"],
                  ["a/h.tsv"]):
        raw = [read_lines(source / name) for name in names]
        shown = [read_lines(mount.path / name) for name in names]
        assert [each[0] for each in shown] == [each[0] for each in raw]
        assert sorted(sum(shown, [])) == sorted(sum(raw, []))
        assert [len(each) for each in shown] == [len(each) for each in raw]
        for i, each in enumerate(shown):
            assert each != raw[i]
            assert (set(each) == set(raw[i])) == (len(names) == 1), names
    shown = [containers.read_tfrecord(mount.path / name)
             for name in ("a/a.tfrecord", "b/b.tfrecord")]
    assert sorted(sum(shown, [])) == sorted(data(0, 70) + data(100, 70))
    assert set(shown[0]) != set(data(0, 70))
    assert (mount.path / "a/bad.tfrecord").read_bytes() == b"x" * 50
    assert list(record_checks.untouched(mount)) == ["a/bad.tfrecord"]


def write_numbered(path, count=60, first=0):
    """Samples with the numbers that every writer gives that starts anew. Both
    members of a sample name its archive."""
    path.parent.mkdir(parents=True, exist_ok=True)
    containers.write_tar(path, [
        (f"{n:06}", {"txt": f"{path} {n} ".encode() * (1 + n % 9),
                     "cls": f"{path} {n} ".encode()})
        for n in range(first, first + count)])


def whole_samples(path):
    """What webdataset makes of an archive: members that follow each other with
    one key are a sample. Fails if one has members of two."""
    samples = []
    for _, members in itertools.groupby(containers.read_tar(path),
                                        lambda member: member[0][:6]):
        members = dict(members)
        texts = {name[7:]: content for name, content in members.items()}
        assert set(texts) == {"txt", "cls"}
        assert texts["txt"].startswith(texts["cls"])
        samples.append(texts["cls"])
    return samples


# [S-6.1a] Every record is there once, whole.
def test_a_set_with_a_key_in_two_shards_is_shown_as_it_is(mounts, folder):
    source = folder / "source"
    alike = [shard("w", i, ".tar", of=2) for i in range(2)]
    apart = [shard("x", i, ".tar", of=2) for i in range(2)]
    for i in range(2):
        write_numbered(source / alike[i])
        write_numbered(source / apart[i], first=1000 * i)
    mount = mounts(source, {**record_checks.MANUAL, "policy": "lirs",
                            "record.scope": "set"})
    for _ in range(2):  # the second time by the saved index
        record_checks.indexed(mount)
        assert record_checks.untouched(mount) == dict.fromkeys(
            alike, f"record.scope: a key of {alike[0]}, or a name of a file"
            f" without one, comes again in {alike[1]}")
        record_checks.is_the_source(mount, alike)
        shown = [whole_samples(mount.path / name) for name in apart]
        raw = [whole_samples(source / name) for name in apart]
        assert sorted(sum(shown, [])) == sorted(sum(raw, []))
        assert set(shown[0]) != set(raw[0])
        mount.unmount()
        mount.start()
    record_checks.indexed(mount)
    assert mount.view()["records"]["read_through"] == 0


def test_in_a_view_archives_that_share_a_key_are_not_mixed(mounts, folder):
    source = folder / "source"
    names = ["a.tar", "b.tar", "c.tar"]
    for name, first in zip(names, (0, 59, 1000)):
        write_numbered(source / name, first=first)
    mount = mounts(source, {**record_checks.MANUAL, "policy": "lirs",
                            "record.scope": "view"})
    raw = {name: whole_samples(source / name) for name in names}
    for _ in range(2):  # the second time by the saved index
        record_checks.indexed(mount)
        assert record_checks.untouched(mount) == {}
        assert ("record.scope: b.tar keeps its own records: it shares a key,"
                " or a name of a file without one, with a.tar"
                ) in mount.view()["warnings"]
        for _ in range(3):
            shown = {name: whole_samples(mount.path / name) for name in names}
            assert shown["b.tar"] != raw["b.tar"]
            assert sorted(shown["b.tar"]) == sorted(raw["b.tar"])
            assert set(shown["a.tar"]) != set(raw["a.tar"])
            assert (sorted(shown["a.tar"] + shown["c.tar"])
                    == sorted(raw["a.tar"] + raw["c.tar"]))
            mount.next_epoch()
        mount.unmount()
        mount.start()
    record_checks.indexed(mount)
    assert mount.view()["records"]["read_through"] == 0


def test_a_saved_index_without_names_is_made_again_to_mix(mounts, folder):
    source = folder / "source"
    names = ["0.tar", "1.tar"]
    for name in names:
        write_numbered(source / name)
    mount = mounts(source, {**record_checks.MANUAL, "policy": "lirs",
                            "record.scope": "view"})
    record_checks.indexed(mount)
    mount.unmount()
    # As an earlier version left it.
    for file in (mount.state / "records").glob("*.names"):
        file.unlink()
    record_checks.indexed(mount.start())
    assert mount.view()["records"]["read_through"] == 2
    for name in names:
        assert (sorted(whole_samples(mount.path / name))
                == sorted(whole_samples(source / name)))


@pytest.mark.parametrize("scope", SCOPES)
def test_row_groups_are_not_mixed(mounts, folder, scope):
    source = folder / "source"
    source.mkdir()
    names = [shard("p", i, ".parquet", of=2) for i in range(2)]
    for i, name in enumerate([*names, shard("q", 0, ".arrow", of=1)]):
        (source / name).write_bytes(b"PAR1" + data(i, 1)[0] + b"PAR1")
    (source / "t.tfrecord").write_bytes(containers.tfrecord(data(0, 50)))
    mount = mounts(source, {**record_checks.MANUAL, "policy": "lirs",
                            "record.scope": scope})
    record_checks.indexed(mount)
    why = record_checks.untouched(mount)
    assert why == {
        **{name: "record.scope: row groups are not mixed with those of other"
                 " files" for name in names},
        shard("q", 0, ".arrow", of=1): "record.scope: record batches are not"
                                       " mixed with those of other files"}
    record_checks.is_the_source(mount, list(why))
