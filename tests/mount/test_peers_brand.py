# SPDX-License-Identifier: Apache-2.0
"""policy = brand over several nodes: each name has an owner, which binds it for
all of them, and each chunk is read by one node."""
import collections
import errno
import os
import random
import shutil
import signal
import subprocess

import pytest

import harness
import joint
from peer_nodes import Cluster, forget, free_ports
from test_peers_epochs import AUTO, CLASSES, PER_CLASS, once_each
from test_peers_epochs import verify_together
from test_peers_epochs import job_of, source  # noqa: F401: fixtures
from test_peers_faults import BATCH, read_with_faults

BRAND = {**AUTO, "policy": "brand"}
COUNT = CLASSES * PER_CLASS
NAMES = [f"c{k}/{i:04}.bin" for k in range(CLASSES) for i in range(PER_CLASS)]


def shared(cluster):
    """Until the nodes have agreed who owns what."""
    cluster.wait_until_joined()
    for mount in cluster.mounts:
        harness.eventually(lambda m=mount: m.view().get("nodes") == 3,
                           what="sharing")


def source_bytes(cluster):
    """Read from the source by all nodes."""
    return sum(each["source_bytes"] for mount in cluster.mounts
               for each in cluster.members(mount) if each["self"])


def warnings_of(cluster):
    return [mount.view()["warnings"] for mount in cluster.mounts]


# [S-24.3e] With peers, a policy that binds names by the memory of one node is
# refused.
def test_what_nodes_do_not_share_is_refused(mounts, source, folder):
    port, = free_ports(1)
    options = {**BRAND, "substitute": "directory", "memory": "64MiB",
               "peers": f"127.0.0.1:{port}", "peers.listen": f"127.0.0.1:{port}",
               "brand.packed": folder / "pack"}
    mount = mounts(source, options, start=False)
    with pytest.raises(AssertionError, match="exit 1"):
        mount.start()
    for words in ("peers: policy = brand binds names by what is in one node's "
                  "memory",
                  "policy = lirs, or with peers brand without brand.packed"):
        assert words in mount.log()
    # The user's word that this node reads all of it.
    mount.run([harness.shufflectl(), "pack", "--force", source,
               folder / "pack"])
    mount.options["nodes"] = "1/1"
    mount.start()
    assert mount.view()["warnings"] == []
    mount.unmount()
    del mount.options["nodes"], mount.options["brand.packed"]
    mount.options["tier.path"] = folder / "tier"
    mount.start()
    assert mount.write_control('policy = "met"\n') == errno.EINVAL
    assert "peers: policy = met" in mount.read("error")


# [S-24.3a] With peers, brand binds each name on one node, so over all nodes
# each sample comes once an epoch.
@pytest.mark.parametrize("order", ["new_orders", "one_order"])
def test_over_all_nodes_each_sample_comes_once(mounts, source, job_of, order):
    cluster = Cluster(mounts, source, **BRAND)
    shared(cluster)
    job = job_of(cluster)
    for number in range(7):
        shown = job.epoch(number if order == "new_orders" else 0)
        assert once_each(shown), f"epoch {number}"
    assert min(cluster.epochs()) >= 5
    verify_together(cluster)
    views = [mount.view() for mount in cluster.mounts]
    assert {view["epoch_held"] for view in views} == {0}, views
    assert warnings_of(cluster) == [[], [], []]
    assert any((cluster.mounts[0].path / name).read_bytes() !=
               (source / name).read_bytes() for name in job.names()[:9])


# [S-24.3b] Under brand only the owner of a sample reads it from the source.
def test_each_sample_leaves_the_source_once(mounts, source, job_of):
    cluster = Cluster(mounts, source, **BRAND)
    shared(cluster)
    size = sum(path.stat().st_size for path in source.rglob("*.bin"))
    forget(source)
    job = job_of(cluster)
    assert once_each(job.epoch(0))
    assert size <= source_bytes(cluster) <= 1.05 * size
    for number in range(1, 5):
        assert once_each(job.epoch(number))
    # Memory holds the dataset. The nodes keep what they own.
    assert source_bytes(cluster) <= 1.1 * size
    for mount in cluster.mounts:
        assert mount.status()["peers"]["bytes_from_peers"] > size / 3


# What the owner has in memory comes with the name.
def test_a_sample_costs_less_than_two_requests(mounts, source, job_of):
    cluster = Cluster(mounts, source, **BRAND)
    shared(cluster)
    job = job_of(cluster)
    before = 0
    for number in range(4):
        assert once_each(job.epoch(number)), f"epoch {number}"
        asked = cluster.sum("name_requests") + cluster.sum("byte_requests")
        print("epoch", number, "requests a sample", (asked - before) / COUNT)
        if number > 0:  # then all is in memory
            assert asked - before < 0.8 * COUNT, f"epoch {number}"
        before = asked
    # Names that are carried over a boundary are not bound again.
    assert cluster.sum("samples_shown") > 3.5 * COUNT
    assert cluster.sum("reads_sent_ahead") > COUNT
    text = subprocess.run([harness.shufflectl(), "status",
                           cluster.mounts[0].path], capture_output=True,
                          text=True, check=True).stdout
    assert "requests a sample" in text


# Who reads in an order that is known asks for many names at a time.
def test_names_are_asked_for_ahead(mounts, source):
    cluster = Cluster(mounts, source, **{**BRAND, "epoch.advance": "manual"})
    shared(cluster)
    asked = 0
    for number in range(3):
        if number:
            cluster.mounts[0].next_epoch()
            harness.eventually(lambda n=number: cluster.epochs() == [n] * 3,
                               what="the others")
        shown = collections.Counter()
        for name in sorted(NAMES):
            content = (cluster.mounts[0].path / name).read_bytes()
            assert content.startswith(name[1].encode()), "another label"
            shown[content] += 1
        assert len(shown) == COUNT
        before, asked = asked, (cluster.sum("name_requests") +
                                cluster.sum("byte_requests"))
        print("epoch", number, "requests a sample", (asked - before) / COUNT)
    # Two thirds of the names are those of other nodes.
    assert asked - before < 0.4 * COUNT
    assert warnings_of(cluster) == [[], [], []]


# Files that come with names need what other files need.
def test_what_came_with_a_name_is_checked_here(mounts, source):
    cluster = Cluster(mounts, source, **{**BRAND, "epoch.advance": "manual"})
    shared(cluster)
    mount = cluster.mounts[0]
    for name in NAMES:  # so that all is in memory
        (mount.path / name).read_bytes()
    mount.next_epoch()
    harness.eventually(lambda: cluster.epochs() == [1] * 3, what="the others")
    for name in NAMES[:40]:
        os.stat(mount.path / name)
    for path in source.rglob("*.bin"):
        size = path.stat().st_size
        path.write_bytes(b"\0" * size)
    for name in NAMES[:40]:
        try:
            content = (mount.path / name).read_bytes()
        except OSError as error:
            assert error.errno == errno.ESTALE
        else:
            # The owner is this node, and had it in memory.
            assert content.startswith(name[1].encode()), "changed bytes"
    assert mount.status()["peers"]["reads_sent_ahead"] > 0


# Lookups that wait for another node stop nobody else.
def test_an_owner_that_hangs_stops_only_who_asks_for_its_names(mounts, source):
    cluster = Cluster(mounts, source, **{**BRAND, "epoch.advance": "manual"})
    shared(cluster)
    mount, hangs = cluster.mounts[:2]
    hangs.process.send_signal(signal.SIGSTOP)
    try:
        for name in NAMES:
            reader = subprocess.Popen(["stat", "-c", "", mount.path / name])
            try:
                reader.wait(0.5)
            except subprocess.TimeoutExpired:
                break  # it waits for the owner
        else:
            assert False, "no name is owned by the node that hangs"
        answered = 0
        while reader.poll() is None:
            mount.status()
            answered += 1
        assert reader.returncode == 0
        assert answered > 5, "status waited for the owner, too"
    finally:
        hangs.process.send_signal(signal.SIGCONT)
    cluster.wait_until_joined()


# [S-24.3c] The control file of one node ends the epoch of brand on all.
def test_the_user_ends_an_epoch(mounts, source):
    cluster = Cluster(mounts, source, **{**BRAND, "epoch.advance": "manual"})
    shared(cluster)
    for number in range(3):
        if number:
            cluster.mounts[number].next_epoch()
            harness.eventually(lambda n=number: cluster.epochs() == [n] * 3,
                               what="the others")
        shown = collections.Counter()
        for at, name in enumerate(random.Random(number).sample(NAMES, COUNT)):
            content = (cluster.mounts[at % 3].path / name).read_bytes()
            assert content.startswith(name[1].encode()), "another label"
            shown[content] += 1
            # A name shows the same on all nodes.
            if at % 20 == 0:
                assert (cluster.mounts[(at + 1) % 3].path /
                        name).read_bytes() == content
        assert len(shown) == COUNT
    assert warnings_of(cluster) == [[], [], []]


def read_while_a_node_goes(cluster, how):
    """Samples come twice then. Status names as many, or more."""
    shared(cluster)
    order = random.Random(5).sample(NAMES, COUNT)
    shown = collections.Counter()
    for at, name in enumerate(order[:200]):
        shown[(cluster.mounts[at % 3].path / name).read_bytes()] += 1
    assert len(shown) == 200
    process = cluster.mounts[2].process
    os.kill(process.pid, how)
    try:
        for at, name in enumerate(order[200:]):
            content = (cluster.mounts[at % 2].path / name).read_bytes()
            assert content.startswith(name[1].encode()), "another label"
            shown[content] += 1
        twice = sum(shown.values()) - len(shown)
        named = sum(int(count) for mount in cluster.mounts[:2]
                    for text in mount.view()["warnings"]
                    for count in joint.NOT_ASKED.findall(text))
        assert 0 < twice <= named <= 200, (twice, named)
    finally:
        if how == signal.SIGSTOP:
            os.kill(process.pid, signal.SIGCONT)


# [S-24.3d] Under brand a node that is gone costs readers no error, and status
# says how many samples may come twice.
@pytest.mark.parametrize("how, binding",
                         [(signal.SIGKILL, "group"), (signal.SIGSTOP, "group"),
                          (signal.SIGKILL, "location")],
                         ids=["killed", "stopped", "killed-location"])
def test_a_node_that_is_gone(mounts, source, how, binding):
    cluster = Cluster(mounts, source, **{**BRAND, "epoch.advance": "manual",
                                         "brand.binding": binding})
    read_while_a_node_goes(cluster, how)


# A lookup that waits for an owner asks it again each 2 ms, for 1.5 seconds.
def test_an_owner_that_is_gone_is_not_asked_without_a_pause(mounts, source):
    cluster = Cluster(mounts, source, **{**BRAND, "epoch.advance": "manual"})
    shared(cluster)
    reader = cluster.mounts[0]
    cluster.mounts[2].kill()
    before = reader.status()["peers"]["name_requests"]
    for name in NAMES[:100]:
        assert (reader.path / name).read_bytes()
    asked = reader.status()["peers"]["name_requests"] - before
    assert asked <= 1500 / 2 + 100


def begin_anew_in_mid_epoch(cluster, job, seed):
    """Two daemons are killed in epochs of their own, and start again."""
    print("seed", seed)
    rng = random.Random(seed)
    shared(cluster)
    batches = COUNT // len(cluster.mounts) // BATCH

    def kill(victim):
        killed_at = rng.randrange(batches)

        def at_batch(batch):
            if batch == killed_at:
                victim.kill()
                victim.start()
        return at_batch
    read_with_faults(cluster, job,
                     [kill(victim) for victim in rng.sample(cluster.mounts, 2)])
    assert warnings_of(cluster) == [[], [], []]


# A daemon that was killed goes on from its ledger, and owns what it owned. The
# others tell it which of its samples it had given to them.
@pytest.mark.parametrize("seed, binding", [(0, "group"), (1, "group"),
                                           (2, "location")])
def test_a_daemon_that_begins_anew_in_mid_epoch(mounts, source, job_of, seed,
                                                binding):
    cluster = Cluster(mounts, source, **{**BRAND, "brand.binding": binding})
    begin_anew_in_mid_epoch(cluster, job_of(cluster), seed)


# Its ledger does not have the epoch, so it counts all that it may have given.
def test_a_daemon_that_begins_anew_without_its_ledger(mounts, source):
    cluster = Cluster(mounts, source, **{**BRAND, "epoch.advance": "manual"})
    shared(cluster)
    cluster.mounts[0].next_epoch()
    harness.eventually(lambda: cluster.epochs() == [1] * 3, what="the others")
    order = random.Random(7).sample(NAMES, COUNT)
    shown = {}

    def read(names):
        for at, name in enumerate(names):
            content = (cluster.mounts[at % 3].path / name).read_bytes()
            shown[name] = content

    read(order[:300])
    victim = cluster.mounts[2]
    victim.kill()
    for path in victim.state.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    victim.start()
    cluster.wait_until_agreed()
    shared(cluster)
    # What the others asked it for, it was told.
    for at, name in enumerate(order[:300]):
        if at % 3 != 2:
            assert (victim.path / name).read_bytes() == shown[name], name
    read(order[300:])
    twice = COUNT - len(set(shown.values()))
    named = sum(int(count) for mount in cluster.mounts
                for text in mount.view()["warnings"]
                for count in joint.NOT_ASKED.findall(text))
    assert 0 < twice <= named <= COUNT, (twice, named)


# Names that one policy binds for all are carried into the other's epochs.
def test_policies_are_switched(mounts, source, job_of):
    cluster = Cluster(mounts, source, **AUTO)
    cluster.wait_until_joined()
    job = job_of(cluster)
    number = 0
    for policy in ("brand", "lirs", "brand", "window", "brand"):
        assert cluster.mounts[number % 3].write_control(
            f'policy = "{policy}"\n') is None
        for _ in range(3):
            assert once_each(job.epoch(number)), f"epoch {number}"
            number += 1
        assert {mount.view()["policy"] for mount in cluster.mounts} == {policy}
    shared(cluster)
    assert warnings_of(cluster) == [[], [], []]
    joint.require_exactly_once(cluster, 8)
