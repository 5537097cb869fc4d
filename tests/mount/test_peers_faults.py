# SPDX-License-Identifier: Apache-2.0
"""Links that are cut and daemons that are killed while ranks read and epochs
begin. Over all nodes each sample comes once, but for those that a node names.
"""
import random

import pytest

import joint
from peer_nodes import Cluster
from test_peers_epochs import AUTO, CLASSES, PER_CLASS
from test_peers_epochs import job_of, source  # noqa: F401: fixtures
from test_peers_links import NODES
from test_peers_links import network  # noqa: F401: a fixture

BATCH = 8


def read_with_faults(cluster, job, faults):
    """Epochs of the job. In some of them `faults` happen: each is called with
    the number of the batch before which it is. As many samples are missing as
    the nodes name, at most."""
    number, missing = 0, 0
    for fault in faults:
        # The names move, so the next boundary rebinds them, too.
        number = job.until_names_move(number, 2)
        shown, names = job.epoch(
            number, BATCH, before_batch=lambda at, f=fault: f(at // BATCH))
        assert sum(shown.values()) == sum(names.values())
        missing += len(names) - len(shown)
        number += 1
        cluster.wait_until_agreed()
    if missing > 0:
        print(joint.merged(cluster)[0], *(m.log() for m in cluster.mounts))
    assert missing <= joint.Named(cluster).total()
    job.until_names_move(number)
    joint.require_exactly_once(cluster)


# [S-24.2c] While a node is away, epochs are counted and names keep their
# samples, so when it is back it shows what the others show.
# Also if it goes away when the others find that an epoch has ended.
@pytest.mark.parametrize("seed", [0, 1])
def test_a_link_that_is_cut_while_an_epoch_begins(mounts, source, network,
                                                  job_of, seed):
    print("seed", seed)
    rng = random.Random(seed)
    cluster = Cluster(mounts, source, NODES, network, **AUTO)
    cluster.wait_until_joined()

    def cut():
        node, cut_at = rng.randrange(NODES), rng.randrange(5)
        joined_at = cut_at + rng.randrange(1, 10)

        def at_batch(batch):
            if batch == cut_at:
                network.cut(node)
            if batch == joined_at:
                network.join(node)
        return at_batch
    read_with_faults(cluster, job_of(cluster), [cut() for _ in range(3)])


# [S-24.2a] With peers and epoch.advance = auto, an epoch begins on all nodes
# with the same bijection, so together they show each sample once.
# Also if a daemon is killed in mid-epoch, and goes on from its ledger.
@pytest.mark.parametrize("seed", [0, 1])
def test_a_daemon_that_begins_anew_in_mid_epoch(mounts, source, job_of, seed):
    print("seed", seed)
    rng = random.Random(seed)
    cluster = Cluster(mounts, source, **AUTO)
    cluster.wait_until_joined()
    batches = CLASSES * PER_CLASS // len(cluster.mounts) // BATCH

    def kill(victim):
        killed_at = rng.randrange(batches)

        def at_batch(batch):
            if batch == killed_at:
                victim.kill()
                victim.start()
        return at_batch
    read_with_faults(cluster, job_of(cluster),
                     [kill(victim) for victim in rng.sample(cluster.mounts, 2)])
