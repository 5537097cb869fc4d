# SPDX-License-Identifier: Apache-2.0
"""Who may read large files that the kernel reads from the source by itself.
Needs root."""
import errno
import os

import pytest

import harness
from test_passthrough import NATIVE, SIZES, attempt, metric
from test_passthrough import local, source  # noqa: F401: fixtures
from test_passthrough import smaller_files_are_large  # noqa: F401: the same

FIRST_FILE = 1 << 60  # the number of a file is this and its place in the scan


# [S-25.2b] A lost permission is noticed at the next open.
def test_a_permission_that_was_taken_away(mounts, source):
    mount = mounts(source, {**NATIVE, "allow_other": None})
    victim = source / "a" / "1.bin"
    read = ["head", "-c", "10", mount.path / "a" / "1.bin"]
    assert harness.run(read, user=harness.NOBODY, check=False).returncode == 0
    victim.chmod(0o600)
    assert harness.run(read, user=harness.NOBODY, check=False).returncode == 1
    closed = source / "a" / "2.bin"
    closed.chmod(0o600)
    mount.close()
    mount = mounts(source, {**NATIVE, "allow_other": None})
    read[-1] = mount.path / "a" / "2.bin"
    assert harness.run(read, user=harness.NOBODY, check=False).returncode == 1


# The kernel has its backing file already, and the daemon may not answer reads of
# another descriptor.
@pytest.mark.parametrize("how", ["chmod", "replaced"])
def test_the_next_open_is_checked_while_another_reader_has_the_file(
        mounts, source, how):
    mount = mounts(source, {**NATIVE, "allow_other": None})
    victim = source / "a" / "1.bin"
    shown = mount.path / "a" / "1.bin"
    data = victim.read_bytes()
    with open(shown, "rb", buffering=0) as holder:
        assert holder.read(1000) == data[:1000]
        if how == "chmod":
            victim.chmod(0o600)
        else:
            (source / "a" / "new").write_bytes(bytes(SIZES[1]))
            (source / "a" / "new").rename(victim)
        expected = errno.EACCES if how == "chmod" else errno.ESTALE
        for user in harness.USERS:
            found = harness.run(["cat", shown], user=user, check=False)
            assert found.returncode == 1 and found.stdout == ""
            assert os.strerror(expected) in found.stderr
        assert "a/1.bin" in mount.log()
        assert holder.readall() == data[1000:]
        assert metric(mount, "backed_opens") == 1


# [S-3.16a] No name shows a sample to somebody whom the source refuses it.
def test_the_name_of_a_file_that_was_cut_off_opens_no_way_to_it(mounts, source):
    """That name is for the daemon. The directory of the file is closed to
    others, who could guess the number in the name."""
    (source / "a").chmod(0o700)
    mount = mounts(source, {**NATIVE, "allow_other": None})
    reader = os.open(mount.path / "a" / "1.bin", os.O_RDONLY)
    assert os.read(reader, 1000)
    with open(source / "a" / "1.bin", "r+b"):
        pass
    harness.eventually(lambda: "somebody opened it" in mount.log(),
                       what="the file is cut off")
    names = [mount.path / f".shufflefs-cut-{FIRST_FILE + entry}"
             for entry in range(20)]
    for user in harness.USERS:
        found = harness.run(["stat", "--format=%n", *names], user=user,
                            check=False)
        assert found.stdout == "", found.stdout
    assert attempt(os.close, reader) == errno.EIO
