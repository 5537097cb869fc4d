# SPDX-License-Identifier: Apache-2.0
"""A few boundaries; see stat_open.py."""
import pytest

import stat_open
import namespace  # found by stat_open

namespace.enter()


# [S-3.11h] A stat and the open that follows it straddle no boundary that the
# mount found by itself.
@pytest.mark.parametrize("policy", ["lirs", "met"])
@pytest.mark.parametrize("how", ["read_file", "stat"])
def test_what_is_opened_is_what_was_sized(policy, how):
    assert stat_open.run(["--boundaries", "3", "--policy", policy, "--how",
                          how, "--workers", "2"])
