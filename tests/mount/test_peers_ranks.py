# SPDX-License-Identifier: Apache-2.0
"""Several ranks of a job on each of its nodes: they read through one mount."""
import pytest

from peer_nodes import Cluster
from test_peers_brand import shared, warnings_of
from test_peers_epochs import AUTO, CLASSES, PER_CLASS, once_each
from test_peers_epochs import verify_together
from test_peers_epochs import job_of, source  # noqa: F401: fixtures


# [S-24.2a] With peers and epoch.advance = auto, an epoch begins on all nodes
# with the same bijection, so together they show each sample once.
# [S-24.3a] With peers, brand binds each name on one node, so over all nodes
# each sample comes once an epoch.
@pytest.mark.parametrize("per_node", [2, 3])
@pytest.mark.parametrize("policy", ["lirs", "brand"])
def test_ranks_that_share_a_mount(mounts, source, job_of, policy, per_node):
    cluster = Cluster(mounts, source, **{**AUTO, "policy": policy})
    cluster.wait_until_joined()
    if policy == "brand":
        shared(cluster)
    job = job_of(cluster, per_node)
    for number in range(7):
        assert once_each(job.epoch(number)), f"epoch {number}"
    assert min(cluster.epochs()) >= 5
    if CLASSES * PER_CLASS % job.count == 0:
        verify_together(cluster)  # a padded name is opened twice
    views = [mount.view() for mount in cluster.mounts]
    assert {view["epoch_held"] for view in views} == {0}, views
    assert warnings_of(cluster) == [[], [], []]
