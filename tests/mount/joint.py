# SPDX-License-Identifier: Apache-2.0
"""The ledgers of all nodes of a job, merged: each epoch is exactly once, but
for what status or the ledgers name."""
import json
import re

import harness

LEFT_BEHIND = re.compile(r"this node was in epoch (\d+) when \S+ was in epoch "
                         r"(\d+); up to (\d+) samples")
SHOWN_LATE = re.compile(r"(\d+) samples were shown in an epoch that other")
NOT_ASKED = re.compile(r"up to (\d+) samples may come twice, and as many")


def merged(cluster):
    """What `shufflectl verify` says of all ledgers, as text and as JSON."""
    others = []
    for mount in cluster.mounts[1:]:
        others += ["--with", mount.state / "ledger"]
    command = [harness.shufflectl(), "verify", cluster.mounts[0].path, *others]
    text = harness.run(command).stdout
    told = json.loads(harness.run([*command, "--json"]).stdout)
    assert told["proven"] and all(one["proven"] for one in told["others"])
    return text, told


class Named:
    """How many samples the nodes named as shown twice. As many may be missing.

    The log says between which epochs a number of status arose. What it does not
    say may be of any epoch.
    """

    def __init__(self, cluster):
        self._behind = []
        self._anywhere = 0
        for mount in cluster.mounts:
            logged = [tuple(map(int, words))
                      for words in LEFT_BEHIND.findall(mount.log())]
            status = sum(int(count) for text in mount.view()["warnings"]
                         for count in SHOWN_LATE.findall(text))
            total = sum(count for _, _, count in logged)
            self._behind += logged
            self._anywhere += max(0, status - total)
            # Of names that are bound by another node.
            self._anywhere += sum(int(count) for text in mount.view()["warnings"]
                                  for count in NOT_ASKED.findall(text))

    def total(self):
        return self._anywhere + sum(count for _, _, count in self._behind)

    def of(self, epoch):
        return self._anywhere + sum(count for first, last, count in self._behind
                                    if first <= epoch <= last)


def _missing(epoch):
    return epoch["names"] - epoch["consumed"] - epoch["carried_from_before"]


def require_whole_reads(cluster, count):
    """In each epoch, of which at least `count` were read, each node has read
    all samples once or nothing."""
    text, told = merged(cluster)
    print(text)
    read = [epoch for epoch in told["joint"] if epoch["consumed"] > 0]
    for epoch in read:
        assert epoch["complete"] and not epoch["held"], epoch
        assert epoch["consumed_on_one_more_node"] % epoch["names"] == 0, epoch
    assert len(read) >= count


def require_exactly_once(cluster, count=2):
    """Of each epoch that has ended, at most as many samples are missing or came
    again as the nodes named for it. At least `count` epochs are exact, and
    neither named nor held.

    The names of a held epoch show what they showed before. So a sample that was
    opened near its end may be recorded in the wrong one of the two, as the
    ledgers say; also in the epoch that follows it with new names. Nothing is
    missing in the first epoch with these names. What came in each of the others
    only the readers know.
    """
    text, told = merged(cluster)
    print(text)
    named = Named(cluster)
    first = {epoch["epoch"] for epoch in told["epochs"]
             if epoch["binding"] == epoch["epoch"]}
    exact = before = 0  # what the held epoch before misses
    for epoch in told["joint"]:
        number, held = epoch["epoch"], epoch["held"]
        if epoch["running"]:
            continue
        if not held or number in first:
            assert _missing(epoch) <= named.of(number), epoch
        if not held:
            again = epoch["consumed_on_one_more_node"]
            assert again <= named.of(number) + before, epoch
            exact += named.of(number) == again == 0
        before = _missing(epoch) if held else 0
    assert exact >= count
