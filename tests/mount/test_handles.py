# SPDX-License-Identifier: Apache-2.0
"""What was opened before an epoch switch stays as it was."""
import ctypes
import mmap
import os
import struct

import pytest

import trees

MANUAL = {"policy": "lirs", "substitute": "directory",
          "epoch.advance": "manual"}


@pytest.fixture
def source(folder):
    return trees.blobs(folder / "source")


@pytest.fixture
def mount(mounts, source):
    return mounts(source, MANUAL)


def a_name_that_moves(mount, switch):
    """A name, its content now and its content after switch()."""
    before = trees.contents(mount.path)
    data = {name: (mount.path / name).read_bytes() for name in before}
    handles = {name: os.open(mount.path / name, os.O_RDONLY)
               for name in before}
    switch()
    after = trees.contents(mount.path)
    return handles, data, before, after


# [S-3.2a] A descriptor reads the bytes of the epoch in which it was opened, to
# the end.
def test_descriptors_keep_their_content_and_size(mount):
    handles, data, before, after = a_name_that_moves(mount, mount.next_epoch)
    assert trees.moved(before, after) > len(before) / 2
    for name, handle in handles.items():
        assert os.fstat(handle).st_size == len(data[name])
        assert os.lseek(handle, 0, os.SEEK_END) == len(data[name])
        assert os.pread(handle, 1 << 20, 0) == data[name]
        os.close(handle)


def test_half_read_files_are_read_on(mount):
    names = sorted(trees.contents(mount.path))
    expected = {name: (mount.path / name).read_bytes() for name in names}
    files = {name: open(mount.path / name, "rb", buffering=0)
             for name in names}
    halves = {name: file.read(len(expected[name]) // 2)
              for name, file in files.items()}
    for _ in range(3):
        mount.next_epoch()
        trees.contents(mount.path)  # bind every name anew
    for name, file in files.items():
        with file:
            rest = file.readall()
        assert halves[name] + rest == expected[name]


# [S-3.2b] A mapping keeps its content, even when its pages were dropped.
def test_mappings_keep_their_content(mount):
    names = [name for name in sorted(trees.contents(mount.path))][:40]
    expected = {name: (mount.path / name).read_bytes() for name in names}
    maps = {}
    for name in names:
        handle = os.open(mount.path / name, os.O_RDONLY)
        maps[name] = mmap.mmap(handle, 0, prot=mmap.PROT_READ)
        os.close(handle)  # the mapping alone keeps the file
    for _ in range(2):
        mount.next_epoch()
        trees.contents(mount.path)
    # Pages that were dropped from memory must come back the same.
    for mapping in maps.values():
        mapping.madvise(mmap.MADV_DONTNEED)
    for name in names:
        assert bytes(maps[name]) == expected[name]


# [S-3.2c] Two descriptors of one name never mix their bytes.
def test_two_descriptors_of_a_name_never_mix(mount):
    handles, data, before, after = a_name_that_moves(mount, mount.next_epoch)
    for name in before:
        if before[name] == after[name]:
            continue
        now = (mount.path / name).read_bytes()
        with open(mount.path / name, "rb", buffering=0) as file:
            assert (os.fstat(file.fileno()).st_ino
                    != os.fstat(handles[name]).st_ino)
            for at in range(0, max(len(now), len(data[name])), 1000):
                assert (os.pread(handles[name], 1000, at)
                        == data[name][at:at + 1000])
                assert os.pread(file.fileno(), 1000, at) == now[at:at + 1000]
    for handle in handles.values():
        os.close(handle)


# [S-3.2d] Size, inode number and time of a file agree with its content.
def test_stat_size_and_number_agree_with_the_content(mount):
    for _ in range(3):
        for name in trees.contents(mount.path):
            path = mount.path / name
            before = os.stat(path)
            with open(path, "rb") as file:
                inside = os.fstat(file.fileno())
                assert len(file.read()) == before.st_size == inside.st_size
            assert before.st_ino == inside.st_ino
            assert before.st_mtime_ns == inside.st_mtime_ns
        mount.next_epoch()


libc = ctypes.CDLL(None, use_errno=True)


def entries(handle, size=512):
    """Names and offsets of one getdents64 call with a small buffer."""
    buffer = ctypes.create_string_buffer(size)
    count = libc.syscall(217, handle, buffer, size)
    assert count >= 0, os.strerror(ctypes.get_errno())
    found, at = [], 0
    while at < count:
        _, offset, length, kind = struct.unpack_from("=QqHB", buffer, at)
        name = buffer.raw[at + 19:at + length].split(b"\0")[0].decode()
        found.append((name, offset, kind))
        at += length
    return found


def rest_of(handle):
    names = []
    while more := entries(handle):
        names += [name for name, _, _ in more]
    return names


# [S-3.7a] A directory handle keeps the order that it was opened with.
def test_directory_handles_keep_their_order(mount):
    whole = os.open(mount.path / "c0", os.O_RDONLY)
    order = rest_of(whole)
    handle = os.open(mount.path / "c0", os.O_RDONLY)
    begin = [name for name, _, _ in entries(handle)]
    assert 0 < len(begin) < len(order) and order[:len(begin)] == begin

    mount.next_epoch()
    assert begin + rest_of(handle) == order
    os.lseek(handle, 0, os.SEEK_SET)
    assert rest_of(handle) == order

    new = os.open(mount.path / "c0", os.O_RDONLY)
    new_order = rest_of(new)
    assert sorted(new_order) == sorted(order) and new_order != order
    for descriptor in (whole, handle, new):
        os.close(descriptor)


# [S-3.7b] A directory may be read on from any offset, at any time.
def test_a_directory_may_be_read_from_any_offset(mount):
    handle = os.open(mount.path / "c0", os.O_RDONLY)
    seen = []
    while more := entries(handle):
        seen += more
    order = [name for name, _, _ in seen]
    mount.next_epoch()
    for position in range(0, len(seen), 7):
        os.lseek(handle, seen[position][1], os.SEEK_SET)
        assert rest_of(handle) == order[position + 1:]
    os.close(handle)


# [S-3.7c] Every entry tells its type.
def test_directory_entries_tell_their_type(mount):
    handle = os.open(mount.path / "c0", os.O_RDONLY)
    for name, _, kind in entries(handle, 1 << 16):
        assert kind == (4 if name in (".", "..") else 8)  # DT_DIR, DT_REG
    os.close(handle)
