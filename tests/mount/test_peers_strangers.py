# SPDX-License-Identifier: Apache-2.0
"""At the address of a member a daemon with another dataset begins, while the
others read. They go on, and both sides say why it is refused."""
import random
import re

import pytest

import harness
import trees
from peer_nodes import CLASSES, PER_CLASS, Cluster, Reading, digests
from peer_nodes import source  # noqa: F401: a fixture

FILES = CLASSES * PER_CLASS + 1


@pytest.fixture
def other(folder):
    """Another dataset, with as many files and the same names of classes."""
    root = trees.blobs(folder / "other", CLASSES, PER_CLASS)
    (root / "more.bin").write_bytes(b"more")
    return root


def opens(mount):
    return int(re.search(r"^shufflefs_opens_total (\d+)", mount.read("metrics"),
                         re.M).group(1))


def why(cluster, mount, name):
    """What the mount says of the member with that name."""
    one, = (each for each in cluster.members(mount) if each["name"] == name)
    assert not one["joined"]
    return one["why"]


# [S-24.1c] A member that differs in dataset, policy, seed or version is refused,
# and both sides say why.
# Also in the middle of an epoch, and in the place of a member that was killed.
@pytest.mark.parametrize("seed, policy, before", [
    (0, "lirs", "none"), (1, "brand", "none"), (2, "lirs", "a member")])
def test_another_dataset_under_load(mounts, source, other, seed, policy,
                                    before):
    print("seed", seed)
    rng = random.Random(seed)
    cluster = Cluster(mounts, source, policy=policy, open="seen")
    members, third = cluster.mounts[:2], cluster.mounts[2]
    if before == "none":
        third.unmount()
    cluster.wait_until_joined(2 if before == "none" else 3, members)
    expected = digests(source)
    with Reading(members, expected) as reading:
        reading.go_on(1)
        if before == "a member":
            third.kill()
        until = opens(members[0]) + rng.randrange(2 * FILES)
        harness.eventually(lambda: opens(members[0]) >= until, what="a moment")
        third.source = other
        third.start()
        for mount in members:
            harness.eventually(
                lambda m=mount: "another dataset" in why(
                    cluster, m, cluster.names[2]), what="a refusal")
            harness.eventually(
                lambda m=mount: "another dataset" in why(
                    cluster, third, cluster.names[members.index(m)]),
                what="its own word")
        reading.go_on(2)
        # Alone it shuffles its own.
        assert (trees.by_folder(trees.contents(third.path)) ==
                trees.by_folder(trees.contents(other)))
        assert third.status()["peers"]["reads_from_peers"] == 0
    for mount in (*members, third):
        assert "another dataset: names, sizes or times" in mount.log()
    # With the right dataset it joins.
    third.unmount()
    third.source = source
    third.start()
    cluster.wait_until_agreed()
    for mount in cluster.mounts:
        assert digests(mount.path) == expected
