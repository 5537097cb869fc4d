# SPDX-License-Identifier: Apache-2.0
"""Several daemons of one job on one machine: what one of them has read, the
others need not read. Whatever happens to one, the bytes of the others are
right."""
import os
import shutil
import signal

import pytest

import harness
import joint
from peer_nodes import (CLASSES, LIRS, NODES, PER_CLASS, Cluster, Reading,
                        digests, forget, free_ports)
from peer_nodes import source  # noqa: F401: a fixture


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


# [S-24.1a] With peers every byte that readers get is that of the source,
# whatever happens to a peer.
@pytest.mark.parametrize("signals", [[signal.SIGKILL],
                                     [signal.SIGSTOP, signal.SIGCONT]],
                         ids=["kill", "stop"])
def test_a_member_that_is_gone_costs_no_byte(mounts, source, signals):
    cluster = Cluster(mounts, source, open="seen")
    cluster.wait_until_joined()
    expected = digests(source)
    victim = cluster.mounts[2]
    with Reading(cluster.mounts[:2], expected) as reading:
        for number in signals:
            reading.go_on()
            os.kill(victim.process.pid, number)
            if number != signal.SIGCONT:
                harness.eventually(
                    lambda: not cluster.sees(cluster.mounts[0], 2),
                    what="noticing")
        if signals == [signal.SIGKILL]:
            victim.process.wait(timeout=30 * harness.SLOWDOWN)
            victim.start()
        cluster.wait_until_joined()
        reading.go_on(1)
    for mount in cluster.mounts:
        mount.next_epoch()
        assert digests(mount.path) == expected
    joint.require_whole_reads(cluster, 7)


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
        assert "peers: refused" in mount.log() or " is not used; " in mount.log()
        assert "peers: peers:" not in mount.log()
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


def test_a_module_that_others_may_have_put_there_is_not_loaded(folder):
    """A program is copied below a directory that everybody may write to."""
    place = folder / "place"
    for name in ("bin", "peers", "source", "mnt"):
        (place / name).mkdir(parents=True)
    program = shutil.copy(harness.shufflefs(), place / "bin")
    (place / "peers" / "shufflefs_peers.so").write_bytes(b"planted")
    env = {name: value for name, value in os.environ.items()
           if name != "SHUFFLEFS_PEERS_MODULE"}
    members = ";".join(f"127.0.0.1:{port}" for port in free_ports(2))

    def said():
        done = harness.run(
            [program, "-f", "-o", f"peers={members},state={folder / 'state'}",
             place / "source", place / "mnt"], check=False, env=env)
        assert done.returncode != 0
        return done.stderr
    assert "invalid ELF header" in said() or "too short" in said()
    place.chmod(0o777)
    assert "peers: " in said()
    assert "others may write to a directory above it" in said()
