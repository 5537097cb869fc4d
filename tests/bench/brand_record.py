# SPDX-License-Identifier: Apache-2.0
"""What brand.py measured, one JSON object a line: a run that takes hours can be
done in parts, and a table or a picture be made of all of them."""
import collections
import dataclasses
import json

from brand_runs import Case, Epoch, Totals

# What the figures of a case depend on besides the device and the readers.
Setting = collections.namedtuple("Setting", "files limit memory")


class Measured:
    """The measurements of one case with one setting. A round is what was
    measured in turn: only within it are figures compared."""

    def __init__(self, case, setting):
        self.case = case
        self.setting = setting
        self.epochs = {}      # label: {round: Epoch}
        self.sequential = {}  # round: bytes a second

    def add(self, label, number, epoch):
        self.epochs.setdefault(label, {})[number] = epoch

    def common(self, label):
        """The rounds in which both `label` and the raw directory were read."""
        raw = self.epochs.get("raw", {})
        return [number for number in self.epochs[label] if number in raw]

    def dataset_bytes(self):
        return next(epoch.totals.bytes for rounds in self.epochs.values()
                    for epoch in rounds.values())


class Record:
    """All measurements; those that are added are appended to a file."""

    def __init__(self, path=None):
        self.path = path
        self.cases = {}  # (case, setting): Measured, in the order of arrival

    def of(self, case, setting):
        return self.cases.setdefault((case, setting), Measured(case, setting))

    def add_sequential(self, case, setting, number, speed):
        self.of(case, setting).sequential[number] = speed
        self._append(case, setting, number, sequential=speed)

    def add_epoch(self, case, setting, number, label, epoch):
        self.of(case, setting).add(label, number, epoch)
        self._append(case, setting, number, label=label,
                     epoch=dataclasses.asdict(epoch))

    def _append(self, case, setting, number, **what):
        if self.path is None:
            return
        line = json.dumps({**case._asdict(), **setting._asdict(),
                           "round": number, **what})
        with open(self.path, "a") as file:
            file.write(line + "\n")

    def read(self, path):
        """Adds what a file holds."""
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            case = Case(*(entry[key] for key in Case._fields))
            setting = Setting(*(entry[key] for key in Setting._fields))
            measured = self.of(case, setting)
            if "sequential" in entry:
                measured.sequential[entry["round"]] = entry["sequential"]
                continue
            epoch = Epoch(**entry["epoch"])
            epoch.totals = Totals(*epoch.totals)
            measured.add(entry["label"], entry["round"], epoch)
