# SPDX-License-Identifier: Apache-2.0
"""Independent readers of Parquet and Arrow accept shuffled files."""
import pytest

import readers
import record_checks

LIRS = {"policy": "lirs"}
REIMU = {"policy": "reimu", "reimu.window": "4"}
PARQUET = ["pyarrow", "pyarrow, group by group", "pyarrow, mapped", "duckdb",
           "polars", "polars, streaming"]


@pytest.fixture(scope="module")
def columns():
    with readers.Client("read_columns.py") as client:
        yield client


@pytest.fixture
def source(folder):
    (folder / "source").mkdir()
    return folder / "source"


@pytest.mark.parametrize("made, policy", [
    ("dictionaries", LIRS), ("dictionaries", REIMU), ("page indexes", LIRS),
    ("polars", LIRS), ("duckdb", LIRS)], ids=str)
def test_parquet(mounts, source, columns, made, policy):
    columns("write", made, source / "train.parquet")
    raw = columns("read", source / "train.parquet", "pyarrow")
    assert [row[0] for row in raw] == list(range(len(raw)))
    # All readers agree on the order.
    seen = record_checks.shuffles(
        mounts, source, policy,
        lambda root: columns("read", root / "train.parquet", *PARQUET))
    for shown in seen:
        # Row groups stay whole: most rows follow the one that they did.
        follow = sum(one[0] + 1 == two[0] for one, two in zip(shown, shown[1:]))
        assert len(raw) * 0.98 < follow < len(raw) - 1


@pytest.mark.parametrize("made", ["dictionaries", "page indexes", "polars"])
def test_range_predicates(mounts, source, columns, made):
    columns("write", made, source / "train.parquet")
    raw = columns("read", source / "train.parquet", "pyarrow")
    mount = record_checks.indexed(mounts(source, {**LIRS,
                                                  **record_checks.MANUAL}))
    for _ in range(2):
        for how in ("pyarrow", "duckdb", "polars"):
            for low, high in ((0, 1), (140, 160), (1000, 2500), (5999, 9000),
                              (7000, 8000)):
                shown = columns("between", how, mount.path / "train.parquet",
                                low, high)
                assert sorted(shown, key=str) == sorted(raw[low:high], key=str)
        mount.next_epoch()


def test_one_row_group_is_warned_of(mounts, source, columns):
    columns("write", "one group", source / "train.parquet")
    mount = record_checks.indexed(mounts(source, {**LIRS,
                                                  **record_checks.MANUAL}))
    record_checks.is_the_source(mount)
    assert any("train.parquet has one row group" in each
               and "write smaller row groups" in each
               for each in mount.view()["warnings"])


@pytest.mark.parametrize("policy", [LIRS, REIMU], ids=str)
@pytest.mark.parametrize("name, made, how", [
    ("train.arrow", "file", ["file", "file, mapped", "file, polars"]),
    ("train.arrows", "stream", ["stream", "stream, polars"]),
    ("train.feather", "feather", ["feather", "file", "file, polars"])],
    ids=["file", "stream", "feather"])
def test_arrow(mounts, source, columns, name, made, how, policy):
    columns("write", made, source / name)
    record_checks.shuffles(
        mounts, source, policy,
        lambda root: columns("read", root / name, *how))


def test_validation_stays(mounts, source, columns):
    for name in ("train.parquet", "validation.parquet"):
        columns("write", "dictionaries", source / name)
    mount = record_checks.indexed(mounts(source, {**LIRS,
                                                  **record_checks.MANUAL}))
    record_checks.is_the_source(mount, ["validation.parquet"])
    assert (columns("read", mount.path / "train.parquet", *PARQUET)
            != columns("read", source / "train.parquet", "pyarrow"))
