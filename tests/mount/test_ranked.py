# SPDX-License-Identifier: Apache-2.0
"""layout = ranked: one flat folder whose sorted names are the order (3.8)."""
import os
import re

import pytest

import harness
import trees

RANKED = {"policy": "lirs", "layout": "ranked", "epoch.advance": "manual"}
HASHED = re.compile(r"^\d{9}~[0-9a-f]{16}~")


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source")


@pytest.fixture
def mount(mounts, source):
    return mounts(source, RANKED)


def path_of(name):
    """The source path that a plain ranked name tells."""
    return name[10:].replace("~", "/")


def order(mount):
    return [path_of(name) for name in sorted(os.listdir(mount.path))]


# [S-3.8a] The sorted names of a ranked view are the order of its epoch.
def test_sorted_names_are_all_samples_in_the_epochs_order(mount, source):
    expected = trees.contents(source)
    for _ in range(3):
        names = sorted(os.listdir(mount.path))
        assert [int(name[:9]) for name in names] == list(range(len(expected)))
        assert sorted(map(path_of, names)) == sorted(expected)
        rows = [line.split("\t") for line in mount.read("order").splitlines()]
        assert [row[1] for row in rows] == names
        assert [row[2] for row in rows] == order(mount)
        mount.next_epoch()


# [S-3.8b] A ranked name shows the file that it tells, in every epoch.
def test_a_name_shows_the_sample_it_tells(mount, source):
    expected = trees.contents(source)
    for _ in range(2):
        for name in os.listdir(mount.path):
            data = (mount.path / name).read_bytes()
            assert trees.digest(data) == expected[path_of(name)]
            told = os.getxattr(mount.path / name, "user.shufflefs.sample")
            assert told.decode() == path_of(name)
        mount.next_epoch()


def test_epochs_differ_and_the_seed_repeats_them(mounts, source):
    def orders(seed):
        mount = mounts(source, {**RANKED, "seed": seed})
        found = []
        for _ in range(3):
            found.append(order(mount))
            mount.next_epoch()
        return found

    first = orders(1)
    assert orders(1) == first
    assert first != orders(2)
    assert len({tuple(found) for found in first}) == 3
    for found in first:
        assert found != sorted(found)
        # Classes are mixed: neighbours of one class are about one in five.
        same = sum(a.split("/")[0] == b.split("/")[0]
                   for a, b in zip(found, found[1:]))
        assert same < len(found) / 2


# [S-3.8c] A rank of another epoch still resolves.
def test_stale_ranks_resolve(mount, source):
    old = sorted(os.listdir(mount.path))
    expected = trees.contents(source)
    mount.next_epoch()
    assert sorted(os.listdir(mount.path)) != old
    for name in old:
        data = (mount.path / name).read_bytes()
        assert trees.digest(data) == expected[path_of(name)]


@pytest.mark.parametrize("name", [
    "000000000~c0~absent.png", "c0~000001.png", "000000000", "c0", "~",
    "0~c0", "999999999~c0", "000000000~../../etc/passwd",
    "000000000~..~..~etc~passwd", "000000000~c0~..~c1", "000000000~",
    "000000000~0123456789abcdef~x.png"])
def test_other_names_are_not_there(mount, name):
    with pytest.raises((FileNotFoundError, NotADirectoryError)):
        (mount.path / name).lstat()


# [S-3.8e] A live ranked view advances by the control file only.
def test_a_live_ranked_view_advances_by_control_only(mounts, source):
    mount = mounts(source, {**RANKED, "epoch.advance": "auto"})
    before = order(mount)
    for _ in range(3):
        mount.client("digest_tree.py", mount.path)
    assert mount.view()["epoch"] == 0 and order(mount) == before
    mount.next_epoch()
    assert mount.view()["epoch"] == 1 and order(mount) != before


# [S-3.8d] Names that would be too long or ambiguous carry a hash and the tail
# of the path.
def test_long_and_ambiguous_names_are_hashed(mounts, folder):
    source = folder / "source"
    odd = ["a~b/one.png", "a/b~two.png", "x" * 200 + "/" + "y" * 100 + ".png",
           "deep/" * 30 + "z" * 150 + ".jpeg", "plain/three.png"]
    for number, path in enumerate(odd):
        file = source / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"content %d" % number)
    mount = mounts(source, RANKED)
    for _ in range(2):
        names = os.listdir(mount.path)
        assert len(names) == len(odd)
        assert all(len(os.fsencode(name)) <= 255 for name in names)
        assert sum(bool(HASHED.match(name)) for name in names) == 4
        told = {os.getxattr(mount.path / name, "user.shufflefs.sample")
                .decode(): name for name in names}
        assert told.keys() == set(odd)
        for number, path in enumerate(odd):
            shown = mount.path / told[path]
            assert shown.read_bytes() == b"content %d" % number
            assert os.path.splitext(shown)[1] == os.path.splitext(path)[1]
        mount.next_epoch()


# [S-3.8i] No two files of a view have one ranked name, whatever their paths.
def test_paths_made_to_fit_take_no_others_name(mounts, folder):
    source = folder / "source"
    sample = b"images/a~1.png"
    same_hash = (b"\x73\x22\x08\xaf\x6b\xee\x12\xfb\x7d\x01\x81\x2c\xf7\x21"
                 b"\xad\x1ccbebhhhg/a~1.png")
    spells_it = b"25e1dce74c504611/a/1.png"
    for path in (sample, same_hash, spells_it):
        file = os.path.join(os.fsencode(source), path)
        os.makedirs(os.path.dirname(file))
        with open(file, "wb") as out:
            out.write(path)
    mount = mounts(source, RANKED)
    for _ in range(2):
        names = os.listdir(os.fsencode(mount.path))
        shown = []
        for name in names:
            name = os.path.join(os.fsencode(mount.path), name)
            with open(name, "rb") as file:
                shown.append(file.read())
            assert os.getxattr(name, "user.shufflefs.sample") == shown[-1]
        assert sorted(shown) == sorted([sample, same_hash, spells_it])
        mount.next_epoch()


# [S-3.8f] Search permission of the directories above a file is honoured.
def test_search_permission_above_is_honoured(mounts, source):
    """A file in a folder that the reader may not enter stays out of reach."""
    trees.give_to(source, harness.SELF)
    (source / "c1").chmod(0o700)
    options = dict(RANKED)
    if harness.SELF.uid == 0:
        options["allow_other"] = None
    mount = mounts(source, options)
    for name in os.listdir(mount.path):
        done = harness.run(["cat", mount.path / name], user=harness.NOBODY,
                           check=False)
        refused = "~c1~" in name and harness.NOBODY != harness.SELF
        assert (done.returncode != 0) == refused, name


def test_a_split_is_not_mixed_in(mounts, folder):
    """Validation samples come in their own order, after or before training."""
    source = trees.train_and_val(folder / "source")
    mount = mounts(source, RANKED)
    names = order(mount)
    val = [name for name in names if name.startswith("val/")]
    assert val == [name for name in sorted(trees.contents(source))
                   if name.startswith("val/")] or not val
