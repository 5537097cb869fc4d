# SPDX-License-Identifier: Apache-2.0
"""One measurement of brand.py: an epoch of plain reader processes, cold, in a
group with limited memory, on the raw directory or through a mount."""
import collections
import dataclasses
import os
import pathlib
import random
import re
import subprocess
import time

import brand_data
import measure
from brand_data import testbed

BATCH = 64
DEPTH = 4  # of the sequential read
CLOCK = os.sysconf("SC_CLK_TCK")

# profile: see testbed/README.md; layout: see brand_data.group_sizes.
Case = collections.namedtuple("Case", "profile layout workers")
Totals = collections.namedtuple("Totals", "files bytes checksum")
# `fill`: before the epoch some files are read, which fills the pool of a cache
# that replaces nothing: it shows what it brings in its second epoch only.
Policy = collections.namedtuple("Policy", "options fill", defaults=(False,))


@dataclasses.dataclass
class Epoch:
    seconds: float = 0.0
    totals: Totals = None
    source_bytes: int = 0      # during the epoch
    before_bytes: int = 0      # by mounting and listing
    peak: int = 0              # bytes of the group: all that it ever used
    daemon_peak: int = None    # bytes of the daemon alone, without page cache
    mount_seconds: float = 0.0  # until the catalogue was there
    list_seconds: float = 0.0
    cpu_seconds: float = 0.0   # of the daemon, during the epoch
    bypass: int = None         # None where the policy has no such count


class GroupMount(measure.Mount):
    """A mount whose daemon runs in a group."""

    def __init__(self, group, *arguments):
        super().__init__(*arguments)
        self.group = group

    def command(self):
        return self.group.inside(super().command())

    def cpu_seconds(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text()
        words = text.rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / CLOCK

    def peak_bytes(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"^VmHWM:\s+(\d+) kB", text, re.M).group(1)) << 10


class EpochReader:
    """A process of epoch_reader_bench, in a group if one is given."""

    def __init__(self, group=None):
        argv = [os.environ["EPOCH_READER_BIN"]]
        self.process = subprocess.Popen(
            group.inside(argv) if group else argv, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=60)

    def _do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        words = answer.split()
        if not words or words[0] == "error":
            raise RuntimeError(f"reader: {line}: {answer or 'it ended'}")
        return float(words[0]), [int(word) for word in words[1:]]

    def list(self, root):
        return self._do(f"list {root}")[0]

    def epoch(self, seed, workers, batch=BATCH, rate=0):
        """`rate`: bytes a second that are consumed at most; 0: any."""
        seconds, totals = self._do(f"epoch {seed} {workers} {batch} {rate:.0f}")
        return seconds, Totals(*totals)

    def names_in_order(self, workers):
        seconds, totals = self._do(f"pass {workers} {BATCH}")
        return seconds, Totals(*totals)

    def sequential(self, path):
        """Bytes a second."""
        seconds, (size,) = self._do(f"sequential {path} {DEPTH}")
        return size / seconds


class Runs:
    """Measurements on one dataset. The seed of an epoch is that of the order
    in which names are opened; None: in the order of the names."""

    def __init__(self, dataset, limit, memory):
        """`limit`: of the group; `memory`: of the daemon's pool."""
        self.dataset = dataset
        self.limit = limit
        self.memory = memory
        self.expected = None
        self._groups = 0

    def prepare(self):
        """Reads everything once at full speed: a virtual machine's disk may
        have a cold cache of its own. Keeps what each epoch must read."""
        self.dataset.device.cold()
        with EpochReader() as reader:
            reader.list(self.dataset.root)
            _, self.expected = reader.epoch(0, 4)
            reader.sequential(self.dataset.sequential)

    def options(self, policy, seed=0):
        """The mount options of a policy, with what only this run knows."""
        options = {key: str(value).format(memory=self.memory,
                                          packed=self.dataset.packed)
                   for key, value in policy.options.items()}
        return {"seed": seed, **options}

    def group(self):
        self._groups += 1
        return testbed.Group(f"brand-{os.getpid()}-{self._groups}", self.limit)

    def sequential(self):
        self.dataset.device.cold()
        with EpochReader() as reader:
            return reader.sequential(self.dataset.sequential)

    def raw(self, seed, workers):
        result = self._begin()
        with self.group() as group:
            self._read(result, group, self.dataset.root, seed, workers)
            result.peak = group.peak()
        return result

    def view(self, policy, seed, workers):
        result = self._begin()
        with self.group() as group, measure.folder() as folder:
            start = time.monotonic()
            with GroupMount(group, self.dataset.root, pathlib.Path(folder),
                            self.options(policy, seed or 0)) as mount:
                result.mount_seconds = time.monotonic() - start
                if policy.fill:
                    self._fill(mount, group)
                self._read(result, group, mount.path, seed, workers, mount)
                result.bypass = mount.view().get("bypass")
                result.daemon_peak = mount.peak_bytes()
            result.peak = group.peak()
        return result

    def _fill(self, mount, group):
        """Reads a quarter more than the pool holds, of all classes alike."""
        names = sorted(self.dataset.root.glob("train/*/*"))
        mean = self.expected.bytes / self.expected.files
        count = int(1.25 * testbed.parse_size(self.memory) / mean)
        chosen = random.Random(0).sample(names, min(count, len(names)))
        lines = "".join(f"{mount.path / name.relative_to(self.dataset.root)}\0"
                        for name in sorted(chosen))
        subprocess.run(group.inside(["xargs", "-0", "cat"]), input=lines,
                       text=True, stdout=subprocess.DEVNULL, check=True)

    def _begin(self):
        self.dataset.device.cold()
        return Epoch(before_bytes=-self.dataset.device.counters()[1])

    def _read(self, result, group, root, seed, workers, mount=None):
        device = self.dataset.device
        with EpochReader(group) as reader:
            result.list_seconds = reader.list(root)
            before = device.counters()[1]
            cpu = mount.cpu_seconds() if mount else 0
            result.seconds, result.totals = (
                reader.names_in_order(workers) if seed is None
                else reader.epoch(seed, workers))
            if mount:
                result.cpu_seconds = mount.cpu_seconds() - cpu
            result.source_bytes = device.counters()[1] - before
            result.before_bytes += before
        if result.totals != self.expected:
            raise RuntimeError(f"read {result.totals}, not {self.expected}: "
                               "a sample was missed, repeated or mislabelled")


def open_dataset(layout, files):
    dataset = brand_data.Dataset(layout, files)
    dataset.open()
    return dataset
