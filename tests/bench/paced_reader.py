#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""paced_reader.py RATE FILE...: reads files from start to end, one after the
other, at most RATE bytes a second (0: as fast as it gets them), as a job does
that computes meanwhile. Prints its seconds and bytes."""
import sys
import time

PIECE = 256 << 10


def main():
    rate, paths = float(sys.argv[1]), sys.argv[2:]
    begin = due = time.monotonic()
    done = 0
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while piece := file.read(PIECE):
                done += len(piece)
                # The next piece is fetched while this one is computed on; what
                # was waited for is not made up for.
                due += len(piece) / rate if rate else 0
                now = time.monotonic()
                if now < due:
                    time.sleep(due - now)
                due = max(due, now)
    print(time.monotonic() - begin, done)


main()
