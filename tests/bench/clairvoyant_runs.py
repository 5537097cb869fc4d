# SPDX-License-Identifier: Apache-2.0
"""Measurements of clairvoyant.py on one dataset: passes of a stock DataLoader,
in groups with limited memory, on the raw directory or through a mount."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

import brand_runs
import measure
from brand_runs import EpochReader, GroupMount, Policy, testbed

CLIENT = measure.HERE / "clairvoyant_epoch.py"
POLICY = "clairvoyant"
UNSEARCHED = "unsearched"  # that policy, but it searches for no seed
MINUTE = 60
DEVICE_READERS = 32  # of plain C: what the device gives to whoever asks enough
# Below it a loader with its workers does not fit.
LEAST_GROUP = testbed.parse_size("256MiB")
# What a second one gets beside: its own memory is not what is measured.
LOADER_ROOM = testbed.parse_size("160MiB")


def known(status):
    """How many epochs were read in an order that was recognised."""
    return sum(job["recognised_epochs"] for job in status.get("jobs", []))


def later(job):
    """The passes that count: all but the first, and of a clairvoyant mount
    those at whose begin an epoch had been recognised before. If there never
    was one, all but the first; a single one, itself."""
    rest = job["passes"][1:]
    begun = [known(status) for status in job["status"][1:]]
    return ([one for one, epochs in zip(rest, begun) if epochs] or rest or
            job["passes"])


class Client:
    """A program that answers each line of JSON by another, in a group if one is
    given. Its first line says what it found."""

    def __init__(self, argv, group=None, environment=None):
        argv = list(map(str, group.inside(argv) if group else argv))
        # In a session of its own, so that its workers can be ended with it.
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(environment or {})}, start_new_session=True)

    def __enter__(self):
        try:
            self.files = self.answer()["files"]
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, kind, *unused):
        if kind is None:
            self.process.stdin.close()
            self.process.wait(timeout=60)
        else:
            self.kill()

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=60)

    def begin(self, steps):
        """Gives it all passes at once: what is between two is its own time."""
        with contextlib.suppress(BrokenPipeError):  # answer() says so
            for step in steps:
                self.process.stdin.write(json.dumps(step) + "\n")
            self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the loader ended; unless it said why, its "
                               "group was out of memory: --limit, --memory")
        return json.loads(line)

    def run(self, step):
        self.begin([step])
        return self.answer()


class Loader(Client):
    """A process of clairvoyant_epoch.py."""

    def __init__(self, root, workers, arguments, group=None):
        super().__init__(
            [measure.harness.PYTHON, "-W", "ignore", CLIENT, root / "train",
             arguments.batch, workers, arguments.manual_seed,
             *(["persistent"] if arguments.persistent else [])], group)


class Runs(brand_runs.Runs):
    def __init__(self, dataset, arguments):
        super().__init__(dataset, arguments.limit, arguments.memory)
        self.arguments = arguments

    def prepare(self):
        """Also settles what depends on the size of the data."""
        super().prepare()
        if self.limit is None:
            self.limit = max(LEAST_GROUP, self.expected.bytes // 4)
        if self.memory is None:
            # The share that dataloader.py gives the daemon: loader, workers
            # and what the kernel caches need the rest.
            self.memory = testbed.parse_size(self.limit) * 5 // 16

    def group(self, loaders=1):
        self._groups += 1
        return testbed.Group(f"clairvoyant-{os.getpid()}-{self._groups}",
                             testbed.parse_size(self.limit) +
                             (loaders - 1) * LOADER_ROOM)

    def policy(self, name):
        more = dict(self.arguments.option)
        if name == UNSEARCHED:
            name, more["clairvoyant.cores"] = POLICY, 0
        return Policy({"policy": name, "memory": "{memory}", **more})

    def mount(self, group, folder, name):
        return GroupMount(group, self.dataset.root, pathlib.Path(folder),
                          self.options(self.policy(name)))

    @contextlib.contextmanager
    def place(self, name, loaders=1):
        """(root, mount, group), cold. `name` of a policy, or None: the raw
        directory, and no mount."""
        self.dataset.device.cold()
        with self.group(loaders) as group:
            if name is None:
                yield self.dataset.root, None, group
                return
            with measure.folder() as folder:
                with self.mount(group, folder, name) as mount:
                    yield mount.path, mount, group

    def device_speed(self):
        """Bytes a second of all files, in a random order."""
        self.dataset.device.cold()
        with EpochReader() as reader:
            reader.list(self.dataset.root)
            seconds, totals = reader.epoch(0, DEVICE_READERS)
        return totals.bytes / seconds

    def read(self):
        """Bytes that the device gave so far."""
        return self.dataset.device.counters()[1]

    def status(self, mount):
        """What the mount says of what it foresaw; {} of other policies."""
        view = mount.view() if mount else {}
        if view.get("policy") != POLICY:
            return {}
        if POLICY not in view:
            raise RuntimeError(f'status: the view has policy "{POLICY}" and '
                               f'no object "{POLICY}": these are programs '
                               "that do not count what this bench reports")
        return view[POLICY]

    def epochs(self, name, case):
        """A job of epochs. Of a sampler whose seed must be searched, as many as
        it takes until the other half of them was recognised."""
        epochs = self.arguments.epochs or (2 if case.profile == "hdd" else 3)
        most = epochs
        if name == POLICY and case.sampler == "random":
            most = max(epochs, self.arguments.most)
        with self.place(name) as (root, mount, group):
            with Loader(root, case.workers, self.arguments, group) as loader:
                job = {"passes": [], "status": [self.status(mount)]}
                read = self.read()
                for number in range(most):
                    job["passes"].append(loader.run(
                        {"sampler": case.sampler, "epoch": number}))
                    job["status"].append(self.status(mount))
                    if number + 1 >= epochs and self._enough(job, epochs):
                        break
                job["read"] = self.read() - read
            job["peak"] = group.peak()
        self._check(job["passes"])
        return job

    @staticmethod
    def _enough(job, epochs):
        """Nothing to recognise, or enough epochs after it was."""
        begun = [known(status) for status in job["status"][1:-1]]
        return (not job["status"][0] or
                sum(map(bool, begun)) >= epochs - 1)

    def _check(self, passes):
        for one in passes:
            if (one["samples"], one["bytes"]) != (self.expected.files,
                                                  self.expected.bytes):
                raise RuntimeError(f"read {one}, not {self.expected}")

    def jobs(self, name, loaders):
        """Several loaders at once, each with its steps: what they read, how
        long it took until the last one ended, and how that was foreseen."""
        with self.place(name, len(loaders)) as (root, mount, group), \
                contextlib.ExitStack() as stack:
            started = [stack.enter_context(
                Loader(root, self.arguments.harm_workers, self.arguments,
                       group)) for _ in loaders]
            with self._minute(mount) as minute:
                read, start = self.read(), time.monotonic()
                for loader, steps in zip(started, loaders):
                    loader.begin(steps)
                passes = [[loader.answer() for _ in steps]
                          for loader, steps in zip(started, loaders)]
                wall = time.monotonic() - start
                end = {"status": self.status(mount), "read": self.read()}
        after = minute or {"status": {}, "read": read}
        return {"wall": wall, "passes": passes, "status": end["status"],
                "read": end["read"] - read, "minute": after["status"],
                "read_after": end["read"] - after["read"],
                "long": bool(minute)}

    @contextlib.contextmanager
    def _minute(self, mount):
        """A dictionary that is filled a minute after: what is wasted before
        does not count. Stays empty if the block takes less."""
        seen = {}

        def look():
            with contextlib.suppress(Exception):  # no figure rather than none
                status = self.status(mount)
                seen.update(status=status, read=self.read())

        timer = threading.Timer(MINUTE, look)
        timer.start()
        try:
            yield seen
        finally:
            timer.cancel()
            timer.join()  # the mount is not unmounted while it is read


class Cached:
    """The raw directory, a native mount and a clairvoyant one beside each
    other, everything in memory, with no limit."""

    def __init__(self, runs, name, workers):
        self.runs, self.name, self.workers = runs, name, workers
        self.status = {}

    def rounds(self, count):
        """Samples a second of each in turn: [[raw, native, mount], …]."""
        runs = self.runs
        with contextlib.ExitStack() as stack:
            def enter(thing):
                return stack.enter_context(thing)

            mounts = [enter(measure.Mount(
                runs.dataset.root, pathlib.Path(enter(measure.folder())),
                {"policy": policy, **dict(runs.arguments.option)}))
                for policy in ("native", self.name)]
            roots = [runs.dataset.root, *(mount.path for mount in mounts)]
            loaders = [enter(Loader(root, self.workers, runs.arguments))
                       for root in roots]
            measured = []
            for number in range(count + 1):
                step = {"sampler": "distributed", "epoch": number}
                passes = [loader.run(step) for loader in loaders]
                measured.append([one["samples"] / one["seconds"]
                                 for one in passes])
            self.status = runs.status(mounts[1])
        return measured[1:]  # the first only fills the caches
