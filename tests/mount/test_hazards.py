# SPDX-License-Identifier: Apache-2.0
"""What a mount does at the edges of its promises, and what stays true."""
import errno
import mmap
import os
import stat

import pytest

import harness
import trees

UNSEEN = {"policy": "lirs", "substitute": "directory", "open": "unseen",
          "epoch.advance": "manual"}
WATCHED = {"policy": "lirs", "substitute": "directory",
           "epoch.advance": "auto"}


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source")


# [S-3.1f] Directories keep their write bits, and creating in them is refused.
def test_directories_keep_their_write_bits(mounts, source):
    mount = mounts(source, UNSEEN)
    for path in [source, *sorted(source.iterdir())]:
        shown = mount.path / path.relative_to(source)
        mode = stat.S_IMODE(shown.stat().st_mode)
        assert mode == stat.S_IMODE(path.stat().st_mode) and mode & 0o200
        for make in (os.mkdir, os.mkfifo):
            with pytest.raises(OSError) as refusal:
                make(shown / "new")
            assert refusal.value.errno == errno.EROFS


def write_by_all_means(path):
    """The errnos of a write, and of a mapping that was made dirty."""
    codes = set()
    descriptor = os.open(path, os.O_RDWR)
    with pytest.raises(OSError) as refusal:
        os.write(descriptor, b"nothing of this may stay")
    codes.add(refusal.value.errno)
    mapping = mmap.mmap(descriptor, 0, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    mapping[0] ^= 255
    with pytest.raises(OSError) as refusal:
        mapping.flush()
    codes.add(refusal.value.errno)
    mapping.close()
    os.close(descriptor)
    return codes


# [S-3.1g] Where opens are unseen, root may open a file for writing, but
# nothing is written.
def test_root_may_open_but_not_write_where_opens_are_unseen(mounts, source):
    before = trees.contents(source)
    mount = mounts(source, UNSEEN)
    shown = trees.contents(mount.path)
    for name in sorted(shown)[:5]:
        path = mount.path / name
        if harness.SELF.uid == 0:
            assert write_by_all_means(path) == {errno.EROFS}
        else:
            with pytest.raises(PermissionError):
                os.open(path, os.O_RDWR)
        harness.eventually(
            lambda: trees.digest(path.read_bytes()) == shown[name],
            what="the page that was refused to be dropped")
    mount.unmount()
    assert trees.contents(source) == before


# [S-3.3b] Listing and stat of a whole tree move no epoch.
def test_listing_and_stat_move_no_epoch(mounts, source):
    mount = mounts(source, WATCHED)
    for argv in (["ls", "-lR", mount.path], ["du", "-s", mount.path],
                 ["find", mount.path, "-size", "+1"]):
        for _ in range(3):
            mount.run(argv)
    view = mount.view()
    assert (view["epoch"], view["epoch_held"], view["consumed"]) == (0, 0, 0)
    assert view["epoch_state"] == "running"


# [S-3.10m] Of a name that nobody opened in an epoch nothing is proven.
def test_who_shares_mappings_by_path_is_told_of(mounts, source):
    truth = trees.contents(source)
    mount = mounts(source, WATCHED)

    def verified():
        told = mount.run([harness.shufflectl(), "verify", mount.path]).stdout
        return told.splitlines()

    # Each file is opened anew: nothing is missing, and all is proven.
    for items in mount.client("map_by_path.py", mount.path, "--read"):
        assert sorted(items) == sorted(truth.values())
    assert not any("not opened" in line for line in verified())
    mount.next_epoch()
    # Files that are held on to show what they showed an epoch before.
    lacking = [len(set(truth.values()) - set(items))
               for items in mount.client("map_by_path.py", mount.path,
                                         "--shared", 30)]
    assert lacking[0] == 0 and max(lacking) > 0
    lines = verified()
    assert any("not opened" in line for line in lines)
    assert any(line.startswith("proven: ") and
               line.endswith("as far as names were opened") for line in lines)
