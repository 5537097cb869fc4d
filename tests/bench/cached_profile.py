#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where the processors' time goes while a cached file is read once from start
to end: the file itself, through a native mount whose daemon answers, and
shuffled by `reimu`. perf samples both processors. A row is a kind of work; its
cells are milliseconds of processor time per GB that was read, and their sum is
below them. Needs perf and a quiet machine.

The kinds are told by thread and symbol. *FUSE copies the answer* is the copy
from the daemon's memory into pages of the kernel, and *the reader copies* is
the one from those pages to the reader."""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402
import records  # noqa: E402
from brand_data import testbed  # noqa: E402

HERTZ = 4000
# (threads, symbols) of a kind, by their beginnings and parts of them. The first
# that fits counts.
KINDS = {
    "FUSE copies the answer": (("sfs-serve",), ("memcpy", "fuse_copy")),
    "records are gathered": (("sfs-serve", "sfs-uring"),
                             ("GatherList", "memmove", "GivenBytes")),
    "the page cache is copied": (("sfs-",), ("_copy_to_iter", "filemap",
                                             "copy_page_to_iter")),
    "records are permuted": (("sfs-plan",), (
        "MixWindow", "Permut", "Shuffled", "PlanRecords", "PlanPart",
        "GatherList", "Sorter", "introsort", "insertion_sort")),
    "the reader copies": (("dd",), ("_copy_to_iter", "copy_page_to_iter",
                                    "rep_movs", "clear_user")),
    "rest of the reader": (("dd",), ("",)),
    "rest of the daemon": (("sfs-", "shufflefs"), ("",)),
}
OTHERS = "other programs, and the idle loop"
SYSTEMS = ("raw", "native, the daemon answers", "reimu")


def kind_of(thread, symbol):
    for kind, (threads, symbols) in KINDS.items():
        if (thread.startswith(threads) and
                any(part in symbol for part in symbols)):
            return kind
    return OTHERS


def sampled(path):
    """Samples by kind while `path` is read; its seconds; its bytes."""
    with tempfile.NamedTemporaryFile(suffix=".perf") as file:
        done = subprocess.run(
            ["perf", "record", "-q", "-a", "-F", str(HERTZ), "-o", file.name,
             "--", "dd", f"if={path}", "of=/dev/null", "bs=1M"],
            check=True, capture_output=True, text=True,
            env={**os.environ, "LC_ALL": "C"})
        size, seconds = re.search(r"^(\d+) bytes .*, ([\d.]+) s,", done.stderr,
                                  re.M).groups()
        told = subprocess.run(
            ["perf", "script", "-i", file.name, "-F", "comm,ip,sym"],
            check=True, capture_output=True, text=True).stdout
    kinds = collections.Counter()
    for line in told.splitlines():
        words = line.split(None, 2)
        if len(words) > 1:
            kinds[kind_of(words[0], words[-1])] += 1
    return kinds, float(seconds), int(size)


def mounted(root, name, options):
    with measure.folder() as folder:
        with measure.Mount(root, pathlib.Path(folder), options) as mount:
            if "policy" in options:
                records.await_index(mount)
            records.read(root / name, None)  # what indexing dropped
            return sampled(mount.path / name)


def one_round(root, name):
    records.read(root / name, None)
    yield sampled(root / name)
    yield mounted(root, name, {})
    yield mounted(root, name, {**records.BASE, **records.REIMU,
                               "memory": "1GiB", "epoch.advance": "manual"})


def report(what, rounds):
    print(f"\n{what}, ms of processor time per GB:\n")
    measure.row("", *SYSTEMS)
    print("|---" * (len(SYSTEMS) + 1) + "|")
    totals = [[] for _ in SYSTEMS]
    for kind in (*KINDS, OTHERS):
        cells = []
        for place, runs in enumerate(zip(*rounds)):
            values = [1000 * kinds[kind] / HERTZ / (size / 1e9)
                      for kinds, _, size in runs]
            middle, spread = measure.median_mad(values)
            if kind != OTHERS:
                totals[place].append(middle)
            cells.append(f"{middle:.0f} ± {spread:.0f}")
        measure.row(kind, *cells)
    measure.row("**sum, without others**",
                *(f"**{sum(middles):.0f}**" for middles in totals))
    measure.row("GB/s", *(
        "{:.2f}".format(measure.median_mad(
            [size / seconds / 1e9 for _, seconds, size in runs])[0])
        for runs in zip(*rounds)))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", default="1GiB", type=testbed.parse_size)
    arguments = parser.parse_args()
    measure.enter()
    measure.say(measure.machine())
    # The kernel would read the native file by itself.
    os.environ["SHUFFLEFS_KERNEL_BACKING"] = "no"
    root = measure.build_once(f"cached_profile-{arguments.size >> 20}",
                              lambda root: build(root, arguments.size))
    for name, what in ((records.NAME, "lines of 330 bytes"),
                       (records.LARGE, "lines of 100 KB")):
        report(what, [list(one_round(root, name))
                      for _ in range(arguments.rounds)])


def build(root, size):
    root.mkdir(parents=True, exist_ok=True)
    records.write_lines(root / records.NAME, size)
    records.write_large_lines(root / records.LARGE, size)


if __name__ == "__main__":
    main()
