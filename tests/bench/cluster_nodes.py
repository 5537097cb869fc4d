# SPDX-License-Identifier: Apache-2.0
"""Nodes of a cluster on one machine: each has a network namespace with a link
of 1 Gbit/s, a group with limited memory, and a read-only mount of its own of
one shared slow device. So no node sees what another one has cached, and all of
them share the device's time."""
import os
import pathlib
import subprocess
import time

import measure
from brand_data import testbed
from emulated_device import READ_AHEAD_KB, run

RATE = "1gbit"
BRIDGE = "sfsbr"


def shape(device, prefix=()):
    run(*prefix, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate",
        RATE, "burst", "1mb", "latency", "50ms")


class Network:
    """A bridge and `count` namespaces; removed at the end."""

    def __init__(self, count):
        self.names = [f"sfsnode{i}" for i in range(count)]

    def __enter__(self):
        try:
            run("ip", "link", "add", BRIDGE, "type", "bridge")
            run("ip", "addr", "add", "10.73.0.254/24", "dev", BRIDGE)
            run("ip", "link", "set", BRIDGE, "up")
            for i, name in enumerate(self.names):
                self._add(i, name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _add(self, number, name):
        run("ip", "netns", "add", name)
        outer, inner = f"sfsv{number}", self.interface(number)
        run("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
        run("ip", "link", "set", inner, "netns", name)
        run("ip", "link", "set", outer, "master", BRIDGE, "up")
        inside = ("ip", "netns", "exec", name)
        run(*inside, "ip", "link", "set", "lo", "up")
        run(*inside, "ip", "addr", "add", f"{self.address(number)}/24", "dev",
            inner)
        run(*inside, "ip", "link", "set", inner, "up")
        shape(outer)
        shape(inner, inside)

    def __exit__(self, *unused):
        for number, name in enumerate(self.names):
            subprocess.run(["ip", "link", "del", f"sfsv{number}"], check=False,
                           stderr=subprocess.DEVNULL)
            subprocess.run(["ip", "netns", "del", name], check=False,
                           stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", BRIDGE], check=False,
                       stderr=subprocess.DEVNULL)

    @staticmethod
    def interface(number):
        return f"sfsw{number}"

    @staticmethod
    def address(number):
        return f"10.73.0.{number + 1}"


class Node:
    """One of the nodes. As a context manager it owns its loop device, its mount
    of the data and its group."""

    def __init__(self, number, name, disk, folder, limit):
        """`disk`: (path, profile) of the source."""
        self.number, self.name = number, name
        self.backing, self.profile = disk
        self.path = folder / f"node{number}"
        self.limit = limit
        self.loop = self.group = None

    def __enter__(self):
        self.path.mkdir()
        self.group = testbed.Group(f"cluster-{os.getpid()}-{self.number}",
                                   self.limit)
        self.loop = run("losetup", "--find", "--show", "--read-only",
                        "--direct-io=on", self.backing)
        block = pathlib.Path("/sys/block") / pathlib.Path(self.loop).name
        (block / "queue/read_ahead_kb").write_text(str(READ_AHEAD_KB))
        (block / "queue/rotational").write_text(
            testbed.rotational(self.profile))
        run("mount", "-o", "ro,noload,noatime", self.loop, self.path)
        return self

    def __exit__(self, *unused):
        end = time.monotonic() + 20
        while subprocess.run(["umount", self.path], check=False,
                             stderr=subprocess.DEVNULL).returncode != 0:
            if time.monotonic() > end:
                break
            time.sleep(0.2)
        run("losetup", "--detach", self.loop)
        self.group.remove()

    @property
    def interface(self):
        return Network.interface(self.number)

    @property
    def data(self):
        return self.path / "data"

    def inside(self, argv):
        """The command line that runs argv on the node. A mount that it makes
        is seen outside."""
        return self.group.inside(
            ["nsenter", f"--net=/run/netns/{self.name}", *argv])

    def source_bytes(self):
        """Read from the device so far."""
        stat = pathlib.Path("/sys/block", pathlib.Path(self.loop).name,
                            "stat").read_text().split()
        return int(stat[2]) * 512


class NodeMount(measure.Mount):
    """The daemon of a node."""

    def __init__(self, node, *arguments):
        super().__init__(node.data, *arguments)
        self.node = node

    def command(self):
        return self.node.inside(super().command())
