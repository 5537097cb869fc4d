#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Nodes of one job that share a slow source: the raw directory, mounts that do
not know each other, and mounts that are peers.

Each node has a namespace with a link of 1 Gbit/s, a group with limited memory,
and a stock ImageFolder with DistributedSampler and 2 workers, which reads files
whole and decodes nothing. The source gives 40 MB/s to all nodes together
(profile nas40), or is another emulated device. A row has an epoch's seconds,
until the last rank is done, and the datasets that left the source in it. With
peers it also has the requests to other nodes (questions about names, and
requests for bytes) for each sample. A run ends if an epoch does not have each
sample once.

--kill measures peers only, with one more member that has no rank. Its daemon is
killed in the middle of the middle epoch. A second table has the pauses between
two batches of a rank, and what the other ranks lost. From that epoch on samples
may come twice. The table says how many did, and how many the status of the
other members names."""
import argparse
import collections
import contextlib
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import brand_data  # noqa: E402
import cluster_kill  # noqa: E402
import measure  # noqa: E402
from brand_data import testbed  # noqa: E402
from cluster_nodes import Network, Node, NodeMount  # noqa: E402
from cluster_ranks import BATCH, PORT, GlooRank, Rank  # noqa: E402
from cluster_ranks import samples_missing  # noqa: E402

CLASSES = 40
# What a rank and its workers need beside the daemon's memory. More would be page
# cache, and so memory of the nodes that no row names.
ROOM = testbed.parse_size("220MiB")
SYSTEMS = ("raw", "alone", "peers")

# `source`: bytes; `busy`: share of the processors; `asked`: requests a sample;
# `pauses`: longest and median seconds between two batches of a rank; `missing`:
# samples that were not shown; `named`: those that status says came twice.
Epoch = collections.namedtuple(
    "Epoch", "seconds source busy asked pauses missing named")


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
        options = {"policy": self.arguments.policy, "memory": memory,
                   **self.arguments.set}
        if system == "peers":
            count = len(self.network.names)
            addresses = [f"{self.network.address(i)}:{PORT}"
                         for i in range(count)]
            options |= {"peers": ";".join(addresses), "peers.insecure": "yes",
                        "peers.listen": addresses[number]}
        return options

    def epochs(self, system, memory):
        """An Epoch for each."""
        self.runs += 1
        folder = self.folder / f"run{self.runs}"
        folder.mkdir()
        with contextlib.ExitStack() as stack:
            nodes = [stack.enter_context(
                Node(i, name, (self.backing, self.arguments.profile), folder,
                     memory + ROOM))
                for i, name in enumerate(self.network.names)]
            roots = [node.data for node in nodes]
            mounts = []
            if system != "raw":
                mounts = [stack.enter_context(NodeMount(
                    node, folder / f"mount{node.number}",
                    self.options(system, memory, node.number)))
                    for node in nodes]
                roots = [mount.path for mount in mounts]
                if system == "peers":
                    wait_until_joined(mounts)
            # With --kill the last member has no rank.
            ranks = [self.rank(node, root) for node, root in
                     zip(nodes[:self.arguments.nodes], roots)]
            for rank in ranks:
                stack.callback(rank.close)
            for rank in ranks:
                rank.answer()
            watched = mounts if system == "peers" else []
            return self.pass_through(system, nodes, ranks, watched)

    def rank(self, node, root):
        count = self.arguments.nodes
        if self.arguments.ranks == "loader":
            return Rank(node, root, count)
        return GlooRank(node, root, count, self.arguments.epochs)

    def batches(self):
        """Of a rank in an epoch."""
        return self.arguments.files // self.arguments.nodes // BATCH

    def pass_through(self, system, nodes, ranks, mounts):
        """Passes through all epochs. With --kill one ends a member."""
        done = []
        for number in range(self.arguments.epochs):
            kill = None
            if number == self.arguments.killed_in:
                *mounts, victim = mounts
                kill = cluster_kill.Kill(victim, self.batches() // 2)
            epoch = self.epoch(system, number, (nodes, ranks, mounts), kill)
            if epoch.missing and number < self.arguments.killed_in:
                raise RuntimeError(f"epoch {number}: not each sample once")
            done.append(epoch)
        return done

    def epoch(self, system, number, job, kill):
        nodes, ranks, mounts = job
        before = sum(node.source_bytes() for node in nodes)
        requests = peer_requests(mounts)
        begin = time.monotonic()
        busy = processors()
        for rank in ranks:
            rank.tell(number)
        # The first rank's batches are those that a kill counts.
        answers = [ranks[0].answer(kill)]
        answers += [rank.answer() for rank in ranks[1:]]
        seconds = time.monotonic() - begin
        measure.say(f"{system}, epoch {number}: {seconds:.1f} s")
        source = sum(node.source_bytes() for node in nodes) - before
        busy = (processors() - busy) / (seconds * os.cpu_count())
        asked = [(now - then) / self.arguments.files
                 for then, now in zip(requests, peer_requests(mounts))]
        return Epoch(seconds, source, busy, asked,
                     cluster_kill.pauses(answers, kill.moment() if kill else 0),
                     samples_missing(answers, self.arguments.files),
                     cluster_kill.named(mounts))


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


def parsed():
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
    parser.add_argument("--set", action="append", default=[],
                        metavar="KEY=VALUE",
                        help="an option of all mounts; may be given again")
    parser.add_argument("--kill", action="store_true",
                        help="kill a member in the middle of an epoch")
    arguments = parser.parse_args()
    if wrong := [each for each in arguments.set if "=" not in each]:
        parser.error(f"--set {wrong[0]}: not KEY=VALUE")
    arguments.set = dict(each.split("=", 1) for each in arguments.set)
    arguments.killed_in = arguments.epochs  # none of them
    if arguments.kill:
        if arguments.epochs < 3:
            parser.error("--kill needs three epochs or more")
        arguments.systems = ["peers"]
        arguments.killed_in = arguments.epochs // 2
    return arguments


def main():
    arguments = parsed()
    measure.enter()
    dataset = brand_data.Dataset(str(CLASSES), arguments.files)
    dataset.open()
    members = arguments.nodes + arguments.kill
    with measure.folder() as folder, Network(members) as network:
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
    arguments = bench.arguments
    memory = int(share * bench.size / len(bench.network.names))
    found = {system: [] for system in arguments.systems}
    for number in range(arguments.rounds):
        systems = list(arguments.systems)
        for system in systems if number % 2 == 0 else systems[::-1]:
            found[system].append(bench.epochs(system, memory))
    keys = "".join(f", {key}={value}" for key, value in arguments.set.items())
    print(f"\n{len(bench.network.names)} nodes, {bench.size / 1e6:.0f} MB, "
          f"memory of all {share} datasets, policy {arguments.policy}{keys}, "
          f"{arguments.profile}:\n")
    measure.row("epoch", *(f"{system}: s, datasets, processors"
                           for system in found))
    print("|---" * (len(found) + 1) + "|")
    for epoch in range(arguments.epochs):
        measure.row(str(epoch), *(cell([run[epoch] for run in runs], bench.size)
                                  for runs in found.values()))
    if arguments.kill:
        cluster_kill.report(found["peers"], arguments.killed_in)


def cell(epochs, size):
    """The same epoch of all rounds."""
    seconds, mad = measure.median_mad([epoch.seconds for epoch in epochs])
    source, _ = measure.median_mad([epoch.source for epoch in epochs])
    busy, _ = measure.median_mad([epoch.busy for epoch in epochs])
    text = (f"{seconds:.1f} ± {mad:.1f} s, "
            f"{source / size:.2f}, {100 * busy:.0f} %")
    asked = [measure.median_mad(kind)[0] for kind in
             zip(*(epoch.asked for epoch in epochs))]
    if asked:
        names, parts = asked
        text += (f", {names + parts:.2f} requests a sample "
                 f"({names:.2f} names, {parts:.2f} bytes)")
    return text


if __name__ == "__main__":
    main()
