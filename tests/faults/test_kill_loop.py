# SPDX-License-Identifier: Apache-2.0
"""A few epochs of the kill loop; see kill_loop.py."""
import pytest

import kill_loop
import namespace  # found by kill_loop

namespace.enter()


# [S-3.12k] Who reads on over kills of the daemon, and tries again until the
# same command has mounted again, sees every sample once an epoch.
@pytest.mark.parametrize("policy", ["lirs", "brand"])
@pytest.mark.parametrize("advance", ["auto", "manual"])
def test_each_epoch_shows_every_sample_once_over_kills(policy, advance):
    found = kill_loop.run(["--count", "4", "--policy", policy,
                           "--advance", advance, "--files", "400"])
    assert found["wrong"] == 0
    assert found["proven"]
    assert found["kills"] > 0
