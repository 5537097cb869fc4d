# SPDX-License-Identifier: Apache-2.0
"""brand.locality over several nodes: names are passed to the node that looks
them up, which shows a sample of its own."""
import collections
import random
import signal

import pytest

import harness
from peer_nodes import Cluster
from test_peers_brand import BRAND, COUNT, NAMES, begin_anew_in_mid_epoch
from test_peers_brand import read_while_a_node_goes, shared, warnings_of
from test_peers_epochs import job_of, source  # noqa: F401: fixtures
from test_peers_epochs import once_each, verify_together

LOCAL = {**BRAND, "brand.locality": "1"}
MANUAL = {**LOCAL, "epoch.advance": "manual"}


def moved(cluster):
    """Bytes of files that travelled between nodes."""
    return cluster.sum("bytes_from_peers")


# [S-24.3f] Under brand.locality, too, over all nodes each sample comes once an
# epoch.
@pytest.mark.parametrize("order, locality",
                         [("new_orders", "0.5"), ("one_order", "1")])
def test_over_all_nodes_each_sample_comes_once(mounts, source, job_of, order,
                                               locality):
    cluster = Cluster(mounts, source, **{**BRAND, "brand.locality": locality})
    shared(cluster)
    job = job_of(cluster)
    for number in range(6):
        shown = job.epoch(number if order == "new_orders" else 0)
        assert once_each(shown), f"epoch {number}"
    assert min(cluster.epochs()) >= 4
    verify_together(cluster)
    assert warnings_of(cluster) == [[], [], []]


def test_few_files_travel(mounts, source):
    size = sum(path.stat().st_size for path in source.rglob("*.bin"))
    travelled = {}
    for locality in ("0", "1"):
        cluster = Cluster(mounts, source,
                          **{**MANUAL, "brand.locality": locality})
        shared(cluster)
        for number in range(2):
            if number:
                before = moved(cluster)
                cluster.mounts[0].next_epoch()
                harness.eventually(lambda: cluster.epochs() == [1] * 3,
                                   what="the others")
            order = random.Random(number).sample(NAMES, COUNT)
            shown = collections.Counter(
                (cluster.mounts[at % 3].path / name).read_bytes()
                for at, name in enumerate(order))
            assert len(shown) == COUNT
        travelled[locality] = (moved(cluster) - before) / size
        for mount in cluster.mounts:
            mount.unmount()
    print("datasets that travelled in an epoch", travelled)
    assert travelled["0"] > 0.6
    assert travelled["1"] < 0.15


# A name shows the same on all nodes, whoever has it.
def test_all_nodes_show_the_same(mounts, source):
    cluster = Cluster(mounts, source, **MANUAL)
    shared(cluster)
    shown = {}
    for at, name in enumerate(random.Random(4).sample(NAMES, COUNT)):
        shown[name] = (cluster.mounts[at % 3].path / name).read_bytes()
        assert shown[name].startswith(name[1].encode()), "another label"
        if at % 7 == 0:
            for mount in cluster.mounts:
                assert (mount.path / name).read_bytes() == shown[name]
    assert len(set(shown.values())) == COUNT
    assert warnings_of(cluster) == [[], [], []]


# One node reads nearly everything, with samples that the others lend.
def test_one_node_reads_it_all(mounts, source):
    cluster = Cluster(mounts, source, **MANUAL)
    shared(cluster)
    shown = {(cluster.mounts[0 if at % 9 else 1].path / name).read_bytes()
             for at, name in enumerate(random.Random(6).sample(NAMES, COUNT))}
    assert len(shown) == COUNT
    assert warnings_of(cluster) == [[], [], []]


# Names that were passed to it, too, cost no reader an error.
def test_a_node_that_is_gone(mounts, source):
    read_while_a_node_goes(Cluster(mounts, source, **MANUAL), signal.SIGKILL)


# The others tell it which names it had passed to them, and which of its samples
# they show.
@pytest.mark.parametrize("seed", [0, 1])
def test_a_daemon_that_begins_anew_in_mid_epoch(mounts, source, job_of, seed):
    cluster = Cluster(mounts, source, **LOCAL)
    begin_anew_in_mid_epoch(cluster, job_of(cluster), seed)


# All nodes change how local they are when the next epoch begins.
def test_locality_is_switched(mounts, source, job_of):
    cluster = Cluster(mounts, source, **BRAND)
    shared(cluster)
    job = job_of(cluster)
    number = 0
    for locality in ("1", "0"):
        assert cluster.mounts[number % 3].write_control(
            f'brand.locality = {locality}\n') is None
        for _ in range(3):
            assert once_each(job.epoch(number)), f"epoch {number}"
            number += 1
    verify_together(cluster)
    assert warnings_of(cluster) == [[], [], []]
