#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Epochs of plain reader processes over class folders larger than memory, on
emulated devices: policies against the raw directory, interleaved.

Each measurement begins cold, in a fresh group: daemon and readers together
have the memory that the readers of the raw directory have alone. `sequential`
is one file read 1 MiB at a time, 4 at once, with O_DIRECT, in the same round.
Every epoch is held to have read each sample once with its label.

All of it takes hours. Do it in parts, and print them together:
  brand.py --save brand.json --case 'nas/*'
  brand.py --save brand.json --case hdd/40/4 --once native,static,location
  brand.py --from brand.json --plot brand.svg"""
import argparse
import fnmatch
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import brand_runs  # noqa: E402
import brand_table  # noqa: E402
import measure  # noqa: E402
from brand_record import Record, Setting  # noqa: E402
from brand_runs import Policy, testbed  # noqa: E402
from brand_table import CASES  # noqa: E402

BRAND = {"policy": "brand", "substitute": "directory", "memory": "{memory}"}
PACKED = {**BRAND, "brand.packed": "{packed}"}
# What is measured beside the raw directory. {memory} is the pool's, {packed}
# the folder that `shufflectl pack` made on the same device.
POLICIES = {
    "native": Policy({"policy": "native"}),
    "static": Policy({"policy": "static", "memory": "{memory}"}, fill=True),
    "location": Policy({**PACKED, "brand.binding": "location"}),
    "brand": Policy(BRAND),
    "packed": Policy(PACKED),
    "lirs": Policy({"policy": "lirs", "substitute": "directory"}),
}
DEFAULT = "native,static,location,brand,packed"


def case_name(case):
    return "/".join(map(str, case))


def say_epoch(case, label, epoch):
    measure.say(f"{case_name(case)} {label}: {epoch.seconds:.2f} s, "
                f"{epoch.source_bytes / 1e6:.0f} MB from the source, "
                f"mount {epoch.mount_seconds:.2f} s, "
                f"listing {epoch.list_seconds:.2f} s")


def run_case(case, runs, policies, arguments, record):
    runs.dataset.device.attach(case.profile)
    setting = Setting(arguments.files, arguments.limit, arguments.memory)
    start = time.time_ns()
    for number in range(arguments.rounds):
        key = f"{start}.{number}"  # of no other run
        record.add_sequential(case, setting, key, runs.sequential())

        def add(label, epoch):
            say_epoch(case, label, epoch)
            record.add_epoch(case, setting, key, label, epoch)

        add("raw", runs.raw(number, case.workers))
        for label, policy in policies.items():
            if number == 0 or label not in arguments.once:
                add(label, runs.view(policy, number, case.workers))


def run_layout(layout, cases, policies, arguments, record):
    dataset = brand_runs.open_dataset(layout, arguments.files)
    try:
        if any("{packed}" in str(value) for policy in policies.values()
               for value in policy.options.values()):
            dataset.pack()
        runs = brand_runs.Runs(dataset, arguments.limit, arguments.memory)
        runs.prepare()
        for case in cases:
            run_case(case, runs, policies, arguments, record)
    finally:
        dataset.device.detach()
    if arguments.discard:
        dataset.device.destroy()


def parse_policy(text):
    """LABEL:key=value,…"""
    label, colon, rest = text.partition(":")
    pairs = [word.partition("=") for word in rest.split(",") if word]
    if not colon or not all(middle for _, middle, _ in pairs):
        raise argparse.ArgumentTypeError(f"{text}: not LABEL:key=value,…")
    return label, Policy({key: value for key, _, value in pairs})


def parse_labels(text):
    return [label for label in text.split(",") if label]


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
    parser.add_argument("--only", default=DEFAULT, type=parse_labels,
                        metavar="LABEL,…", help="of " + ", ".join(POLICIES) +
                        "; default " + DEFAULT)
    parser.add_argument("--once", default="", type=parse_labels,
                        metavar="LABEL,…",
                        help="those that are measured in the first round only")
    parser.add_argument("--policy", type=parse_policy, action="append",
                        default=[], metavar="LABEL:KEY=VALUE,…",
                        help="one more, with these mount options")
    parser.add_argument("--limit", default="512MiB", help="of the group")
    parser.add_argument("--memory", default="320MiB", help="of the pool")
    parser.add_argument("--discard", action="store_true",
                        help="remove each dataset (4.6 GB) after its cases")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE",
                        help="append what is measured to it")
    parser.add_argument("--from", dest="saved", type=pathlib.Path, default=[],
                        action="append", metavar="FILE",
                        help="measure nothing, print what was saved")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE.svg")
    arguments = parser.parse_args()
    for label in arguments.only:
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


def measure_all(arguments):
    testbed.require_root()
    cases = chosen_cases(arguments.case)
    policies = {label: POLICIES[label] for label in arguments.only}
    policies.update(arguments.policy)
    measure.enter()
    record = Record(arguments.save)
    try:
        for layout in dict.fromkeys(case.layout for case in cases):
            run_layout(layout, [case for case in cases
                                if case.layout == layout],
                       policies, arguments, record)
    except (testbed.DeviceError, testbed.GroupError) as error:
        sys.exit(f"brand: {error}")
    return record


def main():
    arguments = parse_arguments()
    if arguments.saved:
        record = Record()
        for path in arguments.saved:
            record.read(path)
    else:
        record = measure_all(arguments)
    brand_table.print_all(record)
    if arguments.plot:
        brand_table.draw(record, arguments.plot)


if __name__ == "__main__":
    main()
