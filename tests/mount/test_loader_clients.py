# SPDX-License-Identifier: Apache-2.0
"""Loaders from PyPI whose order clairvoyant finds out."""
import pytest

import readers
import trees
from loader_client import Loader, assert_whole, predicted, recognised

CLASSES, PER_CLASS = 20, 60


# [S-8.1h] A StatefulDataLoader of torchdata that shuffles is known by the
# generator that all its epochs come from.
@pytest.mark.parametrize("workers, persistent", [(0, False), (2, False),
                                                 (2, True)])
def test_a_stateful_loader(mounts, folder, monkeypatch, workers, persistent):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "nas")
    source = trees.blobs(folder / "source", CLASSES, PER_CLASS, largest=16_000)
    truth = trees.contents(source)
    mount = mounts(source, {"policy": "clairvoyant", "memory": "16MiB",
                            "clairvoyant.cores": 0})
    generators = set()
    with Loader(mount, seed=1234, python=readers.python()) as loader:
        for epoch in range(4):
            loader.begin("stateful", workers=workers, persistent=persistent)
            items = loader.read(300)
            job = recognised(mount, epochs=epoch + 1)
            kind, generator = job["order"].rsplit(" ", 1)
            # Without workers its first epoch is that of any other loader.
            assert kind == ("RandomSampler, seed" if workers + epoch == 0 else
                            "StatefulDataLoader, generator seeded with")
            generators.add(generator)
            assert job["recognised_epochs"] == epoch + 1
            assert_whole(items + loader.read(), truth)
    assert len(generators) == 1
    assert predicted(mount)["ready"] > 0
    assert mount.view()["warnings"] == []
