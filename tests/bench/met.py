#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""met on emulated devices: the dataset on a slow one, a tier for a quarter of
it on the machine's own disk, and reader processes that open all names at random
and consume at a fixed rate, above what they get of the slow device.

* `jobs`: whole passes over the dataset (`--passes`), each mini-epoch repeated
  1, 2, 4 or 8 times: throughput against the consumption, bytes of the device
  against dataset / factor. The same readers on the raw directory before each
  job.
* `foreground`: a reader of the validation split, which is native, while the
  second mini-epoch is copied, and when nothing is.
* `first`: from the command to the first sample, the tier being empty."""
import argparse
import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

import met_data  # noqa: E402
import met_runs  # noqa: E402
import met_table  # noqa: E402
from brand_data import testbed  # noqa: E402

PARTS = ("jobs", "foreground", "first")
LEAST_EPOCHS = 3


def epochs_of(passes, repeat):
    """Of whole passes: each of them shows every sample `repeat` times."""
    return max(passes, -(-LEAST_EPOCHS // repeat)) * repeat


def measure_job(runs, factor, repeat, arguments, raw, seed):
    rate = factor * raw
    epochs = epochs_of(arguments.passes, repeat)
    measured = runs.job(repeat, epochs, rate, seed)
    speeds = [epoch.bytes / epoch.seconds / 1e6 for epoch in measured]
    measure.say(f"  repeated {repeat}, {epochs // repeat} passes, "
                f"{rate / 1e6:.1f} MB/s wanted: " +
                ", ".join(f"{speed:.1f}" for speed in speeds) + " MB/s")
    return {"factor": factor, "repeat": repeat, "rate": rate,
            "epochs": [epoch._asdict() for epoch in measured]}


def measure_jobs(runs, entry, arguments):
    raw = runs.raw_epoch(0, 0)  # what rates are multiples of
    for number in range(arguments.rounds):
        for factor in arguments.rate:
            for repeat in arguments.repeat:
                entry["raw"].append(runs.raw_epoch(number, factor * raw))
                measure.say(f"{entry['profile']}: raw "
                            f"{entry['raw'][-1] / 1e6:.1f} MB/s")
                entry["jobs"].append(measure_job(
                    runs, factor, repeat, arguments, raw, number + 1))


def measure_profile(runs, profile, arguments):
    runs.dataset.device.attach(profile)
    entry = {"profile": profile, "files": arguments.files,
             "bytes": runs.bytes, "paged": runs.paged,
             "readers": arguments.readers, "limit": arguments.limit,
             "memory": arguments.memory, "advance": arguments.advance, "raw": [], "jobs": [],
             "foreground": [], "first": []}
    parts = arguments.part or PARTS
    for number in range(max(3, arguments.rounds)):
        if "foreground" in parts:
            pair = runs.foreground(number)
            entry["foreground"].append([each._asdict() for each in pair])
        if "first" in parts:
            entry["first"].append([each._asdict()
                                   for each in runs.first(number)])
    if "jobs" in parts:
        measure_jobs(runs, entry, arguments)
    return entry


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=1,
                        help="of jobs; the other parts have at least 3")
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--profile", action="append", choices=testbed.PROFILES,
                        help="default: nas and hdd")
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--rate", type=float, action="append",
                        help="consumption, times raw; 1.5, 2 and 3")
    parser.add_argument("--repeat", type=int, action="append",
                        help="1, 2, 4 and 8")
    parser.add_argument("--passes", type=int, default=2,
                        help="whole passes over the dataset that a job runs, "
                        "at least three framework epochs")
    parser.add_argument("--advance", choices=("auto", "manual"),
                        default="manual", help="epoch.advance of the mounts")
    parser.add_argument("--limit", default="256MiB", help="of the group")
    parser.add_argument("--memory", default="64MiB", help="of the mount")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--from", dest="saved", type=pathlib.Path,
                        metavar="FILE.json", action="append",
                        help="measure nothing; files of parts are joined")
    parser.add_argument("--discard", action="store_true",
                        help="remove the dataset at the end")
    arguments = parser.parse_args()
    if arguments.passes < 1:
        parser.error("--passes must be at least 1")
    arguments.rate = arguments.rate or [1.5, 2.0, 3.0]
    arguments.repeat = arguments.repeat or [1, 2, 4, 8]
    return arguments


def measure_all(arguments):
    testbed.require_root()
    measure.enter()
    dataset = met_data.Dataset(arguments.files)
    measured = []
    try:
        dataset.open()
        dataset.read_all()
        runs = met_runs.Runs(dataset, arguments)
        try:
            for profile in arguments.profile or ("nas", "hdd"):
                measured.append(measure_profile(runs, profile, arguments))
                if arguments.save:  # a long run may be ended
                    arguments.save.write_text(json.dumps(measured))
        finally:
            shutil.rmtree(runs.tier, ignore_errors=True)
    except (testbed.DeviceError, RuntimeError) as error:
        sys.exit(f"met: {error}")
    finally:
        (dataset.device.destroy if arguments.discard else
         dataset.device.detach)()
    return measured


def main():
    arguments = parse()
    met_table.print_all(
        sum((json.loads(path.read_text()) for path in arguments.saved), [])
        if arguments.saved else measure_all(arguments))


if __name__ == "__main__":
    main()
