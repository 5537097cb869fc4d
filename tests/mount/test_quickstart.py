# SPDX-License-Identifier: Apache-2.0
"""examples/quickstart.sh shows what it promises."""
import importlib
import json
import os
import re

import harness

QUICKSTART = harness.EXAMPLES / "quickstart.sh"


# A sorted file teaches little, and much through the mount.
def test_the_table_of_accuracies_convinces(folder):
    programs = os.path.dirname(harness.shufflefs())
    done = harness.run(["bash", QUICKSTART, "--no-disk", "--bin", programs,
                        "--work", folder / "work"], timeout=200)
    rows = {name: [float(value) for value in values.split()]
            for name, values in re.findall(
                r"^  (raw|policy = lirs) +([0-9. ]+)$", done.stdout, re.M)}
    assert len(rows["raw"]) == len(rows["policy = lirs"]) == 3, done.stdout
    assert rows["policy = lirs"][2] > rows["raw"][2] + 0.3, rows
    assert not harness.mount_types(folder / "work/mnt")


def test_the_cluster_says_that_it_needs_root():
    done = harness.run(["bash", harness.EXAMPLES / "cluster.sh"],
                       user=harness.NOBODY, check=False)
    assert done.returncode == 3
    assert "needs root" in done.stderr


def test_the_hard_disk_says_only_what_is_proven(monkeypatch):
    monkeypatch.syspath_prepend(harness.EXAMPLES)
    shows_each_once = importlib.import_module("hard_disk").shows_each_once
    whole = {"proven": True, "opened_in_part": 0, "reads_not_seen": 0,
             "epochs": [{"consumed": 9, "names": 9}]}
    assert shows_each_once(json.dumps(whole))
    for less in ({"proven": False}, {"opened_in_part": 1},
                 {"reads_not_seen": 1},
                 {"epochs": [{"consumed": 8, "names": 9}]}):
        assert not shows_each_once(json.dumps({**whole, **less}))


def test_the_hard_disk_says_that_it_needs_root():
    done = harness.run([harness.PYTHON, harness.EXAMPLES / "hard_disk.py"],
                       user=harness.NOBODY, check=False)
    assert done.returncode == 3
    assert "need root" in done.stderr
