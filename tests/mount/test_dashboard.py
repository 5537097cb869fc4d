# SPDX-License-Identifier: Apache-2.0
"""The Grafana dashboard asks for series that a mount writes, and rightly."""
import json
import re

import pytest

import harness
import trees
from peer_nodes import Cluster

BOARD = harness.EXAMPLES.parent / "mount-tools" / "grafana" / "shufflefs.json"
SERIES = re.compile(r"\bshufflefs_[a-z0-9_]+")
SUFFIXES = ("_bucket", "_sum", "_count")


def board():
    return json.loads(BOARD.read_text())


def queries():
    """Every query of the panels."""
    found = [target["expr"] for panel in board()["panels"]
             for target in panel["targets"]]
    assert len(found) > 12
    return found


def note(mount, types, series):
    for line in mount.read("metrics").splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split()
            types[name] = kind
        elif line and not line.startswith("#"):
            series.add(re.split(r"[ {]", line)[0])


def can_be_written(series):
    """Without the module for peers, no mount has theirs."""
    return bool(harness.peers_modules()) or not series.startswith(
        "shufflefs_peer")


@pytest.fixture
def written(mounts, folder):
    """{series: type} of a mount with a pool, one with a tier, and two peers."""
    source = trees.train_and_val(folder / "source")
    (folder / "tier").mkdir()
    types, series = {}, set()
    for options in ({"policy": "brand", "memory": "4MiB"},
                    {"policy": "met", "tier.path": folder / "tier",
                     "met.epochs": 4}):
        mount = mounts(source, {**options, "substitute": "directory",
                                "epoch.advance": "manual"})
        trees.contents(mount.path)
        note(mount, types, series)
    if harness.peers_modules():
        cluster = Cluster(mounts, source, nodes=2)
        cluster.wait_until_joined()
        note(cluster.mounts[0], types, series)
    found = {}
    for name in series:
        base = name
        for suffix in SUFFIXES:
            if base not in types:
                base = name.removesuffix(suffix)
        found[name] = types[base]
    return found


def test_every_series_of_a_query_is_written(written):
    text = json.dumps(board())
    asked = set(SERIES.findall(text))
    assert len(asked) > 20
    asked = {series for series in asked if can_be_written(series)}
    assert asked <= set(written), asked - set(written)


def test_each_is_asked_for_as_its_type_wants(written):
    for query in queries():
        name, = set(SERIES.findall(query))
        if not can_be_written(name):
            continue
        rated = re.search(rf"rate\({name}\{{[^}}]*\}}\[\$__rate_interval\]\)",
                          query)
        if written[name] == "histogram":
            assert name.endswith("_bucket") and rated, query
            assert "histogram_quantile" in query and "by (le" in query
        elif written[name] == "gauge":
            assert "rate(" not in query, query
        else:
            # The number of switches itself is a step per epoch.
            steps = name == "shufflefs_epoch_switches_total"
            assert bool(rated) != steps, query
        assert query.count("(") == query.count(")")
        assert '{instance=~"$instance"}' in query


def test_no_series_is_left_out(written):
    """But for two that tell of the daemon's inner work, and an old name."""
    asked = set(SERIES.findall(" ".join(queries())))
    shown = {name.removesuffix(suffix) for name in asked
             for suffix in ("", *SUFFIXES)}
    missing = {name for name in written
               if not {name, *(name.removesuffix(each) for each in SUFFIXES)}
               & shown}
    assert missing == {"shufflefs_fill_rate", "shufflefs_pinned_files_total",
                       "shufflefs_primed_names_total"}


def test_the_label_of_a_mount_is_added_as_the_page_says(mounts, folder):
    page = (harness.EXAMPLES.parent / "docs" / "monitoring.md").read_text()
    command, = re.findall(r"^sed -E .*$", page, re.MULTILINE)
    mount = mounts(trees.class_folders(folder / "source"), {"policy": "lirs"})
    command = command.replace("MNT", str(mount.path))
    lines = harness.run(["sh", "-c", command]).stdout.splitlines()
    before = mount.read("metrics").splitlines()
    assert len(lines) == len(before) > 50
    for line, old in zip(lines, before):
        name, _, value = old.rpartition(" ")
        if old.startswith("#"):
            assert line == old
        elif name.endswith("}"):
            labels = name.partition("{")[2]
            assert line.partition(" ")[0].endswith(
                f'{{mount="NAME",{labels}'), line
        else:
            assert line.startswith(f'{name}{{mount="NAME",}} '), line
        assert line.startswith("#") or float(line.rpartition(" ")[2]) >= 0


def test_panels_are_whole():
    panels = board()["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = set()
    for panel in panels:
        at = panel["gridPos"]
        places.add((at["x"], at["y"]))
        assert at["x"] + at["w"] <= 24
        assert panel["title"] and panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"]
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"
    assert len(places) == len(panels)
    names = [variable["name"] for variable in board()["templating"]["list"]]
    assert names == ["datasource", "instance"]
