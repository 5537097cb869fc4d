# SPDX-License-Identifier: Apache-2.0
"""Large files that the kernel reads from the source by itself. Needs root."""
import errno
import mmap
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time

import pytest

import harness

MIB = 1 << 20
SIZES = (MIB, 3 * MIB + 17, 2 * MIB)
NATIVE = {"policy": "native"}


@pytest.fixture(autouse=True)
def smaller_files_are_large(monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_KERNEL_BACKING", str(MIB))


@pytest.fixture
def local(folder):
    """A folder on a file system of its own, which has leases."""
    path = folder / "local"
    path.mkdir()
    harness.run(["mount", "-t", "tmpfs", "none", path])
    yield path
    harness.run(["umount", "-l", path])


@pytest.fixture
def source(local):
    rng = random.Random(1)
    path = local / "source"
    (path / "a").mkdir(parents=True)
    for number, size in enumerate(SIZES):
        (path / "a" / f"{number}.bin").write_bytes(rng.randbytes(size))
    (path / "a" / "small.txt").write_bytes(b"small")
    return path


def names(mount):
    return [mount.path / "a" / f"{n}.bin" for n in range(len(SIZES))]


def metric(mount, name):
    text = (mount.control_dir / "metrics").read_text()
    return int(re.search(rf"^shufflefs_{name}_total (\d+)", text, re.M)[1])


def open_files(mount):
    return len(list(pathlib.Path(f"/proc/{mount.process.pid}/fd").iterdir()))


def attempt(call, *arguments):
    """What a call returns, or its errno."""
    try:
        return call(*arguments)
    except OSError as error:
        return error.errno


# [S-25.1a] Large files are read by the kernel from the source, byte for byte.
def test_the_bytes_are_the_sources(mounts, source):
    mount = mounts(source, NATIVE)
    assert mount.status()["passthrough"] == {
        "on": True, "why": "files have 1536 KiB on average"}
    assert mount.status()["opens"]["seen_by"] == "requests"
    for name in names(mount):
        data = (source / "a" / name.name).read_bytes()
        assert name.read_bytes() == data
        with open(name, "rb") as file:
            assert os.pread(file.fileno(), 1000, 777_777) == (
                data[777_777:778_777])
            assert os.pread(file.fileno(), 10, len(data)) == b""
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
                assert mapped[:] == data
        assert name.stat().st_size == len(data)
        harness.run(["cmp", name, source / "a" / name.name])
    assert metric(mount, "backed_opens") == 9
    assert metric(mount, "backed_bytes") == 3 * sum(SIZES)
    assert metric(mount, "served_bytes") == 0
    assert (mount.path / "a" / "small.txt").read_bytes() == b"small"
    assert metric(mount, "backed_opens") == 9
    assert metric(mount, "served_bytes") == 5


# [S-25.1b] Status says whether the kernel reads large files by itself, and why.
def test_reasons_in_status(mounts, source, folder, monkeypatch):
    unseen = mounts(source, {**NATIVE, "open": "unseen"}).status()
    small = folder / "small"
    small.mkdir()
    (small / "x").write_bytes(b"x" * 100_000)
    other = mounts(small, NATIVE).status()
    monkeypatch.setenv("SHUFFLEFS_KERNEL_BACKING", "no")
    switched_off = mounts(source, NATIVE).status()
    assert switched_off["passthrough"] == {
        "on": False, "why": "it is switched off"}
    assert switched_off["opens"]["seen_by"] == "nothing"
    assert unseen["passthrough"] == {
        "on": False, "why": "opens are not answered: open = unseen"}
    assert other["passthrough"] == {
        "on": False, "why": "files have 97 KiB on average, less than 1024 KiB"}
    assert other["opens"]["seen_by"] == "nothing"


# [S-25.1c] Without CAP_SYS_ADMIN the daemon answers all reads.
def test_an_ordinary_user(mounts, source):
    mount = mounts(source, NATIVE, user=harness.NOBODY)
    assert mount.status()["passthrough"]["on"] is False
    assert mount.status()["opens"]["seen_by"] == "nothing"
    for n in range(len(SIZES)):
        name = f"a/{n}.bin"
        harness.run(["cmp", mount.path / name, source / name],
                    user=harness.NOBODY)


# [S-25.1d] On a file system that may not tell of writers the daemon answers all
# reads.
def test_a_source_that_is_stacked_itself(mounts, source, local):
    for name in ("upper", "work", "merged"):
        (local / name).mkdir()
    harness.run(["mount", "-t", "overlay", "-o",
                 f"lowerdir={source},upperdir={local}/upper,"
                 f"workdir={local}/work", "none", local / "merged"])
    try:
        mount = mounts(local / "merged", NATIVE)
        assert mount.status()["passthrough"] == {
            "on": False, "why": "the source is on overlayfs"}
        for name in names(mount):
            assert name.read_bytes() == (source / "a" / name.name).read_bytes()
        mount.close()
    finally:
        harness.run(["umount", "-l", local / "merged"])


def test_an_overlay_above_the_mount(mounts, source, folder):
    mount = mounts(source, NATIVE)
    for name in ("upper", "work", "merged"):
        (folder / name).mkdir()
    lower = f"lowerdir={mount.path},upperdir={folder}/upper"
    harness.run(["mount", "-t", "overlay", "-o",
                 f"{lower},workdir={folder}/work", "none", folder / "merged"])
    try:
        for number in range(len(SIZES)):
            name = pathlib.Path("a", f"{number}.bin")
            assert ((folder / "merged" / name).read_bytes() ==
                    (source / name).read_bytes())
    finally:
        harness.run(["umount", folder / "merged"])


# [S-25.2a] A file that changed since the scan is read by the daemon, which
# reports it.
@pytest.mark.parametrize("how", ["rewritten", "truncated", "replaced", "gone",
                                 "mtime"])
def test_a_file_that_changed_before_the_open(mounts, source, how):
    mount = mounts(source, NATIVE)
    victim = source / "a" / "1.bin"
    if how == "rewritten":
        with open(victim, "r+b") as file:
            file.write(b"new bytes")
    elif how == "truncated":
        os.truncate(victim, 5000)
    elif how == "replaced":
        (source / "a" / "new").write_bytes(victim.read_bytes())
        (source / "a" / "new").rename(victim)
    elif how == "gone":
        victim.unlink()
    else:
        os.utime(victim, (1, 1))
    assert attempt((mount.path / "a" / "1.bin").read_bytes) == errno.ESTALE
    assert "a/1.bin" in mount.log()
    for number in (0, 2):
        name = f"a/{number}.bin"
        assert (mount.path / name).read_bytes() == (source / name).read_bytes()


# [S-25.2c] Who opens such a file in the source for writing waits until its
# readers in the mount are cut off.
@pytest.mark.parametrize("how", ["write", "truncate", "append"])
def test_no_descriptor_mixes_two_states_of_a_file(mounts, source, how):
    mount = mounts(source, NATIVE)
    victim = source / "a" / "1.bin"
    data = victim.read_bytes()
    shown = mount.path / "a" / "1.bin"
    readers = [os.open(shown, os.O_RDONLY) for _ in range(2)]
    assert os.read(readers[0], 1000) == data[:1000]
    start = time.monotonic()
    if how == "write":
        with open(victim, "r+b") as writer:
            writer.write(bytes(SIZES[1]))
    elif how == "truncate":
        os.truncate(victim, 100)
    else:
        with open(victim, "ab") as writer:
            writer.write(b"more")
    assert time.monotonic() - start < 20
    for reader in readers:
        assert attempt(os.read, reader, 1000) == errno.EIO
    assert "a/1.bin: somebody opened it for writing" in mount.log()
    assert attempt(shown.read_bytes) == errno.ESTALE
    for reader in readers:
        assert attempt(os.close, reader) == errno.EIO
    assert attempt(shown.read_bytes) == errno.ESTALE
    assert names(mount)[0].read_bytes() == (source / "a/0.bin").read_bytes()
    assert metric(mount, "backed_opens") == 3
    shown.stat()


# [S-25.2c] Who opens such a file in the source for writing waits until its
# readers in the mount are cut off.
@pytest.mark.parametrize("how", ["detached", "covered", "moved"])
def test_readers_are_cut_off_where_no_path_leads(mounts, source, folder, how):
    (folder / "above").mkdir()
    mount = mounts(source, NATIVE, mountpoint=folder / "above" / "mnt")
    reader = os.open(mount.path / "a" / "1.bin", os.O_RDONLY)
    assert os.read(reader, 1000) == (source / "a" / "1.bin").read_bytes()[:1000]
    if how == "detached":
        harness.run(["umount", "-l", mount.path])
    elif how == "covered":
        harness.run(["mount", "-t", "tmpfs", "none", mount.path])
    else:
        (folder / "above").rename(folder / "below")
    try:
        with open(source / "a" / "1.bin", "r+b") as writer:
            writer.write(bytes(SIZES[1]))
        for offset in (0, MIB, SIZES[1] - 5):
            assert attempt(os.pread, reader, 1000, offset) == errno.EIO
    finally:
        assert attempt(os.close, reader) == errno.EIO
        if how == "covered":
            harness.run(["umount", mount.path])
        elif how == "moved":
            (folder / "below").rename(folder / "above")
    if how == "detached":
        mount.expect_exit()  # no way into the mount is left


def test_a_mount_that_is_covered_leaves_the_reads_to_the_daemon(mounts, source):
    mount = mounts(source, NATIVE)
    inside = os.open(mount.path / "a", os.O_PATH)
    harness.run(["mount", "-t", "tmpfs", "none", mount.path])
    try:
        reader = os.open("1.bin", os.O_RDONLY, dir_fd=inside)
        data = (source / "a" / "1.bin").read_bytes()
        assert os.read(reader, 1000) == data[:1000]
        os.close(reader)
        os.close(inside)
    finally:
        harness.run(["umount", mount.path])
    assert metric(mount, "backed_opens") == 0


def test_readers_never_see_two_states(mounts, source):
    """Readers in a loop, while a writer fills the file with another byte."""
    victim = source / "a" / "1.bin"
    victim.write_bytes(b"A" * (8 * MIB))
    mount = mounts(source, NATIVE)
    shown = mount.path / "a" / "1.bin"
    mixed = []
    stop = threading.Event()

    def read():
        while not stop.is_set():
            try:
                with open(shown, "rb", buffering=0) as file:
                    seen = set()
                    while block := file.read(4096):
                        seen |= set(block)
                        if len(seen) > 1 or seen == {ord("B")}:
                            mixed.append(seen)
            except OSError as error:
                assert error.errno in (errno.EIO, errno.ESTALE), error

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    time.sleep(0.3)
    with open(victim, "r+b") as writer:
        for _ in range(64):
            writer.write(b"B" * (MIB // 8))
    time.sleep(0.1)
    stop.set()
    for reader in readers:
        reader.join()
    assert mixed == []


def test_a_writer_waits_for_nobody_once_files_are_closed(mounts, source):
    mount = mounts(source, NATIVE)
    for name in names(mount):
        name.read_bytes()

    def opens():
        try:
            os.close(os.open(source / "a/1.bin", os.O_RDWR | os.O_NONBLOCK))
        except BlockingIOError:
            return False
        return True

    harness.eventually(opens, what="the lease to end")
    assert "somebody" not in mount.log()


def test_a_replaced_file_keeps_its_bytes_for_who_has_it_open(mounts, source):
    mount = mounts(source, NATIVE)
    victim = source / "a" / "1.bin"
    data = victim.read_bytes()
    with open(names(mount)[1], "rb") as file:
        (source / "new").write_bytes(bytes(SIZES[1]))
        (source / "new").rename(victim)
        assert file.read() == data
    harness.eventually(
        lambda: attempt(names(mount)[1].read_bytes) == errno.ESTALE,
        what="the check of the next open")


# [S-25.2d] A file that is open for writing in the source is read by the daemon.
def test_a_file_that_is_open_for_writing(mounts, source):
    mount = mounts(source, NATIVE)
    with open(source / "a" / "1.bin", "r+b"):
        assert (names(mount)[1].read_bytes() ==
                (source / "a" / "1.bin").read_bytes())
    assert metric(mount, "backed_opens") == 0


# [S-25.3a] The source's access times stay as they were.
def test_access_times(mounts, source):
    victim = source / "a" / "1.bin"
    os.utime(victim, (1000, 2000))
    mount = mounts(source, NATIVE)
    names(mount)[1].read_bytes()
    assert metric(mount, "backed_opens") == 1
    assert victim.stat().st_atime == 1000


def test_nothing_can_be_written(mounts, source):
    mount = mounts(source, NATIVE)
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_RDWR | os.O_TRUNC):
        assert attempt(os.open, names(mount)[0], flags) == errno.EROFS
    with open(names(mount)[0], "rb") as file:
        with pytest.raises(PermissionError):
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_WRITE)


# [S-25.3b] Any number of large files may be open.
def test_more_files_than_the_daemon_may_have_open(mounts, local):
    source = local / "many"
    source.mkdir()
    for number in range(120):
        (source / f"{number:03d}").write_bytes(bytes([number]) * MIB)
    mount = mounts(source, NATIVE, start=False)
    command = mount.command()
    mount.command = lambda: ["prlimit", "--nofile=256:256", *command]
    mount.start()
    for _ in range(3):
        files = [open(name, "rb") for name in sorted(mount.path.iterdir())]
        for number, file in enumerate(files):
            assert set(file.read()) == {number}
        assert open_files(mount) <= 256
        for file in files:
            file.close()
    assert metric(mount, "backed_opens") >= 3 * 60


# [S-25.3c] Nothing is left of a file that was closed.
def test_many_opens_leave_nothing_behind(mounts, source):
    mount = mounts(source, NATIVE)
    names(mount)[0].read_bytes()
    idle = open_files(mount)
    for _ in range(3000):
        os.close(os.open(names(mount)[0], os.O_RDONLY))
    assert names(mount)[0].read_bytes() == (source / "a/0.bin").read_bytes()
    harness.eventually(lambda: open_files(mount) <= idle, what="closing")
    assert metric(mount, "backed_opens") == 3002


OPEN_AND_CLOSE = """
import os, sys
for _ in range(1000):
    descriptors = [os.open(sys.argv[1], os.O_RDONLY) for _ in range(3)]
    for each in descriptors:
        assert len(os.pread(each, 4096, 0)) == 4096
        os.close(each)
"""


# [S-25.3d] Opens of one file at the same time all succeed.
def test_opens_at_the_same_time(mounts, source):
    mount = mounts(source, NATIVE)
    readers = [subprocess.Popen([sys.executable, "-c", OPEN_AND_CLOSE,
                                 names(mount)[0]]) for _ in range(4)]
    assert {reader.wait(120 * harness.SLOWDOWN) for reader in readers} == {0}
    assert metric(mount, "backed_opens") == 12000


def test_one_file_by_two_paths_and_two_mounts(mounts, source):
    first = mounts(source, {"policy": "lirs", "substitute": "never"})
    second = mounts(source, NATIVE)
    data = (source / "a/1.bin").read_bytes()
    paths = [names(first)[1], names(second)[1],
             first.control_dir / "epoch/0/tree/a/1.bin"]
    files = [open(path, "rb") for path in paths for _ in range(2)]
    assert all(file.read() == data for file in files)
    with open(source / "a/1.bin", "ab") as writer:
        writer.write(b"more")
    assert [attempt(file.seek, 0) or attempt(file.read) for file in files] == (
        [errno.EIO] * 6)
    for file in files:
        attempt(file.close)


# A policy that reads ahead comes and goes while descriptors are open.
def test_a_switch_of_policy_with_open_files(mounts, source):
    mount = mounts(source, NATIVE)
    data = (source / "a/1.bin").read_bytes()
    with open(names(mount)[1], "rb") as before:
        for policy in ("clairvoyant", "lirs", "native"):
            assert mount.write_control(f'policy = "{policy}"\n') is None
            mount.next_epoch()
            with open(names(mount)[1], "rb") as file:
                assert file.read() == data
        assert before.read() == data


def test_epochs_are_found_in_the_opens(mounts, local):
    source = local / "classes"
    for label in "ab":
        (source / label).mkdir(parents=True)
        for number in range(40):
            (source / label / f"{number:02d}.bin").write_bytes(
                (label + f"{number:02d}").encode() * (MIB // 3 + 1))
    mount = mounts(source, {"policy": "lirs", "substitute": "directory"})
    assert mount.status()["passthrough"]["on"]
    rng = random.Random(1)
    order = sorted(mount.path.glob("*/*.bin"))
    for epoch in range(4):
        rng.shuffle(order)
        shown = []
        for name in order:
            with open(name, "rb") as file:
                shown.append(file.read(3))
        assert len(set(shown)) == 80, epoch
    assert mount.view()["epoch"] == 3
    assert mount.view()["consumed"] == 80


def test_unmounting_with_open_files(mounts, source):
    mount = mounts(source, NATIVE)
    data = (source / "a/0.bin").read_bytes()
    file = open(names(mount)[0], "rb", buffering=0)
    assert file.read(10) == data[:10]
    harness.run(["umount", "-l", mount.path])
    assert file.read(10) == data[10:20]
    file.close()
    mount.expect_exit()
    mount = mounts(source, NATIVE)
    file = open(names(mount)[0], "rb", buffering=0)
    mount.process.terminate()
    mount.expect_exit()
    assert file.read(10) in (data[:10], b"")
    with open(source / "a/0.bin", "ab") as writer:  # nobody holds it up
        writer.write(b"more")
    file.close()


# [S-25.4a] After kill -9 of the daemon an open large file can be read on, and
# holds up no writer.
def test_a_kill_of_the_daemon(mounts, source):
    mount = mounts(source, NATIVE)
    data = (source / "a/0.bin").read_bytes()
    with open(names(mount)[0], "rb", buffering=0) as file:
        assert file.read(10) == data[:10]
        mount.kill()
        assert file.read(10) == data[10:20]
        start = time.monotonic()
        with open(source / "a/0.bin", "ab") as writer:
            writer.write(b"more")
        assert time.monotonic() - start < 20
        mount.start()
        assert names(mount)[0].read_bytes() == data + b"more"


# [S-25.2e] A mapping of such a file shows what is in the source.
def test_a_mapping_follows_the_source(mounts, source):
    mount = mounts(source, NATIVE)
    with open(names(mount)[0], "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    with open(source / "a/0.bin", "r+b") as writer:
        writer.write(b"new bytes")
    assert mapped[:9] == b"new bytes"
    mapped.close()
