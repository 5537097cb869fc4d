# SPDX-License-Identifier: Apache-2.0
"""Servers of etcd in a private directory, which a test kills and stops."""
import signal
import subprocess
import urllib.request

import harness
from peer_nodes import free_ports


class Etcd:
    """The servers of one cluster. They end with the test, also if it is
    killed."""

    def __init__(self, folder, count):
        self._folder = folder
        ports = free_ports(2 * count)
        self.endpoints = [f"127.0.0.1:{port}" for port in ports[:count]]
        self._peers = [f"127.0.0.1:{port}" for port in ports[count:]]
        self._servers = [None] * count
        for number in range(count):
            self.start(number)
        for number in range(count):
            harness.eventually(lambda k=number: self._serves(k), what="etcd")

    def start(self, number):
        client = f"http://{self.endpoints[number]}"
        peer = f"http://{self._peers[number]}"
        cluster = ",".join(f"n{k}=http://{at}"
                           for k, at in enumerate(self._peers))
        with open(self._folder / f"etcd{number}.log", "ab") as log:
            self._servers[number] = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "etcd",
                 "--name", f"n{number}",
                 "--data-dir", self._folder / f"etcd{number}",
                 "--listen-client-urls", client,
                 "--advertise-client-urls", client,
                 "--listen-peer-urls", peer,
                 "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", cluster, "--heartbeat-interval", "50",
                 "--election-timeout", "500", "--unsafe-no-fsync"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self, number):
        self._servers[number].kill()
        self._servers[number].wait(timeout=30 * harness.SLOWDOWN)

    def stop(self, number):
        self._servers[number].send_signal(signal.SIGSTOP)

    def resume(self, number):
        self._servers[number].send_signal(signal.SIGCONT)

    def close(self):
        for number, server in enumerate(self._servers):
            if server is not None:
                self.kill(number)

    def leader(self, but=()):
        """The server that leads the others. Those of `but` are not asked."""
        def found():
            for number in range(len(self._servers)):
                if number not in but and self._metric(
                        number, "etcd_server_is_leader") == 1:
                    return number + 1
            return None
        return harness.eventually(found, what="a leader") - 1

    def _serves(self, number):
        return self._metric(number, "etcd_server_has_leader") == 1

    def _metric(self, number, name):
        """None while the server does not answer."""
        try:
            with urllib.request.urlopen(
                    f"http://{self.endpoints[number]}/metrics",
                    timeout=5 * harness.SLOWDOWN) as answer:
                for line in answer.read().decode().splitlines():
                    if line.startswith(f"{name} "):
                        return float(line.split()[1])
        except OSError:
            pass
        return None
