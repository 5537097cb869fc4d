# SPDX-License-Identifier: Apache-2.0
"""cp, tar, rsync, find, du and md5sum see a consistent tree."""
import os
import re

import pytest

import harness
import trees

POLICIES = {
    "native": {"policy": "native"},
    "lirs": {"policy": "lirs", "substitute": "directory",
             "epoch.advance": "manual"},
    "window": {"policy": "window", "substitute": "directory",
               "epoch.advance": "manual"},
    "auto advance": {"policy": "lirs", "substitute": "directory",
                     "epoch.advance": "auto"},
}
COMPLAINT = re.compile(r"changed|shrank|replaced|vanished|verification|differ")


@pytest.fixture
def source(folder):
    root = trees.blobs(folder / "source")
    (root / "empty").mkdir()
    (root / "README.md").write_text("what this is\n")
    (root / "link").symlink_to("c0")
    return root


@pytest.fixture(params=POLICIES)
def mount(mounts, source, request):
    return mounts(source, POLICIES[request.param])


def quietly(argv, **kwargs):
    """Runs a tool: exit 0 and no word about a file that moved under it."""
    done = harness.run(argv, **kwargs)
    assert not COMPLAINT.search(done.stdout + done.stderr), done
    return done.stdout


def check_copy(copy, source):
    """The same files by folder, whatever names they go by."""
    found, expected = trees.contents(copy), trees.contents(source)
    assert trees.by_folder(found) == trees.by_folder(expected)
    assert found.keys() == expected.keys()
    assert os.readlink(copy / "link") == "c0"
    assert (copy / "empty").is_dir()


# [S-3.2f] Tools that copy, pack and compare see a consistent tree.
@pytest.mark.parametrize("flag", ["-r", "-a"])
def test_cp(mount, source, folder, flag):
    quietly(["cp", flag, mount.path, folder / "copy"])
    check_copy(folder / "copy", source)


def test_tar(mount, source, folder):
    quietly(["tar", "-C", mount.path, "-cf", folder / "all.tar", "."])
    (folder / "copy").mkdir()
    quietly(["tar", "-C", folder / "copy", "-xf", folder / "all.tar"])
    check_copy(folder / "copy", source)


def test_rsync(mount, source, folder):
    copy = folder / "copy"
    quietly(["rsync", "-a", f"{mount.path}/", copy])
    check_copy(copy, source)
    if mount.options.get("epoch.advance") == "auto":
        return  # a second pass is another epoch there
    again = quietly(["rsync", "-aci", "--stats", f"{mount.path}/", copy])
    assert re.search(r"Number of regular files transferred: 0\b", again)


def test_find_and_du_agree_with_the_source(mount, source):
    views = ["%y %P %l", "%s", "%n", "%U %G", "%T@", "%b"]
    if mount.options["policy"] == "native":
        views = ["%y %P %l %s %n %U %G %T@ %b"]
    for view in views:
        argv = ["find", ".", "-printf", view + "\\n"]
        shown = quietly(argv, cwd=mount.path).splitlines()
        assert sorted(shown) == sorted(
            quietly(argv, cwd=source).splitlines()), view
    for argv in (["du", "-sb", "."], ["du", "-s", "."]):
        assert quietly(argv, cwd=mount.path) == quietly(argv, cwd=source)


# [S-3.3a] However often a name is opened in an epoch, it shows the same bytes.
def test_md5sum_checks_within_an_epoch(mounts, source, folder):
    mount = mounts(source, POLICIES["lirs"])
    sums = folder / "sums"
    quietly(["sh", "-c", f"find . -type f -exec md5sum {{}} + >{sums}"],
            cwd=mount.path)
    quietly(["md5sum", "--quiet", "-c", sums], cwd=mount.path)
    shown = sorted(line.split()[0] for line in sums.read_text().splitlines())
    real = quietly(["sh", "-c", "find . -type f -exec md5sum {} +"],
                   cwd=source)
    assert shown == sorted(line.split()[0] for line in real.splitlines())


@pytest.mark.parametrize("prefix", [[], ["setsid", "--wait"]],
                         ids=["one script", "typed"])
def test_tools_one_after_the_other_cross_epochs_unharmed(mounts, source,
                                                         folder, prefix):
    """Each of them is a pass of its own to a view that advances by itself."""
    mount = mounts(source, POLICIES["auto advance"])
    for number in range(3):
        copy = folder / f"copy{number}"
        quietly([*prefix, "cp", "-a", mount.path, copy])
        check_copy(copy, source)
        quietly([*prefix, "tar", "-C", mount.path, "-cf", folder / "all.tar",
                 "."])
        packed = folder / f"tar{number}"
        packed.mkdir()
        quietly(["tar", "-C", packed, "-xf", folder / "all.tar"])
        check_copy(packed, source)
        synced = folder / f"rsync{number}"
        quietly([*prefix, "rsync", "-a", f"{mount.path}/", synced])
        check_copy(synced, source)
    assert mount.view()["epoch"] > 0
