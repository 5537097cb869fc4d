#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What container files cost that hold many records, reading apart (records.py):
their index, its memory, a mount that has it saved, and the switch of an epoch.

`index`: cold, on emulated devices, in a group of limited memory; next to dd,
which reads the same file in such a group alone. `footers`: requests of the
device while a mount finds the row groups of Parquet and Arrow files; what the
file system keeps of these was read before. `memory`, `remount`, `switch`: a
file of 20,000,000 short lines, and one of as many records of one size."""
import argparse
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402
import scale_data  # noqa: E402
import scale_index  # noqa: E402
import scale_many  # noqa: E402
from brand_data import testbed  # noqa: E402

PARTS = ("index", "footers", "memory", "remount", "switch")
VERSION = "2"  # of what is written here


class Data:
    """A device with all containers, made unless it is there."""

    def __init__(self, size, count):
        self.device = testbed.Device(f"record-scale-{size >> 20}-{count}")
        done = self.device.path / "complete"
        if self.device.exists():
            self.device.attach("fast")
            if done.exists() and done.read_text() == VERSION:
                return
            self.device.destroy()
        measure.say(f"making {self.device.name}")
        self.device.create(testbed.parse_size("8GiB"))
        self.device.attach("fast")
        data = self.device.path / "data"
        data.mkdir()
        for name, write in scale_data.WRITERS.items():
            (data / name).mkdir()
            write(data / name / name, size)
        scale_index.write_footers(data)
        scale_many.write_files(data, count)
        done.write_text(VERSION)
        subprocess.run(["sync", "--file-system", done], check=True)

    def attach(self, profile):
        self.device.detach()
        self.device.attach(profile)

    def read_all(self):
        """The disk below may have a cold cache of its own."""
        for path in (self.device.path / "data").glob("*/*"):
            if path.stat().st_blocks > 0:
                subprocess.run(["dd", f"if={path}", "of=/dev/null", "bs=4M",
                                "iflag=direct", "status=none"], check=True)


def print_index(data, arguments):
    print(f"\n### Index\n\n`$ {scale_index.EXAMPLE}`, rounds: "
          f"{arguments.rounds}\n")
    measure.row(*scale_index.COLUMNS)
    print("|---" * len(scale_index.COLUMNS) + "|")
    for profile in arguments.profile or ("hdd600", "nas", "fast"):
        data.attach(profile)
        scale_index.print_speeds(data.device, profile, arguments.rounds,
                                 arguments.limit)


def print_footers(data, arguments):
    print("\n### Footers\n")
    data.attach("nas")
    scale_index.print_footers(data.device, "nas", arguments.rounds,
                              arguments.limit)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", default="384MiB", type=testbed.parse_size,
                        help="of each file that is indexed")
    parser.add_argument("--count", default=20_000_000, type=int,
                        help="of records of the file of many")
    parser.add_argument("--part", action="append", choices=PARTS,
                        help="default all")
    parser.add_argument("--profile", action="append",
                        help="of `index`; default hdd600, nas, fast")
    parser.add_argument("--limit", default="256MiB",
                        help="of the group of `index` and `footers`")
    parser.add_argument("--discard", action="store_true",
                        help="remove the data afterwards (3 GB)")
    arguments = parser.parse_args()
    measure.enter()
    data = Data(arguments.size, arguments.count)
    prints = {"index": print_index, "footers": print_footers,
              "memory": scale_many.print_memories,
              "remount": scale_many.print_mounts,
              "switch": scale_many.print_epochs}
    try:
        data.read_all()
        for part in arguments.part or PARTS:
            prints[part](data, arguments)
    finally:
        if arguments.discard:
            data.device.destroy()
        else:
            data.device.detach()


if __name__ == "__main__":
    main()
