# SPDX-License-Identifier: Apache-2.0
"""Slurm's prolog, where the daemons of a job share their memory."""
import os
import pathlib

import harness
import trees
from test_slurm_scripts import KEYS, PORT, node, source  # noqa: F401

# As the prolog of Slurm 22.05 sees them: the list has its old name.
NODES = {"SLURM_NODELIST": "localhost,n2", "SLURMD_NODENAME": "localhost"}
PEERS = KEYS + 'peers = "slurm"\n'


def test_the_daemons_of_a_job_know_its_nodes(node, source):
    node.dataset("images", source, PEERS)
    node.secret()
    assert node.prolog("shufflefs:images", **NODES) == ""
    said = harness.run([harness.shufflectl(), "peers", node.job / "images"],
                       user=node.user).stdout
    shown = [line.split()[:2] for line in said.splitlines()]
    assert [f"localhost:{PORT}", "self"] in shown
    assert [f"n2:{PORT}", "no"] in shown
    environ = pathlib.Path("/proc", str(node.mount()["pid"]), "environ")
    names = [line.split("=")[0] for line in environ.read_text().split("\0")]
    assert set(names) - {"PATH", ""} == {"SLURM_JOB_NODELIST",
                                         "SLURMD_NODENAME"}


def test_two_datasets_of_a_job_have_two_ports(node, source, folder):
    node.dataset("text", trees.blobs(folder / "more", classes=1), PEERS)
    node.dataset("images", source, PEERS)
    node.secret()
    os.link(node.etc / "images.secret", node.etc / "text.secret")
    assert node.prolog("shufflefs:images,shufflefs:text", **NODES) == ""
    assert node.mount("images") and node.mount("text")
