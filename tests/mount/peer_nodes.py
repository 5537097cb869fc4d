# SPDX-License-Identifier: Apache-2.0
"""The daemons of a job with `peers`, and readers that read under load."""
import collections
import hashlib
import os
import random
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


def digest(path):
    """Reads it. The kernel keeps nothing, so the next read is one of the
    daemon."""
    with open(path, "rb") as file:
        content = file.read()
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return hashlib.sha256(content).hexdigest()


def digests(root):
    """How often each content is in each class."""
    return {folder.name: collections.Counter(
        digest(path) for path in folder.iterdir())
        for folder in sorted(root.glob("c*"))}


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

    def sees(self, mount, number):
        """Whether the mount sees that node as joined."""
        return any(each["name"] == self.names[number] and each["joined"]
                   for each in self.members(mount))

    def wait_until_joined(self, count=None, mounts=None):
        """Until each of the mounts sees so many members, itself among them."""
        for mount in mounts or self.mounts:
            if mount.process is None or mount.process.poll() is not None:
                continue
            harness.eventually(
                lambda m=mount: sum(each["joined"] for each in self.members(m))
                == (count or len(self.names)), what="joining")

    def wait_until_agreed(self):
        """Until all have joined and show the same epoch."""
        self.wait_until_joined()
        harness.eventually(lambda: len(set(self.epochs())) == 1,
                           what="the same epoch")

    def sum(self, key):
        return sum(mount.status()["peers"][key] for mount in self.mounts)

    def epochs(self):
        return [mount.view()["epoch"] for mount in self.mounts]


class Reading:
    """Reads whole epochs of all mounts, one after the other, as long as it is
    entered, and holds each file to the source."""

    def __init__(self, mounts, expected):
        self._mounts = mounts
        self._expected = expected
        self._until = threading.Event()
        self._errors = []
        self._passes = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, kind, error, trace):
        self._until.set()
        self._thread.join(60 * harness.SLOWDOWN)
        if kind is not None:
            print("readers:", self._errors)
            return
        assert not self._thread.is_alive(), "a reader hangs"
        assert self._errors == []

    def go_on(self, passes=2):
        """Returns when so many more epochs were read from begin to end."""
        until = self._passes + 1 + passes  # one may be under way
        harness.eventually(lambda: self._errors or self._passes >= until,
                           what="reading")
        assert self._errors == []

    def _run(self):
        while not self._until.is_set():
            try:
                self._mounts[0].next_epoch()
                epoch = self._mounts[0].view()["epoch"]
                for mount in self._mounts:
                    harness.eventually(
                        lambda m=mount: m.view()["epoch"] == epoch,
                        what="the epoch of the others")
            except Exception as error:  # noqa: BLE001
                self._errors.append(repr(error))
            readers = [threading.Thread(target=self._read, args=(mount,),
                                        daemon=True)
                       for mount in self._mounts]
            for reader in readers:
                reader.start()
            for reader in readers:
                reader.join()
            self._passes += 1

    def _read(self, mount):
        try:
            forget(mount.source)
            if digests(mount.path) != self._expected:
                self._errors.append("other bytes, or not each once")
        except Exception as error:  # noqa: BLE001: a reader's error is a failure
            self._errors.append(repr(error))
