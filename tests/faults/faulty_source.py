# SPDX-License-Identifier: Apache-2.0
"""A filesystem of made-up files whose calls fail now and then, on purpose.

Answers the kernel itself, through /dev/fuse, so it knows every fault that it
injects, and into which file. Needs root, and a mount namespace of the caller's.
"""
from __future__ import annotations

import collections
import errno
import os
import pathlib
import random
import select
import stat
import struct
import subprocess
import threading
import time

import namespace

IN = struct.Struct("<IIQQIIIHH")  # of each request
OUT = struct.Struct("<IiQ")  # of each answer
ATTRIBUTES = struct.Struct("<6Q10I")
MINOR = 31  # of the protocol
ASYNC_READ, MAX_PAGES = 1 << 0, 1 << 22
DIRECT_IO = 1
FORGET, BATCH_FORGET, INTERRUPT = 2, 42, 36  # nobody waits for an answer
BEGUN = 1_700_000_000  # when all files were written

KINDS = ("eio", "short", "stopped", "vanished", "changed")
SILENT = ("short", "stopped")  # of which no reader may notice anything


class File:
    def __init__(self, number: int, data: bytes) -> None:
        self.number, self.data = number, data


class FaultySource:
    """Shows {folder: {name: content}} at `path`; one thread serves.

    direct: reads reach it as they are made, past the kernel's cache.
    """

    def __init__(self, path: pathlib.Path,
                 folders: dict[str, dict[str, bytes]], seed: int,
                 direct: bool) -> None:
        self.path, self.direct = path, direct
        self.rng = random.Random(seed)
        self.chances: dict[str, float] = {}  # of the kinds, while armed
        # Per content: how many faults that a reader may see were injected.
        self.seen_in: collections.Counter[bytes] = collections.Counter()
        self.injected: collections.Counter[str] = collections.Counter()
        self.nodes: dict[int, File | dict[str, int]] = {1: {}}
        for folder, files in folders.items():
            inside: dict[str, int] = {}
            self._add(1, folder, inside)
            for name, data in files.items():
                number = len(self.nodes) + 1
                inside[name] = number
                self.nodes[number] = File(number, data)
        self.late: list[tuple[float, bytes]] = []  # answers that wait
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        namespace._mount("faulty", str(path), "fuse.faulty", 0,
                         f"fd={self.device},rootmode=40000,user_id=0,"
                         "group_id=0,allow_other")
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _add(self, parent: int, name: str, node: dict[str, int]) -> None:
        number = len(self.nodes) + 1
        self.nodes[number] = node
        above = self.nodes[parent]
        assert isinstance(above, dict)
        above[name] = number

    def arm(self, kinds: list[str], chance: float) -> None:
        self.chances = {kind: chance for kind in kinds}

    def disarm(self) -> None:
        self.chances = {}

    def close(self) -> None:
        self.disarm()
        subprocess.run(["umount", "-l", self.path], check=True)
        self.thread.join(timeout=60)
        os.close(self.device)

    # --- faults ---

    def _strikes(self, kind: str, node: File) -> bool:
        if self.rng.random() >= self.chances.get(kind, 0):
            return False
        self.injected[kind] += 1
        if kind not in SILENT:
            self.seen_in[node.data] += 1
        return True

    # --- answers ---

    def _serve(self) -> None:
        while True:
            wait = None
            if self.late:
                wait = max(0.0, min(self.late)[0] - time.monotonic())
            ready = select.select([self.device], [], [], wait)[0]
            now = time.monotonic()
            for due, answer in [each for each in self.late if each[0] <= now]:
                self.late.remove((due, answer))
                self._send(answer)
            if not ready:
                continue
            try:
                request = os.read(self.device, 1 << 18)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.EINTR):
                    continue  # who asked was interrupted
                if error.errno == errno.ENODEV:
                    return  # unmounted
                raise
            self._answer(request)

    def _send(self, answer: bytes) -> None:
        try:
            os.write(self.device, answer)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENODEV):
                raise

    def _answer(self, request: bytes) -> None:
        _, call, unique, number, *_ = IN.unpack_from(request)
        if call in (FORGET, BATCH_FORGET, INTERRUPT):
            return
        handler = self.CALLS.get(call)
        body, code = b"", 0
        try:
            if handler is None:
                raise OSError(errno.ENOSYS, "")
            body = handler(self, self.nodes.get(number), request[IN.size:])
        except OSError as error:
            code = -(error.errno or errno.EIO)
        answer = OUT.pack(OUT.size + len(body), code, unique) + body
        node = self.nodes.get(number)
        if call == 15 and isinstance(node, File) and (
                self._strikes("stopped", node)):
            until = time.monotonic() + self.rng.random() * 0.02
            self.late.append((until, answer))
        else:
            self._send(answer)

    def _init(self, _: object, words: bytes) -> bytes:
        _, _, read_ahead, flags = struct.unpack_from("<4I", words)
        return struct.pack("<4I2H2I2H8I", 7, MINOR, read_ahead,
                           flags & (ASYNC_READ | MAX_PAGES), 64, 48, 1 << 17,
                           1, 32, 0, *[0] * 8)

    def _attributes(self, number: int, node: File | dict[str, int]) -> bytes:
        if isinstance(node, dict):
            mode, size, at = stat.S_IFDIR | 0o755, 4096, BEGUN
        else:
            mode, size, at = stat.S_IFREG | 0o644, len(node.data), BEGUN
            if self._strikes("changed", node):
                if self.rng.random() < 0.5:
                    at += 1
                else:
                    size += self.rng.choice((-1, 1, 4096))
        return ATTRIBUTES.pack(number, size, (size + 511) // 512, at, at, at,
                               0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def _look_up(self, folder: dict[str, int], words: bytes) -> bytes:
        number = folder.get(words.split(b"\0", 1)[0].decode())
        if number is None:
            raise OSError(errno.ENOENT, "")
        node = self.nodes[number]
        if isinstance(node, File) and self._strikes("vanished", node):
            raise OSError(errno.ENOENT, "")
        # Valid for no time: the kernel asks each time.
        return (struct.pack("<4Q2I", number, 0, 0, 0, 0, 0)
                + self._attributes(number, node))

    def _get_attributes(self, node: File | dict[str, int], _: bytes) -> bytes:
        number = node.number if isinstance(node, File) else next(
            each for each, other in self.nodes.items() if other is node)
        return struct.pack("<Q2I", 0, 0, 0) + self._attributes(number, node)

    def _open(self, node: File, _: bytes) -> bytes:
        if self._strikes("vanished", node):
            raise OSError(self.rng.choice((errno.ENOENT, errno.ESTALE)), "")
        if self._strikes("eio", node):
            raise OSError(errno.EIO, "")
        return struct.pack("<Q2I", 0, DIRECT_IO if self.direct else 0, 0)

    def _read(self, node: File, words: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<2QI", words)
        data = node.data[offset:offset + size]
        if data and self._strikes("eio", node):
            raise OSError(errno.EIO, "")
        if len(data) > 1 and self._strikes("short", node):
            data = data[:self.rng.randrange(1, len(data))]
        return data

    def _open_folder(self, _: object, __: bytes) -> bytes:
        return struct.pack("<Q2I", 0, 0, 0)

    def _list(self, folder: dict[str, int], words: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<2QI", words)
        found = b""
        for at, (name, number) in enumerate(folder.items(), 1):
            kind = stat.S_IFREG if isinstance(self.nodes[number],
                                              File) else stat.S_IFDIR
            entry = struct.pack("<2Q2I", number, at, len(name),
                                kind >> 12) + name.encode()
            entry += bytes(-len(entry) % 8)
            if at > offset:
                if len(found) + len(entry) > size:
                    break
                found += entry
        return found

    def _nothing(self, _: object, __: bytes) -> bytes:
        return b""

    def _room(self, _: object, __: bytes) -> bytes:
        return struct.pack("<5Q10I", 1 << 20, 1 << 19, 1 << 19, 1 << 20,
                           1 << 19, 4096, 255, 4096, *[0] * 7)

    CALLS = {1: _look_up, 3: _get_attributes, 14: _open, 15: _read,
             17: _room, 18: _nothing, 25: _nothing, 26: _init,
             27: _open_folder, 28: _list, 29: _nothing}
