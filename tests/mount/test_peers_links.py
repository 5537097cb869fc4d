# SPDX-License-Identifier: Apache-2.0
"""Links between the nodes of a job are cut. No reader gets an error or another
byte. Over all nodes each sample comes once, but for those that a node names."""
import os
import random
import re
import threading

import pytest

import harness
from network import Network
from test_peers import Cluster, digests, read_for_a_while
from test_peers import source  # noqa: F401: a fixture
from test_peers_epochs import (AUTO, CLASSES, PER_CLASS, epochs_of, job_of,
                               once_each)
from test_peers_epochs import source as numbered  # noqa: F401

NODES = 4


@pytest.fixture(params=["root"] if os.geteuid() == 0 else [])
def network(request):
    del request
    made = Network(NODES)
    yield made
    made.close()


# [S-24.1a] With peers every byte that readers get is that of the source,
# whatever happens to a peer.
def test_a_cut_link_costs_no_byte(mounts, source, network):
    cluster = Cluster(mounts, source, NODES, network)
    cluster.wait_until_joined()
    expected = digests(source)
    until, errors = threading.Event(), []
    reader = threading.Thread(target=read_for_a_while, args=(
        cluster.mounts[:3], expected, until, errors))
    reader.start()
    try:
        for _ in range(2):
            network.cut(3)
            cluster.wait_until_joined(3, cluster.mounts[:3])
            cluster.wait_until_joined(1, cluster.mounts[3:])
            assert digests(cluster.mounts[3].path) == expected
            network.join(3)
            cluster.wait_until_joined()
    finally:
        until.set()
        reader.join()
    assert errors == []
    harness.eventually(lambda: len(set(epochs_of(cluster))) == 1,
                       what="the same epoch")
    for mount in cluster.mounts:
        assert digests(mount.path) == expected


def told_twice(cluster):
    """How many samples the nodes say they may have shown twice."""
    return sum(int(count) for mount in cluster.mounts
               for text in mount.view()["warnings"]
               for count in re.findall(r"(\d+) samples were shown", text))


# [S-24.2c] While a node is away, epochs are counted and names keep their
# samples, so that what it shows when it is back is what the others show.
@pytest.mark.parametrize("seed", [5, 6])
def test_halves_show_each_sample_once(mounts, numbered, network, job_of, seed):
    print("seed", seed)
    rng = random.Random(seed)
    cluster = Cluster(mounts, numbered, NODES, network, **AUTO)
    cluster.wait_until_joined()
    job = job_of(cluster)
    parted, missing = False, 0
    for number in range(8):
        moment = rng.randrange(PER_CLASS * CLASSES // NODES)

        def turn(at, moment=moment):
            nonlocal parted
            if at <= moment < at + 8:
                (network.heal if parted else network.part)()
                parted = not parted
                if rng.random() < 0.7:  # else the nodes may not have noticed
                    cluster.wait_until_joined(
                        NODES // 2 if parted else NODES)
        shown, names = job.epoch(number, before_batch=turn)
        assert sum(shown.values()) == sum(names.values())
        missing += len(names) - len(shown)
    if parted:
        network.heal()
    cluster.wait_until_joined()
    harness.eventually(lambda: len(set(epochs_of(cluster))) == 1,
                       what="the same epoch")
    assert missing == 0 or told_twice(cluster) > 0
    begun = epochs_of(cluster)[0]
    for number in range(8, 13):
        assert once_each(job.epoch(number)), f"epoch {number}"
    assert epochs_of(cluster)[0] > begun
