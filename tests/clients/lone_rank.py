#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One of several readers that share an epoch and know each other by files only.

  lone_rank.py ROOT FOLDER RANK WORLD EPOCHS

Reads every WORLD-th name of the epoch's order, from the RANK-th on, in lock
step with the others, a few at a time. [name, digest] of each item is in
FOLDER/epoch.rank then, as JSON.
"""
import hashlib
import json
import os
import pathlib
import random
import sys
import time

STEP = 4  # items
DEADLINE = 120  # seconds without another rank


def wait_for(paths):
    end = time.monotonic() + DEADLINE
    while not all(path.exists() for path in paths):
        if time.monotonic() > end:
            sys.exit("another rank ended")
        time.sleep(0.005)


def main():
    root, folder = map(pathlib.Path, sys.argv[1:3])
    rank, world, epochs = map(int, sys.argv[3:])
    names = sorted(str(path.relative_to(root)) for path in root.glob("*/*"))
    for epoch in range(epochs):
        random.Random(epoch).shuffle(names)
        items = []
        for count, name in enumerate(names[rank::world]):
            if count % STEP == 0:
                (folder / f"step.{epoch}.{count}.{rank}").touch()
                wait_for([folder / f"step.{epoch}.{count}.{each}"
                          for each in range(world)])
            content = (root / name).read_bytes()
            items.append([name, hashlib.sha256(content).hexdigest()[:16]])
        part = folder / f"part.{rank}"
        part.write_text(json.dumps(items))
        os.rename(part, folder / f"{epoch}.{rank}")
        wait_for([folder / f"{epoch}.{each}" for each in range(world)])


if __name__ == "__main__":
    main()
