#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Try every call that changes a tree; print {call: errno or 0} as JSON.

  write_calls.py FOLDER FILE

FILE is an existing regular file in FOLDER, FOLDER/sub an existing directory.
"""
import ctypes
import fcntl
import json
import os
import stat
import struct
import sys

FALLOC_FL_KEEP_SIZE = 1
FS_IOC_SETFLAGS = 0x40086602
libc = ctypes.CDLL(None, use_errno=True)


def opening(path, flags):
    """Opens and, where that succeeds, writes."""
    descriptor = os.open(path, flags, 0o644)
    try:
        if flags & (os.O_WRONLY | os.O_RDWR):
            os.write(descriptor, b"x")
    finally:
        os.close(descriptor)


def shortening(path):
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.ftruncate(descriptor, 1)
    finally:
        os.close(descriptor)


def mknod(path, kind):
    os.mknod(path, kind | 0o644, os.makedev(1, 3))


def renameat2(old, new, flags):
    if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new),
                      flags) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


def unnamed(folder):
    opening(folder, os.O_TMPFILE | os.O_WRONLY)


def change_flags(path):
    """chattr +d."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, FS_IOC_SETFLAGS, struct.pack("l", 0x40))
    finally:
        os.close(descriptor)


def fallocate(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if libc.fallocate(descriptor, FALLOC_FL_KEEP_SIZE, ctypes.c_long(0),
                          ctypes.c_long(1)) != 0:
            raise OSError(ctypes.get_errno(), "fallocate")
    finally:
        os.close(descriptor)


def calls(folder, file):
    new, sub = os.path.join(folder, "new"), os.path.join(folder, "sub")
    uid, gid = os.getuid(), os.getgid()
    return {
        "open write": lambda: opening(file, os.O_WRONLY),
        "open read-write": lambda: opening(file, os.O_RDWR),
        "open append": lambda: opening(file, os.O_WRONLY | os.O_APPEND),
        "open truncate": lambda: opening(file, os.O_WRONLY | os.O_TRUNC),
        "open read truncate": lambda: opening(file, os.O_RDONLY | os.O_TRUNC),
        "create": lambda: opening(new, os.O_WRONLY | os.O_CREAT),
        "create exclusive": lambda: opening(
            new, os.O_RDWR | os.O_CREAT | os.O_EXCL),
        "create unnamed": lambda: unnamed(folder),
        "change flags": lambda: change_flags(file),
        "ftruncate": lambda: shortening(file),
        "truncate": lambda: os.truncate(file, 0),
        "truncate longer": lambda: os.truncate(file, 1 << 20),
        "mkdir": lambda: os.mkdir(new),
        "mknod fifo": lambda: mknod(new, stat.S_IFIFO),
        "mknod file": lambda: mknod(new, stat.S_IFREG),
        "symlink": lambda: os.symlink("target", new),
        "link": lambda: os.link(file, new),
        "unlink": lambda: os.unlink(file),
        "rmdir": lambda: os.rmdir(sub),
        "rename": lambda: os.rename(file, new),
        "rename directory": lambda: os.rename(sub, new),
        "rename exchange": lambda: renameat2(file, sub, 2),
        "chmod": lambda: os.chmod(file, 0o600),
        "chmod directory": lambda: os.chmod(sub, 0o700),
        "chown": lambda: os.chown(file, uid, gid),
        "utime": lambda: os.utime(file, (0, 0)),
        "setxattr": lambda: os.setxattr(file, "user.note", b"x"),
        "removexattr": lambda: os.removexattr(file, "user.note"),
        "set sample name": lambda: os.setxattr(
            file, "user.shufflefs.sample", b"x"),
        "fallocate": lambda: fallocate(file),
    }


def main():
    folder, file = sys.argv[1:]
    results = {}
    for name, call in calls(folder, file).items():
        try:
            call()
            results[name] = 0
        except OSError as error:
            results[name] = error.errno
    print(json.dumps(results))


main()
