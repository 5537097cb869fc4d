#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads through a mount whose source fails again and again.

  source_faults.py [--count N] [--seed N] [--policy P...] [--how H...]
                   [--kinds K...] [--chance P] [--files N] [--threads N]

The source is faulty_source.py. It lets the kernel cache what was read (--how
cached), or not (--how direct). For each policy, until --count faults were
injected:
  eio       opens and reads end with EIO
  short     reads give less than was asked for, and more when asked again; past
            the cache only: a FUSE server must not do so otherwise
  stopped   reads are answered late
  vanished  lookups and opens end with ENOENT or ESTALE
  changed   a stat tells another size or time
`--policy met` has a tier that fails as well:
  tier full  no room for some time
  tier torn  bytes of a copy are others
  tier gone  a copy is lost
`--policy records` reads TFRecord files and lines under lirs.

Readers try again after an error. Each epoch has to show every sample once,
byte for byte. A reader may see an error only of a sample into which a fault
was injected, and none of `short` and `stopped`. In the end the source is
sound, and an epoch has to be so too; `shufflectl verify` has to prove all of
them. Prints a row each, with the seed that repeats it as far as threads can be
repeated; ends with 1 if one is wrong. Each epoch has a mount of its own, or
caches would ask the source for nothing. Needs root.

Environment: SHUFFLEFS_BIN and SHUFFLECTL_BIN, as for the mount tests.
"""
from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile

from fault_run import Run  # first: it finds the folder of the next ones
from fault_run_met import MetRun
from fault_run_records import RecordRun
import faulty_source
import namespace

POLICIES = {"native": Run, "lirs": Run, "brand": Run, "window": Run,
            "met": MetRun, "records": RecordRun}
HOW = ("cached", "direct")


def run(arguments: list[str] | None = None) -> bool:
    """All of it, in a mount namespace; whether all was right."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", nargs="+", default=tuple(POLICIES),
                        choices=tuple(POLICIES))
    parser.add_argument("--how", nargs="+", default=HOW, choices=HOW)
    parser.add_argument("--kinds", nargs="+", default=faulty_source.KINDS,
                        choices=faulty_source.KINDS)
    parser.add_argument("--chance", type=float, default=0.05)
    parser.add_argument("--files", type=int, default=400)
    parser.add_argument("--bytes", type=int, default=30_000)
    parser.add_argument("--threads", type=int, default=4)
    args = parser.parse_args(arguments)
    right = True
    for policy in args.policy:
        for how in args.how:
            with tempfile.TemporaryDirectory(prefix="shufflefs-faulty-") as top:
                each = POLICIES[policy](args, policy, how, pathlib.Path(top))
                each.go()
            each.row()
            right = right and not each.wrong
    return right


if __name__ == "__main__":
    namespace.enter()
    sys.exit(0 if run() else 1)
