# SPDX-License-Identifier: Apache-2.0
"""Readers in process groups of their own that are one job all the same."""
import collections
import json
import os
import shlex

import pytest

import harness
import trees

WORLD, EPOCHS = 4, 3
OPTIONS = {"policy": "lirs", "substitute": "directory"}
STARTS = {
    "set -m": "set -m; for k in {ranks}; do {rank} & done; wait",
    "setsid": "for k in {ranks}; do setsid {rank} & done; wait",
}
if os.geteuid() == 0:  # nobody else makes one
    STARTS["pid namespace"] = STARTS["set -m"]


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source", 4, 60)


def read_by(start, mount, folder):
    """[name, digest] of each item, epoch by epoch."""
    folder.mkdir()
    rank = " ".join([harness.PYTHON, "-B",
                     str(harness.CLIENTS / "lone_rank.py"),
                     shlex.quote(str(mount.path)), shlex.quote(str(folder)),
                     "$k", str(WORLD), str(EPOCHS)])
    script = STARTS[start].format(ranks=" ".join(map(str, range(WORLD))),
                                  rank=rank)
    apart = (["unshare", "--pid", "--fork"] if start == "pid namespace"
             else [])
    harness.run([*apart, "bash", "-c", script], timeout=150)
    return [[item for rank in range(WORLD) for item in
             json.loads((folder / f"{epoch}.{rank}").read_text())]
            for epoch in range(EPOCHS)]


# [S-3.11i] Readers of one program that one process started are one job,
# whatever their process groups.
@pytest.mark.parametrize("start", STARTS)
def test_ranks_in_groups_of_their_own_are_one_job(mounts, source, folder,
                                                  start):
    mount = mounts(source, OPTIONS)
    expected = collections.Counter(trees.contents(source).values())
    epochs = read_by(start, mount, folder / "ranks")
    shown = []
    for items in epochs:
        assert collections.Counter(digest for _, digest in items) == expected
        shown.append(dict(items))
    for before, after in zip(shown, shown[1:]):
        assert trees.moved(before, after) > len(after) / 2
    view = mount.view()
    assert (view["epoch"], view["epoch_held"]) == (EPOCHS - 1, 0)
    assert view["warnings"] == [] and view["substitute"] == "directory"
