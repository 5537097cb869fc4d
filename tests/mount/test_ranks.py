# SPDX-License-Identifier: Apache-2.0
"""Ranks in lock step under a view that advances by itself."""
import collections

import pytest

import trees
from test_epochs_imagefolder import AUTO, pixels

EPOCHS = 3


# [S-3.11b] Ranks in lock step see no sample twice beyond the padding of their
# sampler.
@pytest.mark.parametrize("ranks, drop_last", [(2, False), (7, False),
                                              (7, True)])
def test_no_sample_is_repeated_beyond_the_samplers_padding(mounts, folder,
                                                           ranks, drop_last):
    source = trees.train_and_val(folder / "source", classes=6, per_class=60)
    expected = pixels(source / "train")
    count = len(expected)
    mount = mounts(source, AUTO)
    epochs = mount.client("ranks.py", mount.path / "train", "--ranks", ranks,
                          "--epochs", EPOCHS,
                          *(["--drop-last"] if drop_last else []),
                          timeout=200)
    for epoch in epochs:
        samples = collections.Counter((content, label)
                                      for _, content, label in epoch)
        if drop_last:
            assert sum(samples.values()) == count // ranks * ranks
            assert max(samples.values()) == 1
            assert set(samples) <= set(expected)
        else:
            padding = -count % ranks
            assert sum(samples.values()) == count + padding
            assert sum(samples.values()) - len(samples) == padding
            assert set(samples) == set(expected)
        for name, _, label in epoch:
            assert name.split("/")[0] == label
