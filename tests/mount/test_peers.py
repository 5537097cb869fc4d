# SPDX-License-Identifier: Apache-2.0
"""Several daemons of one job on one machine: what one of them has read, the
others need not read. Whatever happens to one, the bytes of the others are
right."""
import collections
import hashlib
import os
import random
import signal
import socket
import threading

import pytest

import harness

NODES, CLASSES, PER_CLASS, BYTES = 3, 4, 30, 40_000
LIRS = {"policy": "lirs", "substitute": "directory", "memory": "64MiB",
        "epoch.advance": "manual"}


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def forget(source):
    """Drops the source's pages, so that reads of it are seen as such."""
    for path in source.rglob("*"):
        if not path.is_file():
            continue
        fd = os.open(path, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


@pytest.fixture
def source(folder):
    rng = random.Random(1)
    root = folder / "source"
    for k in range(CLASSES):
        (root / f"c{k}").mkdir(parents=True)
        for i in range(PER_CLASS):
            size = rng.randrange(1, 2 * BYTES)
            (root / f"c{k}" / f"{i * 7:04}.bin").write_bytes(
                rng.randbytes(size))
    # Larger than the parts that have owners.
    (root / "c0" / "large.bin").write_bytes(rng.randbytes(2_500_000))
    return root


def digests(root):
    """How often each content is in each class."""
    return {folder.name: collections.Counter(
        hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()) for folder in sorted(root.glob("c*"))}


class Cluster:
    """Nodes of one job: on ports of this machine, or in namespaces."""

    def __init__(self, mounts, source, nodes=NODES, network=None, **options):
        self.source = source
        if network is None:
            self.names = [f"127.0.0.1:{port}" for port in free_ports(nodes)]
        else:
            self.names = [f"{network.address(k)}:7373" for k in range(nodes)]
            options["peers.insecure"] = "yes"
        self.mounts = [
            mounts(source, {**LIRS, "peers": ";".join(self.names),
                            "peers.listen": name, **options},
                   inside=network.inside(number) if network else ())
            for number, name in enumerate(self.names)]

    def members(self, mount):
        return mount.status()["peers"]["members"]

    def wait_until_joined(self, count=None, mounts=None):
        """Until each of the mounts sees so many members, itself among them."""
        for mount in mounts or self.mounts:
            if mount.process is None or mount.process.poll() is not None:
                continue
            harness.eventually(
                lambda m=mount: sum(each["joined"] for each in self.members(m))
                == (count or len(self.names)), what="joining")

    def sum(self, key):
        return sum(mount.status()["peers"][key] for mount in self.mounts)


# [S-24.1b] A dataset that fits into the memory of all members leaves the
# source once.
def test_each_byte_leaves_the_source_once(mounts, source):
    cluster = Cluster(mounts, source)
    cluster.wait_until_joined()
    expected = digests(source)
    forget(source)
    for mount in cluster.mounts:
        assert digests(mount.path) == expected
        forget(source)
    size = sum(path.stat().st_size for path in source.rglob("*.bin"))
    # Memory is in pages of 4 KiB.
    files = CLASSES * PER_CLASS + 3
    assert size <= cluster.sum("kept_bytes") <= size + files * 4096
    assert cluster.sum("answered_source_bytes") <= size + files * 4096
    for mount in cluster.mounts:  # others tell it every two seconds
        harness.eventually(
            lambda m=mount: size <= m.status()["peers"]["group_source_bytes"]
            <= size + files * 4096, what="the source bytes of all")
    before = cluster.sum("reads_from_source")
    for _ in range(2):
        for mount in cluster.mounts:
            mount.next_epoch()
            forget(source)
            assert digests(mount.path) == expected
    assert cluster.sum("reads_from_source") == before
    for command, said in (("status", f"peers: {NODES} of {NODES} joined"),
                          ("peers", cluster.names[1])):
        assert said in cluster.mounts[0].run(
            [harness.shufflectl(), command, cluster.mounts[0].path]).stdout
    metrics = cluster.mounts[0].read("metrics")
    for name in cluster.names[1:]:
        assert f'shufflefs_peer_received_bytes_total{{peer="{name}"}}' in metrics


def test_records_of_containers_come_from_peers(mounts, folder):
    source = folder / "records"
    source.mkdir()
    lines = [f"{i},{'x' * (i % 90)}\n" for i in range(60_000)]
    (source / "data.csv").write_text("".join(lines))
    cluster = Cluster(mounts, source, **{"record.as": "*.csv:lines",
                                         "substitute": "never"})
    cluster.wait_until_joined()
    for _ in range(2):
        forget(source)
        shown = [(mount.path / "data.csv").read_text().splitlines(True)
                 for mount in cluster.mounts]
        assert shown[0] != lines and sorted(shown[0]) == sorted(lines)
        assert shown[1] == shown[0] and shown[2] == shown[0]
        for mount in cluster.mounts:
            mount.next_epoch()
    assert cluster.sum("reads_from_peers") > 0


def read_for_a_while(mounts, expected, until, errors):
    """Whole epochs of all mounts, one after the other, each file checked."""
    def read(mount):
        try:
            forget(mount.source)
            if digests(mount.path) != expected:
                errors.append("other bytes, or not each once")
        except Exception as error:  # noqa: BLE001: a reader's error is a failure
            errors.append(repr(error))

    while not until.is_set():
        try:
            mounts[0].next_epoch()
            epoch = mounts[0].view()["epoch"]
            for mount in mounts:
                harness.eventually(lambda m=mount: m.view()["epoch"] == epoch,
                                   what="the epoch of the others")
        except Exception as error:  # noqa: BLE001
            errors.append(repr(error))
        readers = [threading.Thread(target=read, args=(mount,))
                   for mount in mounts]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()


# [S-24.1a] With peers every byte that readers get is that of the source,
# whatever happens to a peer.
@pytest.mark.parametrize("signals", [[signal.SIGKILL],
                                     [signal.SIGSTOP, signal.SIGCONT]],
                         ids=["kill", "stop"])
def test_a_member_that_is_gone_costs_no_byte(mounts, source, signals):
    cluster = Cluster(mounts, source)
    cluster.wait_until_joined()
    expected = digests(source)
    until, errors = threading.Event(), []
    reader = threading.Thread(target=read_for_a_while, args=(
        cluster.mounts[:2], expected, until, errors))
    reader.start()
    try:
        victim = cluster.mounts[2]
        for number in signals:
            for _ in range(3):
                threading.Event().wait(0.5)
            os.kill(victim.process.pid, number)
            if number != signal.SIGCONT:
                harness.eventually(
                    lambda: not cluster.members(cluster.mounts[0])[
                        sorted(cluster.names).index(cluster.names[2])][
                            "joined"], what="noticing")
        if signals == [signal.SIGKILL]:
            victim.process.wait(timeout=30 * harness.SLOWDOWN)
            victim.start()
        cluster.wait_until_joined()
    finally:
        until.set()
        reader.join()
    assert errors == []
    for mount in cluster.mounts:
        mount.next_epoch()
        assert digests(mount.path) == expected


# [S-24.1c] A member that differs in dataset, policy, seed or version is refused,
# and both sides say why.
def test_a_member_that_differs_is_refused_and_says_why(mounts, source):
    ports = free_ports(2)
    names = [f"127.0.0.1:{port}" for port in ports]
    peers = {"peers": ";".join(names)}
    one = mounts(source, {**LIRS, **peers, "peers.listen": names[0]})
    two = mounts(source, {**LIRS, **peers, "peers.listen": names[1],
                          "seed": "3"})
    for mount in (one, two):
        harness.eventually(
            lambda m=mount: any("seed = " in each["why"] for each in
                                m.status()["peers"]["members"]),
            what="a refusal")
    expected = digests(source)
    for mount in (one, two):
        assert digests(mount.path) == expected
        assert mount.status()["peers"]["reads_from_peers"] == 0


# [S-24.1d] Without TLS or a secret, peers are answered on loopback only.
def test_without_a_proof_only_loopback_is_answered(mounts, source):
    mount = mounts(source, {**LIRS, "peers": "127.0.0.1:7373",
                            "peers.listen": "0.0.0.0:7373"}, start=False)
    done = mount.run(mount.command(), check=False)
    assert done.returncode == 1
    assert "peers.tls" in done.stderr and "peers.secret" in done.stderr


# [S-24.1e] Without the key peers nothing listens, and nothing is sent.
def test_no_peers_no_word(mounts, source):
    mount = mounts(source, LIRS)
    assert "peers" not in mount.status()
    assert "shufflefs_peer" not in mount.read("metrics")
    threads = [open(f"/proc/{mount.process.pid}/task/{task}/comm").read()
               for task in os.listdir(f"/proc/{mount.process.pid}/task")]
    assert not [name for name in threads if name.startswith("sfs-peers")]
