#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How many accelerators a device keeps busy, in the shape of MLPerf Storage:
ranks of a stock PyTorch DataLoader, each with an accelerator that sleeps for
each batch, over a dataset five times as large as the memory for it.

* `files`: RetinaNet's. Files of 322,957 bytes, batches of 24, a step of 47.55 ms,
  utilisation at least 0.85.
* `records`: ResNet50's. TFRecord files of 1,251 records of 114,660 bytes,
  batches of 400, a step of 224 ms, utilisation at least 0.90.

Raw and the mounts take turns, each job cold. These are not results of MLPerf:
docs/benchmarks.md names the rules that are not met."""
import argparse
import collections
import contextlib
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import brand_data  # noqa: E402
import brand_runs  # noqa: E402
import containers  # noqa: E402
import measure  # noqa: E402
from brand_data import testbed  # noqa: E402
from brand_runs import GroupMount, Policy  # noqa: E402
from clairvoyant_runs import LOADER_ROOM, Client  # noqa: E402

CLIENT = measure.HERE / "yardstick_rank.py"
SHARE = 5  # the dataset is so many times the memory
Shape = collections.namedtuple(
    "Shape", "sample batch step least count policies goals")
PACKED = {"policy": "brand", "brand.packed": "{packed}", "memory": "{memory}"}
SHAPES = {
    "files": Shape(
        322_957, 24, 0.04755, 0.85, 9_936,  # whole batches of 1, 2 and 3 ranks
        {"raw": None,
         "brand": Policy({"policy": "brand", "memory": "{memory}"}),
         "packed": Policy(PACKED),
         "clairvoyant": Policy({"policy": "clairvoyant",
                                "memory": "{memory}"})},
        # Of the device's sequential speed, where that is the limit.
        {("nas", "brand"): 0.97, ("nas", "clairvoyant"): 0.97,
         ("hdd600", "packed"): 0.92}),
    "records": Shape(
        114_660, 400, 0.224, 0.90, 22,
        {"raw": None,
         "reimu": Policy({"policy": "reimu", "memory": "{memory}"}),
         "lirs": Policy({"policy": "lirs", "lirs.unit": "page",
                         "lirs.page": "4MiB", "lirs.batch": "4",
                         "memory": "{memory}"})},
        {}),
}
RECORDS = 1251  # of a TFRecord file
FRAMES = 50     # records that differ: their checksums take long
ACCELERATORS = {"nas": (1, 2, 3), "hdd600": (1,), "hdd": (1,), "fast": (1, 2)}
COLUMNS = ("device", "accelerators", "what", "utilisation", "samples/s", "MB/s",
           "of sequential", "read from the source")


class Files(brand_data.Dataset):
    """Files of one size in class folders, within which names may show any
    sample."""

    def __init__(self, shape, count):
        super().__init__("40", count, shape.sample, sigma=0)


class Shards(brand_data.Dataset):
    """`count` TFRecord files."""

    def __init__(self, shape, count):
        super().__init__("records", count, shape.sample, sigma=0)

    def write(self):
        frames = [containers.tfrecord([
            number.to_bytes(8, "little") + os.urandom(self.mean - 8)])
            for number in range(FRAMES)]
        for number in range(self.files):
            with open(self.root / f"train-{number:05}.tfrecord", "wb") as file:
                for record in range(RECORDS):
                    file.write(frames[(number + record) % FRAMES])


DATASETS = {"files": Files, "records": Shards}


class Rank(Client):
    def __init__(self, kind, root, shape, workers, group, rank, of):
        super().__init__(
            [measure.harness.PYTHON, "-W", "ignore", CLIENT, kind, root,
             shape.batch, workers, shape.step], group,
            {"RANK": str(rank), "WORLD_SIZE": str(of)})


class Job:
    """Jobs on one dataset, on one attached device."""

    def __init__(self, kind, dataset, arguments):
        self.kind, self.shape = kind, SHAPES[kind]
        self.dataset, self.arguments = dataset, arguments
        self.size = sum(path.stat().st_size
                        for path in dataset.root.rglob("*.*"))
        limit = arguments.limit or self.size // SHARE
        self.limit = testbed.parse_size(limit)
        self.memory = testbed.parse_size(arguments.memory or self.limit // 2)
        self.jobs = 0
        self.runs = brand_runs.Runs(dataset, self.limit, self.memory)

    def run(self, what, accelerators):
        """An answer of each epoch."""
        self.jobs += 1
        self.dataset.device.cold()
        with contextlib.ExitStack() as stack:
            group = stack.enter_context(testbed.Group(
                f"yardstick-{os.getpid()}-{self.jobs}",
                self.limit + accelerators * LOADER_ROOM))
            root = self.dataset.root
            policy = self.shape.policies[what]
            if policy is not None:
                folder = pathlib.Path(stack.enter_context(measure.folder()))
                root = stack.enter_context(GroupMount(
                    group, root, folder, self.runs.options(policy))).path
            if self.kind == "files":
                root = root / "train"
            ranks = [stack.enter_context(Rank(
                self.kind, root, self.shape, self.arguments.workers, group,
                rank, accelerators)) for rank in range(accelerators)]
            return [self.epoch(ranks, number)
                    for number in range(self.arguments.epochs)]

    def epoch(self, ranks, number):
        before = self.dataset.device.counters()[1]
        for rank in ranks:
            rank.begin([{"epoch": number}])
        answers = [rank.answer() for rank in ranks]
        seconds = (max(answer["end"] for answer in answers) -
                   min(answer["begin"] for answer in answers))
        total = {key: sum(answer[key] for answer in answers)
                 for key in ("samples", "bytes", "checksum")}
        return {"seconds": seconds, **total,
                "source": self.dataset.device.counters()[1] - before,
                # The slowest accelerator is the one that a job waits for.
                "utilisation": min(answer["utilisation"]
                                   for answer in answers)}

    def compare(self, results):
        """All read the same samples in each epoch, as far as ranks that get
        some twice allow it to be said."""
        wanted = {what: [(epoch["samples"], epoch["bytes"])
                         for epoch in epochs]
                  for what, epochs in results.items()}
        if len({json.dumps(counts) for counts in wanted.values()}) != 1:
            raise RuntimeError(f"samples and bytes differ: {wanted}")


def middle(entries, get):
    return measure.median_mad([get(epoch, entry) for entry in entries
                               for epoch in entry["epochs"]])


def print_row(shape, key, entries):
    profile, accelerators, what = key

    def cell(get, form):
        return f"{form} ± {form}".format(*middle(entries, get))

    busy, _ = middle(entries, lambda epoch, _: epoch["utilisation"])
    share, _ = middle(entries, lambda epoch, entry: epoch["bytes"] /
                      epoch["seconds"] / entry["sequential"])
    goal = shape.goals.get((profile, what))
    # More than the device gives was asked for.
    most = max(accelerators for accelerators in ACCELERATORS[profile])
    of = f"{share:.2f}"
    if goal and accelerators == most:
        of += f" (≥ {goal}: {'met' if share >= goal else '**missed**'})"
    kept = "**" if busy >= shape.least else ""
    measure.row(
        profile, str(accelerators), what,
        kept + cell(lambda epoch, _: epoch["utilisation"], "{:.2f}") + kept,
        cell(lambda epoch, _: epoch["samples"] / epoch["seconds"], "{:.0f}"),
        cell(lambda epoch, _: epoch["bytes"] / epoch["seconds"] / 1e6,
             "{:.0f}"), of,
        cell(lambda epoch, _: epoch["source"] / epoch["bytes"], "{:.2f}"))


def print_table(measured):
    for kind in SHAPES:
        rows = collections.defaultdict(list)
        for entry in measured:
            if entry["kind"] == kind:
                rows[entry["profile"], entry["accelerators"],
                     entry["what"]].append(entry)
        if not rows:
            continue
        shape = SHAPES[kind]
        one = next(iter(rows.values()))[0]
        print(f"\n{kind}: {one['size'] / 1e6:.0f} MB, "
              f"{one['limit'] / 1e6:.0f} MB of memory for it, "
              f"{LOADER_ROOM >> 20} MiB more for each rank; {one['workers']} "
              f"workers a rank; an accelerator takes "
              f"{shape.batch / shape.step:.0f} samples/s, "
              f"{shape.batch / shape.step * shape.sample / 1e6:.0f} MB/s; "
              f"bold: utilisation at least {shape.least}; medians of "
              f"{len(one['epochs'])} epochs a round, the first cold:\n")
        measure.row(*COLUMNS)
        print("|---" * len(COLUMNS) + "|")
        for key, entries in rows.items():
            print_row(shape, key, entries)


def measure_kind(kind, arguments, measured):
    shape = SHAPES[kind]
    dataset = DATASETS[kind](shape, arguments.count or shape.count)
    try:
        dataset.open()
        whats = arguments.only or list(shape.policies)
        if "packed" in whats:
            dataset.pack()
        # The disk of a virtual machine may have a cold cache of its own.
        dataset.device.cold()
        for path in dataset.root.rglob("*.*"):
            path.read_bytes()
        for profile in arguments.profile or ("nas", "hdd600"):
            dataset.device.attach(profile)
            job = Job(kind, dataset, arguments)
            for number in range(arguments.rounds):
                for accelerators in (arguments.accelerators or
                                     ACCELERATORS[profile]):
                    measure_round(job, profile, accelerators, whats, measured)
                    if arguments.save:  # a long run may be ended
                        arguments.save.write_text(json.dumps(measured))
    finally:
        (dataset.device.destroy if arguments.discard else
         dataset.device.detach)()


def measure_round(job, profile, accelerators, whats, measured):
    sequential = job.runs.sequential()
    results = {}
    for what in whats:
        results[what] = job.run(what, accelerators)
        measured.append({
            "kind": job.kind, "profile": profile, "what": what,
            "accelerators": accelerators, "sequential": sequential,
            "size": job.size, "limit": job.limit,
            "workers": job.arguments.workers, "epochs": results[what]})
        measure.say(f"{job.kind}/{profile}/{accelerators} {what}: " + ", ".join(
            f"{epoch['bytes'] / epoch['seconds'] / 1e6:.0f} MB/s "
            f"({epoch['utilisation']:.2f})" for epoch in results[what]))
    job.compare(results)


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=3, help="of a job")
    parser.add_argument("--kind", action="append", choices=SHAPES)
    parser.add_argument("--profile", action="append",
                        help="default nas, hdd600")
    parser.add_argument("--only", action="append", metavar="WHAT",
                        help="raw, brand, packed, clairvoyant, reimu or lirs")
    parser.add_argument("--accelerators", type=int, action="append")
    parser.add_argument("--workers", type=int, default=4, help="of a rank")
    parser.add_argument("--count", type=int, help="of files")
    parser.add_argument("--limit", help="of the group, without its ranks; "
                        "default a fifth of the data")
    parser.add_argument("--memory", help="of the mount; default half of that")
    parser.add_argument("--discard", action="store_true",
                        help="remove the dataset at the end")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--from", dest="saved", type=pathlib.Path,
                        metavar="FILE.json", action="append",
                        help="measure nothing; files of parts are joined")
    return parser.parse_args()


def main():
    arguments = parse()
    measured = []
    if arguments.saved:
        for path in arguments.saved:
            measured += json.loads(path.read_text())
        return print_table(measured)
    testbed.require_root()
    measure.enter()
    try:
        for kind in arguments.kind or SHAPES:
            measure_kind(kind, arguments, measured)
    except (testbed.DeviceError, testbed.GroupError, RuntimeError,
            AssertionError) as error:  # the last is a mount's
        sys.exit(f"yardstick: {error}")
    print_table(measured)


if __name__ == "__main__":
    main()
