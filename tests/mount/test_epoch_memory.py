# SPDX-License-Identifier: Apache-2.0
"""policy = brand: an epoch's order owes nothing to the one before it. By many
epochs and at any memory: tests/bench/epoch_memory.py and
tests/policies/epoch_memory_test.cc."""
import json
import math
import random

import pytest

import harness
import trees

CLASSES, PER_CLASS, EPOCHS = 5, 120, 12
SIZE = 60_000


def positions(shown):
    """By content, its position in its class, from -0.5 to 0.5."""
    seen, result = {}, {}
    for label, content in shown:
        seen[label] = seen.get(label, 0) + 1
        result[content] = (seen[label] - 0.5) / PER_CLASS - 0.5
    return result


def correlation(orders):
    place = [positions(shown) for shown in orders]
    both = [sum(before[content] * at for content, at in now.items()) /
            sum(at * at for at in now.values())
            for before, now in zip(place, place[1:])]
    return sum(both) / len(both)


def read_epoch(mount, names, rng):
    names = list(names)
    rng.shuffle(names)
    return [(name.parts[0], (mount.path / name).read_bytes()[:24])
            for name in names]


# [S-3.14c] Where a sample comes in an epoch says nothing of where it comes in
# the next three.
@pytest.mark.parametrize("memory", [32, 64])
def test_an_epoch_owes_nothing_to_the_one_before(mounts, folder, memory):
    source = trees.class_folders(
        folder / "source", CLASSES, PER_CLASS,
        content=lambda rng, _: rng.randbytes(24) + bytes(SIZE - 24))
    names = sorted(path.relative_to(source) for path in source.rglob("*.png"))
    mount = mounts(source, {"policy": "brand", "substitute": "directory",
                            "memory": f"{memory}MiB", "brand.chunk_files": 16,
                            "epoch.advance": "manual"})
    rng = random.Random(5)
    orders = []
    for epoch in range(EPOCHS):
        if epoch:
            mount.next_epoch()
        orders.append(read_epoch(mount, names, rng))
        assert len(positions(orders[-1])) == len(names)
    error = 1 / math.sqrt(len(names) * (EPOCHS - 1))
    # Most of it is in memory: up to 0.2 if what is read ahead were chosen by
    # what was shown.
    assert abs(correlation(orders)) < 4 * error
    # What the ledger tells of it is what was seen.
    verified = json.loads(harness.run(
        [harness.shufflectl(), "verify", "--json", "--mount",
         mount.path]).stdout)
    first = verified["epoch_memory"]["root"][0]
    assert first["pairs"] == EPOCHS - 1
    assert first["correlation"]["value"] == pytest.approx(correlation(orders),
                                                          abs=1e-9)
    assert first["correlation"]["error"] == pytest.approx(error, rel=0.02)
    text = harness.run([harness.shufflectl(), "verify", "--mount",
                        mount.path]).stdout
    assert "position in the group, and the epoch before" in text
    # All fits: it was read once, but for what left before all was asked for.
    if memory == 64:
        total = sum((source / name).stat().st_size for name in names)
        assert mount.view()["source_bytes"] < 1.5 * total
