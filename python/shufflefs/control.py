# SPDX-License-Identifier: Apache-2.0
"""A mount, as its control directory shows and moves it."""
from __future__ import annotations

import errno
import json
import math
import operator
import os
import re
import time
from types import TracebackType
from typing import Any, Dict, List, Optional, Tuple, Type, TypeVar, Union

from .errors import ShufflefsError
from .programs import find_program, run

Path = Union[str, "os.PathLike[str]"]
_Self = TypeVar("_Self", bound="Mount")

_DIRECTORY = ".shufflefs"
_PART = 60 << 10  # bytes of a token that one write takes
_POLL = 0.05  # seconds


class Mount:
    """An existing mount, or one view of it.

    Nothing is cached: each call reads or writes files of the control
    directory. Objects may be copied to other threads and processes. Used in a
    `with` statement, this class leaves the mount alone; the object that
    shufflefs.mount() returns unmounts.

    All methods raise ShufflefsError if the mount or its daemon is gone.
    Methods that write, and token(), are for the owner of the mount and the
    group `control.gid`.
    """

    def __init__(self, path: Path, view: Optional[str] = None) -> None:
        """`path` is the mount point. attach() also takes a path below it."""
        self.path = absolute(path)
        self.view = view

    @property
    def owned(self) -> bool:
        """Whether this process made the mount, and so unmounts it."""
        return False

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        view = "" if self.view is None else f", view={self.view!r}"
        return f"{type(self).__name__}({self.path!r}{view})"

    def __reduce__(self) -> Tuple[Type[Mount], Tuple[str, Optional[str]]]:
        return Mount, (self.path, self.view)  # a copy owns no mount

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        """Leaves the mount alone."""

    # What it shows.

    def status(self) -> Dict[str, Any]:
        """The document that docs/monitoring.md describes.

        It has one object per view in "views", or only that of this view. A
        figure that cannot be known is None.
        """
        status: Dict[str, Any] = json.loads(self._read("status"))
        return status

    @property
    def epoch(self) -> int:
        """The number of the epoch that names show now.

        Raises ShufflefsError if the mount has several views and none was
        chosen.
        """
        return int(self._one_view()["epoch"])

    @property
    def ready(self) -> bool:
        """Whether the catalogue is complete. Before, nothing is shuffled."""
        return all(view["epoch_state"] != "indexing"
                   for view in self.status()["views"])

    def wait_until_ready(self, timeout: Optional[float] = None) -> None:
        """Waits for the catalogue, at most `timeout` seconds.

        None waits as long as it takes. Raises ShufflefsError after the
        timeout.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        while not self.ready:
            if time.monotonic() >= end:
                raise ShufflefsError(
                    f"{self.path}: the catalogue is not ready after "
                    f"{timeout} s; shufflectl status {self.path} says how far "
                    "it is")
            time.sleep(_POLL)

    def epoch_path(self, epoch: int, layout: str = "tree") -> str:
        """A path where one epoch stays for ever. `layout`: tree or ranked.

        Any number works. Reading there does not move the live epoch. Raises
        ShufflefsError if the mount has several views and none was chosen.
        """
        number = _epoch_number(epoch)
        if layout not in ("tree", "ranked"):
            raise ShufflefsError(f"layout {layout!r}: must be tree or ranked")
        if self.view is None:
            self._one_view()  # the views of several have their own paths
        return self._file(os.path.join("epoch", str(number), layout))

    # What moves it.

    def set_epoch(self, epoch: int) -> None:
        """Begins epoch `epoch`, also if it is the current one.

        Call it in one process per mount while nobody reads.
        """
        self._write("control", f"epoch = {_epoch_number(epoch)}\n")

    def next_epoch(self) -> None:
        """Begins the next epoch. See set_epoch()."""
        self._write("control", 'epoch = "next"\n')

    def feedback(self, loss: float) -> None:
        """Reports a loss to the policy met. Less is better.

        Raises ShufflefsError if it is not finite, or if no policy uses it.
        """
        self._write("control", f"feedback = {_number(loss, 'loss')}\n")

    # What a checkpoint keeps.

    def token(self) -> str:
        """The epoch and what was read of it, to save with a model.

        One line of text. It may have megabytes under brand and met. shufflectl
        adds to it what the control file has no room for. Without shufflectl a
        token of brand or met over more than 8,192 files is right beside the
        same state directory only; elsewhere restore() refuses it.
        """
        if find_program("shufflectl") is None:
            return self._read("token")
        view = [] if self.view is None else ["--view", self.view]
        return run("shufflectl", ["token", "-m", self.path, *view])

    def restore(self, token: str) -> None:
        """Continues the epoch of a token. Call it before any file is opened.

        Raises ShufflefsError, and changes nothing, if the token is of another
        dataset, of other keys, or damaged.
        """
        if not token.strip():
            raise ShufflefsError("the token is empty")
        text = token.rstrip("\n") + "\n"
        count = -(-len(text) // _PART)
        if count == 1:
            self._write("token", text)
            return
        for part in range(count):
            piece = text[part * _PART:(part + 1) * _PART]
            self._write("token", f"part {part + 1} of {count}\n{piece}")

    def unmount(self, lazy: bool = False, wait: float = 5.0) -> None:
        """Unmounts, and returns when the daemon has ended.

        If files are open there, it tries again for `wait` seconds and raises
        ShufflefsError, which names the processes. `lazy` detaches the mount
        at once; the daemon ends with the last open file.
        """
        seconds = _number(wait, "wait")
        if not math.isfinite(seconds):
            raise ShufflefsError(f"wait {wait!r}: must be a finite number")
        arguments = ["umount", "--wait", f"{round(seconds * 1000)}ms"]
        run("shufflectl", [*arguments, *(["--lazy"] if lazy else []),
                           self.path])

    @property
    def mounted(self) -> bool:
        """Whether something of shufflefs is mounted at the path."""
        return is_mounted(self.path)

    def _file(self, name: str) -> str:
        base = os.path.join(self.path, _DIRECTORY)
        if self.view is not None:
            base = os.path.join(base, "view", self.view)
        return os.path.join(base, name)

    def _one_view(self) -> Dict[str, Any]:
        views: List[Dict[str, Any]] = self.status()["views"]
        if len(views) != 1:
            names = ", ".join(str(view["name"]) for view in views)
            raise ShufflefsError(
                f"{self.path}: has several views; choose one with view=NAME: "
                f"{names}")
        return views[0]

    def _read(self, name: str) -> str:
        try:
            with open(self._file(name), encoding="utf-8",
                      errors="surrogateescape") as file:
                return file.read()
        except (OSError, ValueError) as error:
            raise self._explained(error, name) from error

    def _write(self, name: str, text: str) -> None:
        try:
            data = os.fsencode(text)
            file = os.open(self._file(name), os.O_WRONLY | os.O_CLOEXEC)
            try:
                written = os.write(file, data)
            finally:
                os.close(file)
        except (OSError, ValueError) as error:
            raise self._explained(error, name) from error
        if written != len(data):
            raise ShufflefsError(f"{self._file(name)}: was written in part")

    def _explained(self, error: Union[OSError, ValueError],
                   name: str) -> ShufflefsError:
        if isinstance(error, ValueError):  # text that has no bytes
            return ShufflefsError(f"{self._file(name)!r}: {error}")
        if error.errno == errno.EINVAL:
            why = self._read("error").strip()
            if why:
                return ShufflefsError(why)
        if error.errno == errno.ENOTCONN:
            return _dead(self.path)
        why = error.strerror or str(error)
        if error.errno == errno.EAGAIN:
            why = ("the catalogue is still being made; "
                   "call wait_until_ready() first")
        elif error.errno in (errno.EACCES, errno.EPERM):
            why = ("permission denied; only the owner of the mount, or the "
                   "group control.gid, may use this file")
        elif error.errno == errno.ENOENT:
            why = self._absent(name)
        return ShufflefsError(f"{self._file(name)}: {why}")

    def _absent(self, name: str) -> str:
        if not os.path.isdir(os.path.join(self.path, _DIRECTORY)):
            return ("is not there; is shufflefs mounted? "
                    "shufflectl list shows the mounts")
        if self.view is not None:
            return f"there is no view {self.view!r}"
        if name == "token":
            return "the mount has several views; choose one with view=NAME"
        return "is not there"


def absolute(path: Path) -> str:
    """An absolute path. Raises ShufflefsError if no file can have it."""
    found = os.path.abspath(os.fspath(path))
    if "\0" in found:
        raise ShufflefsError(f"{found!r}: a path has no NUL")
    return found


def attach(path: Path, view: Optional[str] = None) -> Mount:
    """The mount at `path`, or the one that `path` lies in.

    `view` is the name of one view. Without it, writes to a mount of several
    views reach all of them. Raises ShufflefsError if there is no mount, or no
    such view.
    """
    start = absolute(path)
    root = _mount_above(start)
    if root is None:  # or it leads into one over a symbolic link
        root = _mount_above(os.path.realpath(start))
    if root is None:
        raise ShufflefsError(
            f"{start}: is not inside a shufflefs mount; mount first, for example "
            f"with: shufflefs SOURCE {start}")
    found = Mount(root, view)
    found.status()
    return found


def _mount_above(path: str) -> Optional[str]:
    while not _has_control(path):
        above = os.path.dirname(path)
        if above == path:
            return None
        path = above
    return path


def is_mounted(path: str) -> bool:
    """Whether the mount table has shufflefs on top at this very path."""
    kind, real = b"", os.fsencode(os.path.realpath(path))
    # Bytes, because a line ends at "\n" alone: names may have other breaks.
    with open("/proc/self/mountinfo", "rb") as table:
        for line in table:
            left, _, right = line.partition(b" - ")
            place = re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]),
                           left.split(b" ")[4])
            if place == real:
                kind = right.split(b" ")[0]
    return kind == b"fuse.shufflefs"


def _has_control(path: str) -> bool:
    try:
        os.stat(os.path.join(path, _DIRECTORY, "status"))
    except OSError as error:
        if error.errno == errno.ENOTCONN:
            raise _dead(path) from error
        if error.errno in (errno.EACCES, errno.EPERM) and is_mounted(path):
            raise ShufflefsError(
                f"{path}: is the mount of another user; for others, mount "
                "with -o allow_other") from error
        return False
    return True


def _dead(path: str) -> ShufflefsError:
    return ShufflefsError(
        f"{path}: its daemon is gone; mount again with the same command, or "
        f"run: shufflectl umount {path}")


def _epoch_number(epoch: int) -> int:
    try:
        number = operator.index(epoch)
    except TypeError:
        number = -1
    if number < 0:
        raise ShufflefsError(
            f"epoch {epoch!r}: must be a whole number, 0 or more")
    return number


def _number(value: float, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise ShufflefsError(f"{name} {value!r}: must be a number") from error
