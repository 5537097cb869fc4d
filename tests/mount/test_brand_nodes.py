# SPDX-License-Identifier: Apache-2.0
"""policy = brand and a job that spans several nodes (key nodes)."""
import collections
import errno
import json
import os
import random
import re

import pytest

import harness
import trees

BRAND = {"policy": "brand", "substitute": "directory", "memory": "8MiB"}
SPAN = {"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}


@pytest.fixture
def source(folder):
    return trees.blobs(folder / "source", classes=3, per_class=100,
                       largest=60_000)


def read_all(mount, env=None):
    """{name: digest} of the view, as read by one process."""
    return mount.client("digest_tree.py", mount.path, timeout=120,
                        env={**os.environ, **(env or {})})


def shuffles(mount, source, found):
    return trees.moved(trees.contents(source), found) > len(found) / 2


def verified(mount):
    done = mount.run([harness.shufflectl(), "verify", "-m", mount.path,
                      "--json"])
    return json.loads(done.stdout)["proven"]


# [S-3.10f] Under brand a job that spans several nodes suspends substitution.
@pytest.mark.parametrize("advance", ["auto", "manual"])
def test_a_job_of_several_nodes_is_noticed(mounts, source, advance):
    mount = mounts(source, {**BRAND, "epoch.advance": advance})
    expected = collections.Counter(trees.contents(source).values())
    first = read_all(mount, SPAN)
    # In mid-epoch: what had moved stays, and each sample comes once.
    assert collections.Counter(first.values()) == expected
    view = mount.view()
    warning, = view["warnings"]
    for word in ("several nodes", "WORLD_SIZE=8, LOCAL_WORLD_SIZE=4", "lirs",
                 "nodes = 1/1"):
        assert word in warning
    assert view["substitute"] == "directory"  # of what has moved
    assert mount.log().count("several nodes") == 1
    mount.next_epoch()
    assert mount.view()["substitute"] == "never"
    assert read_all(mount, SPAN) == trees.contents(source)
    assert verified(mount)

    # The user says that it is not so, or takes a policy that can.
    assert mount.write_control('nodes = "1/1"\nepoch = "next"\n') is None
    assert mount.view()["warnings"] == []
    assert shuffles(mount, source, read_all(mount, SPAN))
    assert mount.write_control('policy = "lirs"\nepoch = "next"\n') is None
    assert shuffles(mount, source, read_all(mount, SPAN))
    assert mount.view()["warnings"] == []


def test_one_process_notices_it_within_its_first_files(mounts, source):
    mount = mounts(source, {**BRAND, "epoch.advance": "manual"})
    names = sorted(trees.contents(source))
    shown = mount.client("read_names.py", mount.path, 1, *names,
                         env={**os.environ, **SPAN})
    assert len(shown) == len(names)
    own = trees.contents(source)
    now = trees.contents(mount.path)
    assert trees.moved(own, now) < len(names) / 3, "the binding went on"


def test_a_job_of_one_node_is_not_suspected(mounts, source):
    mount = mounts(source, {**BRAND, "epoch.advance": "manual"})
    one = {"WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "4", "SLURM_NNODES": "2"}
    for epoch in range(2):
        if epoch:
            mount.next_epoch()
        assert shuffles(mount, source, read_all(mount, one))
    assert mount.view()["warnings"] == []


@pytest.mark.parametrize("options", [{"policy": "lirs"}, {"policy": "static"},
                                     {"nodes": "1/1"}],
                         ids=["lirs", "static", "said"])
def test_it_matters_to_nobody_else(mounts, source, options):
    mount = mounts(source, {**BRAND, "epoch.advance": "manual", **options})
    found = read_all(mount, SPAN)
    assert (shuffles(mount, source, found) ==
            (mount.view()["policy"] != "static"))
    assert mount.view()["warnings"] == []


def test_more_than_one_node_is_refused(mounts, source):
    mount = mounts(source, {**BRAND, "nodes": "2/4"}, start=False)
    with pytest.raises(AssertionError, match="exit 1"):
        mount.start()
    assert "nodes = 2/4: policy = brand" in mount.log()
    assert "lirs" in mount.log()

    mount.options["policy"] = "lirs"
    mount.start()
    assert mount.write_control('policy = "brand"\n') == errno.EINVAL
    assert "nodes = 2/4" in mount.read("error")


ROOT = harness.EXAMPLES.parent
MANUAL = ROOT / "mount-tools" / "man" / "shufflefs.toml.5"


def test_pages_name_the_policies_that_more_than_one_node_refuses(mounts,
                                                                 source,
                                                                 folder):
    (folder / "tier").mkdir()
    refused = set()
    for policy in ("native", "lirs", "window", "static", "clairvoyant", "brand",
                   "met"):
        mount = mounts(source, {**BRAND, "policy": policy, "nodes": "1/2",
                                "tier.path": folder / "tier", "met.epochs": 2},
                       start=False)
        try:
            mount.start()
        except AssertionError:
            assert f"nodes = 1/2: policy = {policy}" in mount.log()
            refused.add(policy)
    item = MANUAL.read_text().split("\n.It Cm nodes\n")[1].split("refused")[0]
    assert set(re.findall(r"^\.Cm (\w+)", item, re.MULTILINE)) == (
        refused | {"peers"})
    lines = (ROOT / "examples/shufflefs.toml").read_text().split("#: nodes")[0]
    told = lines.split("\n\n")[-1]
    assert all(policy in told for policy in refused), told
    rule = re.search(r"^\* `nodes = 1/1` .*$",
                     (ROOT / "docs/deploy.md").read_text(), re.MULTILINE)[0]
    assert all(f"`{policy}`" in rule for policy in refused), rule


# A pass opens the n-th part of the names, and that is no split of the client.
def test_a_share_of_the_names_is_a_pass_with_nodes(mounts, folder):
    source = trees.class_folders(folder / "many", classes=4, per_class=150)
    mount = mounts(source, {**BRAND, "policy": "lirs", "nodes": "1/3"})
    names = sorted(trees.contents(source))
    for epoch in range(5):
        share = random.Random(epoch).sample(names, len(names) // 3)
        mount.client("read_names.py", mount.path, epoch, *share)
    view = mount.view()
    assert view["warnings"] == []
    assert view["epoch"] >= 2 and view["epoch_held"] == 0, view
