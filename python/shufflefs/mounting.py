# SPDX-License-Identifier: Apache-2.0
"""Mounting a dataset, and unmounting it at the end."""
from __future__ import annotations

import contextlib
import logging
import os
import shutil
import tempfile
from types import TracebackType
from typing import Mapping, Optional, Sequence, Type

from .control import Mount, Path, absolute
from .errors import ShufflefsError
from .keys import merged, option_text
from .programs import need_program, run

_log = logging.getLogger("shufflefs")


class OwnedMount(Mount):
    """A mount that mount() made. A `with` statement unmounts it at its end.

    Without `with` it outlives the process, as a mount by the command does,
    unless unmount() is called.
    """

    def __init__(self, path: str, private: Optional[str] = None) -> None:
        super().__init__(path)
        self._private = private
        self._owner = os.getpid()

    @property
    def owned(self) -> bool:
        """Not in a forked copy."""
        return os.getpid() == self._owner

    def unmount(self, lazy: bool = False, wait: float = 5.0) -> None:
        """As Mount.unmount(). Also removes the private directory, if any."""
        super().unmount(lazy, wait)
        self.tidy()

    def __exit__(self, kind: Optional[Type[BaseException]],
                 error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        """Unmounts, whatever happened. Detaches the mount if it stays busy.

        If an exception is on its way, what fails here is logged only.
        """
        if not self.owned:
            return
        try:
            self._leave()
        except ShufflefsError as failed:
            if kind is None:
                raise
            _log.warning("%s: could not be unmounted: %s", self.path, failed)

    def _leave(self) -> None:
        if self.mounted:
            try:
                super().unmount()
            except ShufflefsError as busy:
                if self.mounted:
                    super().unmount(lazy=True)
                    _log.warning("%s: detached while in use: %s", self.path,
                                 busy)
                else:  # the daemon goes on, as in another mount namespace
                    _log.warning("%s", busy)
        self.tidy()

    def start(self, arguments: Sequence[str],
              timeout: Optional[float]) -> None:
        """Mounts. Leaves no mount if it raises."""
        not_ours = self.mounted  # a live mount is refused, a dead one replaced
        try:
            run("shufflefs", arguments)
            not_ours = False
            self.wait_until_ready(timeout)
        except BaseException:
            self._undo(mounted=not not_ours)
            raise

    def _undo(self, mounted: bool) -> None:
        """Unmounts if `mounted`, while an exception is raised."""
        try:
            if mounted and self.mounted:
                super().unmount(lazy=True)
        except ShufflefsError as failed:
            _log.warning("%s: could not be unmounted: %s", self.path, failed)

    def tidy(self) -> None:
        """Removes the private directory, if any. REQUIRES: unmounted."""
        if self._private is not None:
            _remove(self._private)
            self._private = None


def mount(source: Path, mountpoint: Optional[Path] = None,
          keys: Optional[Mapping[str, object]] = None, *,
          config: Optional[Path] = None, allow_other: bool = False,
          timeout: Optional[float] = None, **keywords: object) -> OwnedMount:
    """Mounts `source` and returns when the mount is ready.

    mountpoint   an empty directory. None makes a private directory, which
                 goes away with the mount. It holds the state, too, unless the
                 key `state` is given here.
    keys         {"epoch.advance": "manual"}: keys of shufflefs.toml(5) with
                 text, numbers or paths. None leaves a key out.
    **keywords   the same: epoch_advance="manual". The first `_` is a dot.
    config       a TOML file of keys. What is given here wins over it.
    allow_other  lets other users see the mount.
    timeout      seconds to wait for the catalogue; None waits for ever.

    Raises ShufflefsError with the daemon's message. Nothing is mounted then.
    Warnings of the daemon go to the logger "shufflefs", and to status().
    """
    texts = merged(keys, keywords)
    need_program("shufflectl")  # or nothing could unmount
    private = _private_folder() if mountpoint is None else None
    try:
        if private is not None:
            path = os.path.join(private, "mnt")
            state = os.path.join(private, "state")
            _furnish(private, path, state, allow_other)
            texts.setdefault("state", state)
        elif mountpoint is not None:
            path = os.fspath(mountpoint)
        made = OwnedMount(path, private)
        options = option_text(texts)
        made.start([*(["-o", options] if options else []),
                    *(["-o", "allow_other"] if allow_other else []),
                    *(["--config", os.fspath(config)] if config else []),
                    absolute(source), made.path], timeout)
    except BaseException:
        if private is not None:
            _remove(private)
        raise
    return made


def _private_folder() -> str:
    try:
        return tempfile.mkdtemp(prefix="shufflefs-")
    except OSError as error:
        raise ShufflefsError(
            f"no private directory: {error}; set TMPDIR") from error


def _furnish(private: str, mountpoint: str, state: str,
             allow_other: bool) -> None:
    if allow_other:
        os.chmod(private, 0o711)
    os.mkdir(mountpoint, 0o755)
    os.mkdir(state, 0o700)


def _remove(private: str) -> None:
    """Never follows what might still be mounted: mnt must be empty."""
    try:
        with contextlib.suppress(FileNotFoundError):  # interrupted before
            os.rmdir(os.path.join(private, "mnt"))
        shutil.rmtree(os.path.join(private, "state"), ignore_errors=True)
        os.rmdir(private)
    except OSError as error:
        _log.warning("%s: is left behind: %s", private, error)
