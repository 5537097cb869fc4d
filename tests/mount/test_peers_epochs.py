# SPDX-License-Identifier: Apache-2.0
"""The daemons of a job agree on its epochs: over all nodes each sample comes
once, although each node opens only a share of the names."""
import collections
import json
import os
import random
import signal
import subprocess
import time

import pytest

import harness
import joint
from peer_nodes import Cluster

CLASSES, PER_CLASS = 4, 150
STEP = 0.01  # seconds of training for a batch
AUTO = {"policy": "lirs", "substitute": "directory", "memory": "32MiB",
        "epoch.advance": "auto"}


@pytest.fixture
def source(folder):
    root = folder / "source"
    for k in range(CLASSES):
        (root / f"c{k}").mkdir(parents=True)
        for i in range(PER_CLASS):
            # The class and a number: who reads sees the sample.
            (root / f"c{k}" / f"{i:04}.bin").write_bytes(
                f"{k} {k * PER_CLASS + i}\n".encode() * 20)
    return root


class Job:
    """Ranks that read as torch's DistributedSampler does. Each is a process of
    its own, which waits for the others after each batch."""

    def __init__(self, cluster, per_node=1):
        self.mounts = cluster.mounts
        self.ranks = [
            subprocess.Popen(
                [harness.PYTHON, harness.CLIENTS / "rank.py", mount.path],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for mount in cluster.mounts for _ in range(per_node)]
        self.count = len(self.ranks)

    def names(self):
        return [f"c{k}/{i:04}.bin" for k in range(CLASSES)
                for i in range(PER_CLASS)]

    def epoch(self, number, batch=8, before_batch=None, step=STEP):
        """Returns what all ranks were shown: how often each sample came."""
        names = self.names()
        random.Random(number).shuffle(names)
        names += names[:-len(names) % self.count]
        shares = [names[rank::self.count] for rank in range(self.count)]
        shown = collections.Counter()
        for at in range(0, len(shares[0]), batch):
            if before_batch is not None:
                before_batch(at)
            for rank, share in zip(self.ranks, shares):
                rank.stdin.write(json.dumps(share[at:at + batch]) + "\n")
                rank.stdin.flush()
            for rank, share in zip(self.ranks, shares):
                got = json.loads(rank.stdout.readline())
                for name, (label, sample) in zip(share[at:at + batch], got):
                    assert name.startswith(f"c{label}/"), "another label"
                    shown[sample] += 1
            time.sleep(step)
        return shown, collections.Counter(names)

    def until_names_move(self, number, times=3):
        """Epochs of the job, from that one on, until so many in a row have
        begun with new samples. In each of them every sample comes. Returns the
        number of the next one."""
        begun = 0
        for number in range(number, number + 16):
            assert once_each(self.epoch(number)), f"epoch {number}"
            held = self.mounts[0].view()["epoch_state"] == "held"
            begun = 0 if held else begun + 1
            if begun == times:
                return number + 1
        raise AssertionError("epochs are held")

    def end(self):
        for rank in self.ranks:
            rank.stdin.close()
        for rank in self.ranks:
            rank.stdout.close()
            rank.wait(timeout=30 * harness.SLOWDOWN)


@pytest.fixture
def job_of():
    jobs = []

    def make(cluster, per_node=1):
        jobs.append(Job(cluster, per_node))
        return jobs[-1]
    yield make
    for job in jobs:
        job.end()


def once_each(result):
    """Padded names come twice, as they would without us."""
    shown, names = result
    return (len(shown) == len(names) == CLASSES * PER_CLASS
            and sum(shown.values()) == sum(names.values()))


def verify_together(cluster):
    """The ledgers of all nodes say that every ended epoch was read once."""
    text, told = joint.merged(cluster)
    ended = [epoch for epoch in told["joint"] if not epoch["running"]]
    assert len(ended) >= 5, text
    for epoch in ended:
        assert epoch["complete"] and len(epoch["nodes"]) == 3, text
        assert epoch["consumed_on_one_more_node"] == 0, text
        assert not epoch["held"], text
    count = CLASSES * PER_CLASS
    assert f"epoch 0 on 3 nodes: {count} of {count}, each once" in text


# [S-24.2a] With peers and epoch.advance = auto, an epoch begins on all nodes
# with the same bijection, so together they show each sample once.
@pytest.mark.parametrize("order", ["new_orders", "one_order"])
def test_over_all_nodes_each_sample_comes_once(mounts, source, job_of, order):
    cluster = Cluster(mounts, source, **AUTO)
    cluster.wait_until_joined()
    job = job_of(cluster)
    for number in range(7):
        # If the nodes take half of a pass to agree on its epoch, epochs are held
        # from then on: in one order, nothing shows where a pass ends.
        shown = (job.epoch(number) if order == "new_orders"
                 else job.epoch(0, step=5 * STEP))
        assert once_each(shown), f"epoch {number}"
    assert min(cluster.epochs()) >= 5
    verify_together(cluster)
    views = [mount.view() for mount in cluster.mounts]
    assert {view["epoch_held"] for view in views} == {0}, views
    assert any((cluster.mounts[0].path / name).read_bytes() !=
               (source / name).read_bytes() for name in job.names()[:9])


# [S-24.2b] The control file of one node moves the epoch of all.
def test_one_node_moves_all(mounts, source):
    cluster = Cluster(mounts, source, **{**AUTO, "epoch.advance": "manual"})
    cluster.wait_until_joined()
    name = "c1/0003.bin"
    for epoch in range(1, 4):
        cluster.mounts[epoch % 3].next_epoch()
        assert cluster.epochs() == [epoch] * 3
        assert len({(mount.path / name).read_bytes()
                    for mount in cluster.mounts}) == 1
    assert cluster.mounts[2].write_control("epoch = 9\n") is None
    harness.eventually(lambda: cluster.epochs() == [9] * 3, what="epoch 9")
    assert cluster.mounts[0].write_control("epoch = 4\n") is not None
    assert cluster.epochs() == [9] * 3


# [S-24.2b] The control file of one node moves the epoch of all.
# When it has been written, no node's kernel shows what it kept of the epoch
# before.
def test_no_node_shows_the_epoch_before(mounts, source):
    cluster = Cluster(mounts, source, **{**AUTO, "epoch.advance": "manual"})
    cluster.wait_until_joined()
    names = [str(path.relative_to(source)) for path in source.rglob("*.bin")]
    samples = sorted(path.read_bytes() for path in source.rglob("*.bin"))
    for epoch in range(1, 13):
        for mount in cluster.mounts:
            for name in names:
                (mount.path / name).stat()
        cluster.mounts[epoch % 3].next_epoch()
        shown = [(cluster.mounts[(at + epoch + 1) % 3].path / name).read_bytes()
                 for at, name in enumerate(names)]
        assert sorted(shown) == samples, f"epoch {epoch}"


def policies_of(cluster):
    return {mount.view()["policy"] for mount in cluster.mounts}


# [S-24.2d] Keys that are written on one node change on all that have joined, or
# on none.
def test_a_switch_is_written_once(mounts, source):
    cluster = Cluster(mounts, source, **{**AUTO, "epoch.advance": "manual"})
    cluster.wait_until_joined()
    name = "c1/0003.bin"
    assert (cluster.mounts[0].path / name).read_bytes()
    assert cluster.mounts[1].write_control(
        'policy = "window"\nepoch = "next"\n') is None
    harness.eventually(lambda: policies_of(cluster) == {"window"},
                       what="window")
    assert len(set(cluster.epochs())) == 1
    for number, seed in ((2, 41), (0, 42)):
        before = cluster.epochs()
        assert cluster.mounts[number].write_control(f"seed = {seed}\n") is None
        for mount in cluster.mounts:
            assert f"seed = {seed}\n" in mount.read("control")
        assert cluster.epochs() == before
        cluster.mounts[1].next_epoch()
        harness.eventually(lambda b=before: min(cluster.epochs()) > max(b),
                           what="the next epoch")
        assert len({(mount.path / name).read_bytes()
                    for mount in cluster.mounts}) == 1


# [S-24.2d] Keys that are written on one node change on all that have joined, or
# on none.
def test_a_switch_that_one_node_cannot_make(mounts, source):
    cluster = Cluster(mounts, source, **{**AUTO, "epoch.advance": "manual",
                                         "open": "seen"})
    blind = cluster.mounts[2]
    blind.unmount()
    blind.options["open"] = "unseen"  # brand binds names as they are opened
    blind.start()
    cluster.wait_until_joined()
    asked = cluster.mounts[0]
    assert asked.write_control('policy = "brand"\n') is not None
    said = asked.read("error")
    assert cluster.names[2] in said and "open=seen" in said
    for mount in cluster.mounts:
        assert 'policy = "lirs"\n' in mount.read("control")
    assert asked.write_control("seed = 5\n") is None
    asked.next_epoch()


# A node that was away keeps its keys, and nothing moves until it has the others.
def test_a_switch_while_a_node_is_away(mounts, source):
    cluster = Cluster(mounts, source, **{**AUTO, "epoch.advance": "manual"})
    cluster.wait_until_joined()
    away = cluster.mounts[2]
    away.kill()
    cluster.wait_until_joined(2, cluster.mounts[:2])
    assert cluster.mounts[0].write_control('policy = "window"\n') is None
    away.start()
    cluster.wait_until_joined()
    assert cluster.mounts[0].write_control('epoch = "next"\n') is not None
    assert policies_of(cluster) == {"lirs"}
    assert cluster.mounts[1].write_control('policy = "window"\n') is None
    cluster.mounts[0].next_epoch()
    harness.eventually(lambda: policies_of(cluster) == {"window"},
                       what="window")
    assert len(set(cluster.epochs())) == 1


# [S-24.2d] Keys that are written on one node change on all that have joined, or
# on none.
def test_a_restart_after_a_switch(mounts, source):
    """Also those of a node that is started anew with what was switched."""
    cluster = Cluster(mounts, source, **{**AUTO, "epoch.advance": "manual"})
    cluster.wait_until_joined()
    assert cluster.mounts[0].write_control(
        'policy = "window"\nseed = 7\nepoch = "next"\n') is None
    harness.eventually(lambda: policies_of(cluster) == {"window"},
                       what="window")
    again = cluster.mounts[1]
    again.kill()
    again.start()
    cluster.wait_until_agreed()
    assert policies_of(cluster) == {"window"}
    cluster.mounts[2].next_epoch()
    harness.eventually(lambda: cluster.epochs() == [2] * 3, what="epoch 2")


# [S-24.2a] With peers and epoch.advance = auto, an epoch begins on all nodes
# with the same bijection, so together they show each sample once.
# Also if that key was written later.
def test_epochs_advance_by_themselves_from_a_switch_on(mounts, source, job_of):
    cluster = Cluster(mounts, source, **{**AUTO, "epoch.advance": "manual",
                                         "open": "seen"})
    cluster.wait_until_joined()
    job = job_of(cluster)
    assert once_each(job.epoch(0))
    assert cluster.mounts[2].write_control(
        'epoch.advance = "auto"\nepoch = "next"\n') is None
    harness.eventually(lambda: cluster.epochs() == [1] * 3, what="epoch 1")
    for number in range(1, 6):
        assert once_each(job.epoch(number)), f"epoch {number}"
    assert min(cluster.epochs()) >= 4
    assert cluster.mounts[0].write_control(
        'epoch.advance = "manual"\nepoch = "next"\n') is None
    harness.eventually(lambda: len(set(cluster.epochs())) == 1,
                       what="the others")
    before = cluster.epochs()
    for number in range(6, 9):
        assert once_each(job.epoch(number)), f"epoch {number}"
    assert cluster.epochs() == before


# [S-24.2c] While a node is away, epochs are counted and names keep their
# samples, so when it is back it shows what the others show.
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP],
                         ids=["kill", "stop"])
def test_while_a_node_is_away_names_keep_their_samples(mounts, source, job_of,
                                                       number):
    cluster = Cluster(mounts, source, **AUTO)
    cluster.wait_until_joined()
    victim = cluster.mounts[2]
    others = Cluster.__new__(Cluster)
    others.mounts = cluster.mounts[:2]
    everyone = job_of(cluster)
    assert once_each(everyone.epoch(0))
    everyone.end()
    os.kill(victim.process.pid, number)
    job = job_of(others)
    epoch = 0

    def says_why():
        nonlocal epoch
        epoch += 1
        assert once_each(job.epoch(epoch)), f"epoch {epoch}"
        return any("keep their samples" in text
                   for text in others.mounts[0].view()["warnings"])
    try:
        harness.eventually(says_why, what="a warning")
        assert once_each(job.epoch(epoch + 1))
    finally:
        if number == signal.SIGSTOP:
            os.kill(victim.process.pid, signal.SIGCONT)
    if number == signal.SIGKILL:
        victim.process.wait(timeout=30 * harness.SLOWDOWN)
        victim.start()
    cluster.wait_until_agreed()
    job.end()
    everyone = job_of(cluster)
    everyone.until_names_move(epoch + 2)
    joint.require_exactly_once(cluster)
