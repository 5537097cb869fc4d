# SPDX-License-Identifier: Apache-2.0
"""brand.binding = location over several nodes: the paper's protocol. Each
location has an owner, which alone reads the chunks behind it."""
import random

import pytest

import harness
from peer_nodes import Cluster, forget
from test_peers_brand import BRAND, COUNT, NAMES, shared, warnings_of
from test_peers_epochs import CLASSES, PER_CLASS, once_each, verify_together
from test_peers_epochs import job_of  # noqa: F401: a fixture

LOCATION = {**BRAND, "brand.binding": "location", "brand.chunk_files": 16,
            "memory": "8MiB"}


@pytest.fixture
def source(folder):
    """Several times what the pools of all nodes hold."""
    root = folder / "source"
    rng = random.Random(3)
    for k in range(CLASSES):
        (root / f"c{k}").mkdir(parents=True)
        for i in range(PER_CLASS):
            text = f"{k} {k * PER_CLASS + i}\n".encode()
            (root / f"c{k}" / f"{i:04}.bin").write_bytes(
                text * rng.randrange(4000, 10_000))
    return root


def read_by(cluster):
    """Bytes that each node read from the source."""
    return [each["source_bytes"] for mount in cluster.mounts
            for each in cluster.members(mount) if each["self"]]


# [S-24.3a] With peers, brand binds each name on one node, so over all nodes
# each sample comes once an epoch.
def test_over_all_nodes_each_sample_comes_once(mounts, source, job_of):
    cluster = Cluster(mounts, source, **LOCATION)
    shared(cluster)
    job = job_of(cluster)
    for number in range(7):
        assert once_each(job.epoch(number)), f"epoch {number}"
    assert min(cluster.epochs()) >= 5
    verify_together(cluster)
    assert warnings_of(cluster) == [[], [], []]
    views = [mount.view() for mount in cluster.mounts]
    for view in views:
        # Chunks are loaded on demand, each several times.
        assert view["chunk_loads"] > 2 * min(cluster.epochs()) * COUNT / 3 / 16
        assert view["hits"] > 0 and view["misses"] > 0
        assert 0 < view["fill_rate"] < 1
    assert any((cluster.mounts[0].path / name).read_bytes() !=
               (source / name).read_bytes() for name in NAMES[:9])


# [S-24.3b] Under brand only the owner of a sample reads it from the source.
def test_only_the_owner_reads(mounts, source, job_of):
    cluster = Cluster(mounts, source, **LOCATION)
    shared(cluster)
    size = sum(path.stat().st_size for path in source.rglob("*.bin"))
    job = job_of(cluster)
    before = read_by(cluster)
    for number in range(3):
        forget(source)
        assert once_each(job.epoch(number))
        now = read_by(cluster)
        parts = [(b - a) / size for a, b in zip(before, now)]
        print("epoch", number, "datasets read", parts)
        assert 0.95 <= sum(parts) <= 1.1, parts
        assert max(parts) < 0.45, parts
        before = now
    # What a location holds is sent with names, in answer to other nodes.
    assert cluster.sum("reads_sent_ahead") > 0


# All nodes change from any sample of the group to locations, and back.
def test_the_binding_is_switched(mounts, source, job_of):
    cluster = Cluster(mounts, source, **{**LOCATION, "brand.binding": "group"})
    shared(cluster)
    job = job_of(cluster)
    number = 0
    for binding in ("location", "group", "location"):
        assert cluster.mounts[number % 3].write_control(
            f'brand.binding = "{binding}"\n') is None
        for _ in range(3):
            assert once_each(job.epoch(number)), f"epoch {number}"
            number += 1
    shared(cluster)
    assert warnings_of(cluster) == [[], [], []]


# [S-24.1c] A member that differs in dataset, policy, seed or version is refused,
# and both sides say why.
def test_nodes_with_another_binding_do_not_join(mounts, source):
    cluster = Cluster(mounts, source, **{**LOCATION, "brand.binding": "group"})
    shared(cluster)
    other = cluster.mounts[2]
    other.unmount()
    other.options["brand.binding"] = "location"
    other.start()
    harness.eventually(
        lambda: any(each["why"] for each in cluster.members(other)),
        what="a refusal")
    assert not any(each["joined"] for each in cluster.members(other)
                   if not each["self"])
