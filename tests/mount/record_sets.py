# SPDX-License-Identifier: Apache-2.0
"""Sets of shards for tests of record.scope."""
import random

import containers

SCOPES = ["set", "view"]
COUNTS = (150, 90, 10, 210)  # records of each shard


def data(first, count):
    """Records of many sizes, no two alike."""
    rng = random.Random(first)
    return [f"{n}:".encode() + b"x" * rng.randrange(1200)
            for n in range(first, first + count)]


def shard(name, number, extension="", of=len(COUNTS)):
    return f"{name}-{number:05}-of-{of:05}{extension}"


def write_sets(folder):
    """A set of four shards of each of three formats."""
    folder.mkdir(parents=True, exist_ok=True)
    first = 0
    for number, count in enumerate(COUNTS):
        some = data(first, count)
        first += count
        (folder / shard("t", number)).write_bytes(containers.tfrecord(some))
        containers.write_lines(folder / shard("l", number, ".svm"),
                               [each.decode() for each in some],
                               end="" if number == 1 else "\n")
        containers.write_tar(
            folder / shard("w", number, ".tar"),
            [(f"{first - i:06}", {"txt": each, "cls": b"%d" % i})
             for i, each in enumerate(some)])


def read_lines(path):
    return path.read_text().splitlines()


READERS = {"t": containers.read_tfrecord, "l": read_lines,
           "w": containers.read_tar}
