# SPDX-License-Identifier: Apache-2.0
"""Who may read what, if the source is slow, fails or renumbers its inodes."""
import os

import pytest

import harness
import trees
from harness import NOBODY, SELF
from test_access import OTHERS, SOON, as_root, can_read, may
from test_hanging_source import Source

LIRS = {**OTHERS, "policy": "lirs"}


@pytest.fixture
def source(folder):
    made = Source(folder, others=())
    yield made
    made.close()


def listed(path, user):
    return harness.run(["ls", path], user=user, check=False).returncode == 0


# [S-3.16d] A directory that is closed in the source closes in the mount within
# two seconds, and names elsewhere show nothing of it any more.
@as_root
def test_who_lists_all_does_not_keep_a_closed_directory_open(source, mounts):
    names = [f"d{i:04}" for i in range(2500)]
    for name in names:
        (source.directory / name).mkdir()
        (source.directory / name / "a").write_bytes(b"x")
    mount = mounts(source.path, LIRS)
    assert can_read(mount.path / names[1] / "a", NOBODY)
    source.hang("slow")
    closed = names[-1]
    (source.directory / closed).chmod(0o700)
    order = mount.control_dir / "order"
    # It need not be readable now. All directories are asked for.
    os.stat(order)
    assert not can_read(mount.path / closed / "a", NOBODY)
    assert can_read(mount.path / names[2] / "a", NOBODY)
    harness.eventually(lambda: not can_read(order, NOBODY), SOON,
                       "hiding the order")
    assert can_read(order, SELF)


# [S-3.16d] A directory that is closed in the source closes in the mount within
# two seconds, and names elsewhere show nothing of it any more.
@as_root
def test_what_the_kernel_trusts_keeps_no_directory_open(folder, mounts):
    source = Source(folder, others=(), trusted=60)
    try:
        closed = source.directory / "closed"
        closed.mkdir()
        (closed / "a").write_bytes(b"x")
        mount = mounts(source.path, LIRS)
        assert can_read(mount.path / "closed" / "a", NOBODY)
        closed.chmod(0o700)
        harness.eventually(
            lambda: not can_read(mount.path / "closed" / "a", NOBODY), SOON,
            "closing it")
        mount.unmount()
    finally:
        source.close()


# [S-3.16e] Only who may list every directory of the view can read order or
# list a ranked view.
@as_root
def test_a_slow_source_does_not_hide_the_order_for_ever(source, mounts):
    for i in range(1500):
        (source.directory / f"d{i:04}").mkdir()
        (source.directory / f"d{i:04}" / "a").write_bytes(b"x")
    mount = mounts(source.path, LIRS)
    source.hang("slow")
    for path in (mount.control_dir / "order",
                 mount.control_dir / "epoch/0/ranked"):
        harness.eventually(lambda p=path: may("-r", p, NOBODY), SOON,
                           f"showing {path.name}")


@as_root
def test_lists_that_cannot_be_read_for_a_moment_close_nothing(source, mounts):
    trees.blobs(source.directory / "in", 2, 5, largest=1000)
    mount = mounts(source.path, LIRS)
    path = mount.path / "in" / "c0"
    assert may("-x", path, NOBODY)
    source.hang("no_lists")
    for other in (path, mount.path / "in" / "c1"):
        assert listed(other, NOBODY), other
    (source.directory / "in" / "c0").chmod(0o700)
    harness.eventually(lambda: not may("-x", path, NOBODY), SOON,
                       "closing c0")


@as_root
def test_new_inode_numbers_close_nothing(source, mounts):
    trees.blobs(source.directory / "in", 2, 5, largest=1000)
    mount = mounts(source.path, LIRS)
    source.hang("renumber")
    for name in ("c0", "c1"):
        folder = mount.path / "in" / name
        assert listed(folder, NOBODY), folder
        for file in os.listdir(folder):
            assert can_read(folder / file, NOBODY), file
    (source.directory / "in" / "c0").chmod(0o700)
    harness.eventually(lambda: not may("-x", mount.path / "in" / "c0", NOBODY),
                       SOON, "closing c0")
