# SPDX-License-Identifier: Apache-2.0
"""Nodes in network namespaces, whose links a test can cut. Needs root. All of
it lies in namespaces of the test, so nothing is left if the test is killed."""
import itertools
import os

import harness

_numbers = itertools.count()


def _ip(*words):
    harness.run(["ip", *words])


class Network:
    """Two switches with a link between them; every other node is at each."""

    def __init__(self, count):
        base = f"sfstest{os.getpid()}-{next(_numbers)}"
        self._hub = f"{base}-hub"
        self._nodes = [f"{base}-{number}" for number in range(count)]
        _ip("netns", "add", self._hub)
        for switch in range(2):
            _ip("-n", self._hub, "link", "add", f"br{switch}", "type", "bridge")
            _ip("-n", self._hub, "link", "set", f"br{switch}", "up")
        _ip("-n", self._hub, "link", "add", "up0", "type", "veth", "peer",
            "name", "up1")
        for switch in range(2):
            _ip("-n", self._hub, "link", "set", f"up{switch}", "master",
                f"br{switch}", "up")
        for number, node in enumerate(self._nodes):
            self._add(number, node)

    def _add(self, number, node):
        _ip("netns", "add", node)
        _ip("-n", self._hub, "link", "add", f"v{number}", "type", "veth",
            "peer", "name", "eth0", "netns", node)
        self.join(number)
        _ip("-n", self._hub, "link", "set", f"v{number}", "up")
        _ip("-n", node, "link", "set", "lo", "up")
        _ip("-n", node, "addr", "add", f"{self.address(number)}/24", "dev",
            "eth0")
        _ip("-n", node, "link", "set", "eth0", "up")

    def close(self):
        for name in (*self._nodes, self._hub):
            harness.run(["ip", "netns", "del", name], check=False)

    @staticmethod
    def address(number):
        return f"10.74.0.{number + 1}"

    def inside(self, number):
        """What runs a command on a node. It sees the mounts of the test."""
        return ["nsenter", f"--net=/run/netns/{self._nodes[number]}"]

    def cut(self, number):
        """From now on nothing reaches the node or leaves it. Nobody is told."""
        _ip("-n", self._hub, "link", "set", f"v{number}", "nomaster")

    def join(self, number):
        _ip("-n", self._hub, "link", "set", f"v{number}", "master",
            f"br{number % 2}")

    def part(self):
        """Cuts the link between the switches."""
        _ip("-n", self._hub, "link", "set", "up0", "nomaster")

    def heal(self):
        _ip("-n", self._hub, "link", "set", "up0", "master", "br0")
