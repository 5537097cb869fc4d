# SPDX-License-Identifier: Apache-2.0
"""The ranks of the job of cluster.py: processes of PyTorch on its nodes."""
import json
import os
import subprocess

import measure
from cluster_nodes import Network

WORKERS, BATCH, PORT = 2, 32, 7373


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
        step = {"sampler": "distributed", "epoch": epoch, "detailed": True}
        self.process.stdin.write(json.dumps(step) + "\n")
        self.process.stdin.flush()

    def answer(self, at_batch=None):
        """What it prints of an epoch, with `ends`: when each batch ended.
        `at_batch` is called after each of them, with their number."""
        ends = []
        while line := self.process.stdout.readline():
            told = json.loads(line)
            if "ended" not in told:
                return {**told, "ends": ends}
            ends.append(told["ended"])
            if at_batch is not None:
                at_batch(len(ends))
        raise RuntimeError("a rank ended")

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
                            BATCH, "--workers", WORKERS, "--progress"])
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


def samples_missing(answers, files):
    """How many samples no rank was shown. As many came twice, for the ranks
    read as many as there are."""
    firsts = [first for answer in answers for first in answer["firsts"]]
    if len(firsts) != files:
        raise RuntimeError(f"{len(firsts)} of {files} samples were read")
    return files - len(set(firsts) & set(range(files)))
