#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""10,000 files of 100 KB in 40 class folders, warm, one process: open, fstat,
read to the end and close, through mounts of several kinds against the raw
directory, interleaved. Then the requests that each kind costs a file."""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

FILES, CLASSES, BYTES = 10000, 40, 100000
MOVING = {"policy": "lirs", "substitute": "directory"}
MOUNTS = {
    "native": {},
    "fixed": {"policy": "lirs", "substitute": "never"},
    "manual": {**MOVING, "epoch.advance": "manual"},
    # A pass takes well under the 10 s in which a second open may be a double
    # one, which no training epoch does.
    "auto": {**MOVING, "epoch.double_open": "0"},
    "seen": {**MOVING, "epoch.double_open": "0", "open": "seen"},
}
# Their epochs advance by themselves.
ADVANCING = ("auto", "seen")
ROWS = {
    "native": ("native (the default mount)", "≤ 1.1x"),
    "fixed": ("lirs, names fixed (`substitute=never`)", "≤ 1.1x"),
    "manual": ("lirs, names move, manual: within an epoch", "≤ 1.25x"),
    "manual switch": ("… first pass after a switch", "≤ 1.8x"),
    "manual switch whole": ("… the same, sum of all with the switch itself",
                            "≤ 1.8x"),
    "auto": ("lirs, names move, auto: within an epoch", "≤ 1.5x"),
    "auto advance": ("… a pass in which the epoch advances", "≤ 1.7x"),
    "auto advance whole": ("… the same, sum of all", "≤ 1.7x"),
    "seen": ("the same, `open=seen`: within an epoch", "≤ 4x"),
    "seen advance": ("… a pass in which the epoch advances", "≤ 4x"),
    "seen advance whole": ("… the same, sum of all", "≤ 4x"),
}


def build(root):
    for i in range(FILES):
        path = root / "train" / f"class{i % CLASSES:02d}" / f"{i * 7919:09d}.bin"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.urandom(BYTES))


class Bench:
    def __init__(self, reader, root, mounts):
        self.reader = reader
        self.root = root
        self.mounts = mounts
        self.pairs = {key: measure.Pairs() for key in ROWS}
        self.requests = {}
        self.seed = 0

    def read(self, *roots):
        """Two times of each root (see reader_bench.cc)."""
        self.seed += 1
        roots_text = " ".join(str(root) for root in roots)
        seconds, files, size = self.reader.do(f"files {self.seed} {roots_text}")
        assert (files, size) == (FILES * len(roots),
                                 FILES * BYTES * len(roots)), (files, size)
        return seconds

    def pair(self, key, mount, extra=0.0):
        """`extra` seconds belong to the whole pass."""
        before = mount.requests()
        raw_all, raw, view_all, view = self.read(self.root, mount.path)
        after = mount.requests()
        self.pairs[key].add(raw, view)
        if key + " whole" in self.pairs:
            self.pairs[key + " whole"].add(raw_all, view_all + extra)
        self.requests[key] = {kind: (after[kind] - before[kind]) / FILES
                              for kind in measure.REQUESTS}

    def epoch(self, name):
        return self.mounts[name].view()["epoch"]

    def warm(self):
        """First contact, and an epoch switch after it: pages are pinned then."""
        self.read(self.root)
        for name, mount in self.mounts.items():
            self.read(mount.path)
            mount.await_opens()
            if name in ("manual", *ADVANCING):
                mount.switch_seconds()
                self.read(mount.path)

    def round(self):
        self.pair("native", self.mounts["native"])
        self.pair("fixed", self.mounts["fixed"])
        manual = self.mounts["manual"]
        self.pair("manual", manual)
        switch = manual.switch_seconds()
        self.pair("manual switch", manual, switch)
        for name in ADVANCING:
            if name in self.mounts:
                self.advancing_round(name)

    def advancing_round(self, name):
        mount = self.mounts[name]
        # Within an epoch: it has begun, and its names were looked up.
        mount.switch_seconds()
        self.reader.do(f"stat 0 {mount.path}")
        before = self.epoch(name)
        self.pair(name, mount)
        if self.epoch(name) != before:
            measure.say(f"note: {name}: the epoch advanced where it should not")
        self.pair(f"{name} advance", mount)
        if self.epoch(name) != before + 1:
            measure.say(f"note: {name}: the epoch did not advance")
        if mount.view()["epoch_state"] == "held":
            measure.say(f"note: {name}: the epoch was held: "
                        f"{mount.view()['epoch_hold_reason']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    measure.enter()
    root = measure.build_once("warm_files", build)
    with measure.folder() as folder, measure.Reader() as reader:
        folder = pathlib.Path(folder)
        mounts = {name: measure.Mount(root, folder / name, options)
                  for name, options in MOUNTS.items()}
        try:
            for mount in mounts.values():
                mount.__enter__()
            reader.do(f"list {root}")
            bench = Bench(reader, root, mounts)
            bench.warm()
            for _ in range(rounds):
                bench.round()
            report(bench)
        finally:
            for mount in mounts.values():
                mount.close()


def report(bench):
    for key, (what, target) in ROWS.items():
        bench.pairs[key].row(what, target, scale=1e6 / FILES, unit="µs a file",
                             digits=1)
    print("\nRequests a file that reached the daemon:\n")
    measure.row("", *measure.REQUESTS)
    print("|---" * (len(measure.REQUESTS) + 1) + "|")
    for key, counts in bench.requests.items():
        measure.row(ROWS[key][0], *(f"{counts[kind]:.2f}"
                                    for kind in measure.REQUESTS))


if __name__ == "__main__":
    main()
