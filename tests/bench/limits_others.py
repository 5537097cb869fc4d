# SPDX-License-Identifier: Apache-2.0
"""The limits of limits.py that are not a device alone: what readers consume,
the links of a cluster, and what FUSE needs for a request."""
import os
import pathlib
import statistics
import time

import measure
import yardstick

NODES = 4
LINK = 1e9 / 8 * 1448 / 1538  # bytes per second of TCP over 1 Gbit/s
SHOWN = 0.68  # of a dataset, if memory for 0.4 keeps 0.32


def least(limits):
    """(value, its name) of the smallest."""
    return min((value, name) for name, value in limits.items())


def fastest(reads, device, benchmark):
    """Bytes per second of the best order."""
    return max(size / took for key, (size, took) in reads.items()
               if key[:2] == (device, benchmark))


def yardstick_rows(reads):
    """An accelerator takes what it computes, the device gives what it can."""
    for kind, device, most in (("files", "nas", 3), ("files", "hdd600", 2),
                               ("records", "nas", 2)):
        shape = yardstick.SHAPES[kind]
        consumed = shape.batch / shape.step * shape.sample
        for count in range(1, most + 1):
            speed, why = least({
                "the accelerators": count * consumed,
                "the device": fastest(reads, device, "yardstick")})
            yield (f"yardstick, {kind}", device, f"accelerators: {count}",
                   f"{speed / 1e6:.0f} MB/s", why)


def met_rows(reads):
    """Each byte of the source is shown `repeat` times."""
    for device in ("nas", "hdd"):
        for repeat in (1, 2, 4, 8):
            speed = repeat * fastest(reads, device, "met") / 1e6
            yield ("met", device, f"repeated {repeat}",
                   f"{speed:.1f} MB/s, or the consumption if that is less",
                   "the device")


def mixed_rows(reads):
    """Both at once: the device does one behind the other, at best."""
    for device in ("hdd", "nas"):
        took = sum(took for key, (_, took) in reads.items()
                   if key[:2] == (device, "mixed_view"))
        yield ("mixed_view", device, "both at once", f"{took:.1f} s",
               "the device")


def cluster_rows(reads, dataset):
    """A node gets what it shows and does not have from others, by its link."""
    size, took = reads["nas40", "cluster", "files at random, 64 at a time"]
    links = (dataset.count * dataset.mean / NODES * (NODES - 1) / NODES / LINK,
             "the links")
    yield "cluster", "nas40", "first epoch", f"{took:.1f} s", "the source"
    yield ("cluster", "nas40", "memory for 1.3 datasets", f"{links[0]:.2f} s",
           links[1])
    seconds, why = max(links, (SHOWN * took, "the source"))
    yield ("cluster", "nas40",
           "memory for 0.4 datasets, of which 0.32 are kept",
           f"{seconds:.1f} s", why)


def print_table(reads, cluster):
    """`reads`: {(device, benchmark, what): (bytes, seconds)}"""
    print()
    measure.row("benchmark", "device", "what", "at most, or at least", "limit")
    print("|---" * 5 + "|")
    for rows in (yardstick_rows(reads), met_rows(reads), mixed_rows(reads),
                 cluster_rows(reads, cluster)):
        for row in rows:
            measure.row(*row)


def print_round_trip(rounds, count=5_000):
    """A question that the kernel hands on and the daemon answers at once:
    whether an open file is a terminal."""
    took = []
    with measure.folder() as folder:
        source = pathlib.Path(folder) / "source"
        state = pathlib.Path(folder) / "mount"
        source.mkdir()
        state.mkdir()
        (source / "file").write_bytes(b"x")
        with measure.Mount(source, state) as mount:
            with open(mount.path / "file", "rb") as file:
                for _ in range(rounds):
                    begin = time.perf_counter()
                    for _ in range(count):
                        os.isatty(file.fileno())
                    took.append((time.perf_counter() - begin) / count * 1e6)
    print(f"a request of FUSE that asks for nothing: "
          f"{statistics.median(took):.1f} µs, {min(took):.1f} to "
          f"{max(took):.1f} in {rounds} rounds")
