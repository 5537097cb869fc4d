# SPDX-License-Identifier: Apache-2.0
"""Mounts in a user namespace that has two users, root and nobody.

Arguments: shufflefs, its options, the source and the mount point. Prints the
files that nobody reads there, in the source and in the mount, as JSON. Every
other owner appears as nobody.
"""
import ctypes
import json
import os
import subprocess
import sys

NOBODY = 65534
CLONE_NEWNS = 0x20000
CLONE_NEWUSER = 0x10000000


def as_nobody(root):
    """The files below `root` that nobody can read, by their paths."""
    out, into = os.pipe()
    if os.fork() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        found = []
        for folder, _, names in os.walk(root):
            for path in (os.path.join(folder, name) for name in names):
                if os.access(path, os.R_OK) and open(path, "rb").read():
                    found.append(os.path.relpath(path, root))
        os.write(into, json.dumps(sorted(found)).encode())
        os._exit(0)
    os.close(into)
    with open(out, "rb") as text:
        return json.load(text)


def inside(shufflefs, options, source, mountpoint):
    subprocess.run([shufflefs, "-o", options, source, mountpoint], check=True,
                   stdout=subprocess.DEVNULL)
    print(json.dumps({"source": as_nobody(source),
                      "mount": as_nobody(mountpoint)}))
    subprocess.run(["umount", mountpoint], check=True)


def main():
    entered, tells = os.pipe()
    waits, mapped = os.pipe()
    child = os.fork()
    if child == 0:
        if ctypes.CDLL(None).unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0:
            sys.exit(77)
        os.write(tells, b"x")
        os.read(waits, 1)
        inside(*sys.argv[1:])
        sys.exit(0)
    os.close(tells)
    if os.read(entered, 1):
        for ids in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{ids}", "w") as file:
                file.write(f"0 0 1\n{NOBODY} {NOBODY} 1\n")
        os.write(mapped, b"x")
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


main()
