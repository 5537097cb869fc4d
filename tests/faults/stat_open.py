#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Readers that size a file before they open it, over automatic boundaries.

  stat_open.py [--boundaries N] [--seed N] [--policy P…] [--how H…]
               [--workers N…] [--files N] [--jobs N]

For each policy, way of reading and number of workers: one mount, one job of
tests/clients/sized_reads.py, and N boundaries that the mount finds by itself.
With --jobs there are so many jobs instead, each of which breaks off in its
first epoch, so that the next one takes over. No two files have the same size.
Prints a row each, and ends with 1 if a file that was opened was not the one
that was sized, or if an epoch did not show every sample once (`met`: over all
epochs as often as every other, two more or less).

Environment: SHUFFLEFS_BIN, as for the mount tests.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mount"))
import harness  # noqa: E402
import namespace  # noqa: E402
import trees  # noqa: E402

POLICIES = ("lirs", "brand", "window", "met")
CLASSES = 4


def make_source(root, files, seed):
    """Of each size one file, in class folders."""
    rng = random.Random(seed)
    for index, size in enumerate(rng.sample(range(2000, 20000), files)):
        folder = root / f"class{index % CLASSES}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{rng.randrange(10**9):09d}.bin").write_bytes(
            rng.randbytes(size))


def options_of(policy, folder, epochs):
    options = {"policy": policy, "substitute": "directory",
               "memory": "10MiB", "epoch.double_open": "0"}
    if policy == "window":
        options["window.samples"] = 64
    if policy == "met":
        (folder / "tier").mkdir(parents=True)
        options.update({"tier.path": folder / "tier",
                        "tier.capacity": "4MiB", "met.epochs": epochs,
                        "met.repeat": 2})
    return options


class Run:
    """What is read through one mount, epoch by epoch."""

    def __init__(self, args, policy, how, workers):
        self.args, self.policy = args, policy
        self.how, self.workers = how, workers
        self.torn, self.uneven = [], 0
        self.shown = collections.Counter()

    def check(self, items, known):
        digests = collections.Counter()
        for name, digest, torn in items:
            if torn is not None or digest not in known:
                self.torn.append((name, digest, torn))
            else:
                digests[digest] += 1
        self.shown.update(digests)
        if self.args.jobs:
            return  # a part of an epoch
        if self.policy != "met" and any(digests[each] != 1 for each in known):
            self.uneven += 1

    def finish(self, known):
        counts = [self.shown[each] for each in known]
        if (self.policy == "met" and not self.args.jobs
                and max(counts) - min(counts) > 4):
            self.uneven = max(counts) - min(counts)

    def job(self, mount, known, seed, *more):
        # A family of processes of its own.
        command = ["setsid", "--wait", harness.PYTHON, "-B",
                   harness.CLIENTS / "sized_reads.py", mount.path, "--how",
                   self.how, "--workers", self.workers, "--seed", seed, *more]
        with subprocess.Popen([str(word) for word in command], text=True,
                              stdout=subprocess.PIPE) as job:
            for line in job.stdout:
                self.check(json.loads(line), known)
        assert job.returncode == 0, f"the job ended: {job.returncode}"

    def read(self, mount, known):
        args = self.args
        if not args.jobs:
            return self.job(mount, known, args.seed, "--epochs",
                            args.boundaries + 1)
        for number in range(args.jobs):
            self.job(mount, known, args.seed + number, "--epochs", 1,
                     "--batches", args.files // 32)

    def go(self, source, known, folder):
        epochs = self.args.boundaries + 1
        mount = harness.Mount(source, folder,
                              options_of(self.policy, folder, epochs))
        try:
            mount.start()
            self.read(mount, known)
            self.finish(known)
            self.view = mount.view()
            mount.unmount()
        finally:
            mount.close()

    def row(self):
        print(f"{self.policy:7} {self.how:9} {self.workers} workers  "
              f"{self.view['epoch']:4} boundaries  "
              f"{self.view['epoch_held']} held  "
              f"{self.view['carried']:3} carried  {len(self.torn)} torn  "
              f"{self.uneven} uneven", flush=True)
        for torn in self.torn[:5]:
            print("   ", *torn, flush=True)


def run(arguments=None):
    """All of it, in a mount namespace; whether all was right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boundaries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", nargs="+", default=POLICIES)
    parser.add_argument("--how", nargs="+", default=["read_file", "stat"])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--files", type=int, default=800)
    parser.add_argument("--jobs", type=int, default=0)
    args = parser.parse_args(arguments)
    failed = False
    with tempfile.TemporaryDirectory(prefix="shufflefs-faults-") as top:
        source = pathlib.Path(top) / "source"
        make_source(source, args.files, args.seed)
        known = set(trees.contents(source).values())
        runs = [Run(args, policy, how, workers) for policy in args.policy
                for how in args.how for workers in args.workers]
        for number, each in enumerate(runs):
            each.go(source, known, pathlib.Path(top) / f"mount{number}")
            each.row()
            failed |= bool(each.torn or each.uneven)
    return not failed


if __name__ == "__main__":
    namespace.enter()
    sys.exit(0 if run() else 1)
