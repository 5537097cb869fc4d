# SPDX-License-Identifier: Apache-2.0
"""brand.binding = location: a mount does what the simulator says of it."""
import json
import os
import random

import pytest

import harness
import trees

OPTIONS = {"policy": "brand", "brand.binding": "location",
           "substitute": "directory", "memory": "4MiB",
           "epoch.advance": "manual"}
EPOCHS = 4
FILES = 2500


@pytest.fixture
def source(folder):
    """Files of up to a page, about four times what the pool holds."""
    return trees.blobs(folder / "source", classes=2, per_class=FILES // 2,
                       largest=4096)


def simulated(source):
    """Figures of a few epochs together: chunk loads, misses, fill rate."""
    keys = [f"{key}={value}" for key, value in OPTIONS.items()
            if key not in ("policy", "epoch.advance")]
    pools = []
    for epoch in range(EPOCHS):
        done = harness.run([harness.shufflectl(), "simulate", "brand", *keys,
                            "--epoch", epoch, "--json", source])
        pools.append(json.loads(done.stdout)["pool"])
    loaded = sum(pool["loaded"] for pool in pools)
    return (sum(pool["chunk_loads"] for pool in pools),
            sum(pool["misses"] for pool in pools),
            loaded / sum(pool["chunk_samples"] for pool in pools))


# [S-3.10g] What the simulator says of the location binding is within 5 % of
# what a mount does.
def test_the_simulator_is_right(mounts, source, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "flash")  # chunks at random
    mount = mounts(source, OPTIONS)
    names = sorted(str(path.relative_to(source))
                   for path in source.rglob("*.png"))
    for epoch in range(EPOCHS):
        if epoch:
            mount.next_epoch()
        random.Random(epoch).shuffle(names)
        for name in names:
            with open(mount.path / name, "rb", buffering=0) as file:
                file.readall()
    view = mount.view()
    assert view["hits"] + view["misses"] == EPOCHS * len(names)
    loads, misses, fill_rate = simulated(source)
    assert view["chunk_loads"] == pytest.approx(loads, rel=0.05)
    assert view["misses"] == pytest.approx(misses, rel=0.05)
    assert view["fill_rate"] == pytest.approx(fill_rate, rel=0.05)

    text = harness.run([harness.shufflectl(), "status", "-m",
                        mount.path]).stdout
    assert f"{view['chunk_loads']:,} chunk loads" in text
    metrics = mount.read("metrics")
    assert (f'shufflefs_chunk_loads_total{{view="root"}} '
            f'{view["chunk_loads"]}\n') in metrics
