#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What batched reading is worth on a hard disk, in a minute.

  hard_disk.py [--shufflefs PROGRAM] [--shufflectl PROGRAM] [--files N]

Makes an emulated hard disk with small files, more than memory holds. Four
threads read all files in a random order, first raw, then through a mount with
policy = brand. Prints the seconds per epoch. The disk is a model of a 7200 rpm
drive (tests/bench/testbed), and a control group limits the memory.

Needs root, /dev/fuse, loop devices and the built program slowdev. Removes all
that it made. Exit status 3: this machine cannot do it.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests/bench/testbed"))
from testbed import Device, DeviceError, Group, GroupError  # noqa: E402

BUILT = REPOSITORY / "build/release/mount-tools"
DEVICE = "quickstart"
MEMORY = "160MiB"
CLASSES = 10
FILE_BYTES = 100_000
READERS = 4
CANNOT = 3


def say(text):
    print(text, flush=True)


def write_files(root, count):
    for number in range(CLASSES):
        (root / f"class{number}").mkdir(parents=True)
    for number in range(count):
        path = root / f"class{number % CLASSES}" / f"{number:05}.bin"
        path.write_bytes(os.urandom(FILE_BYTES))
        if sys.stdout.isatty() and number % 100 == 99:
            print(f"\r  {number + 1} of {count} files written", end="",
                  flush=True)
    say(f"\r  {count} of {count} files written")


def read_all(root, seed):
    """Reads each file once, in a random order. Prints the seconds."""
    names = sorted(root.glob("class*/*.bin"))
    random.Random(seed).shuffle(names)
    begin = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(READERS) as pool:
        total = sum(pool.map(lambda path: len(path.read_bytes()), names))
    print(f"{time.monotonic() - begin:.1f} {total}")


def epoch(group, root, seed):
    """The seconds of an epoch of readers in the group."""
    argv = [sys.executable, __file__, "--read", str(root), str(seed)]
    done = subprocess.run(group.inside(argv), check=True, text=True,
                          stdout=subprocess.PIPE)
    return float(done.stdout.split()[0])


def measure_raw(device, data):
    device.cold()
    with Group(DEVICE, MEMORY) as group:
        return epoch(group, data, 1)


def measure_mount(device, data, options):
    device.cold()
    with tempfile.TemporaryDirectory() as folder, \
            Group(DEVICE, MEMORY) as group:
        mount = pathlib.Path(folder) / "mnt"
        mount.mkdir()
        keys = ("policy=brand,substitute=directory,epoch.advance=manual,"
                f"state={folder}/state")
        subprocess.run(group.inside([options.shufflefs, "-o", keys, data,
                                     mount]), check=True)
        try:
            seconds = [epoch(group, mount, 1)]
            (mount / ".shufflefs/control").write_text('epoch = "next"\n')
            seconds.append(epoch(group, mount, 2))
            proof = subprocess.run([options.shufflectl, "verify", "--json",
                                    mount], text=True, stdout=subprocess.PIPE)
        finally:
            subprocess.run([options.shufflectl, "umount", mount], check=True)
    return seconds, proof.returncode == 0 and shows_each_once(proof.stdout)


def shows_each_once(proof):
    """Whether `shufflectl verify --json` says so of all epochs. Its exit status
    is 0 also if nothing contradicts that."""
    facts = json.loads(proof)
    epochs = facts["epochs"]
    return (facts["proven"] and facts["opened_in_part"] == 0
            and facts["reads_not_seen"] == 0
            and all(epoch["consumed"] == epoch["names"] for epoch in epochs))


def demonstrate(options):
    device = Device(DEVICE)
    device.create(2 * options.files * FILE_BYTES + (256 << 20))
    try:
        data = pathlib.Path(device.attach("fast")) / "data"
        write_files(data, options.files)
        data = pathlib.Path(device.attach("hdd")) / "data"
        say("  reading raw, in a random order ...")
        raw = measure_raw(device, data)
        say("  reading through a mount with policy = brand ...")
        brand, proven = measure_mount(device, data, options)
    finally:
        device.destroy()
    say(f"""
  {options.files} files of 100 KB on an EMULATED hard disk, {MEMORY} of memory, \
{READERS} readers
  {'':22}{'epoch 1':>9}{'epoch 2':>9}
  {'raw':22}{raw:>7.1f} s
  {'policy = brand':22}{brand[0]:>7.1f} s{brand[1]:>7.1f} s
  shufflectl verify: {'each sample once per epoch' if proven else 'NOT proven'}
""")
    return 0 if proven else 1


def main():
    if sys.argv[1:2] == ["--read"]:  # a reader, in a group of its own
        read_all(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--shufflefs", default=BUILT / "shufflefs")
    parser.add_argument("--shufflectl", default=BUILT / "shufflectl")
    parser.add_argument("--files", type=int, default=3000)
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("hard_disk.py: loop devices and control groups need root",
              file=sys.stderr)
        return CANNOT
    try:
        return demonstrate(options)
    except (DeviceError, GroupError, OSError) as error:
        print(f"hard_disk.py: {error}", file=sys.stderr)
        return CANNOT
    except subprocess.CalledProcessError as error:  # a program of ours failed
        print(f"hard_disk.py: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
