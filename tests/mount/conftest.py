# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the mount tests."""
import faulthandler
import os
import pathlib
import shutil
import sys
import tempfile
import threading

import pytest

import harness
import namespace

namespace.enter()
sys.path.insert(0, str(harness.MODULE))  # import shufflefs

LIMIT = 240  # seconds a test may take before its daemons are killed


@pytest.fixture
def folder():
    """A private directory that every user may look into."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="shufflefs-test-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, onerror=lambda function, name, _:
                  _make_writable(function, pathlib.Path(name), path))


def _make_writable(function, path, folder):
    """Tries again. What is above the folder of the test is not touched."""
    for each in (path.parent, path):
        if folder in (each, *each.parents):
            each.chmod(0o700)
    function(path)


@pytest.fixture
def mounts(folder):
    """mounts(source, options, user=…) starts a mount that is cleaned up.

    A hung test is killed with its daemons, after their stacks were written.
    """
    running = []
    late = threading.Event()

    def out_of_time():
        late.set()
        print("time limit: stacks follow", file=sys.stderr)
        faulthandler.dump_traceback(all_threads=True)
        for mount in running:
            if mount.process is not None and mount.process.poll() is None:
                harness.dump_stacks(mount.process.pid)
                print(mount.log()[-8000:], file=sys.stderr)
                mount.process.kill()

    def make(source, options=None, start=True, **kwargs):
        mount = harness.Mount(source, folder / f"mount{len(running)}", options,
                              **kwargs)
        running.append(mount)
        return mount.start() if start else mount

    make.running = running
    watchdog = threading.Timer(LIMIT * harness.SLOWDOWN, out_of_time)
    watchdog.daemon = True
    watchdog.start()
    yield make
    problems = []
    for mount in reversed(running):
        try:
            mount.close()
        except Exception as error:  # the others must be closed all the same
            problems.append(error)
    watchdog.cancel()
    if late.is_set():
        pytest.fail("time limit")
    if problems:
        raise problems[0]


@pytest.fixture(params=harness.USERS, ids=lambda user: user.name)
def user(request):
    """Each user that may mount here: oneself and, for root, nobody too."""
    return request.param


@pytest.fixture
def place(folder, user):
    """The runtime directory of the user; nothing may be left in it."""
    path = folder / "run"
    path.mkdir(mode=0o700)
    os.chown(path, user.uid, user.gid)
    yield path
    left = list(path.iterdir())
    for each in left:
        harness.run(["umount", "-l", each / "mnt"], check=False)
    assert left == []
