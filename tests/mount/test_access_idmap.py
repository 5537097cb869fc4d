# SPDX-License-Identifier: Apache-2.0
"""A source whose mount gives files other owners, and some of them none."""
import ctypes
import os
import struct
import subprocess

import pytest

import harness

OPEN_TREE = 428
MOVE_MOUNT = 429
MOUNT_SETATTR = 442
AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
CLONE_CLOEXEC = 0o2000001
ATTR_IDMAP = 0x00100000
FROM_EMPTY_PATH = 4

libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def first_ids(count):
    """A user namespace that maps these ids to themselves, and no others."""
    child = subprocess.Popen(["unshare", "--user", "sleep", "60"])
    try:
        name = f"/proc/{child.pid}/ns/user"
        own = os.readlink("/proc/self/ns/user")
        harness.eventually(lambda: os.readlink(name) != own, what="unshare")
        for ids in ("uid_map", "gid_map"):
            with open(f"/proc/{child.pid}/{ids}", "w") as file:
                file.write(f"0 0 {count}\n")
        return os.open(name, os.O_RDONLY)
    finally:
        child.kill()
        child.wait()


def bind_with_ids(path, target, count):
    """Binds path to target, which shows only the first ids as they are."""
    namespace = first_ids(count)
    tree = call(OPEN_TREE, AT_FDCWD, str(path).encode(), CLONE_CLOEXEC)
    how = struct.pack("QQQQ", ATTR_IDMAP, 0, 0, namespace)
    try:
        call(MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH, how, len(how))
        call(MOVE_MOUNT, tree, b"", AT_FDCWD, str(target).encode(),
             FROM_EMPTY_PATH)
    finally:
        os.close(namespace)
        os.close(tree)


# Only root mounts so.
@pytest.mark.parametrize(
    "where", ["the source", "below it"] if os.geteuid() == 0 else [])
def test_an_owner_whom_the_mount_does_not_map(mounts, folder, where):
    real = folder / "real"
    real.mkdir()
    for name, uid, gid, mode in (("group", 0, 5000, 0o640),
                                 ("owner", 5000, 0, 0o600),
                                 ("all", 5000, 5000, 0o644)):
        (real / name).write_text(name)
        os.chown(real / name, uid, gid)
        (real / name).chmod(mode)
    source = folder / "source"
    at = source if where == "the source" else source / "below"
    at.mkdir(parents=True)
    bind_with_ids(real, at, 1001)
    try:
        mount = mounts(source, {"policy": "native", "allow_other": None})
        shown = mount.path / at.relative_to(source)
        # Theirs is the number that stands for all who have none.
        nobody = harness.User("nobody", 65534, 65534)
        for name in ("group", "owner"):
            for path in (at / name, shown / name):
                done = harness.run(["cat", path], user=nobody, check=False)
                assert done.returncode == 1, path
        assert harness.run(["cat", shown / "all"], user=nobody).stdout == "all"
        mount.unmount()
    finally:
        harness.run(["umount", "-l", at])
