# SPDX-License-Identifier: Apache-2.0
"""A private mount namespace for the test process, when it runs as root.

Nothing mounted in it is seen outside, and all of it vanishes with the last
process, so a test cannot leave a mount behind. /dev/fuse is replaced there by
a node that any user may open, so that mounts of an unprivileged user can be
tested on machines where it is root's alone.
"""
import ctypes
import os
import stat
import tempfile

CLONE_NEWNS = 0x00020000
MS_NOSUID = 2
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def _mount(source, target, kind, flags, data=None):
    _check(_libc.mount(source.encode(), target.encode(),
                       kind.encode() if kind else None,
                       ctypes.c_ulong(flags),
                       data.encode() if data else None),
           f"mount {target}")


def enter():
    """Moves the calling, single-threaded process. Does nothing if not root."""
    if os.geteuid() != 0:
        return
    _check(_libc.unshare(CLONE_NEWNS), "unshare")
    _mount("none", "/", None, MS_REC | MS_PRIVATE)
    number = os.stat("/dev/fuse").st_rdev
    with tempfile.TemporaryDirectory(prefix="shufflefs-dev-") as folder:
        _mount("tmpfs", folder, "tmpfs", MS_NOSUID, "size=64k")
        node = os.path.join(folder, "fuse")
        os.mknod(node, stat.S_IFCHR | 0o666, number)
        os.chmod(node, 0o666)
        _mount(node, "/dev/fuse", None, MS_BIND)
        # The bind mount keeps the node alive.
        _check(_libc.umount2(folder.encode(), 0), "umount")
