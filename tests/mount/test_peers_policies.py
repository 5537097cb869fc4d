# SPDX-License-Identifier: Apache-2.0
"""Policies over several nodes whose readers see the order of an epoch in a
container, or in names that tell their sample; and those that move no name."""
import os

import pytest

import containers
import harness
import trees
from loader_client import Loader, assert_whole, recognised
from peer_nodes import Cluster, forget
from record_checks import indexed

# Files are read in pages, so what leaves the source may be a page a file more.
PAGE = 4096
MANUAL = {"epoch.advance": "manual", "memory": "64MiB"}


def read_from_source(cluster):
    """Bytes that all nodes have read so far."""
    return sum(each["source_bytes"] for mount in cluster.mounts
               for each in cluster.members(mount) if each["self"])


def next_epoch_of_all(cluster, number):
    """Of each node by itself if it is not moved by another one."""
    for mount in cluster.mounts:
        if mount.view()["epoch"] < number:
            mount.next_epoch()
    harness.eventually(lambda: set(cluster.epochs()) == {number},
                       what="the next epoch")


@pytest.fixture
def container(folder):
    """A file of lines. No two are alike."""
    root = folder / "source"
    root.mkdir()
    containers.write_lines(root / "train.svm",
                           [f"{i} 1:{'7' * (i % 90)}" for i in range(60_000)])
    return root


# [S-24.1a] With peers every byte that readers get is that of the source,
# whatever happens to a peer.
# [S-24.1b] A dataset that fits into the memory of all members leaves the
# source once.
@pytest.mark.parametrize("policy", [
    {"policy": "lirs", "lirs.unit": "page", "lirs.page": "64KiB"},
    {"policy": "reimu"}, {"policy": "native"}],
    ids=lambda options: options["policy"])
def test_a_container_leaves_the_source_once(mounts, container, policy):
    cluster = Cluster(mounts, container, **{
        **MANUAL, "record.as": "*.svm:lines", "substitute": "never", **policy})
    cluster.wait_until_joined()
    for mount in cluster.mounts:
        indexed(mount)
    path = container / "train.svm"
    raw, size = path.read_text().splitlines(), path.stat().st_size
    seen = [raw]
    forget(container)
    before = read_from_source(cluster)
    for number in range(3):
        if number:
            next_epoch_of_all(cluster, number)
        shown = [(mount.path / path.name).read_text().splitlines()
                 for mount in cluster.mounts]
        assert shown[1] == shown[0] and shown[2] == shown[0]
        if policy["policy"] == "native":
            assert shown[0] == raw
        else:
            assert shown[0] not in seen and sorted(shown[0]) == sorted(raw)
        seen.append(shown[0])
        print("epoch", number, (read_from_source(cluster) - before) / size)
        forget(container)
    assert read_from_source(cluster) - before <= 1.05 * size
    assert cluster.sum("bytes_from_peers") > size


@pytest.fixture
def source(folder):
    return trees.blobs(folder / "source", classes=4, per_class=60)


def shown_by(mount):
    """{sample: digest}, where each name tells its sample."""
    return {os.getxattr(mount.path / name, "user.shufflefs.sample").decode():
            trees.digest((mount.path / name).read_bytes())
            for name in sorted(os.listdir(mount.path))
            if name != ".shufflefs"}


# [S-3.8a] The sorted names of a ranked view are the order of its epoch.
# All nodes have the same one, but each counts its own epochs.
def test_ranked_names_are_one_order_on_all_nodes(mounts, source):
    cluster = Cluster(mounts, source, **MANUAL, layout="ranked")
    cluster.wait_until_joined()
    truth = trees.contents(source)
    size = sum(path.stat().st_size for path in source.rglob("*.*"))
    orders = set()
    forget(source)
    for number in range(3):
        if number:
            next_epoch_of_all(cluster, number)
        shown = [shown_by(mount) for mount in cluster.mounts]
        assert shown[0] == truth
        for other in shown[1:]:
            assert list(other.items()) == list(shown[0].items())
        orders.add(tuple(shown[0]))
        forget(source)
    assert len(orders) == 3
    assert read_from_source(cluster) <= size + len(truth) * PAGE


# [S-8.1b] If a stock PyTorch sampler draws the order, the first files of an
# epoch tell it, and what comes next is read ahead.
# [S-24.1b] A dataset that fits into the memory of all members leaves the
# source once.
def test_what_is_read_ahead_leaves_the_source_once(mounts, folder, monkeypatch):
    # On a device that is not slow nothing is read ahead.
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "nas")
    source = trees.blobs(folder / "source", 20, 60, largest=16_000)
    truth = trees.contents(source)
    size = sum(path.stat().st_size for path in source.rglob("*.*"))
    # No search of all seeds: it would take the processor from other tests.
    cluster = Cluster(mounts, source, 2, policy="clairvoyant",
                      **{"clairvoyant.cores": 0})
    cluster.wait_until_joined()
    forget(source)
    for mount in cluster.mounts:
        with Loader(mount) as loader:
            loader.begin("distributed", epoch=0)
            items = loader.read(300)
            assert recognised(mount)["recognised_epochs"] == 1
            assert_whole(items + loader.read(), truth)
        forget(source)
    assert read_from_source(cluster) <= size + len(truth) * PAGE
    assert cluster.sum("bytes_from_peers") > 0.7 * size


# [S-24.1b] A dataset that fits into the memory of all members leaves the
# source once.
@pytest.mark.parametrize("policy", ["native", "reimu", "window"])
def test_files_leave_the_source_once(mounts, source, policy):
    cluster = Cluster(mounts, source, **{**MANUAL, "policy": policy})
    cluster.wait_until_joined()
    truth = trees.contents(source)
    size = sum(path.stat().st_size for path in source.rglob("*.*"))
    forget(source)
    for number in range(3):
        if number:
            next_epoch_of_all(cluster, number)
        shown = [trees.contents(mount.path) for mount in cluster.mounts]
        assert shown[1] == shown[0] and shown[2] == shown[0]
        assert trees.by_folder(shown[0]) == trees.by_folder(truth)
        if policy == "native":
            assert shown[0] == truth
        forget(source)
    assert read_from_source(cluster) <= size + len(truth) * PAGE
    assert cluster.sum("bytes_from_peers") > size
