#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes of one job that share a slow source: the raw directory, mounts that do
not know each other, and mounts that are peers.

Each node has a namespace with a link of 1 Gbit/s, a group with limited memory,
and a stock ImageFolder with DistributedSampler and 2 workers, which reads files
whole and decodes nothing. The source gives 40 MB/s to all nodes together
(profile nas40), or is another emulated device. A row has an epoch's seconds, until the last rank is done, and
the datasets that left the source in it. With peers it also has the requests to
other nodes (questions about names, and requests for bytes) for each sample."""
import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import brand_data  # noqa: E402
import measure  # noqa: E402
from brand_data import testbed  # noqa: E402
from cluster_nodes import Network, Node, NodeMount  # noqa: E402

CLASSES, WORKERS, BATCH, PORT = 40, 2, 32, 7373
# What a rank and its workers need beside the daemon's memory. More would be page
# cache, and so memory of the nodes that no row names.
ROOM = testbed.parse_size("220MiB")
SYSTEMS = ("raw", "alone", "peers")


class Rank:
    """One process of clairvoyant_epoch.py on a node."""

    def __init__(self, node, root, count):
        client = measure.HERE / "clairvoyant_epoch.py"
        argv = node.inside([measure.harness.PYTHON, "-W", "ignore", client,
                            root / "train", BATCH, WORKERS, "none"])
        env = {**os.environ, "WORLD_SIZE": str(count),
               "RANK": str(node.number), "LOCAL_WORLD_SIZE": "1",
               "LOCAL_RANK": "0"}
        self.process = subprocess.Popen(
            list(map(str, argv)), stdin=subprocess.PIPE, env=env,
            stdout=subprocess.PIPE, text=True, start_new_session=True)

    def tell(self, epoch):
        step = {"sampler": "distributed", "epoch": epoch}
        self.process.stdin.write(json.dumps(step) + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("a rank ended")
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)


class GlooRank(Rank):
    """One process of examples/cluster_rank.py, which passes through all its
    epochs by itself, in step with the other ranks."""

    def __init__(self, node, root, count, epochs):
        client = measure.harness.EXAMPLES / "cluster_rank.py"
        argv = node.inside([measure.harness.PYTHON, "-W", "ignore", client,
                            root / "train", "--epochs", epochs, "--batch",
                            BATCH, "--workers", WORKERS])
        env = {**os.environ, "WORLD_SIZE": str(count),
               "RANK": str(node.number), "LOCAL_WORLD_SIZE": "1",
               "LOCAL_RANK": "0", "MASTER_ADDR": Network.address(0),
               "MASTER_PORT": str(PORT + 1),
               "GLOO_SOCKET_IFNAME": node.interface}
        self.process = subprocess.Popen(
            list(map(str, argv)), stdin=subprocess.PIPE, env=env,
            stdout=subprocess.PIPE, text=True, start_new_session=True)

    def tell(self, epoch):
        """It goes on by itself."""


class Bench:
    def __init__(self, arguments, dataset, network, folder):
        self.arguments = arguments
        self.dataset = dataset
        self.network = network
        self.folder = folder
        self.runs = 0
        self.size = sum(path.stat().st_size
                        for path in dataset.root.glob("train/*/*"))
        self.backing = dataset.device.slow / "disk"

    def options(self, system, memory, number):
        options = {"policy": self.arguments.policy, "memory": memory}
        if system == "peers":
            count = len(self.network.names)
            addresses = [f"{self.network.address(i)}:{PORT}"
                         for i in range(count)]
            options |= {"peers": ";".join(addresses), "peers.insecure": "yes",
                        "peers.listen": addresses[number]}
        return options

    def epochs(self, system, memory):
        """(seconds, bytes of the source) of each epoch."""
        self.runs += 1
        folder = self.folder / f"run{self.runs}"
        folder.mkdir()
        with contextlib.ExitStack() as stack:
            nodes = [stack.enter_context(
                Node(i, name, (self.backing, self.arguments.profile), folder,
                     memory + ROOM))
                for i, name in enumerate(self.network.names)]
            roots = [node.data for node in nodes]
            if system != "raw":
                mounts = [stack.enter_context(NodeMount(
                    node, folder / f"mount{node.number}",
                    self.options(system, memory, node.number)))
                    for node in nodes]
                roots = [mount.path for mount in mounts]
                if system == "peers":
                    wait_until_joined(mounts)
            ranks = [self.rank(node, root) for node, root in zip(nodes, roots)]
            for rank in ranks:
                stack.callback(rank.close)
            for rank in ranks:
                rank.answer()
            watched = mounts if system == "peers" else []
            return [self.epoch(system, nodes, ranks, epoch, watched)
                    for epoch in range(self.arguments.epochs)]

    def rank(self, node, root):
        count = len(self.network.names)
        if self.arguments.ranks == "loader":
            return Rank(node, root, count)
        return GlooRank(node, root, count, self.arguments.epochs)

    def epoch(self, system, nodes, ranks, epoch, mounts):
        before = sum(node.source_bytes() for node in nodes)
        requests = peer_requests(mounts)
        begin = time.monotonic()
        busy = processors()
        for rank in ranks:
            rank.tell(epoch)
        answers = [rank.answer() for rank in ranks]
        seconds = time.monotonic() - begin
        if not self.is_whole(answers):
            raise RuntimeError(f"epoch {epoch}: not each sample once")
        measure.say(f"{system}, epoch {epoch}: {seconds:.1f} s")
        source = sum(node.source_bytes() for node in nodes) - before
        busy = (processors() - busy) / (seconds * os.cpu_count())
        asked = [(now - then) / self.arguments.files
                 for then, now in zip(requests, peer_requests(mounts))]
        return seconds, source, busy, asked

    def is_whole(self, answers):
        """Whether all ranks together read each sample once."""
        if self.arguments.ranks == "loader":
            return sum(answer["bytes"] for answer in answers) == self.size
        firsts = [first for answer in answers for first in answer["firsts"]]
        return sorted(firsts) == list(range(self.arguments.files))


def processors():
    """Seconds that all processors were busy."""
    words = open("/proc/stat").readline().split()[1:]
    idle = int(words[3]) + int(words[4])
    return (sum(map(int, words[:8])) - idle) / os.sysconf("SC_CLK_TCK")


def peer_requests(mounts):
    """(about names, for bytes) by all of these mounts so far."""
    each = [mount.status()["peers"] for mount in mounts]
    return [sum(peers[key] for peers in each)
            for key in ("name_requests", "byte_requests")] if each else []


def wait_until_joined(mounts):
    for mount in mounts:
        measure.harness.eventually(
            lambda m=mount: all(each["joined"] for each in
                                m.status()["peers"]["members"]),
            what="joining")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--ranks", choices=["loader", "gloo"], default="loader",
                        help="loader: each passes through its epochs alone; "
                        "gloo: after each batch they wait for each other, as "
                        "those of a training")
    parser.add_argument("--policy", default="clairvoyant")
    parser.add_argument("--profile", default="nas40",
                        help="of the emulated device, such as hdd")
    parser.add_argument("--memory", nargs="+", type=float, default=[1.3, 0.4],
                        help="of all nodes together, in datasets")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS,
                        default=SYSTEMS)
    arguments = parser.parse_args()
    measure.enter()
    dataset = brand_data.Dataset(str(CLASSES), arguments.files)
    dataset.open()
    with measure.folder() as folder, Network(arguments.nodes) as network:
        bench = Bench(arguments, dataset, network, pathlib.Path(folder))
        # Its own mount of the image would write to it.
        dataset.device.attach(arguments.profile)
        dataset.device.unmount()
        try:
            for share in arguments.memory:
                report(bench, share)
        finally:
            dataset.device.detach()


def report(bench, share):
    memory = int(share * bench.size / bench.arguments.nodes)
    found = {system: [] for system in bench.arguments.systems}
    for number in range(bench.arguments.rounds):
        systems = list(bench.arguments.systems)
        for system in systems if number % 2 == 0 else systems[::-1]:
            found[system].append(bench.epochs(system, memory))
    print(f"\n{bench.arguments.nodes} nodes, {bench.size / 1e6:.0f} MB, memory "
          f"of all {share} datasets, policy {bench.arguments.policy}, "
          f"{bench.arguments.profile}:\n")
    measure.row("epoch", *(f"{system}: s, datasets, processors"
                           for system in found))
    print("|---" * (len(found) + 1) + "|")
    for epoch in range(bench.arguments.epochs):
        cells = []
        for runs in found.values():
            seconds, mad = measure.median_mad([run[epoch][0] for run in runs])
            source, _ = measure.median_mad([run[epoch][1] for run in runs])
            busy, _ = measure.median_mad([run[epoch][2] for run in runs])
            cell = (f"{seconds:.1f} ± {mad:.1f} s, "
                    f"{source / bench.size:.2f}, {100 * busy:.0f} %")
            asked = [measure.median_mad(kind)[0] for kind in
                     zip(*(run[epoch][3] for run in runs))]
            if asked:
                names, parts = asked
                cell += (f", {names + parts:.2f} requests a sample "
                         f"({names:.2f} names, {parts:.2f} bytes)")
            cells.append(cell)
        measure.row(str(epoch), *cells)


if __name__ == "__main__":
    main()
