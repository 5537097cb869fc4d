# SPDX-License-Identifier: Apache-2.0
"""Control groups with a memory limit, in whichever version of cgroups has the
memory controller. The page cache is charged to a group like any other memory.
"""
import pathlib
import re
import time

PREFIX = "shufflefs-testbed-"  # every group made here begins so

# Files of a group: limit, most that was used, what is used, swapping.
VERSION_1 = {"limit": "memory.limit_in_bytes",
             "peak": "memory.max_usage_in_bytes",
             "usage": "memory.usage_in_bytes",
             "swap": ("memory.swappiness", "0")}
VERSION_2 = {"limit": "memory.max", "peak": "memory.peak",
             "usage": "memory.current", "swap": ("memory.swap.max", "0")}


class GroupError(RuntimeError):
    pass


def parse_size(text):
    """Bytes of `512MiB`, `8G` or `4096`."""
    match = re.fullmatch(r"(\d+)\s*(?:([KMGT])(?:iB)?|B)?", str(text))
    if match is None:
        raise GroupError(f"{text}: not a size such as 512MiB")
    power = " KMGT".index(match.group(2) or " ")
    return int(match.group(1)) * 1024**power


def hierarchy():
    """The folder below which groups are made, and the names of its files."""
    for line in open("/proc/self/mountinfo"):
        left, right = line.split(" - ", 1)
        root = pathlib.Path(left.split()[4])
        kind, _, options = right.split()
        if kind == "cgroup" and "memory" in options.split(","):
            return root, VERSION_1
        if kind == "cgroup2":
            controllers = (root / "cgroup.controllers").read_text().split()
            if "memory" in controllers:
                return root, VERSION_2
    raise GroupError("no cgroup hierarchy with a memory controller is mounted")


class Group:
    """A group of our own; as a context manager it is removed at the end. Give
    each measurement a fresh one: its peak and its page cache begin at zero."""

    def __init__(self, name, limit, adopt=False):
        """`adopt`: one that a former command made; its limit stays."""
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,60}", name):
            raise GroupError(f"{name}: not a name for a group")
        root, self.files = hierarchy()
        self.name = name
        self.path = root / (PREFIX + name)
        if adopt:
            if not self.path.is_dir():
                raise GroupError(f"{name}: no such group")
            return
        if self.files is VERSION_2:
            self._delegate(root)
        try:
            self.path.mkdir()
        except FileExistsError:
            raise GroupError(f"{name}: the group exists") from None
        try:
            self._write(self.files["limit"], str(parse_size(limit)))
            swap, off = self.files["swap"]
            if (self.path / swap).exists():
                self._write(swap, off)
        except BaseException:
            self.path.rmdir()
            raise

    @staticmethod
    def _delegate(root):
        control = root / "cgroup.subtree_control"
        if "memory" in control.read_text().split():
            return
        try:
            control.write_text("+memory")
        except OSError as error:
            raise GroupError(f"{control}: {error.strerror}: groups below "
                             f"{root} cannot be limited") from None

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.remove()

    def _write(self, file, text):
        (self.path / file).write_text(text)

    def _read(self, what):
        path = self.path / self.files[what]
        return int(path.read_text()) if path.exists() else None

    def inside(self, argv):
        """The command line that runs argv in the group, with the same pid."""
        return ["/bin/sh", "-c", 'echo 0 >"$0" && exec "$@"',
                str(self.path / "cgroup.procs"), *map(str, argv)]

    def limit(self):
        return self._read("limit")

    def peak(self):
        """Bytes; None where the kernel does not tell (before 5.19, v2)."""
        return self._read("peak")

    def usage(self):
        return self._read("usage")

    def processes(self):
        return (self.path / "cgroup.procs").read_text().split()

    def remove(self):
        """A process that has just ended may be in it for a moment still."""
        end = time.monotonic() + 5
        while True:
            try:
                self.path.rmdir()
                return
            except OSError as error:
                if time.monotonic() > end:
                    raise GroupError(
                        f"{self.name}: {error.strerror}; its processes: "
                        f"{' '.join(self.processes()) or 'none'}") from None
                time.sleep(0.05)


def all_groups():
    """Names of the groups that exist."""
    root, _ = hierarchy()
    return sorted(path.name[len(PREFIX):] for path in root.glob(PREFIX + "*"))
