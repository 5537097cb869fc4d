#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A stock ImageFolder and DataLoader through a mount that finds out the order
and reads ahead along it, against the raw directory of the same emulated device.

* `speed`: epochs of samplers whose order can be known, the dataset four times
  as large as the memory of the group that holds loader and daemon. Jobs on the
  raw directory and through the mount in turn, each cold.
* `cached`: everything in memory: the raw directory, a native mount and a
  clairvoyant one, epoch by epoch in turn.
* `harm`: jobs of which little or nothing can be known, through a native mount
  and a clairvoyant one in turn, each cold."""
import argparse
import collections
import itertools
import json
import os
import pathlib
import signal
import sys
import time
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import clairvoyant_table  # noqa: E402
import measure  # noqa: E402
from brand_data import MEAN, Dataset, testbed  # noqa: E402
from clairvoyant_runs import (POLICY, UNSEARCHED, Cached,  # noqa: E402
                              Runs)

PARTS = ("speed", "cached", "harm")
SAMPLERS = ("distributed", "random")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
Case = collections.namedtuple("Case", "profile sampler workers")


def passes(count, sampler="distributed", first=0, **more):
    return [{"sampler": sampler, "epoch": first + number, **more}
            for number in range(count)]


def in_turn(*lists):
    return [step for steps in zip(*lists) for step in steps]


def harmful_jobs(count):
    """{name: steps of each loader}; `count` whole epochs or so."""
    return {
        "two jobs": [passes(count), passes(count, "random")],
        "weighted sampler": [passes(count, "weighted")],
        "evaluation between": [in_turn(passes(count),
                                       passes(count, "sequential"))],
        "early break": [in_turn(passes(count, stop=1 / 3),
                                passes(count, first=count))],
        "resume": [passes(1, first=3, skip=0.4) + passes(count, first=4)],
        "random walk": [passes(count, "walk")],
    }


def cases(arguments):
    for profile in arguments.profile or ("nas", "hdd"):
        slow = profile == "hdd"
        yield from itertools.starmap(Case, itertools.product(
            [profile],
            arguments.sampler or (SAMPLERS[:1] if slow else SAMPLERS),
            arguments.workers or ((4,) if slow else (2, 4))))


def compare(pair):
    """Through both the same samples were read in each pass."""
    for one, other in zip(*pair):
        wrong = [key for key in ("samples", "bytes", "checksum")
                 if one[key] != other[key]]
        if wrong:
            raise RuntimeError(f"{' and '.join(wrong)} differ: {one}, {other}")


def rotated(values, places):
    places %= len(values)
    return values[places:] + values[:places]


def say_passes(what, measured):
    measure.say(f"  {what}: " + ", ".join(
        f"{one['samples'] / one['seconds']:.0f}" for one in measured) +
        " samples/s")


class Bench:
    def __init__(self, runs, arguments):
        self.runs, self.arguments = runs, arguments
        self.measured = []

    def begin(self, part, **more):
        """An entry of the results, which says what it is of."""
        entry = {"part": part, "files": self.runs.expected.files,
                 "bytes": self.runs.expected.bytes,
                 "limit": testbed.parse_size(self.runs.limit), **more}
        self.measured.append(entry)
        return entry

    def save(self):
        if self.arguments.save:  # a long run may be ended
            self.arguments.save.write_text(json.dumps(self.measured))

    def seed(self, number):
        """The next job's seed: its place in the search differs each round."""
        if self.arguments.seed is None:
            # Any number will do; it is printed, so that it can be given again.
            self.arguments.manual_seed = str(time.time_ns() % 2**31)
        else:
            self.arguments.manual_seed = self.arguments.seed
        measure.say(f"  round {number + 1}, torch.manual_seed: "
                    f"{self.arguments.manual_seed}")

    def speed(self):
        attached, device = None, 0
        for case in cases(self.arguments):
            if case.profile != attached:
                self.runs.dataset.device.attach(case.profile)
                attached, device = case.profile, self.runs.device_speed()
            entry = self.begin("speed", **case._asdict(), device=device,
                               raw=[], mount=[])
            measure.say("/".join(map(str, case)))
            for number in range(self.arguments.rounds):
                self.seed(number)
                self.speed_round(case, entry, number)
                self.save()

    def speed_round(self, case, entry, number):
        kinds = {"raw": None, "mount": self.arguments.policy}
        if self.arguments.unsearched:
            kinds |= {"native": "native", UNSEARCHED: UNSEARCHED}
        for kind in rotated(list(kinds), number):
            job = self.runs.epochs(kinds[kind], case)
            say_passes(kind, job["passes"])
            entry.setdefault(kind, []).append(job)
        for kind in kinds:
            compare((entry["raw"][-1]["passes"], entry[kind][-1]["passes"]))

    def cached(self):
        self.runs.dataset.device.attach("fast")
        for workers in self.arguments.workers or (2, 4):
            self.seed(0)
            cached = Cached(self.runs, self.arguments.policy, workers)
            count = self.arguments.rounds * (self.arguments.epochs or 3)
            # On a fast device nothing would be read ahead, nor measured.
            with mock.patch.dict(os.environ, SHUFFLEFS_DEVICE="nas"):
                rates = cached.rounds(count)
            self.begin("cached", workers=workers, rates=rates,
                       status=cached.status)
            self.save()

    def harm(self):
        for profile in self.arguments.profile or ("nas",):
            self.runs.dataset.device.attach(profile)
            for job, loaders in harmful_jobs(
                    self.arguments.epochs or 2).items():
                if job in (self.arguments.job or [job]):
                    self.one_harm(profile, job, loaders)

    def one_harm(self, profile, job, loaders):
        kinds = {"native": "native", "mount": self.arguments.policy}
        if self.arguments.unsearched:
            kinds[UNSEARCHED] = UNSEARCHED
        entry = self.begin("harm", profile=profile, job=job,
                           **{kind: [] for kind in kinds})
        measure.say(f"{profile}/{job}")
        for number in range(self.arguments.rounds):
            self.seed(number)
            # In turn: a host that gets slower is not taken for the mount.
            for kind in rotated(list(kinds), number):
                result = self.runs.jobs(kinds[kind], loaders)
                for measured in result["passes"]:
                    say_passes(kind, measured)
                entry[kind].append(result)
            for kind in kinds:
                for pair in zip(entry["native"][-1]["passes"],
                                entry[kind][-1]["passes"]):
                    compare(pair)
            self.save()


def parse_option(word):
    key, equals, value = word.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{word}: not KEY=VALUE")
    return key, value


def add_data_options(parser):
    parser.add_argument("--files", type=int, default=20000)
    parser.add_argument("--classes", type=int, default=200)
    parser.add_argument("--bytes", type=int, default=MEAN, help="of a file")
    parser.add_argument("--limit", help="of the group, such as 512MiB; "
                        "default a quarter of the data, at least 256MiB")
    parser.add_argument("--memory", help="of the mount; default 5/16 of the "
                        "limit")
    parser.add_argument("--discard", action="store_true",
                        help="remove the dataset at the end")


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--profile", action="append", choices=testbed.PROFILES,
                        help="default: nas and hdd; of harm: nas")
    parser.add_argument("--sampler", action="append", choices=SAMPLERS,
                        help="of speed; default: both; on hdd distributed")
    parser.add_argument("--workers", type=int, action="append",
                        help="default: 2 and 4; of speed on hdd: 4")
    parser.add_argument("--harm-workers", type=int, default=2,
                        help="of each loader of harm")
    parser.add_argument("--job", action="append", choices=harmful_jobs(1),
                        help="of harm; default: all")
    parser.add_argument("--unsearched", action="store_true",
                        help="beside the mount also one that searches for no "
                        "seed, clairvoyant.cores=0")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--epochs", type=int, help="of a job; default 3, of "
                        "harm and of speed on hdd 2; the first is the cold "
                        "one")
    parser.add_argument("--most", type=int, default=15, help="epochs, while "
                        "the seed of a random sampler is searched")
    parser.add_argument("--seed", metavar="N|none", help="of torch."
                        "manual_seed; default: another one each round; none: "
                        "it is not called")
    parser.add_argument("--persistent", action="store_true",
                        help="workers that live as long as their job")
    parser.add_argument("--policy", default=POLICY,
                        help="of the mount; to try this bench: native")
    parser.add_argument("--option", type=parse_option, action="append",
                        default=[], metavar="KEY=VALUE",
                        help="more of the mount")
    add_data_options(parser)
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--from", dest="saved", type=pathlib.Path,
                        metavar="FILE.json", action="append",
                        help="measure nothing; files of parts are joined")
    return parser.parse_args()


def describe(runs, arguments):
    print(f"\n{runs.expected.files:,} files in {arguments.classes} classes, "
          f"{runs.expected.bytes / 1e6:.0f} MB; batches of {arguments.batch}; "
          f"groups of {testbed.parse_size(runs.limit) >> 20} MiB, memory="
          f"{testbed.parse_size(runs.memory) >> 20}MiB, policy="
          f"{arguments.policy}; {arguments.rounds} rounds, medians ± median "
          "deviation", flush=True)


def end(*_):
    """Whatever is there is undone, and a second signal does not stop that."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    sys.exit("clairvoyant: ended")


def measure_all(arguments):
    testbed.require_root()
    measure.enter()
    for number in SIGNALS:
        signal.signal(number, end)
    dataset = Dataset(str(arguments.classes), arguments.files, arguments.bytes)
    try:
        dataset.open()
        runs = Runs(dataset, arguments)
        runs.prepare()
        describe(runs, arguments)
        bench = Bench(runs, arguments)
        for part in arguments.part or PARTS:
            getattr(bench, part)()
        return bench.measured
    except (testbed.DeviceError, testbed.GroupError, RuntimeError,
            AssertionError) as error:  # the last is a mount's
        sys.exit(f"clairvoyant: {error}")
    finally:
        (dataset.device.destroy if arguments.discard else
         dataset.device.detach)()


def main():
    arguments = parse()
    clairvoyant_table.print_all(
        sum((json.loads(path.read_text()) for path in arguments.saved), [])
        if arguments.saved else measure_all(arguments))


if __name__ == "__main__":
    main()
