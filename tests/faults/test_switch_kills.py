# SPDX-License-Identifier: Apache-2.0
"""A few kills right after a switch; see switch_kills.py."""
import switch_kills
import namespace  # found by switch_kills

namespace.enter()


# [S-3.12l] A daemon that is killed ends, whatever it was doing, and its readers
# get an error.
def test_a_killed_daemon_ends_and_the_mount_can_be_made_again():
    found = switch_kills.run(["--count", "20"])
    assert found["kills"] == 20
