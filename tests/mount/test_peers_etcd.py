# SPDX-License-Identifier: Apache-2.0
"""Members by etcd, below mounts that readers read. An etcd that is gone or does
not answer costs no reader anything, and afterwards all are in the group."""
import pytest

import harness
import joint
from etcd_servers import Etcd
from peer_nodes import Cluster, Reading, digests, forget
from peer_nodes import source  # noqa: F401: a fixture
from test_peers_epochs import AUTO
from test_peers_epochs import job_of  # noqa: F401: a fixture
from test_peers_epochs import source as numbered  # noqa: F401

GONE = "the last known members stay"
BACK = "etcd answers again"
ALONE = "no member is this daemon"


@pytest.fixture
def etcd_of(folder):
    made = []

    def make(count):
        made.append(Etcd(folder, count))
        return made[-1]
    yield make
    for etcd in made:
        etcd.close()


def cluster_by(mounts, source, endpoints, **options):
    cluster = Cluster(mounts, source, peers=f"etcd:{';'.join(endpoints)}/job",
                      **{"open": "seen", **options})
    cluster.wait_until_joined()
    return cluster


def until_all_say(cluster, what):
    for mount in cluster.mounts:
        harness.eventually(lambda m=mount: what in m.log(), what=what)


def says(mount, what):
    return any(what in text for text in mount.view()["warnings"])


def names_seen(mount):
    return [each["name"] for each in mount.status()["peers"]["members"]]


def read_by_all(cluster, expected):
    """Each node reads an epoch, and all of them have been read once."""
    for mount in cluster.mounts:
        mount.next_epoch()
        assert digests(mount.path) == expected
    joint.require_whole_reads(cluster, 7)


# While etcd is gone the last group stays, and its members answer each other.
def test_an_etcd_that_is_gone_costs_no_byte(mounts, source, etcd_of):
    etcd = etcd_of(1)
    cluster = cluster_by(mounts, source, etcd.endpoints)
    expected = digests(source)
    with Reading(cluster.mounts[:2], expected) as reading:
        reading.go_on()
        groups = [mount.status()["peers"]["revision"]
                  for mount in cluster.mounts]
        etcd.kill(0)
        until_all_say(cluster, GONE)
        before = cluster.sum("reads_from_peers")
        reading.go_on()
        assert cluster.sum("reads_from_peers") > before
        cluster.wait_until_joined()
        assert groups == [mount.status()["peers"]["revision"]
                          for mount in cluster.mounts]
        etcd.start(0)
        until_all_say(cluster, BACK)
        reading.go_on()
    cluster.wait_until_joined()
    read_by_all(cluster, expected)


# While etcd is gone, epochs begin on all nodes together as before.
def test_epochs_begin_without_etcd(mounts, numbered, etcd_of, job_of):
    etcd = etcd_of(1)
    cluster = cluster_by(mounts, numbered, etcd.endpoints, **AUTO)
    job = job_of(cluster)
    number = job.until_names_move(0, 2)
    etcd.kill(0)
    until_all_say(cluster, GONE)
    number = job.until_names_move(number)
    etcd.start(0)
    until_all_say(cluster, BACK)
    job.until_names_move(number)
    joint.require_exactly_once(cluster)


# A daemon that begins anew while etcd is gone has no group. It reads the source
# and says so, until etcd is back.
def test_who_begins_anew_without_etcd_joins_later(mounts, source, etcd_of):
    etcd = etcd_of(1)
    cluster = cluster_by(mounts, source, etcd.endpoints)
    expected = digests(source)
    # Not the first by name: that one decides about epochs.
    number = cluster.names.index(max(cluster.names))
    victim = cluster.mounts[number]
    others = [mount for mount in cluster.mounts if mount != victim]
    with Reading(others, expected) as reading:
        reading.go_on()
        etcd.kill(0)
        victim.kill()
        for mount in others:
            harness.eventually(lambda m=mount: not cluster.sees(m, number),
                               what="noticing")
        victim.start()
        forget(source)
        assert digests(victim.path) == expected
        assert names_seen(victim) == []
        harness.eventually(lambda: says(victim, ALONE), what="a warning")
        for mount in others:
            assert names_seen(mount) == sorted(cluster.names)
        reading.go_on()
        etcd.start(0)
        cluster.wait_until_joined()
        reading.go_on()
    cluster.wait_until_agreed()
    assert not says(victim, ALONE)
    read_by_all(cluster, expected)


# A leader of etcd that is stopped does not answer those that ask it. The other
# servers choose another one, who knows all members.
def test_a_stopped_leader_of_etcd_costs_no_byte(mounts, source, etcd_of):
    etcd = etcd_of(3)
    leader = etcd.leader()
    # All daemons ask the leader first.
    endpoints = etcd.endpoints[leader:] + etcd.endpoints[:leader]
    cluster = cluster_by(mounts, source, endpoints)
    expected = digests(source)
    leaves = cluster.mounts[2]
    with Reading(cluster.mounts[:2], expected) as reading:
        reading.go_on()
        etcd.stop(leader)
        etcd.leader(but=[leader])
        until_all_say(cluster, GONE)
        until_all_say(cluster, BACK)
        cluster.wait_until_joined()
        reading.go_on()
        leaves.unmount()
        for mount in cluster.mounts[:2]:
            harness.eventually(
                lambda m=mount: names_seen(m) == sorted(cluster.names[:2]),
                what="leaving")
        leaves.start()
        cluster.wait_until_joined()
        etcd.resume(leader)
        reading.go_on()
    cluster.wait_until_joined()
    read_by_all(cluster, expected)
