# SPDX-License-Identifier: Apache-2.0
"""A source that does not answer: what else is asked is answered."""
import errno
import os
import pathlib
import signal
import subprocess

import pytest

import harness
from harness import NOBODY
from test_access import OTHERS, SOON, as_root, may

READERS = 64
BYTES = 300_000
NATIVE = {"policy": "native"}
LIRS = {"policy": "lirs", "substitute": "directory",
        "epoch.advance": "manual"}


def hanging_fs():
    beside = pathlib.Path(harness.shufflefs()).resolve().parents[1]
    return os.environ.get("HANGING_FS_BIN", beside / "tests/mount/hanging_fs")


def content(name):
    return name.encode() * (BYTES // len(name))


def write_uncached(path, data):
    """The kernel answers by itself what it has in memory."""
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Source:
    """A directory, and the mount of it that hangs by a switch."""

    def __init__(self, folder, path=None, others=("cached", "other"),
                 trusted=0):
        """The kernel trusts attributes for `trusted` seconds."""
        self.directory = folder / "directory"
        self.path = path or folder / "source"
        self.switches = folder / "switches"
        for path in (self.directory, self.path, self.switches):
            path.mkdir(exist_ok=True)
        names = [f"hang{i:03}" for i in range(READERS)]
        for name in [*names, *others]:
            (self.directory / name).write_bytes(content(name))
        self.process = subprocess.Popen(
            [hanging_fs(), self.directory, self.path, self.switches,
             str(trusted)])
        harness.eventually(lambda: harness.mount_types(self.path),
                           what="hanging_fs")

    def hang(self, what):
        (self.switches / what).touch()

    def answer(self):
        for switch in self.switches.iterdir():
            switch.unlink()

    def close(self):
        self.answer()
        harness.run(["umount", "-l", self.path])
        self.process.wait(timeout=30 * harness.SLOWDOWN)


@pytest.fixture
def source(folder):
    made = Source(folder)
    yield made
    made.close()


@pytest.fixture
def below(folder):
    """One that is mounted below a directory, beside a folder `near`."""
    (folder / "tree" / "near").mkdir(parents=True)
    made = Source(folder, folder / "tree" / "far", others=())
    yield made
    made.close()


class Readers:
    """Programs that read files that do not come."""

    def __init__(self, directory):
        self.processes = [
            subprocess.Popen(["cat", directory / f"hang{i:03}"],
                             stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
            for i in range(READERS)]
        for process in self.processes:
            harness.eventually(lambda p=process: self.waits(p),
                               what=f"reader {process.pid}")

    @staticmethod
    def waits(process, what="/hang"):
        """Whether it has the file open and is in a call that waits."""
        folder = pathlib.Path(f"/proc/{process.pid}")
        try:
            files = [os.readlink(f) for f in (folder / "fd").iterdir()]
        except FileNotFoundError:  # it closed one meanwhile: it does not wait
            return False
        state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
        return any(what in file for file in files) and state in "DS"

    def kill(self):
        for process in self.processes:
            process.kill()
        self.wait()

    def wait(self):
        for process in self.processes:
            process.wait(timeout=30 * harness.SLOWDOWN)


def expect_answers(mount):
    """What needs no source, by programs of their own."""
    names = mount.run(["ls", "-l", mount.path], timeout=30).stdout
    assert "cached" in names and "hang000" in names
    mount.run(["stat", mount.path / "hang001"], timeout=30)
    read = ["cmp", mount.path / "cached", mount.source.parent / "copy"]
    mount.run(read, timeout=30)
    assert mount.view()["epoch_state"] == "running"
    assert "shufflefs_reads_total" in mount.read("metrics")
    assert "policy" in mount.read("control")
    assert mount.write_control("nonsense\n") is not None
    mount.run([harness.shufflectl(), "status", mount.path], timeout=30)
    mount.next_epoch()
    busy = mount.run([harness.shufflectl(), "umount", "--wait", "1s",
                      mount.path], timeout=30, check=False)
    assert busy.returncode != 0 and "busy" in busy.stderr, busy


def mount_with_hung_readers(mounts, source, options):
    mount = mounts(source.path, options)
    (source.path.parent / "copy").write_bytes(
        (mount.path / "cached").read_bytes())
    source.hang("read")
    return mount, Readers(mount.path)


# [S-3.15k] While reads of the source hang, all that needs none of them is
# answered.
@pytest.mark.parametrize("options", [NATIVE], ids=["native"])
def test_what_needs_no_source_is_answered(source, mounts, options):
    mount, readers = mount_with_hung_readers(mounts, source, options)
    expect_answers(mount)
    assert (mount.path / "other").read_bytes() == content("other")
    assert all(p.poll() is None for p in readers.processes)
    source.answer()
    readers.wait()
    assert [p.returncode for p in readers.processes] == [0] * READERS


# [S-3.15k] While reads of the source hang, all that needs none of them is
# answered.
@pytest.mark.parametrize("options", [NATIVE, LIRS], ids=["native", "lirs"])
def test_a_file_system_below_that_hangs_holds_up_no_other(below, mounts,
                                                          options):
    names = [f"here{i:03}" for i in range(READERS)]
    near = below.path.parent / "near"
    for name in names:
        write_uncached(near / name, content(name))
    mount = mounts(below.path.parent, options)
    below.hang("read")
    readers = Readers(mount.path / below.path.name)
    shown = [(mount.path / "near" / name).read_bytes() for name in names]
    assert sorted(shown) == [content(name) for name in names]
    below.answer()
    readers.wait()
    assert [p.returncode for p in readers.processes] == [0] * READERS


# [S-3.15k] While reads of the source hang, all that needs none of them is
# answered.
@as_root
def test_access_control_lists_that_hang_hold_up_no_other(below, mounts):
    names = [f"here{i:03}" for i in range(READERS)]
    near = below.path.parent / "near"
    for name in names:
        write_uncached(near / name, content(name))
    mount = mounts(below.path.parent, {**LIRS, **OTHERS})
    below.hang("lists")
    readers = Readers(mount.path / below.path.name)
    shown = sorted((mount.path / "near").iterdir())
    got = mount.run(["cat", *shown], timeout=30).stdout
    below.answer()
    readers.wait()
    assert [p.returncode for p in readers.processes] == [0] * READERS
    assert len(got) == sum(len(content(name)) for name in names)


def expect_closed_while_it_hangs(mount, source):
    """`source` is mounted at `far`, and nothing else hangs."""
    os.kill(source.process.pid, signal.SIGSTOP)
    try:
        # Its last rights are told, and its own file system is still asked.
        harness.run(["stat", mount.path / "far"], user=NOBODY, timeout=30)
        (source.path.parent / "near").chmod(0o700)
        harness.eventually(lambda: not may("-x", mount.path / "near", NOBODY),
                           SOON, "closing near")
    finally:
        os.kill(source.process.pid, signal.SIGCONT)


# [S-3.16d] A directory that is closed in the source closes in the mount within
# two seconds, and names elsewhere show nothing of it any more.
@as_root
def test_a_file_system_below_that_hangs_keeps_no_other_open(below, mounts):
    mount = mounts(below.path.parent, {**NATIVE, **OTHERS})
    assert may("-x", mount.path / "near", NOBODY)
    expect_closed_while_it_hangs(mount, below)


# [S-3.16d] A directory that is closed in the source closes in the mount within
# two seconds, and names elsewhere show nothing of it any more.
@as_root
def test_what_is_mounted_over_a_directory_later_keeps_no_other_open(
        folder, mounts):
    tree = folder / "tree"
    for name in ("near", "far"):
        (tree / name).mkdir(parents=True)
        (tree / name / "file").write_bytes(b"bytes")
    mount = mounts(tree, {**NATIVE, **OTHERS})
    assert may("-x", mount.path / "near", NOBODY)
    over = Source(folder, tree / "far", others=())
    try:
        expect_closed_while_it_hangs(mount, over)
    finally:
        over.close()


# [S-3.15k] While reads of the source hang, all that needs none of them is
# answered.
def test_what_is_mounted_over_a_directory_holds_up_no_other(folder, mounts):
    tree = folder / "tree"
    for name in ("near", "far"):
        (tree / name).mkdir(parents=True)
        write_uncached(tree / name / "file", content(name) * 10)
    mount = mounts(tree, NATIVE)
    with open(mount.path / "far" / "file", "rb", buffering=0) as file:
        file.read(4096)  # keeps the source's file open
        over = Source(folder, tree / "far", others=())
        os.kill(over.process.pid, signal.SIGSTOP)
        try:
            reader = subprocess.Popen(
                ["dd", "bs=4096", "skip=600", "count=1"], stdin=file,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            harness.eventually(
                lambda: reader.poll() is not None
                or Readers.waits(reader, "/far/file"), what="the reader")
            mount.run(["cmp", mount.path / "near" / "file",
                       tree / "near" / "file"], timeout=30)
        finally:
            os.kill(over.process.pid, signal.SIGCONT)
            reader.wait(timeout=60 * harness.SLOWDOWN)
            over.close()


# [S-3.15i] A file that was replaced or written is another one, though its size
# and time were set back.
def test_what_the_kernel_trusts_is_asked_of_the_server(folder, mounts):
    source = Source(folder, others=(), trusted=60)
    try:
        big = source.directory / "big"
        big.write_bytes(b"A" * (8 << 20))
        mount = mounts(source.path, NATIVE)
        with open(mount.path / "big", "rb", buffering=0) as file:
            assert os.pread(file.fileno(), 4096, 0) == b"A" * 4096
            big.write_bytes(b"B" * (8 << 20))
            with pytest.raises(OSError) as changed:
                os.pread(file.fileno(), 4096, 6 << 20)
        assert changed.value.errno == errno.ESTALE
        mount.unmount()
    finally:
        source.close()


# [S-3.15k] While reads of the source hang, all that needs none of them is
# answered.
def test_closes_that_hang_hold_up_no_read(source, mounts):
    mount = mounts(source.path, NATIVE)
    source.hang("flush")
    # More than the daemon keeps open, so that it closes some.
    read = ["sh", "-c", 'for file; do dd bs=1M status=none if="$file"; done',
            "sh", *sorted(mount.path.glob("[cho]*"))]
    got = mount.run(read, timeout=30).stdout
    names = sorted(os.listdir(source.directory))
    source.answer()  # the kernel waits for closes of a process that ends
    assert got == b"".join(content(name) for name in names).decode()


# [S-3.15k] While reads of the source hang, all that needs none of them is
# answered.
def test_room_is_told_as_it_was_while_the_source_does_not_tell(source, mounts):
    mount = mounts(source.path, NATIVE)
    source.hang("statfs")
    room = ["stat", "-f", "--format=%b %S", mount.path]
    of_directory = [*room[:-1], source.directory]
    assert mount.run(room, timeout=30).stdout == \
        harness.run(of_directory).stdout
    for _ in range(10):
        mount.run(room, timeout=3)
    mount.run([harness.shufflectl(), "umount", mount.path], timeout=60)
    assert mount.process.poll() is not None  # it was waited for
    mount.expect_exit()


# [S-3.15l] Who is killed while its read hangs ends, and unmounting ends, too.
def test_unmounting_ends_while_the_source_hangs(source, mounts):
    mount, readers = mount_with_hung_readers(mounts, source, NATIVE)
    readers.kill()
    mount.run([harness.shufflectl(), "umount", mount.path], timeout=60)
    mount.expect_exit()
    assert not harness.mount_types(mount.path)


# [S-3.15l] Who is killed while its read hangs ends, and unmounting ends, too.
# [S-3.12g] What was set through the control file survives a crash, and ends
# with a clean unmount.
def test_sigterm_ends_a_mount_whose_control_file_waits(source, mounts):
    mount = mounts(source.path, NATIVE)
    assert mount.write_control("seed = 7\n") is None
    source.hang("read")
    control = mount.control_dir / "control"
    writer = subprocess.Popen(
        ["sh", "-c", f"echo 'policy = \"clairvoyant\"' > {control}"],
        stderr=subprocess.DEVNULL)
    harness.eventually(lambda: Readers.waits(writer, "/control"),
                       what="the write")
    assert mount.view()["epoch_state"] == "running"
    mount.process.terminate()
    harness.eventually(lambda: not harness.mount_types(mount.path),
                       what="unmounting")
    assert writer.wait(timeout=30 * harness.SLOWDOWN) != 0
    # Its threads still wait, so it ends without them.
    harness.eventually(lambda: "not done with its end" in mount.log(),
                       what="the end")
    source.answer()  # the kernel waits for direct reads of a process that ends
    mount.expect_exit()
    mount.start()
    assert mount.view()["seed"] != 7
    mount.unmount()


# [S-3.15l] Who is killed while its read hangs ends, and unmounting ends, too.
def test_killing_the_daemon_leaves_nothing_that_hangs(source, mounts):
    mount, readers = mount_with_hung_readers(mounts, source, NATIVE)
    mount.kill()
    readers.wait()
    assert all(p.returncode != 0 for p in readers.processes)
    source.answer()
    again = mount.start()
    assert (again.path / "hang000").read_bytes() == content("hang000")


# [S-3.15k] While reads of the source hang, all that needs none of them is
# answered.
def test_a_scan_that_hangs_holds_up_nobody(source, mounts):
    source.hang("list")
    mount = mounts(source.path, NATIVE, start=False)
    mount.start(ready=False)
    harness.eventually(lambda: harness.mount_types(mount.path)
                       and "indexing" in mount.read("status"), what="mount")
    listers = [subprocess.Popen(["ls", mount.path], stdout=subprocess.DEVNULL)
               for _ in range(READERS)]
    assert mount.view()["epoch_state"] == "indexing"
    assert "shufflefs_reads_total" in mount.read("metrics")
    source.answer()
    for process in listers:
        assert process.wait(timeout=60 * harness.SLOWDOWN) == 0
    harness.eventually(lambda: mount.view()["epoch_state"] == "running",
                       what="catalogue")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_who_interrupts_the_command_ends_its_mount(source, folder, number):
    source.hang("list")
    place = folder / "mnt"
    place.mkdir()
    command = subprocess.Popen(
        [harness.shufflefs(), "-o",
         f"policy=native,wait=1h,state={folder / 'state'}", source.path, place],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    harness.eventually(lambda: harness.mount_types(place), what="mount")
    command.send_signal(number)
    _, said = command.communicate(timeout=60 * harness.SLOWDOWN)
    assert command.returncode == 128 + number, said
    assert said.endswith("shufflefs: interrupted; nothing is mounted\n")
    harness.eventually(lambda: not harness.mount_types(place), what="its end")


# [S-3.15l] Who is killed while its read hangs ends, and unmounting ends, too.
def test_unmounting_ends_while_the_scan_hangs(source, mounts):
    source.hang("list")
    mount = mounts(source.path, NATIVE, start=False)
    mount.start(ready=False)
    harness.eventually(lambda: harness.mount_types(mount.path)
                       and "indexing" in mount.read("status"), what="mount")
    mount.run([harness.shufflectl(), "umount", mount.path], timeout=60)
    mount.expect_exit()


# No other file takes the place of one with such a name, or loses its own.
def test_names_that_are_too_long_are_named_and_left_out(source, mounts):
    short = "l" * (300 % 256)
    (source.directory / short).write_bytes(content(short))
    source.hang("long")
    mount = mounts(source.path, NATIVE)
    assert sorted(os.listdir(mount.path)) == sorted(
        os.listdir(source.directory))
    assert (mount.path / short).read_bytes() == content(short)
    for size in (256, 300):
        line = f" {'l' * size}: cannot be read"
        assert mount.log().count(line) == 1, mount.log()
