# SPDX-License-Identifier: Apache-2.0
"""A source that changes under the mount."""
import errno
import os

import pytest

import harness
import trees

NATIVE = {"policy": "native"}
LIRS = {"policy": "lirs", "substitute": "directory",
        "epoch.advance": "manual"}
REFUSED = {errno.EIO, errno.ESTALE, errno.EACCES, errno.ENOENT}


@pytest.fixture
def source(folder):
    return trees.blobs(folder / "source", classes=2, per_class=12)


def become_folder(path):
    path.unlink()
    path.mkdir()


def read_all(mount):
    """{name: digest or errno} of the view."""
    return mount.client("digest_tree.py", mount.path)


# [S-3.15a] Of a changed file only its reader is told, by an errno and one line
# in the log.
@pytest.mark.parametrize("options", [NATIVE, LIRS], ids=["native", "lirs"])
@pytest.mark.parametrize("damage", [*trees.DAMAGES, become_folder])
def test_only_the_reader_of_the_changed_file_is_told(mounts, source, options,
                                                     damage):
    mount = mounts(source, options)
    expected = sorted(trees.contents(source).values())
    victim = sorted((source / "c0").iterdir())[5]
    lost = trees.digest(victim.read_bytes())
    damage(victim)

    found = read_all(mount)
    refused = [value for value in found.values() if isinstance(value, int)]
    assert len(refused) == 1 and refused[0] in REFUSED, found
    expected.remove(lost)
    assert sorted(v for v in found.values() if isinstance(v, str)) == expected

    lines = [line for line in mount.log().splitlines()
             if f"c0/{victim.name}" in line]
    assert len(lines) == 1, mount.log()
    again = read_all(mount)
    assert [v for v in again.values() if isinstance(v, int)] == refused


@pytest.mark.parametrize("options", [NATIVE, LIRS], ids=["native", "lirs"])
def test_lost_permission(mounts, source, options):
    trees.give_to(source, harness.NOBODY)
    mount = mounts(source, options, user=harness.NOBODY)
    victim = sorted((source / "c0").iterdir())[5]
    victim.chmod(0)
    found = read_all(mount)
    refused = [value for value in found.values() if isinstance(value, int)]
    assert refused == [errno.EACCES]
    assert mount.view()["samples"] == len(found)
    victim.chmod(0o644)


# [S-3.15i] A file that was replaced or written is another one, though its size
# and time were set back.
def test_a_link_that_was_replaced_tells_nothing_of_the_other(mounts, source):
    for name in ("link", "kept"):
        (source / "c0" / name).symlink_to("first")
    mount = mounts(source, NATIVE)
    (source / "c0" / "new").symlink_to("other")
    (source / "c0" / "new").rename(source / "c0" / "link")
    with pytest.raises(OSError) as error:
        os.readlink(mount.path / "c0" / "link")
    assert error.value.errno == errno.ESTALE
    assert "c0/link" in mount.log()
    assert os.readlink(mount.path / "c0" / "kept") == "first"


# [S-3.15b] No byte is invented: what is gone is an error, not zeros.
def test_a_descriptor_opened_before_reads_no_invented_bytes(mounts, source):
    """What was there stays right; what is gone is an error, not zeros."""
    mount = mounts(source, NATIVE)
    victim = max((source / "c0").iterdir(), key=lambda p: p.stat().st_size)
    data = victim.read_bytes()
    with open(mount.path / "c0" / victim.name, "rb", buffering=0) as file:
        begin = file.read(10)
        os.truncate(victim, 100)
        try:
            rest = file.readall()
        except OSError as error:
            assert error.errno in REFUSED
        else:
            assert data.startswith(begin + rest)
    assert mount.process.poll() is None


# [S-3.15c] A new file shows after the next mount, not before.
def test_a_new_file_does_not_show_up_in_an_epoch(mounts, source):
    mount = mounts(source, LIRS)
    before = read_all(mount)
    (source / "c0" / "999999.png").write_bytes(b"late")
    assert read_all(mount) == before


# [S-3.15d] The mount outlives its source.
def test_the_mount_outlives_its_whole_source(mounts, source, folder):
    mount = mounts(source, LIRS)
    contents = trees.contents(source)
    source.rename(folder / "elsewhere")  # its open directory still leads there
    for name in sorted(contents)[::2]:
        assert read_one(mount, name) in contents.values()
    for path in sorted((folder / "elsewhere").glob("*/*")):
        path.unlink()
    mount.next_epoch()
    found = read_all(mount)
    assert found.keys() == contents.keys()
    for value in found.values():  # what the kernel has cached is right
        assert value in REFUSED or value in contents.values()
    assert REFUSED & set(found.values())
    assert mount.view()["epoch"] == 1


def read_one(mount, name):
    return trees.digest((mount.path / name).read_bytes())


# [S-3.15e] A folder that cannot be read is named, in the log and in status.
def test_a_scan_of_an_unreadable_folder_says_so(mounts, source):
    trees.give_to(source, harness.NOBODY)
    (source / "c1").chmod(0)
    mount = mounts(source, LIRS, user=harness.NOBODY)
    assert len([line for line in mount.log().splitlines()
                if "c1" in line]) >= 1, mount.log()
    assert "c1" in str(mount.status()["warnings"]
                       + mount.view()["warnings"])
    done = mount.run(["ls", mount.path / "c1"], check=False)
    assert done.returncode != 0 and "denied" in done.stderr
    (source / "c1").chmod(0o755)
