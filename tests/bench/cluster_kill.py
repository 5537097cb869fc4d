# SPDX-License-Identifier: Apache-2.0
"""A member of the job of cluster.py that is killed in the middle of an epoch,
and what that costs the ranks of the others."""
import statistics
import time

import measure  # lets tests/mount be found
import joint

GOAL = 2.0  # seconds that the others may lose


class Kill:
    """Ends a mount by SIGKILL after so many batches of an epoch."""

    def __init__(self, mount, batches):
        self._mount = mount
        self._batches = batches
        self._at = None

    def __call__(self, batches):
        if batches == self._batches:
            self._at = time.monotonic()
            self._mount.kill()
            measure.say("killed the member without a rank")

    def moment(self):
        if self._at is None:
            raise RuntimeError("the epoch ended before the member was killed")
        return self._at


def pauses(answers, since):
    """(longest, median) seconds between two batches of a rank. The longest is
    of those that ended after `since`. The first batch of a rank has none,
    because its workers have to start."""
    every = [(end, end - begin) for answer in answers
             for begin, end in zip(answer["ends"], answer["ends"][1:])]
    return (max((pause for end, pause in every if end > since), default=0.0),
            statistics.median(pause for _, pause in every))


def named(mounts):
    """How many samples their status says may have come twice."""
    return sum(int(count) for mount in mounts
               for text in mount.view()["warnings"]
               for pattern in (joint.NOT_ASKED, joint.SHOWN_LATE)
               for count in pattern.findall(text))


def report(runs, killed_in):
    """`runs`: for each round its epochs, as cluster.py has them."""
    print("\nOne more member without a rank is killed in the middle of epoch "
          f"{killed_in}:\n")
    measure.row("epoch", "s", "longest pause, s", "median pause, s",
                "samples twice", "named")
    print("|---" * 6 + "|")
    for number, epochs in enumerate(zip(*runs)):
        label = f"{number}, killed" if number == killed_in else str(number)
        longest, usual = zip(*(epoch.pauses for epoch in epochs))
        measure.row(label, spread([epoch.seconds for epoch in epochs]),
                    spread(longest), spread(usual),
                    numbers(epoch.missing for epoch in epochs),
                    numbers(epoch.named for epoch in epochs))
    lost = [run[killed_in].pauses[0] - run[killed_in].pauses[1] for run in runs]
    verdict = "met" if max(lost) <= GOAL else "**missed**"
    print(f"\nThe other ranks lost {', '.join(f'{each:.2f}' for each in lost)} "
          f"s: their longest pause less the median. "
          f"Goal: at most {GOAL:.0f} s: {verdict}")


def numbers(values):
    return ", ".join(map(str, values))


def spread(values):
    middle, mad = measure.median_mad(values)
    return f"{middle:.2f} ± {mad:.2f}"
