#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads a tree epoch by epoch, in a random order of its own each time, and
tries again for as long as the mount is gone. It lives through kills of the
daemon.

retrying_reader.py MOUNTPOINT NAMES EPOCHS SEED THREADS MANUAL
NAMES: a file with a name a line. Each file holds its number, then a space.
Prints a line of JSON for each epoch: its number, and the numbers that were
read, in their order, with the names that showed them.
"""
import concurrent.futures
import errno
import json
import os
import pathlib
import random
import sys
import time

# What is said of a mount whose daemon is gone, or that is not made again yet.
GONE = {errno.ENOTCONN, errno.ECONNABORTED, errno.EIO, errno.ENOENT,
        errno.EINTR, errno.ENODEV, errno.ENOTDIR,
        errno.EAGAIN}  # of the control file: no catalogue yet
PAUSE = 0.002


def again(action):
    """The value of action(), which is tried until the mount is there."""
    while True:
        try:
            return action()
        except OSError as error:
            if error.errno not in GONE:
                raise
        time.sleep(PAUSE)


def number_in(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        data = b""
        while part := os.read(descriptor, 1 << 20):
            data += part
        size = os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
    if size != len(data):
        raise AssertionError(f"{path}: {len(data)} bytes of {size}")
    return int(data.split(b" ", 1)[0])


def write_next(root):
    descriptor = os.open(root / ".shufflefs" / "control", os.O_WRONLY)
    try:
        os.write(descriptor, b'epoch = "next"\n')
    finally:
        os.close(descriptor)


def main():
    root, names, epochs, seed, threads, manual = sys.argv[1:]
    root = pathlib.Path(root)
    names = pathlib.Path(names).read_text().split("\n")
    rng = random.Random(int(seed))
    with concurrent.futures.ThreadPoolExecutor(int(threads)) as pool:
        for epoch in range(int(epochs)):
            rng.shuffle(names)
            numbers = list(pool.map(
                lambda name: again(lambda: number_in(root / name)), names))
            print(json.dumps({"epoch": epoch, "numbers": numbers,
                              "names": names}), flush=True)
            if manual == "manual":
                again(lambda: write_next(root))


if __name__ == "__main__":
    main()
