# SPDX-License-Identifier: Apache-2.0
"""A few hundred faults of the source; see source_faults.py."""
import os

import pytest

import source_faults
import namespace  # found by source_faults

namespace.enter()

POLICIES = ["lirs", "brand", "met", "records"]


# [S-3.15a] Of a changed file only its reader is told, by an errno and one line
# in the log.
# [S-3.15h] Under brand and static a file that changes or fails in mid-epoch
# costs its own reader only.
@pytest.mark.parametrize("policy", POLICIES if os.geteuid() == 0 else [])
def test_faults_of_the_source_cost_only_who_reads_there(policy):
    assert source_faults.run(["--count", "300", "--policy", policy,
                              "--files", "200"])
