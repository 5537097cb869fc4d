#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds beside each other, on emulated devices: whole cold epochs of class
folders (brand, and lirs that is read ahead), and shuffled records of a
container (reimu, and lirs by pages).

  two_builds.py --old SHUFFLEFS [--new SHUFFLEFS] [--rounds N] [--profile P...]

Each round runs both builds, in turn first. A row has the seconds of the old
one, of the new one, and the median of the rounds' ratios: above 1 the new one
is faster. Datasets and groups are those of `brand` and `records`. What is
warm: see warm_threads.py."""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import brand_runs  # noqa: E402
import measure  # noqa: E402
import records  # noqa: E402
from brand_data import testbed  # noqa: E402
from brand_runs import Policy  # noqa: E402

LIMIT, MEMORY = "512MiB", "320MiB"  # of the group, and of the mount in it
COLUMNS = ("device", "what", "old", "new", "new against old")
BRAND = {"policy": "brand", "substitute": "directory", "memory": "{memory}"}
LIRS = {**BRAND, "policy": "lirs"}
# What is measured: options of the mount, readers, in the order of the names.
EPOCHS = {
    "brand, 4 readers at random": (BRAND, 4, False),
    "lirs, 1 reader in the order of names": (LIRS, 1, True),
    "lirs, 4 readers in the order of names": (LIRS, 4, True),
}
# On a disk that seeks, a full shuffle in the order of names takes hours.
NOT_HERE = {("hdd", "lirs, 1 reader in the order of names"),
            ("hdd", "lirs, 4 readers in the order of names")}
CONTAINERS = ("reimu, 16 blocks of 2 MiB", "lirs, pages of 256 KiB, 16 mixed")


class Builds:
    """Takes turns between two programs."""

    def __init__(self, old, new):
        self.programs = {"old": old, "new": new}

    def turns(self, number):
        sides = ("old", "new") if number % 2 == 0 else ("new", "old")
        for side in sides:
            os.environ["SHUFFLEFS_BIN"] = self.programs[side]
            yield side

    def row(self, profile, what, rounds, run):
        seconds = {"old": [], "new": []}
        for number in range(rounds):
            for side in self.turns(number):
                seconds[side].append(run(number))
        cells = []
        for side in ("old", "new"):
            middle, mad = measure.median_mad(seconds[side])
            cells.append(f"{middle:.1f} ± {mad:.1f} s")
        ratio, mad = measure.median_mad(
            [old / new for old, new in zip(seconds["old"], seconds["new"])])
        measure.row(profile, what, *cells, f"**{ratio:.2f}x** ± {mad:.2f}")


def of_epochs(builds, arguments):
    dataset = brand_runs.open_dataset("40", arguments.files)
    runs = brand_runs.Runs(dataset, LIMIT, MEMORY)
    try:
        runs.prepare()
        for profile in arguments.profile:
            dataset.device.detach()
            dataset.device.attach(profile)
            for what, (options, readers, in_order) in EPOCHS.items():
                if (profile, what) in NOT_HERE:
                    continue

                def run(number, options=options, readers=readers,
                        in_order=in_order):
                    seed = None if in_order else number
                    return runs.view(Policy(options), seed, readers).seconds

                builds.row(profile, what, arguments.rounds, run)
    finally:
        dataset.device.detach()


def of_containers(builds, arguments):
    container = records.Container(arguments.size)
    bench = records.Bench(container, argparse.Namespace(limit=LIMIT,
                                                        memory=MEMORY))
    try:
        for profile in arguments.profile:
            container.device.detach()
            container.device.attach(profile)
            for what in CONTAINERS:
                def run(_, options=records.VIEWS[what][0]):
                    return arguments.size / bench.view(options, None)[0]

                builds.row(profile, what, arguments.rounds, run)
    finally:
        container.device.detach()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", default=os.environ.get("SHUFFLEFS_BIN"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=20000)
    parser.add_argument("--size", default="1GiB", type=testbed.parse_size)
    parser.add_argument("--profile", nargs="+", default=["hdd", "nas"])
    arguments = parser.parse_args()
    measure.enter()
    builds = Builds(arguments.old, arguments.new)
    measure.row(*COLUMNS)
    print("|---" * len(COLUMNS) + "|")
    of_epochs(builds, arguments)
    of_containers(builds, arguments)


if __name__ == "__main__":
    main()
