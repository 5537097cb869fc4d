# SPDX-License-Identifier: Apache-2.0
"""Files that are replaced or rewritten so that size and time stay."""
import errno
import os

import pytest

import harness
import trees

NATIVE = {"policy": "native"}
# test_passthrough.py has those that the kernel reads from the source by itself.
BY_THE_DAEMON = {**NATIVE, "open": "unseen"}
LINES = {"policy": "lirs", "record.as": "*.csv:lines",
         "epoch.advance": "manual"}
BYTES = 3 << 20  # more than a reader's kernel fetches ahead


def replaced(path, data):
    """Another file takes its name."""
    before = path.stat()
    other = path.with_name("other.tmp")
    other.write_bytes(data)
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.rename(path)


def rewritten(path, data):
    """The same file gets other bytes, and its time is set back."""
    before = path.stat()
    with open(path, "r+b") as file:
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES = [replaced, rewritten]


def change(how, path, data):
    before = path.stat()
    assert len(data) == before.st_size and data != path.read_bytes()
    how(path, data)
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size,
                                                  before.st_mtime_ns)


def drop_cache(path):
    """What the kernel holds of a file of the mount is read anew."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@pytest.fixture
def source(folder):
    root = folder / "source"
    root.mkdir()
    (root / "a.bin").write_bytes(b"a" * BYTES)
    (root / "b.bin").write_bytes(b"b" * BYTES)
    return root


# [S-3.15i] A file that was replaced or written is another one, though its size
# and time were set back.
@pytest.mark.parametrize("how", CHANGES)
def test_one_descriptor_never_mixes_old_and_new_bytes(mounts, source, how):
    mount = mounts(source, BY_THE_DAEMON)
    with open(mount.path / "a.bin", "rb", buffering=0) as file:
        assert os.pread(file.fileno(), 4096, 0) == b"a" * 4096
        change(how, source / "a.bin", b"x" * BYTES)
        drop_cache(mount.path / "a.bin")
        for offset in (0, BYTES - 4096):
            try:
                assert os.pread(file.fileno(), 4096, offset) == b"a" * 4096
            except OSError as error:
                assert error.errno in (errno.ESTALE, errno.EIO), error
        with pytest.raises(OSError):
            os.pread(file.fileno(), 4096, BYTES - 4096)
    assert "a.bin: changed since the catalogue was made" in mount.log()
    assert (mount.path / "b.bin").read_bytes() == b"b" * BYTES


# [S-3.15i] A file that was replaced or written is another one, though its size
# and time were set back.
@pytest.mark.parametrize("how", CHANGES)
def test_the_next_mount_shows_the_new_bytes(mounts, source, how):
    mount = mounts(source, NATIVE)
    mount.unmount()
    change(how, source / "a.bin", b"x" * BYTES)
    mount.start()
    assert (mount.path / "a.bin").read_bytes() == b"x" * BYTES


# [S-3.15i] A file that was replaced or written is another one, though its size
# and time were set back.
@pytest.mark.parametrize("how", CHANGES)
def test_a_saved_index_is_never_that_of_another_file(mounts, folder, how):
    root = folder / "lines"
    root.mkdir()
    old = [f"{i:06}," + "o" * (i % 40) for i in range(5000)]
    new = list(reversed(old))  # as many bytes, other lines at other places
    (root / "a.csv").write_text("".join(line + "\n" for line in old))
    mount = mounts(root, LINES)
    assert sorted((mount.path / "a.csv").read_text().splitlines()) == old
    mount.unmount()
    change(how, root / "a.csv", "".join(f"{line}\n" for line in new).encode())
    mount.start()
    assert sorted((mount.path / "a.csv").read_text().splitlines()) == old


# [S-3.15j] A new mode or a new link of a file changes nothing for its readers.
def test_what_changes_no_byte_fails_no_reader(mounts, source):
    mount = mounts(source, NATIVE)
    with open(mount.path / "a.bin", "rb", buffering=0) as file:
        os.pread(file.fileno(), 4096, 0)
        (source / "a.bin").chmod(0o755)
        os.link(source / "b.bin", source.parent / "backup")
        drop_cache(mount.path / "a.bin")
        assert os.pread(file.fileno(), 4096, BYTES - 4096) == b"a" * 4096
    assert (mount.path / "b.bin").read_bytes() == b"b" * BYTES
    assert "changed" not in mount.log()


# [S-3.15i] A file that was replaced or written is another one, though its size
# and time were set back.
@pytest.mark.parametrize("how", CHANGES)
def test_a_pack_of_other_files_is_refused(mounts, folder, how):
    root = trees.blobs(folder / "files", classes=2, per_class=12)
    pack = folder / "pack"
    harness.run([harness.shufflectl(), "pack", root, pack])
    victim = sorted((root / "c0").iterdir())[0]
    change(how, victim, bytes(255 - b for b in victim.read_bytes()))
    done = harness.run([harness.shufflectl(), "pack", root, pack], check=False)
    assert done.returncode != 0 and "written or replaced" in done.stderr, done
    options = {"policy": "brand", "substitute": "directory",
               "brand.packed": pack}
    mount = mounts(root, options, start=False)
    with pytest.raises(AssertionError, match="pack again"):
        mount.start()
