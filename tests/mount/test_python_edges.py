# SPDX-License-Identifier: Apache-2.0
"""import shufflefs where a program, a path or an argument is unusual."""
import os
import signal
import subprocess
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


def test_a_daemon_that_outlives_the_unmount_is_no_failure(source, private,
                                                          caplog):
    """A mount namespace that was made meanwhile still has the mount."""
    if harness.SELF.uid != 0:
        return
    with pytest.raises(KeyError, match="mine"):
        with shufflefs.mount(source, policy="native") as view:
            other = subprocess.Popen(
                ["unshare", "-m", "--propagation", "private", "sh", "-c",
                 "echo there; read end"], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True)
            assert other.stdout.readline() == "there\n"
            raise KeyError("mine")
    other.communicate()
    assert not view.mounted and list(private.iterdir()) == []
    assert str(view) in caplog.text


@pytest.mark.parametrize("mine", [KeyError("mine"), None])
def test_an_unmount_that_fails_hides_no_exception(source, private, caplog,
                                                  monkeypatch, mine):
    def refuse(*_):
        raise Error("no way")

    with pytest.raises(KeyError if mine else Error) as raised:
        with shufflefs.mount(source, policy="native") as view:
            monkeypatch.setattr("shufflefs.control.run", refuse)
            if mine:
                raise mine
    assert str(raised.value) == (str(mine) if mine else "no way")
    assert ("no way" in caplog.text) == bool(mine)
    monkeypatch.undo()
    view.unmount()


def test_an_unmount_that_fails_hides_no_failed_start(source, private, caplog,
                                                     monkeypatch):
    def refuse(*_):
        raise Error("no way")

    monkeypatch.setattr("shufflefs.control.run", refuse)
    monkeypatch.setattr(shufflefs.Mount, "ready", property(lambda self: False))
    with pytest.raises(Error, match="not ready"):
        shufflefs.mount(source, policy="native", timeout=0)
    assert "no way" in caplog.text
    monkeypatch.undo()
    for mountpoint in private.glob("*/mnt"):
        shufflefs.attach(mountpoint).unmount()


def test_an_interrupt_leaves_no_folder(source, private, monkeypatch):
    """Wherever it comes, from the first folder to the start."""
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    for place in ("os.chmod", "os.mkdir", "shufflefs.mounting.option_text",
                  "shufflefs.mounting.run"):
        with monkeypatch.context() as patch:
            if place == "os.mkdir":  # mkdtemp calls it, too
                (private / "made").mkdir()
                patch.setattr(tempfile, "mkdtemp",
                              lambda **_: str(private / "made"))
            patch.setattr(place, interrupt)
            with pytest.raises(KeyboardInterrupt):
                shufflefs.mount(source, policy="native", allow_other=True)
        assert list(private.iterdir()) == [], place


STARTER = """#!/bin/sh
# As shufflefs: its daemon has a session, and ends at a signal that comes here.
setsid sh -c 'echo $$ > "$1/daemon"; exec sleep 1000' sh "{0}" &
trap 'kill $!' TERM
wait
wait
exit 130
"""
INTERRUPTED = """
import signal, sys, shufflefs
if sys.argv[2] == "ignored":
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
shufflefs.mount(sys.argv[1], policy="native")
"""


def interrupt(python):
    """Returns what it said. Python may miss a signal just before it waits."""
    for _ in range(10):
        python.send_signal(signal.SIGINT)
        try:
            return python.communicate(timeout=10 * harness.SLOWDOWN)[1]
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("it does not end")


@pytest.mark.parametrize("children", ["seen", "ignored"])
def test_an_interrupt_ends_a_daemon_that_is_about_to_mount(source, folder,
                                                           private, children):
    starter = folder / "starter"
    starter.write_text(STARTER.format(folder))
    starter.chmod(0o755)
    told = folder / "daemon"
    with subprocess.Popen(
            [harness.PYTHON, "-B", "-c", INTERRUPTED, source, children],
            env={**ENVIRONMENT, "TMPDIR": str(private),
                 "SHUFFLEFS_BIN": str(starter)},
            stderr=subprocess.PIPE, text=True) as python:
        daemon = harness.eventually(
            lambda: told.exists() and told.read_text().strip(),
            what="the daemon")
        said = interrupt(python)
    assert "KeyboardInterrupt" in said
    try:
        with pytest.raises(ProcessLookupError):
            os.kill(int(daemon), signal.SIGKILL)
    finally:
        assert list(private.iterdir()) == []


IGNORER = """
import signal, sys, threading, shufflefs
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def job():
    try:
        shufflefs.mount(sys.argv[1], policy="fastest")
    except shufflefs.ShufflefsError as error:
        print(error)
    with shufflefs.mount(sys.argv[1], policy="native") as view:
        print(view.epoch, len(view.token()))
job()
thread = threading.Thread(target=job)
thread.start()
thread.join()
"""


def test_programs_fail_where_sigchld_is_ignored(source, private):
    done = harness.run([harness.PYTHON, "-B", "-c", IGNORER, source],
                       env={**ENVIRONMENT, "TMPDIR": str(private)})
    with shufflefs.mount(source, policy="native") as view:
        size = len(view.token())
    lines = done.stdout.splitlines()
    assert done.stderr == "" and len(lines) == 4, done
    for refused, told in zip(lines[::2], lines[1::2]):
        assert "policy = fastest: must be" in refused
        assert told.startswith("0 ") and abs(int(told[2:]) - size) < 20
    assert list(private.iterdir()) == []


def test_attach_follows_links_into_a_mount(mounts, source, folder):
    mount = mounts(source, {"policy": "lirs"})
    for target in (mount.path, mount.path / "c0",
                   next((mount.path / "c0").iterdir())):
        link = folder / f"link-{target.name}"
        link.symlink_to(target)
        assert shufflefs.attach(link).epoch == 0
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("absent")
    for name in ("loop", "nowhere"):
        with pytest.raises(Error, match="is not inside a shufflefs mount"):
            shufflefs.attach(folder / name)


def test_epoch_paths_are_those_of_one_view(mounts, folder):
    source = trees.train_and_val(folder / "source")
    config = folder / "views.toml"
    config.write_text('policy = "lirs"\n[[view]]\npath = "train"\n'
                      '[[view]]\npath = "val"\n')
    mount = mounts(source, {}, arguments=["--config", config])
    both = shufflefs.attach(mount.path)
    with pytest.raises(Error, match="several views; choose one"):
        both.epoch_path(2)
    for view in both.status()["views"]:
        one = shufflefs.attach(mount.path, view["name"])
        assert os.path.isdir(one.epoch_path(2, "ranked"))


def test_what_is_no_argument_is_an_error_of_this_package(mounts, source):
    view = shufflefs.attach(mounts(source, {"policy": "lirs"}).path)
    for loss in ("x", None, 10 ** 400):
        with pytest.raises(Error, match="must be a number"):
            view.feedback(loss)
    for wait in (float("inf"), float("nan"), "soon", -1):
        with pytest.raises(Error, match="wait"):
            view.unmount(wait=wait)
    with pytest.raises(Error):
        view.restore("\ud800")
    for call in (shufflefs.attach, shufflefs.Mount, shufflefs.RankedFolder,
                 shufflefs.mount, lambda path: shufflefs.mount(source, path)):
        with pytest.raises(Error, match="NUL"):
            call("/a\0b")
    assert view.mounted
