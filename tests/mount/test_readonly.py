# SPDX-License-Identifier: Apache-2.0
"""The source is never written."""
import errno
import os

import pytest

import harness
import trees

POLICIES = {
    "native": {"policy": "native"},
    "lirs": {"policy": "lirs", "substitute": "directory",
             "epoch.advance": "manual"},
    "ranked": {"policy": "lirs", "layout": "ranked",
               "epoch.advance": "manual"},
}
REFUSALS = {errno.EROFS, errno.EACCES}


@pytest.fixture
def source(folder, user):
    """A tree that its user could write to, were it not for the mount."""
    root = trees.class_folders(folder / "source", classes=2, per_class=20)
    (root / "sub").mkdir()
    (root / "plain.bin").write_bytes(b"data" * 1000)
    (root / "plain.bin").chmod(0o777)
    trees.give_to(root, user)
    return root


def everything(root):
    """{path: all that stat tells and what is inside} of a tree."""
    found = {}
    for folder, folders, names in os.walk(root):
        for name in [*folders, *names]:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            found[path] = (info.st_mode, info.st_size, info.st_mtime_ns,
                           info.st_uid, info.st_nlink)
    return found, trees.contents(root)


# [S-3.1a] Every change is refused, and the source stays as it was.
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("read_only", [False, True])
def test_every_writing_call_is_refused(mounts, source, user, policy,
                                       read_only):
    options = dict(POLICIES[policy])
    if read_only:
        options["ro"] = None
    before = everything(source)
    mount = mounts(source, options, user=user)
    names = mount.run(["find", mount.path, "-type", "f"]).stdout.split("\n")
    file = next(name for name in sorted(names) if name.endswith(".bin")
                or policy == "ranked" and name)
    refusals = mount.client("write_calls.py", mount.path, file)
    assert len(refusals) >= 25
    if policy == "ranked":  # FOLDER/sub is not there
        for call in ("rmdir", "rename directory", "rename exchange",
                     "chmod directory"):
            refusals.pop(call)
    # The kernel answers these itself.
    assert refusals.pop("fallocate") in {errno.EBADF, *REFUSALS}
    assert refusals.pop("create unnamed") in {errno.EOPNOTSUPP, *REFUSALS}
    assert refusals.pop("change flags") in {errno.ENOTTY, errno.EROFS}
    for call, code in refusals.items():
        assert code in REFUSALS, f"{call}: {code and os.strerror(code)}"
        if user.uid == 0:
            assert code == errno.EROFS, call
    assert everything(source) == before


# [S-3.1b] No file shows a write permission.
def test_no_file_shows_a_write_permission(mounts, source, user):
    mount = mounts(source, POLICIES["lirs"], user=user)
    shown = mount.run(["find", mount.path, "-type", "f", "-printf",
                       "%m %P\\n"]).stdout.splitlines()
    assert shown
    for line in shown:
        mode, name = line.split(" ", 1)
        assert int(mode, 8) & 0o222 == 0, name
    assert "555 plain.bin" in shown


# [S-3.1c] The files control and token are the only ones that take writes.
def test_the_control_file_is_the_only_one_that_can_be_written(mounts, source,
                                                              user):
    mount = mounts(source, POLICIES["lirs"], user=user)
    assert mount.write_control("seed = 3\n") is None
    for name in ("status", "metrics", "order", "error", "absent"):
        code = mount.write_control("x\n", name)
        assert code in REFUSALS | {errno.ENOENT}, name
    calls = mount.client("write_calls.py", mount.control_dir,
                         mount.control_dir / "status")
    for call in ("create", "mkdir", "unlink", "rename", "symlink", "chmod"):
        assert calls[call] in REFUSALS, call


# [S-3.1d] With the option ro they take none either.
def test_ro_makes_the_control_file_unwritable(mounts, source, user):
    mount = mounts(source, {**POLICIES["lirs"], "ro": None}, user=user)
    seed = mount.view()["seed"]
    assert mount.write_control("seed = 3\n") == errno.EROFS
    done = mount.run([harness.shufflectl(), "epoch", mount.path, "next"],
                     check=False)
    assert done.returncode == 1 and done.stderr.endswith(
        "Read-only file system; it was mounted with -o ro, so nothing can be "
        "set; mount it again without ro\n")
    assert mount.view()["seed"] == seed


# [S-3.1e] Only the owner of the mount may read and write control and token.
def test_control_is_its_owners_alone(mounts, folder):
    source = trees.class_folders(folder / "source", classes=2)
    options = dict(POLICIES["lirs"])
    if harness.SELF.uid == 0:
        options["allow_other"] = None
    mount = mounts(source, options)
    for name in ("control", "token"):
        assert (mount.control_dir / name).stat().st_mode & 0o777 == 0o600
    assert (mount.control_dir / "status").stat().st_mode & 0o777 == 0o444
    for name in ("control", "token"):
        for argv in (["cat"], ["tee"]):
            done = harness.run([*argv, mount.control_dir / name],
                               user=harness.NOBODY, check=False)
            if harness.NOBODY != harness.SELF:
                assert done.returncode != 0 and "denied" in done.stderr
    done = harness.run(["cat", mount.control_dir / "status"],
                       user=harness.NOBODY)
    assert '"views"' in done.stdout
