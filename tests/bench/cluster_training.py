#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Training on four nodes through peers against the raw directory: Fashion-MNIST
as class folders of PNG files, DistributedDataParallel over gloo, several seeds.

Each node has a namespace with a link of 1 Gbit/s and a rank. A seed rules the
first weights and the sampler's order of names, so peers and the raw directory
differ in nothing but the samples behind the names. All ranks together must have
read each image once an epoch, whatever node read it. The ranks go from seed to
seed in one job, so the mounts pass through all epochs of all seeds."""
import argparse
import collections
import contextlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402
from cluster import peer_requests, wait_until_joined  # noqa: E402
from cluster_nodes import Network, Node, NodeMount  # noqa: E402
from cluster_ranks import PORT  # noqa: E402
from training import PAGE, PYTHON, STUDENT, Data, moved_share  # noqa: E402

sys.path.insert(0, str(measure.HERE / "testbed"))
import testbed  # noqa: E402

# What a rank needs beside the daemon's memory: it trains.
ROOM = testbed.parse_size("480MiB")

CLIENT = measure.HERE / "cluster_training_run.py"
COLUMNS = ("what", "right on the validation set", "less than raw, paired",
           "95 % interval", "names that showed another sample",
           "memory of all, datasets", "requests a sample")


class Row:
    def __init__(self, label):
        self.label = label
        self.right = []     # by seed
        self.read = []      # by seed and epoch: checksums of all ranks
        self.moved = None   # share of names in the last epoch
        self.asked = None   # requests a sample

    def take(self, answers):
        """Of all ranks, about one seed."""
        # All ranks have the same weights.
        self.right.append(answers[0]["right"])
        epochs = zip(*(answer["read"] for answer in answers))
        self.read.append([collections.Counter(sum(parts, []))
                          for parts in epochs])

    def print(self, raw, memory):
        cells = [f"{statistics.mean(self.right):.4f} ± "
                 f"{statistics.stdev(self.right):.4f}"]
        if self is raw:
            measure.row(self.label, *cells, *["-"] * (len(COLUMNS) - 2))
            return
        less = [a - b for a, b in zip(raw.right, self.right)]
        mean = statistics.mean(less)
        half = (STUDENT.get(len(less) - 1, 1.96) * statistics.stdev(less) /
                math.sqrt(len(less)))
        verdict = ("within noise" if abs(mean) <= half else
                   "better" if mean < 0 else "**worse**")
        measure.row(self.label, *cells, f"{mean:+.4f}",
                    f"{mean - half:+.4f} to {mean + half:+.4f}, {verdict}",
                    f"{self.moved:.0%}", f"{memory:.2f}", f"{self.asked:.2f}")


class Bench:
    def __init__(self, arguments, data, network, folder):
        self.arguments = arguments
        self.data = data
        self.network = network
        self.folder = folder
        self.validation = folder / "validation.pt"

    def run(self, row, peers):
        folder = self.folder / ("peers" if peers else "raw")
        folder.mkdir()
        with contextlib.ExitStack() as stack:
            nodes = [stack.enter_context(
                Node(i, name, (self.data.device.image, "fast"), folder,
                     self.arguments.memory + ROOM))
                for i, name in enumerate(self.network.names)]
            roots = [node.data for node in nodes]
            mounts = []
            if peers:
                mounts = [stack.enter_context(NodeMount(
                    node, folder / f"mount{node.number}",
                    self.options(node.number))) for node in nodes]
                wait_until_joined(mounts)
                roots = [mount.path for mount in mounts]
            ranks = [self.rank(node, root) for node, root in zip(nodes, roots)]
            try:
                for seed in range(self.arguments.rounds):
                    row.take([self.answer(rank) for rank in ranks])
                    measure.say(f"{row.label}, seed {seed}: "
                                f"{row.right[-1]:.4f}")
                if peers:
                    self.note(row, mounts)
            finally:
                for rank in ranks:
                    end(rank)

    def note(self, row, mounts):
        shown = (self.arguments.images * self.arguments.epochs *
                 self.arguments.rounds)
        row.asked = sum(peer_requests(mounts)) / shown
        row.moved = statistics.mean(moved_share(mount) for mount in mounts)
        epochs = [mount.view()["epoch"] for mount in mounts]
        due = self.arguments.epochs * self.arguments.rounds
        if any(epoch not in (due - 1, due) for epoch in epochs):
            raise RuntimeError(f"{due} epochs were trained, and the mounts are "
                               f"in {epochs}")

    def options(self, number):
        addresses = [f"{self.network.address(i)}:{PORT}"
                     for i in range(len(self.network.names))]
        return {"policy": self.arguments.policy, "substitute": "directory",
                "memory": self.arguments.memory, "peers": ";".join(addresses),
                "peers.insecure": "yes", "peers.listen": addresses[number],
                # All nodes must form the same chunks.
                "brand.chunk_layout": "random"}

    def rank(self, node, root):
        argv = node.inside([PYTHON, "-W", "ignore", CLIENT, root / "train",
                            self.validation, self.arguments.epochs,
                            *range(self.arguments.rounds)])
        env = {**os.environ, "WORLD_SIZE": str(len(self.network.names)),
               "RANK": str(node.number), "LOCAL_WORLD_SIZE": "1",
               "LOCAL_RANK": "0", "MASTER_ADDR": Network.address(0),
               "MASTER_PORT": str(PORT + 1),
               "GLOO_SOCKET_IFNAME": node.interface}
        return subprocess.Popen(list(map(str, argv)), env=env, text=True,
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, start_new_session=True)

    @staticmethod
    def answer(rank):
        line = rank.stdout.readline()
        if not line:
            raise RuntimeError("a rank ended")
        return json.loads(line)


def end(rank):
    try:
        rank.wait(timeout=60)
    except subprocess.TimeoutExpired:
        rank.kill()
        rank.wait()


def check_read(rows):
    """All epochs of all rows are the same images, each once."""
    raw = rows[0].read[0][0]
    for row in rows:
        for seed, epochs in enumerate(row.read):
            for epoch, read in enumerate(epochs):
                if read != raw:
                    raise RuntimeError(f"{row.label}, seed {seed}, epoch "
                                       f"{epoch}: not each image once")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="seeds")
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--images", type=int, default=6000)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--policy", default="brand")
    parser.add_argument("--memory", type=testbed.parse_size,
                        default=testbed.parse_size("6MiB"),
                        help="of each node")
    arguments = parser.parse_args()
    if arguments.rounds < 2 or arguments.images % arguments.nodes != 0:
        parser.error("at least 2 seeds, and as many images for each node")
    testbed.require_root()
    measure.enter()
    data = Data(arguments.images)
    data.open()
    rows = [Row("raw directory"), Row(f"{arguments.policy}, peers")]
    with measure.folder() as folder, Network(arguments.nodes) as network:
        bench = Bench(arguments, data, network, pathlib.Path(folder))
        bench.validation.write_bytes(data.validation.read_bytes())
        data.device.detach()  # its own mount of the image would write to it
        for row in rows:
            bench.run(row, peers=row is not rows[0])
    check_read(rows)
    memory = arguments.memory * arguments.nodes / (arguments.images * PAGE)
    print(f"\nFashion-MNIST, {arguments.images:,} images, {arguments.nodes} "
          f"nodes, {arguments.epochs} epochs, {arguments.rounds} seeds, mean ± "
          "standard deviation; each image once an epoch:\n")
    measure.row(*COLUMNS)
    print("|---" * len(COLUMNS) + "|")
    for row in rows:
        row.print(rows[0], memory)


if __name__ == "__main__":
    main()
