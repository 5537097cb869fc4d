# SPDX-License-Identifier: Apache-2.0
"""Odd names, links, special files, sizes and depths."""
import errno
import os
import socket
import stat

import pytest

import harness
import trees

LIRS = {"policy": "lirs", "substitute": "directory",
        "epoch.advance": "manual"}
NAMES = [b"with space.png", b" lead.png", b"trail .png", b"new\nline.png",
         b"tab\there.png", b"\xff\xfe invalid.png", b"quote'\".png",
         b"back\\slash.png", b"-dash.png", b"~tilde~.png", b"%41.png",
         "Zürich-画像.png".encode(), b"n" * 251 + b".png", b"no extension",
         b"\x01control\x7f.png", b"*?[].png", b"..dots.png"]


def as_bytes(path):
    return os.fsencode(path)


# [S-3.15g] Names of any bytes, sizes beyond 4 GiB and trees of 40 levels are
# shown as they are.
def test_names_of_any_bytes(mounts, folder):
    source = folder / "source"
    classes = [b"plain", b"white space", b"\xe9t\xe9"]
    for k, label in enumerate(classes):
        os.makedirs(as_bytes(source) + b"/" + label)
        for i, name in enumerate(NAMES):
            with open(as_bytes(source) + b"/" + label + b"/" + name,
                      "wb") as file:
                file.write(b"content %d %d" % (k, i) * (i + 1))
    expected = trees.contents(source)
    assert len(expected) == len(classes) * len(NAMES)
    mount = mounts(source, LIRS)
    for _ in range(3):
        shown = trees.contents(mount.path)
        assert shown.keys() == expected.keys()
        assert trees.by_folder(shown) == trees.by_folder(expected)
        for label in classes:
            listed = os.listdir(as_bytes(mount.path) + b"/" + label)
            assert sorted(listed) == sorted(NAMES)
        mount.next_epoch()


# [S-3.7d] Every name that is listed can be opened, in every epoch.
def test_every_listed_name_resolves_in_every_epoch(mounts, folder):
    source = trees.class_folders(folder / "source")
    mount = mounts(source, LIRS)
    for _ in range(3):
        for label in os.listdir(mount.path):
            for name in os.listdir(mount.path / label):
                assert (mount.path / label / name).lstat().st_size > 0
            assert not (mount.path / label / "absent.png").exists()
        mount.next_epoch()


@pytest.fixture
def linked(folder):
    """A source with links of all kinds."""
    source = trees.class_folders(folder / "source")
    outside = folder / "outside"
    outside.mkdir()
    (outside / "secret.png").write_bytes(b"not of this tree")
    first = next((source / "c0").iterdir()).name
    (source / "c0" / "to-file.png").symlink_to(first)
    (source / "c0" / "dangling.png").symlink_to("nothing-here")
    (source / "c0" / "out.png").symlink_to(outside / "secret.png")
    (source / "c0" / "loop.png").symlink_to("loop.png")
    (source / "to-folder").symlink_to("c1")
    (source / "out-folder").symlink_to(outside)
    return source


# [S-3.4h] Links are shown as links, and the daemon never follows one.
def test_links_are_shown_as_links(mounts, linked):
    mount = mounts(linked, LIRS)
    for _ in range(3):
        for path in linked.rglob("*"):
            shown = mount.path / path.relative_to(linked)
            assert (stat.S_IFMT(shown.lstat().st_mode)
                    == stat.S_IFMT(path.lstat().st_mode)), path
            if path.is_symlink():
                assert os.readlink(shown) == os.readlink(path)
        # The client's kernel follows them, as it would on the source.
        assert not (mount.path / "c0" / "dangling.png").exists()
        assert ((mount.path / "c0" / "out.png").read_bytes()
                == b"not of this tree")
        assert sorted(os.listdir(mount.path / "to-folder")) == sorted(
            os.listdir(linked / "c1"))
        with pytest.raises(OSError):
            (mount.path / "c0" / "loop.png").read_bytes()
        # A link is no sample: none shows what it points to instead.
        outside = trees.digest(b"not of this tree")
        assert outside not in trees.contents(mount.path).values()
        mount.next_epoch()


# [S-3.8g] Links are not in a ranked view.
def test_links_are_not_in_a_ranked_view(mounts, linked):
    mount = mounts(linked, {**LIRS, "layout": "ranked"})
    names = os.listdir(mount.path)
    regular = [path for path in linked.rglob("*")
               if stat.S_ISREG(path.lstat().st_mode)]
    assert len(names) == len(regular)
    assert not [name for name in names if "to-file" in name or "out" in name]


# [S-3.8g] Links are not in a ranked view.
# Nor are lists of labels and documents, also where names may not move.
def test_a_list_of_labels_is_not_in_a_ranked_view(mounts, folder):
    source = folder / "source"
    (source / "img").mkdir(parents=True)
    images = [f"{number}.png" for number in range(40)]
    for name in images:
        (source / "img" / name).write_bytes(name.encode())
    rows = "".join(f"{name},{number % 7}\n"
                   for number, name in enumerate(images))
    (source / "labels.csv").write_text("file,label\n" + rows)
    (source / "README.md").write_text("pictures")
    mount = mounts(source, {"policy": "lirs", "layout": "ranked",
                            "epoch.advance": "manual"})
    assert {name.split("~", 1)[1] for name in os.listdir(mount.path)} == \
        {f"img~{name}" for name in images}
    listed = mount.control_dir / "epoch" / "0" / "tree" / "labels.csv"
    assert listed.read_text() == "file,label\n" + rows


# [S-3.15f] A link that takes the place of a file is not followed.
def test_a_link_put_in_place_of_a_file_is_not_followed(mounts, linked, folder):
    """The source changes under the mount, to lead out of it."""
    mount = mounts(linked, {"policy": "native"})
    victim = next(path for path in sorted((linked / "c2").iterdir()))
    victim.unlink()
    victim.symlink_to(folder / "outside" / "secret.png")
    with pytest.raises(OSError) as refusal:
        (mount.path / "c2" / victim.name).read_bytes()
    assert refusal.value.errno in {errno.ESTALE, errno.EIO, errno.ELOOP}


def test_hard_links(mounts, folder):
    source = trees.class_folders(folder / "source")
    for number, path in enumerate(sorted((source / "c0").iterdir())[:5]):
        os.link(path, source / "c1" / f"9{number:05d}.png")
    expected = trees.by_folder(trees.contents(source))
    mount = mounts(source, LIRS)
    for _ in range(2):
        assert trees.by_folder(trees.contents(mount.path)) == expected
        mount.next_epoch()


def test_empty_files_and_folders(mounts, folder):
    source = trees.class_folders(folder / "source")
    (source / "empty").mkdir()
    (source / "c0" / "none").mkdir()
    for number in range(3):
        (source / "c0" / f"8{number:05d}.png").touch()
    mount = mounts(source, LIRS)
    for _ in range(3):
        assert os.listdir(mount.path / "empty") == []
        assert os.listdir(mount.path / "c0" / "none") == []
        for number in range(3):  # they keep their own content
            path = mount.path / "c0" / f"8{number:05d}.png"
            assert path.stat().st_size == 0 and path.read_bytes() == b""
        mount.next_epoch()


# [S-3.15g] Names of any bytes, sizes beyond 4 GiB and trees of 40 levels are
# shown as they are.
def test_a_file_of_5_gigabytes(mounts, folder):
    source = trees.class_folders(folder / "source")
    size = 5 * 10**9
    with open(source / "big.bin", "wb") as file:
        file.write(b"begin")
        file.seek(2**32 + 1)
        file.write(b"middle")
        file.seek(size - 3)
        file.write(b"end")
    mount = mounts(source, LIRS)
    path = mount.path / "big.bin"
    assert path.stat().st_size == size
    assert path.stat().st_blocks == (source / "big.bin").stat().st_blocks
    with open(path, "rb") as file:
        assert file.read(8) == b"begin\0\0\0"
        assert os.pread(file.fileno(), 8, 2**32) == b"\0middle\0"
        assert os.pread(file.fileno(), 100, size - 4) == b"\0end"
        assert os.pread(file.fileno(), 100, size) == b""
        assert file.seek(0, os.SEEK_END) == size


def test_special_files(mounts, folder):
    source = trees.class_folders(folder / "source")
    os.mkfifo(source / "c0" / "fifo.png")
    with socket.socket(socket.AF_UNIX) as server:
        here = os.getcwd()
        os.chdir(source / "c0")
        server.bind("socket.png")
        os.chdir(here)
    if os.geteuid() == 0:
        os.mknod(source / "c0" / "device.png", stat.S_IFCHR | 0o644,
                 os.makedev(1, 3))
    special = [path for path in (source / "c0").iterdir()
               if not stat.S_ISREG(path.lstat().st_mode)]
    mount = mounts(source, LIRS)
    for _ in range(2):
        for path in special:
            shown = (mount.path / path.relative_to(source)).lstat()
            assert (stat.S_IFMT(shown.st_mode)
                    == stat.S_IFMT(path.lstat().st_mode))
            assert shown.st_rdev == path.lstat().st_rdev
        assert trees.by_folder(trees.contents(mount.path)) == trees.by_folder(
            trees.contents(source))
        mount.next_epoch()


# [S-3.15g] Names of any bytes, sizes beyond 4 GiB and trees of 40 levels are
# shown as they are.
def test_a_tree_40_levels_deep(mounts, folder):
    source = folder / "source"
    path = source
    for level in range(40):
        path = path / f"level{level}"
        path.mkdir(parents=True)
        for number in range(2):
            (path / f"{level * 37 + number * 11:04d}.png").write_bytes(
                b"%d %d" % (level, number))
    expected = trees.contents(source)
    assert len(expected) == 80
    mount = mounts(source, LIRS)
    for _ in range(2):
        assert trees.by_folder(trees.contents(mount.path)) == trees.by_folder(
            expected)
        mount.next_epoch()


def test_a_class_folder_without_search_permission(mounts, folder):
    """For its owner, and for another user through a mount of root."""
    source = trees.class_folders(folder / "source")
    trees.give_to(source, harness.NOBODY)
    (source / "c1").chmod(0o600)
    mount = mounts(source, LIRS, user=harness.NOBODY)
    found = mount.client("digest_tree.py", mount.path)
    assert {name.split("/")[0] for name in found
            if isinstance(found[name], str)} == {"c0", "c2", "c3", "c4"}
    name = next((source / "c1").iterdir()).name if os.geteuid() == 0 else "x"
    done = mount.run(["cat", mount.path / "c1" / name], check=False)
    assert done.returncode != 0 and "denied" in done.stderr
    mount.unmount()

    if harness.SELF.uid == 0:
        mount = mounts(source, {**LIRS, "allow_other": None})
        done = harness.run(["cat", mount.path / "c1" / name],
                           user=harness.NOBODY, check=False)
        assert done.returncode != 0 and "denied" in done.stderr
        mount.unmount()
    (source / "c1").chmod(0o700)


def test_a_source_whose_name_is_not_utf_8_is_verified(folder):
    source = folder / os.fsdecode(b"s\xff,1")
    trees.class_folders(source)
    link = folder / "mnt"
    link.mkdir()
    harness.run([harness.shufflefs(), "-o",
                 f"policy=lirs,substitute=directory,state={folder}/st", source,
                 link])
    try:
        trees.contents(link)
        done = harness.run([harness.shufflectl(), "verify", link], check=False)
        assert done.returncode == 0, done.stderr
        assert "bijection; the mount shows it" in done.stdout
    finally:
        harness.run(["umount", "-l", link])
