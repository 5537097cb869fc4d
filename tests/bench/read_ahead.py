#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Readers that take names in their order, on emulated devices: a shuffled view
(lirs), whose order is known and so read ahead, against the same view that is
not read ahead, and against the raw directory opened in a random order, which
is what such a reader would have to do for a shuffle of its own.

Whole epochs over the datasets of brand.py, each cold and in a group with
limited memory, interleaved."""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import brand_runs  # noqa: E402
import measure  # noqa: E402
from brand_runs import Policy  # noqa: E402

LIRS = {"policy": "lirs", "substitute": "directory", "memory": "{memory}"}
TOO_LITTLE = "7MiB"  # for reading ahead; the rest of the group caches pages
COLUMNS = ("device", "readers", "what", "seconds", "against raw",
           "of sequential", "read from the source", "daemon CPU")


def one_round(runs, readers, seed):
    """{label: Epoch} and the sequential speed, bytes a second."""
    plain = Policy({**LIRS, "memory": TOO_LITTLE})
    pages = Policy({**LIRS, "lirs.unit": "page", "lirs.page": "1MiB"})
    return {
        "raw, random order": runs.raw(seed, readers),
        "lirs, not read ahead": runs.view(plain, None, readers),
        "lirs": runs.view(Policy(LIRS), None, readers),
        "lirs, pages of 1 MiB": runs.view(pages, None, readers),
    }, runs.sequential()


def print_case(profile, readers, rounds):
    raw = measure.median_mad(
        [epochs["raw, random order"].seconds for epochs, _ in rounds])[0]
    speed = measure.median_mad([speed for _, speed in rounds])[0]
    for label in rounds[0][0]:
        runs = [epochs[label] for epochs, _ in rounds]
        seconds, spread = measure.median_mad([run.seconds for run in runs])
        size = runs[0].totals.bytes
        source = measure.median_mad([run.source_bytes for run in runs])[0]
        cpu = measure.median_mad([run.cpu_seconds for run in runs])[0]
        measure.row(profile, str(readers), label, f"{seconds:.1f} ± {spread:.1f}",
                    f"{raw / seconds:.2f}x", f"{size / seconds / speed:.2f}",
                    f"{source / size:.3f}x", f"{cpu / size * 1e9:.2f} s/GB")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=20000)
    parser.add_argument("--profile", action="append")
    parser.add_argument("--readers", type=int, action="append")
    parser.add_argument("--limit", default="512MiB", help="of the group")
    parser.add_argument("--memory", default="320MiB", help="of the mount")
    arguments = parser.parse_args()
    measure.enter()
    dataset = brand_runs.open_dataset("40", arguments.files)
    runs = brand_runs.Runs(dataset, arguments.limit, arguments.memory)
    dataset.device.attach("fast")
    runs.prepare()
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    try:
        for profile in arguments.profile or ("hdd", "nas", "fast"):
            for readers in arguments.readers or (1, 4):
                dataset.device.detach()
                dataset.device.attach(profile)
                print_case(profile, readers,
                           [one_round(runs, readers, seed)
                            for seed in range(arguments.rounds)])
    finally:
        dataset.device.detach()


if __name__ == "__main__":
    main()
