# SPDX-License-Identifier: Apache-2.0
"""brand over class folders with containers beside them: one view, two pools."""
import collections
import concurrent.futures
import random

import pytest

import containers
import harness
import trees
from record_checks import indexed

SHARDS = 2
RECORDS = 3000
OPTIONS = {"policy": "brand", "substitute": "directory", "memory": "64MiB",
           "reimu.block": "64KiB", "reimu.window": "4"}
MANUAL = {**OPTIONS, "epoch.advance": "manual"}


def record(shard, number):
    rng = random.Random(shard * RECORDS + number)
    return b"%d:%d " % (shard, number) + rng.randbytes(rng.randrange(600))


@pytest.fixture
def source(folder):
    root = folder / "source"
    root.mkdir()
    trees.class_folders(root, classes=3, per_class=60, seed=5)
    (root / "shards").mkdir()
    for shard in range(SHARDS):
        data = containers.tfrecord(record(shard, i) for i in range(RECORDS))
        (root / "shards" / f"{shard}.tfrecord").write_bytes(data)
    return root


def samples(root):
    return sorted(path.relative_to(root) for path in root.rglob("*.jpg"))


def read_samples(root, names, seed):
    names = list(names)
    random.Random(seed).shuffle(names)
    return collections.Counter((root / name).read_bytes() for name in names)


def read_shards(root):
    """The records of each shard, in its order; names may show other shards."""
    shards = [containers.read_tfrecord(root / "shards" / f"{shard}.tfrecord")
              for shard in range(SHARDS)]
    return {int(records[0].split(b":")[0]): records for records in shards}


def in_order(shards):
    return {shard: sorted(records) for shard, records in shards.items()}


# [S-6.1i] Containers beside moving samples keep their names, and their records
# are shuffled.
def test_samples_and_records_come_once_in_one_view(mounts, source):
    mount = mounts(source, MANUAL)
    indexed(mount)
    names = samples(source)
    expected = read_samples(source, names, 0)
    orders = [read_shards(source)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for epoch in range(3):
            if epoch:
                mount.next_epoch()
            files = pool.submit(read_samples, mount.path, names, epoch)
            shards = pool.submit(read_shards, mount.path)
            assert files.result() == expected
            orders.append(shards.result())
            assert in_order(orders[-1]) == in_order(orders[0])
    for shard in range(SHARDS):
        assert len({tuple(order[shard]) for order in orders}) == len(orders)
    view = mount.view()
    assert view["records"]["records"] == SHARDS * RECORDS
    assert view["pool_bytes"] <= view["memory_limit"]
    assert view["hits"] > len(names)


# [S-6.1i] Containers beside moving samples keep their names, and their records
# are shuffled.
# With epoch.advance = auto they follow the epoch of the samples.
@pytest.mark.parametrize("policy", ["brand", "lirs"])
def test_a_pass_over_containers_begins_no_epoch_of_the_samples(mounts, source,
                                                               policy):
    mount = mounts(source, {**OPTIONS, "policy": policy})
    indexed(mount)
    names = samples(source)
    expected = read_samples(source, names, 0)
    half = len(names) // 2
    got = read_samples(mount.path, names[:half], 1)
    first = read_shards(mount.path)
    again = read_shards(mount.path)
    assert mount.view()["epoch"] == 0
    assert first == again
    got += read_samples(mount.path, names[half:], 2)
    assert got == expected


# [S-6.1i] Containers beside moving samples keep their names, and their records
# are shuffled.
# If memory does not suffice for both, the samples have it, and the log says so.
def test_too_little_memory_for_both(mounts, source):
    mount = mounts(source, {**MANUAL, "memory": "16MiB"})
    names = samples(source)
    assert read_samples(mount.path, names, 1) == read_samples(source, names, 0)
    assert read_shards(mount.path) == read_shards(source)
    assert "containers are shown as they are" in mount.log()
    assert mount.view()["memory_guaranteed"] == 14 << 20


# [S-6.1i] Containers beside moving samples keep their names, and their records
# are shuffled.
# A switch to another policy and back keeps both right.
def test_a_switch_changes_what_the_pools_have(mounts, source):
    mount = mounts(source, MANUAL)
    indexed(mount)
    names = samples(source)
    expected = read_samples(source, names, 0)
    for policy in ["lirs", "brand", "native", "brand"]:
        assert mount.write_control(
            f'policy = "{policy}"\nepoch = "next"\n') is None
        harness.eventually(lambda: mount.view()["policy"] == policy)
        assert read_samples(mount.path, names, 3) == expected
        assert in_order(read_shards(mount.path)) == in_order(read_shards(source))
