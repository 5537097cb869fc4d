# SPDX-License-Identifier: Apache-2.0
"""Links between the nodes of a job are cut. No reader gets an error or another
byte. Over all nodes each sample comes once, but for those that a node names."""
import os
import random

import pytest

import harness
import joint
from network import Network
from peer_nodes import Cluster, Reading, digests
from peer_nodes import source  # noqa: F401: a fixture
from test_peers_epochs import AUTO, CLASSES, PER_CLASS
from test_peers_epochs import job_of  # noqa: F401: a fixture
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
    cluster = Cluster(mounts, source, NODES, network, open="seen")
    cluster.wait_until_joined()
    expected = digests(source)
    with Reading(cluster.mounts[:3], expected) as reading:
        for _ in range(2):
            network.cut(3)
            cluster.wait_until_joined(3, cluster.mounts[:3])
            cluster.wait_until_joined(1, cluster.mounts[3:])
            assert digests(cluster.mounts[3].path) == expected
            network.join(3)
            cluster.wait_until_joined()
        reading.go_on(1)
    cluster.wait_until_agreed()
    for mount in cluster.mounts:
        assert digests(mount.path) == expected
    joint.require_whole_reads(cluster, 7)


# [S-24.2c] While a node is away, epochs are counted and names keep their
# samples, so when it is back it shows what the others show.
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
    cluster.wait_until_agreed()
    assert missing <= joint.Named(cluster).total()
    job.until_names_move(8)
    joint.require_exactly_once(cluster)
