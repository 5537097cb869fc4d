# SPDX-License-Identifier: Apache-2.0
"""Mounts for tests: private directories, hard time limits, no leftovers.

Environment: SHUFFLEFS_BIN and SHUFFLECTL_BIN name the programs under test;
SHUFFLEFS_TEST_SLOWDOWN (default 1) stretches every time limit, for builds
with sanitizers.
"""
import collections
import json
import os
import pathlib
import pwd
import re
import signal
import subprocess
import sys
import time

CLIENTS = pathlib.Path(__file__).resolve().parent.parent / "clients"
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
MODULE = EXAMPLES.parent / "python"
PYTHON = "/usr/bin/python3"
SLOWDOWN = float(os.environ.get("SHUFFLEFS_TEST_SLOWDOWN", "1"))
REPORT = re.compile(r"(Address|Thread|Leak|UndefinedBehavior)Sanitizer"
                    r"|runtime error:|SUMMARY: ")

User = collections.namedtuple("User", "name uid gid")


def _user(name):
    entry = pwd.getpwnam(name)
    return User(name, entry.pw_uid, entry.pw_gid)


SELF = _user(pwd.getpwuid(os.geteuid()).pw_name)
NOBODY = _user("nobody") if os.geteuid() == 0 else SELF
USERS = [SELF] if NOBODY == SELF else [SELF, NOBODY]


def shufflefs():
    return os.environ["SHUFFLEFS_BIN"]


def peers_modules():
    """The module for several nodes, in a list that is empty without it."""
    module = os.environ.get("SHUFFLEFS_PEERS_MODULE", "none")
    return [] if module == "none" else [module]


def shufflectl():
    return os.environ["SHUFFLECTL_BIN"]


def as_user(user, argv):
    """The command line that runs argv as user."""
    argv = [str(word) for word in argv]
    if user == SELF:
        return argv
    return ["setpriv", f"--reuid={user.uid}", f"--regid={user.gid}",
            "--clear-groups", *argv]


def run(argv, user=SELF, timeout=60, check=True, **kwargs):
    """Runs a command to its end; returns its CompletedProcess, as text."""
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run(as_user(user, argv), timeout=timeout * SLOWDOWN,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="surrogateescape", **kwargs)
    if check and done.returncode != 0:
        raise AssertionError(f"{argv}: exit {done.returncode}\n"
                             f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


def eventually(condition, timeout=30, what="condition"):
    """Polls until condition() is true, and returns its value."""
    end = time.monotonic() + timeout * SLOWDOWN
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what}: not within {timeout} s"
        time.sleep(0.02)


def mount_types(mountpoint):
    """File system types mounted at the path, the topmost last."""
    escaped = re.sub(r"[ \t\n\\]", lambda m: f"\\{ord(m[0]):03o}",
                     str(mountpoint))
    types = []
    for line in open("/proc/self/mountinfo", errors="surrogateescape"):
        left, right = line.split(" - ", 1)
        if left.split()[4] == escaped:
            types.append(right.split()[0])
    return types


def dump_stacks(pid, out=sys.stderr):
    """Where the threads of a process stand, for the log of a hung test."""
    print(f"--- process {pid}", file=out)
    for task in sorted(pathlib.Path(f"/proc/{pid}/task").glob("*")):
        for name in ("comm", "wchan", "stack"):
            try:
                text = (task / name).read_text().strip()
            except OSError as error:
                text = str(error)
            print(f"{task.name} {name}: {text}", file=out)
    try:
        gdb = run(["gdb", "-p", pid, "-batch", "-ex", "thread apply all bt"],
                  check=False)
        print(gdb.stdout[-20000:], file=out, flush=True)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"gdb: {error}", file=out, flush=True)


class Mount:
    """A daemon in the foreground and its mount. Use through the fixture."""

    def __init__(self, source, folder, options=None, user=SELF, mountpoint=None,
                 arguments=(), inside=()):
        self.source = pathlib.Path(source)
        self.user = user
        self.state = folder / "state"
        self.path = pathlib.Path(mountpoint or folder / "mnt")
        self.log_path = folder / "log"
        for path in (folder, self.state, self.path):
            if not path.exists():
                path.mkdir()
                os.chown(path, user.uid, user.gid)
        self.options = dict(options or {})
        self.options.setdefault("state", self.state)
        self.arguments = list(arguments)
        self.inside = list(inside)  # a command that runs the daemon's
        self.process = None

    @property
    def control_dir(self):
        return self.path / ".shufflefs"

    def command(self):
        options = ",".join(key if value is None else f"{key}={value}"
                           for key, value in self.options.items())
        return as_user(self.user, [*self.inside, shufflefs(), "-f", "-o",
                                   options, *self.arguments, self.source,
                                   self.path])

    def start(self, ready=True):
        """Starts the daemon; returns when the mount serves."""
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                self.command(), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True)
        if not ready:
            return self

        def serves():
            types = mount_types(self.path)
            return types and types[-1] == "fuse.shufflefs" and self._alive()

        def indexed():
            try:
                return self.view()["epoch_state"] != "indexing"
            except AssertionError:  # it ends, and says why
                return False

        eventually(lambda: self._check_runs() and serves(),
                   what=f"mount {self.path}")
        eventually(lambda: self._check_runs() and indexed(), what="catalogue")
        return self

    def _check_runs(self):
        if self.process.poll() is not None:
            raise AssertionError(
                f"{self.command()}: exit {self.process.returncode}\n"
                f"{self.log()[-4000:]}")
        return True

    def _alive(self):
        done = run(["cat", self.control_dir / "status"], user=self.user,
                   check=False)
        return done.returncode == 0

    def log(self):
        return self.log_path.read_text(errors="surrogateescape")

    def run(self, argv, **kwargs):
        """Runs a command as the user of the mount."""
        return run(argv, user=self.user, **kwargs)

    def client(self, name, *arguments, **kwargs):
        """Runs a script of tests/clients; returns the JSON that it prints."""
        done = self.run([PYTHON, CLIENTS / name, *arguments], **kwargs)
        return json.loads(done.stdout)

    def read(self, name):
        """A file of the control directory, as text."""
        return self.run(["cat", self.control_dir / name]).stdout

    def status(self):
        return json.loads(self.read("status"))

    def view(self, index=0):
        return self.status()["views"][index]

    def write_control(self, text, file="control"):
        """Writes to a control file by one write. Returns None, or the errno."""
        done = self.run([PYTHON, CLIENTS / "write_once.py",
                         self.control_dir / file], input=text, stdin=None)
        code = json.loads(done.stdout)
        return code or None

    def next_epoch(self):
        assert self.write_control('epoch = "next"\n') is None, (
            self.read("error"))

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.process.wait(timeout=30 * SLOWDOWN)

    def unmount(self):
        """Unmounts, and holds the daemon to a clean exit.

        For a moment after an epoch switch the mount is busy: the daemon lists
        its directories.
        """
        unmount = (["umount"] if self.user.uid == 0 else
                   ["fusermount3", "-u"])
        tries = []

        def done():
            tries.append(self.run([*unmount, self.path], check=False))
            return (tries[-1].returncode == 0
                    or "busy" not in tries[-1].stderr)

        eventually(done, what="unmounting")
        assert tries[-1].returncode == 0, tries[-1]
        self.expect_exit()

    def expect_exit(self):
        code = self.process.wait(timeout=60 * SLOWDOWN)
        assert code == 0, f"daemon: exit {code}\n{self.log()[-8000:]}"
        self.process = None
        assert not REPORT.search(self.log()), self.log()[-8000:]

    def close(self):
        """Whatever state it is in: no mount, no process afterwards."""
        try:
            if self.process is not None and self.process.poll() is None:
                self.unmount()
        finally:
            while "fuse.shufflefs" in mount_types(self.path):
                lazy = (["umount", "-l"] if self.user.uid == 0 else
                        ["fusermount3", "-uz"])
                if self.run([*lazy, self.path], check=False).returncode != 0:
                    break
            if self.process is not None and self.process.poll() is None:
                os.kill(self.process.pid, signal.SIGKILL)
                self.process.wait(timeout=30 * SLOWDOWN)
