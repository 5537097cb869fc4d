#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the workers of Ray, dask and celery are one job each.

  executors.py --python VENV/bin/python [--how H...] [--policy P...]
               [--epochs N] [--workers N] [--files N]
               [--work SECONDS] [--pid-namespace]

Mounts, and reads some epochs by tests/clients/executors.py. Each epoch has to
show every sample once, and other samples by most names than the epoch before.
`shufflectl verify` has to prove all epochs that ended, and status to tell of
no held epoch and no warning. Prints a row each; ends with 1 if one is wrong.

Environment: SHUFFLEFS_BIN and SHUFFLECTL_BIN, as for the mount tests.
"""
from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from typing import Any

import harness
import namespace
import trees

CLASSES = 5
LIMIT = 400  # seconds for one executor
MARK = "SHUFFLEFS_EXECUTORS"  # in the environment of all that is started
HOW = ("ray-tasks", "ray-actors", "ray-new-actors", "dask-local",
       "dask-threads", "dask-worker", "dask-workers-apart", "celery-prefork",
       "celery-threads", "celery-solo-apart")


def marked(mark: str) -> list[int]:
    """Processes that were started with that mark."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in words:
            found.append(int(path.name))
    return found


def end_marked(mark: str) -> None:
    """Executors may leave daemons."""
    def gone() -> bool:
        for pid in marked(mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not marked(mark)

    harness.eventually(gone, what="the end of an executor")


class Run:
    def __init__(self, args: argparse.Namespace, how: str,
                 policy: str) -> None:
        self.args, self.how, self.policy = args, how, policy
        self.wrong: list[str] = []
        self.read: dict[str, Any] = {}
        self.view: dict[str, Any] = {}
        self.proven = 0

    def expect(self, right: bool, what: str) -> None:
        if not right:
            self.wrong.append(what)

    def client(self, mount: harness.Mount, folder: pathlib.Path) -> None:
        args = self.args
        folder.mkdir()
        apart = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        command = [*(apart if args.pid_namespace else []), args.python, "-B",
                   harness.CLIENTS / "executors.py", self.how, mount.path,
                   folder, args.workers, args.epochs]
        mark = str(folder)
        environment = {**os.environ, MARK: mark,
                       "EXECUTORS_WORK": str(args.work),
                       "RAY_USAGE_STATS_ENABLED": "0", "C_FORCE_ROOT": "1"}
        try:
            done = subprocess.run(
                [str(word) for word in command], env=environment, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, timeout=LIMIT * harness.SLOWDOWN)
            if done.returncode != 0:
                log = folder / "log"
                raise AssertionError(
                    f"{self.how}, {self.policy}: {done.stderr[-4000:]}\n"
                    f"{log.read_text()[-4000:] if log.exists() else ''}")
            self.read = json.loads(done.stdout.splitlines()[-1])
            if args.verbose:
                print(json.dumps(self.read["workers"], indent=1))
        finally:
            end_marked(mark)

    def check(self, source: pathlib.Path) -> None:
        samples = collections.Counter(trees.contents(source).values())
        epochs = self.read["epochs"]
        for number, items in enumerate(epochs):
            shown = collections.Counter(digest for _, digest in items)
            self.expect(shown == samples,
                        f"epoch {number}: {(samples - shown).total()} missing")
        for number, (before, after) in enumerate(zip(epochs, epochs[1:])):
            moved = trees.moved(dict(before), dict(after))
            self.expect(moved > len(after) / 2,
                        f"epoch {number + 1}: {moved} of {len(after)} names "
                        "show another sample")

    def check_mount(self, mount: harness.Mount) -> None:
        self.view = view = mount.view()
        ended = self.args.epochs - 1
        self.expect(view["epoch"] == ended, f"epoch is {view['epoch']}")
        self.expect(view["epoch_held"] == 0, f"{view['epoch_held']} held: "
                    f"{view['epoch_hold_reason']}")
        self.expect(not view["warnings"], str(view["warnings"]))
        self.expect(view["substitute"] == "directory", view["substitute"])
        proof = json.loads(harness.run(
            [harness.shufflectl(), "verify", "--json", mount.path],
            check=False).stdout)
        self.proven = sum(each["complete"] and each["bijection"]
                          for each in proof["epochs"])
        self.expect(proof["proven"] and self.proven >= ended,
                    f"{self.proven} epochs proven")

    def go(self, top: pathlib.Path) -> None:
        options = {"policy": self.policy, "substitute": "directory",
                   "epoch.advance": "auto"}
        if self.policy == "brand":
            options["memory"] = "8MiB"
        mount = harness.Mount(top / "source", top / "mount", options)
        try:
            mount.start()
            self.client(mount, top / "x")
            self.check(top / "source")
            self.check_mount(mount)
            mount.unmount()
        finally:
            mount.close()

    def row(self) -> None:
        workers = self.read["workers"]
        groups = len({worker["group"] for worker in workers})
        print(f"{self.read['version']:16} {self.how:18} {self.policy:6} "
              f"{len(workers):2} readers in {groups:2} groups  "
              f"{len(self.read['epochs'])} epochs  {self.proven} proven  "
              f"{self.view['epoch_held']} held  "
              f"{'; '.join(self.wrong) or 'right'}", flush=True)


def run(arguments: list[str] | None = None) -> bool:
    """All of it, in a mount namespace; whether all was right."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--python", required=True)
    parser.add_argument("--how", nargs="+", default=HOW)
    parser.add_argument("--policy", nargs="+", default=["lirs", "brand"])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--files", type=int, default=800)
    parser.add_argument("--work", type=float, default=0.002)
    parser.add_argument("--pid-namespace", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args(arguments)
    right = True
    for how in args.how:
        for policy in args.policy:
            with tempfile.TemporaryDirectory(prefix="sfs-") as top:
                trees.blobs(pathlib.Path(top) / "source", CLASSES,
                            args.files // CLASSES, largest=30_000)
                each = Run(args, how, policy)
                try:
                    each.go(pathlib.Path(top))
                    each.row()
                except AssertionError as error:
                    print(how, policy, error, flush=True)
                    each.wrong.append(str(error))
                right = right and not each.wrong
    return right


if __name__ == "__main__":
    namespace.enter()
    sys.exit(0 if run() else 1)
