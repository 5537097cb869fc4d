# SPDX-License-Identifier: Apache-2.0
"""Finding and running shufflefs and shufflectl."""
from __future__ import annotations

import logging
import os
import shutil
import signal
import subprocess
import tempfile
from typing import IO, Optional, Sequence

from .errors import ShufflefsError

_log = logging.getLogger("shufflefs")
# A shell gets exit codes also if its parent ignores SIGCHLD. It writes the code
# of its words in a last line, without an end.
# By the trap it outlives its words at SIGTERM, too.
_TELLS = 'trap : TERM; "$0" "$@"; printf "\\n%s" "$?"'
OWN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin")


def find_program(name: str) -> Optional[str]:
    """The path of a program, or None.

    It is what SHUFFLEFS_BIN or SHUFFLECTL_BIN says, else the file in this
    package's folder bin, else what PATH finds.
    """
    told = os.environ.get(f"{name.upper()}_BIN")
    if told:
        return told
    own = os.path.join(OWN, name)
    if os.access(own, os.X_OK):
        return own
    return shutil.which(name)


def need_program(name: str) -> str:
    """The path of a program. Raises ShufflefsError if there is none."""
    program = find_program(name)
    if program is None or not os.access(program, os.X_OK):
        where = "not in PATH" if program is None else f"not at {program}"
        raise ShufflefsError(
            f"{name} is {where}; install shufflefs, or set "
            f"{name.upper()}_BIN to the path of {name}")
    return program


def run(name: str, arguments: Sequence[str]) -> str:
    """Runs a program to its end and returns what it printed.

    Logs what it wrote to stderr, or raises ShufflefsError with that if it
    fails. Of what an interrupted start began nothing is left.
    """
    program = need_program(name)
    command = [program, *arguments]
    if _children_are_ignored():
        command = ["/bin/sh", "-c", _TELLS, *command]
    # Files and no pipes: a daemon with log.target=stderr keeps its stderr, and
    # a pipe would not end before it does.
    try:
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as log:
            code = _code_of(command, out, log)
            printed, said = _text(out), _text(log)
    except (OSError, ValueError) as error:
        raise ShufflefsError(f"{program}: {error}") from error
    if command[0] != program:
        printed, _, told = printed.rpartition("\n")
        code = int(told) if told.isdecimal() else 1
    if code != 0:
        said = said.strip() or f"exit code {code}"
        prefix = f"{name}: "
        raise ShufflefsError(
            said[len(prefix):] if said.startswith(prefix) else said)
    for line in said.splitlines():
        warns = line.startswith(f"{name}: warning: ")
        _log.log(logging.WARNING if warns else logging.INFO, "%s", line)
    return printed


def _code_of(command: Sequence[str], out: IO[bytes], log: IO[bytes]) -> int:
    """The exit code of a command, which ends also if an exception comes.

    It has a session of its own: Ctrl-C is an exception here, and reaches it as
    one SIGTERM, which shufflefs passes on to its daemon.
    """
    child = subprocess.Popen(command, stdout=out, stderr=log,
                             stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return child.wait()
    except BaseException:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGTERM)
            child.wait()
        raise


def _children_are_ignored() -> bool:
    """Whether SIGCHLD is ignored. Then the kernel drops all exit codes."""
    with open("/proc/thread-self/status", encoding="ascii",
              errors="replace") as status:
        for line in status:
            if line.startswith("SigIgn:"):
                mask = int(line.split()[1], 16)
                return bool(mask >> (signal.SIGCHLD - 1) & 1)
    return False


def _text(file: IO[bytes]) -> str:
    """All that a program wrote to a file."""
    file.seek(0)
    return file.read().decode("utf-8", "surrogateescape")
