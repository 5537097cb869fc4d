# SPDX-License-Identifier: Apache-2.0
"""import shufflefs where a program, a path or an argument is unusual."""
import os
import tempfile

import pytest

import harness
import shufflefs
import trees

Error = shufflefs.ShufflefsError
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(harness.MODULE)}


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source", 2, 4)


@pytest.fixture
def private(folder, monkeypatch):
    """Where private directories are made, and no mount left at the end."""
    place = folder / "private"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    left = [mount for mount in place.glob("*/mnt")
            if harness.mount_types(mount)]
    for mount in left:
        harness.run(["umount", "-l", mount], check=False)
    assert left == []


CALLER = """
import sys, shufflefs
with shufflefs.mount(sys.argv[1], policy="native", log_target="stderr") as view:
    print(view.epoch)
"""


def test_a_daemon_that_keeps_its_stderr_keeps_nobody_waiting(source, private):
    """In a process of its own, with a limit: it would wait for ever."""
    done = harness.run(
        [harness.PYTHON, "-B", "-c", CALLER, source], timeout=30,
        env={**ENVIRONMENT, "TMPDIR": str(private)})
    assert done.stdout == "0\n" and list(private.iterdir()) == []


def test_a_mount_point_may_have_breaks_of_lines_and_odd_bytes(source, folder,
                                                              private):
    """Also one of somebody else, which the mount table shows to all."""
    for name in (b"a\rb", b"a\x0bb", b"\xc2\x85", "\u2028".encode(), b"\xff"):
        place = os.fsencode(folder) + b"/" + name
        os.mkdir(place)
        with shufflefs.mount(source, os.fsdecode(place), policy="native",
                             state=folder / "state") as odd:
            with shufflefs.mount(source, policy="native") as view:
                assert odd.mounted and view.mounted
        assert not odd.mounted and not view.mounted
