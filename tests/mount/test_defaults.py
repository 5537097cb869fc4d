# SPDX-License-Identifier: Apache-2.0
"""A mount without options: the source as it is, for its owner alone, unless
large class folders lie on a slow device."""
import os

import pytest

import harness
import trees


@pytest.fixture
def source(folder):
    return trees.train_and_val(folder / "source")


def attributes(root):
    """{path: owner, group and mode without the write bits of files}."""
    found = {}
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        mask = ~0 if path.is_dir() else ~0o222
        found[str(path.relative_to(root))] = (info.st_uid, info.st_gid,
                                              info.st_mode & mask)
    return found


def test_a_mount_without_options_is_the_source(mounts, source):
    mount = mounts(source)
    view = mount.view()
    assert view["policy"] == "native" and view["why"]
    for number in range(2):
        assert trees.contents(mount.path) == trees.contents(source)
        for folder, _, _ in os.walk(source):
            shown = mount.path / os.path.relpath(folder, source)
            assert trees.listing(shown) == trees.listing(folder)
        mount.next_epoch()
    assert mount.status()["warnings"] == mount.view()["warnings"] == []


def test_owners_and_modes_are_those_of_the_source(mounts, source):
    names = sorted((source / "train" / "c0").iterdir())
    names[0].chmod(0o640)
    names[1].chmod(0o755)
    if harness.SELF.uid == 0:
        os.chown(names[2], harness.NOBODY.uid, harness.NOBODY.gid)
    (source / "val").chmod(0o2750)
    for options in ({}, {"policy": "lirs", "substitute": "never"}):
        mount = mounts(source, options)
        assert attributes(mount.path) == attributes(source)


def test_others_see_the_mount_on_request_only(mounts, source):
    if harness.NOBODY == harness.SELF:
        # Only root may always ask for it: see user_allow_other in fuse.conf.
        assert mounts(source).path.is_dir()
        return
    secret = sorted((source / "train" / "c0").iterdir())[0]
    secret.chmod(0o600)
    inside = secret.relative_to(source)
    mount = mounts(source)
    done = harness.run(["ls", mount.path], user=harness.NOBODY, check=False)
    assert done.returncode != 0 and "denied" in done.stderr
    mount.unmount()

    mount = mounts(source, {"allow_other": None})
    harness.run(["ls", mount.path / "train" / "c0"], user=harness.NOBODY)
    done = harness.run(["cat", mount.path / inside], user=harness.NOBODY,
                       check=False)
    assert done.returncode != 0 and "denied" in done.stderr
    other = sorted((source / "train" / "c0").iterdir())[1]
    harness.run(["cmp", other, mount.path / other.relative_to(source)],
                user=harness.NOBODY)
