#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Epochs of plain reader processes over class folders larger than memory, on
emulated devices: policies against the raw directory, interleaved.

Each measurement begins cold, in a fresh group: daemon and readers together
have the memory that the readers of the raw directory have alone. `sequential`
is one file read 1 MiB at a time, 4 at once, with O_DIRECT, in the same round.
Every epoch is held to have read each sample once with its label."""
import argparse
import fnmatch
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import brand_runs  # noqa: E402
import chart  # noqa: E402
import measure  # noqa: E402
from brand_runs import Case, testbed  # noqa: E402

# What is measured beside the raw directory: a line each. {memory} is the
# pool's, {packed} the folder that `shufflectl pack` made.
POLICIES = {
    "native": {"policy": "native"},
    "lirs": {"policy": "lirs", "substitute": "directory"},
    "brand": {"policy": "brand", "substitute": "directory",
              "memory": "{memory}"},
}
CASES = [Case("hdd", "40", 4), Case("hdd", "1000", 4), Case("hdd", "1", 4),
         Case("hdd", "200", 4), Case("hdd", "zipf", 4),
         Case("hdd600", "40", 4), Case("nas", "40", 4), Case("nas", "40", 16),
         Case("fast", "40", 4)]
# Of brand, by case: against raw, of sequential, source bytes.
TARGETS = {
    Case("hdd", "40", 4): "≥ 6x, ≥ 0.6, ≤ 1.03x",
    Case("hdd", "1000", 4): "≥ 4x packed, ≤ 1.05x",
    Case("hdd600", "40", 4): "≥ 2.5x packed, ≥ 0.8, ≤ 1.03x",
    Case("nas", "40", 4): "≥ 3.0x, ≥ 0.8, ≤ 1.03x",
    Case("nas", "40", 16): "≥ 1.0x, ≥ 0.8, ≤ 1.03x",
    Case("fast", "40", 4): "≥ 0.8x, ≤ 1.03x",
}
COLUMNS = ("what", "epoch", "speed", "faster than raw", "of sequential",
           "read from the source", "bypass", "daemon CPU", "peak memory",
           "before the epoch", "target")


def case_name(case):
    return "/".join(map(str, case))


def title(case):
    classes = ("long tail" if case.layout == "zipf" else
               f"{case.layout} class" + ("es" if case.layout != "1" else ""))
    return f"{case.profile}, {classes}, {case.workers} readers"


class Table:
    """The epochs of one case, by what was measured."""

    def __init__(self, case):
        self.case = case
        self.epochs = {}      # label: a list, one a round
        self.sequential = []  # bytes a second, one a round

    def add(self, label, epoch):
        self.epochs.setdefault(label, []).append(epoch)
        measure.say(f"{case_name(self.case)} {label}: {epoch.seconds:.2f} s, "
                    f"{epoch.source_bytes / 1e6:.0f} MB from the source, "
                    f"mount {epoch.mount_seconds:.2f} s, "
                    f"listing {epoch.list_seconds:.2f} s")

    def seconds(self, label):
        return [epoch.seconds for epoch in self.epochs[label]]

    def print(self):
        print(f"\n{title(self.case)}:\n")
        measure.row(*COLUMNS)
        print("|---" * len(COLUMNS) + "|")
        speed, mad = measure.median_mad([s / 1e6 for s in self.sequential])
        measure.row("sequential", "-", f"{speed:.0f} ± {mad:.0f} MB/s",
                    *["-"] * (len(COLUMNS) - 3))
        for label in self.epochs:
            self._row(label)

    def _row(self, label):
        epochs = self.epochs[label]
        size = epochs[0].totals.bytes
        pairs = measure.Pairs()
        for raw, seconds in zip(self.seconds("raw"), self.seconds(label)):
            pairs.add(raw, seconds)
        epoch, spread = measure.median_mad(self.seconds(label))
        ratio, mad = pairs.ratio(inverse=True)
        of_sequential = statistics.median(
            size / s / speed
            for s, speed in zip(self.seconds(label), self.sequential))

        def middle(get):
            return statistics.median(get(epoch) for epoch in epochs)

        mounted = label != "raw"
        bypass = ("-" if epochs[0].bypass is None else
                  f"{middle(lambda e: e.bypass / e.totals.files):.1%}")
        peak = ("-" if epochs[0].peak is None else
                f"{middle(lambda e: e.peak) / 2**20:.0f} MiB")
        cpu = middle(lambda e: e.cpu_seconds) / (size / 1e9)
        measure.row(
            label, f"{epoch:.1f} ± {spread:.1f} s",
            f"{size / epoch / 1e6:.1f} MB/s",
            f"**{ratio:.2f}x** ± {mad:.2f}" if mounted else "-",
            f"{of_sequential:.2f}",
            f"{middle(lambda e: e.source_bytes) / size:.3f}x", bypass,
            f"{cpu:.2f} s/GB" if mounted else "-", peak,
            f"{middle(lambda e: e.mount_seconds + e.list_seconds):.2f} s, "
            f"{middle(lambda e: e.before_bytes) / 1e6:.1f} MB",
            TARGETS.get(self.case, "-") if label.startswith("brand") else "-")

    def panel(self):
        bars = [(label, *measure.median_mad(self.seconds(label)))
                for label in self.epochs]
        size = self.epochs["raw"][0].totals.bytes
        bound = size / statistics.median(self.sequential)
        return title(self.case), bars, ("sequential", bound)


def run_case(case, runs, policies, arguments):
    device = runs.dataset.device
    device.attach(case.profile)
    table = Table(case)
    first = {label: [] for label in policies}
    for number in range(arguments.rounds):
        table.sequential.append(runs.sequential())
        table.add("raw", runs.raw(number, case.workers))
        for label, options in policies.items():
            table.add(label, runs.view(options, number, case.workers))
        if arguments.first_sample:
            for label, options in policies.items():
                first[label].append(runs.first_sample(options))
    table.print()
    if arguments.first_sample:
        print_first(first)
    if arguments.pack_cost:
        seconds, size = runs.pack_cost()
        print(f"\nshufflectl pack: {seconds:.1f} s, {size / 1e6:.0f} MB on disk "
              f"({size / runs.expected.bytes:.3f}x)")
    return table


def print_first(first):
    print("\nFrom the start of the command to the first sample:\n")
    measure.row("what", "never mounted before", "with the saved catalogue")
    print("|---" * 3 + "|")
    for label, times in first.items():
        cells = []
        for column in zip(*times):
            middle, mad = measure.median_mad(column)
            cells.append(f"{middle:.2f} ± {mad:.2f} s")
        measure.row(label, *cells)


def run_layout(layout, cases, policies, arguments):
    dataset = brand_runs.open_dataset(layout, arguments.files)
    try:
        if any("{packed}" in str(value) for options in policies.values()
               for value in options.values()):
            dataset.pack()
        runs = brand_runs.Runs(dataset, arguments.limit, arguments.memory)
        runs.prepare()
        return [run_case(case, runs, policies, arguments) for case in cases]
    finally:
        dataset.device.detach()


def parse_policy(text):
    """LABEL:key=value,…"""
    label, colon, rest = text.partition(":")
    pairs = [word.partition("=") for word in rest.split(",") if word]
    if not colon or not all(middle for _, middle, _ in pairs):
        raise argparse.ArgumentTypeError(f"{text}: not LABEL:key=value,…")
    return label, {key: value for key, _, value in pairs}


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=20000)
    parser.add_argument("--case", action="append", metavar="PATTERN",
                        help="profile/classes/readers, such as 'hdd/40/4' or "
                        "'nas/*'; default all of " +
                        " ".join(map(case_name, CASES)))
    parser.add_argument("--only", default=",".join(POLICIES),
                        metavar="LABEL,…", help="default %(default)s")
    parser.add_argument("--policy", type=parse_policy, action="append",
                        default=[], metavar="LABEL:KEY=VALUE,…",
                        help="one more, with these mount options")
    parser.add_argument("--limit", default="512MiB", help="of the group")
    parser.add_argument("--memory", default="320MiB", help="of the pool")
    parser.add_argument("--first-sample", action="store_true",
                        help="also the time to the first sample")
    parser.add_argument("--pack-cost", action="store_true",
                        help="also time and disk that packing takes")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE.svg")
    arguments = parser.parse_args()
    for label in filter(None, arguments.only.split(",")):
        if label not in POLICIES:
            parser.error(f"{label}: not one of {', '.join(POLICIES)}")
    return arguments


def chosen_cases(patterns):
    cases = [case for case in CASES
             if any(fnmatch.fnmatch(case_name(case), pattern)
                    for pattern in patterns or ["*"])]
    if not cases:
        sys.exit(f"brand: no case is like {' '.join(patterns)}")
    return cases


def main():
    arguments = parse_arguments()
    cases = chosen_cases(arguments.case)
    testbed.require_root()
    policies = {label: POLICIES[label]
                for label in filter(None, arguments.only.split(","))}
    policies.update(arguments.policy)
    measure.enter()
    print(f"{arguments.files:,} files of about 100 KB, groups of "
          f"{arguments.limit}, memory={arguments.memory}, "
          f"{arguments.rounds} rounds")
    tables = []
    try:
        for layout in dict.fromkeys(case.layout for case in cases):
            tables += run_layout(layout, [case for case in cases
                                          if case.layout == layout],
                                 policies, arguments)
    except (testbed.DeviceError, testbed.GroupError) as error:
        sys.exit(f"brand: {error}")
    if arguments.plot:
        chart.write(arguments.plot, "Seconds an epoch (median)",
                    [table.panel() for table in tables])


if __name__ == "__main__":
    main()
