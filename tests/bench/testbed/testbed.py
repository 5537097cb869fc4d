#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""testbed.py COMMAND: emulated devices and memory-limited groups, as root.

  create NAME SIZE             make a device (an ext4 of 8GiB, say), attach it
                               as `fast`, print where it is mounted
  attach NAME PROFILE          attach the same image with the timing of PROFILE:
                               write the data as `fast`, measure as `hdd`
  cold NAME                    forget what is cached of this device
  stats NAME                   requests and bytes that were read from it, since
                               its loop device exists: compare two
  list                         what exists
  destroy NAME                 unmount, detach, delete the image
  run [-d NAME] MEM CMD...     run CMD in a fresh group of MEM memory; print the
                               time, the peak, and what was read from NAME
  group NAME MEM               make a group that stays
  run -g GROUP [-d NAME] CMD...   run CMD in that
  ungroup NAME                 remove it
  help                         print this

PROFILE: hdd, hdd600, nas, nas40, fast. BENCH_DIR is the folder for everything
(default /var/tmp/shufflefs-bench, below it testbed/)."""
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from emulated_device import (DeviceError, Device, all_devices,  # noqa: E402
                             PROFILES, rotational)
from memory_group import (Group, GroupError, all_groups,  # noqa: E402
                          parse_size)

__all__ = ["Device", "DeviceError", "Group", "GroupError", "PROFILES",
           "parse_size", "require_root", "rotational"]


class UsageError(Exception):
    pass


def require_root():
    """Ends the program with a line unless it runs as root."""
    if os.geteuid() != 0:
        sys.exit("testbed: loop devices, mounts and groups need root")


def known(name):
    device = Device(name)
    device.state()  # says so if there is none
    return device


def create(name, size):
    device = Device(name)
    device.create(parse_size(size))
    print(device.attach("fast"))


def stats(name):
    device = known(name)
    requests, size = device.counters()
    print(f"profile {device.state()['profile']}\nrequests {requests}\n"
          f"bytes {size}\n{device.model_counters()}", end="")


def list_all():
    for name in all_devices():
        try:
            profile = known(name).state().get("profile", "detached")
        except DeviceError:
            profile = "in use"
        print(f"device {name} {profile}")
    for name in all_groups():
        print(f"group {name} {Group(name, 0, adopt=True).limit() >> 20} MiB")


def timed(group, device, argv):
    before = device.counters() if device else None
    start = time.monotonic()
    code = subprocess.run(group.inside(argv), check=False).returncode
    report = f"testbed: {time.monotonic() - start:.2f} s"
    if group.peak() is not None:
        report += f", peak {group.peak() / 2**20:.0f} MiB"
    if device:
        requests, size = (after - first for after, first in
                          zip(device.counters(), before))
        report += f", {requests} requests, {size / 1e6:.1f} MB read"
    print(report, file=sys.stderr)
    return code


def run(arguments):
    words = list(arguments)
    options = {}
    while len(words) > 1 and words[0] in ("-d", "-g"):
        options[words[0]] = words[1]
        words = words[2:]
    device = known(options["-d"]) if "-d" in options else None
    if "-g" in options:
        if not words:
            raise UsageError
        return timed(Group(options["-g"], 0, adopt=True), device, words)
    if len(words) < 2:
        raise UsageError
    with Group(f"run-{os.getpid()}", words[0]) as group:
        return timed(group, device, words[1:])


COMMANDS = {  # name: number of arguments, what to do
    "create": (2, create),
    "attach": (2, lambda name, profile: print(known(name).attach(profile))),
    "cold": (1, lambda name: known(name).cold()),
    "stats": (1, stats),
    "list": (0, list_all),
    "destroy": (1, lambda name: known(name).destroy()),
    "group": (2, lambda name, limit: Group(name, limit) and None),
    "ungroup": (1, lambda name: Group(name, 0, adopt=True).remove()),
}


def main(arguments):
    if not arguments or arguments[0] in ("help", "-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    command, *rest = arguments
    require_root()
    try:
        if command == "run":
            return run(rest)
        count, do = COMMANDS.get(command, (None, None))
        if count != len(rest):
            raise UsageError
        do(*rest)
    except UsageError:
        print(__doc__, file=sys.stderr)
        return 2
    except (DeviceError, GroupError) as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
