# SPDX-License-Identifier: Apache-2.0
"""A ranked view read with shuffle=False teaches as well as full shuffling."""
import statistics

import pytest

import harness

SEEDS = 3
PER_CLASS = 200


@pytest.fixture
def source(folder):
    """Class folders of real images: a part of Fashion-MNIST."""
    root = folder / "data"
    harness.run([harness.PYTHON, harness.EXAMPLES / "make_tree.py", root,
                 "--limit", 10 * PER_CLASS], timeout=120)
    return root


def learn(mount, source, order, seeds=SEEDS):
    """Accuracies over the seeds when samples come in that order."""
    return mount.client("learn.py", order, source, mount.path, "--seeds", seeds,
                        timeout=200)


# [S-3.8h] A ranked view read in order teaches as well as shuffling in the
# client.
def test_ranked_order_is_as_good_as_client_side_shuffling(mounts, source):
    mount = mounts(source / "train", {"policy": "lirs", "layout": "ranked",
                                      "epoch.advance": "manual"})
    shuffled = learn(mount, source, "shuffled")
    ranked = learn(mount, source, "ranked")
    by_class = learn(mount, source, "sorted", seeds=1)
    print(f"shuffled {shuffled}\nranked {ranked}\nsorted {by_class}")
    assert len(shuffled) == len(ranked) == SEEDS
    assert min(shuffled) > 0.6
    noise = 3 * (statistics.variance(shuffled) / SEEDS
                 + statistics.variance(ranked) / SEEDS) ** 0.5 + 0.01
    assert (abs(statistics.mean(ranked) - statistics.mean(shuffled)) < noise)
    assert max(by_class) < min(ranked) - 0.1
