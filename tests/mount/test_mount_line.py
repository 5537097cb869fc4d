# SPDX-License-Identifier: Apache-2.0
"""What a mount says when it serves, and what those are told who may not."""
import re

import pytest

import harness
import trees

STAMP = r"\d{4}-\d\d-\d\dT\S+ "
MANUAL = {"substitute": "directory", "epoch.advance": "manual"}


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source")


def line_of(mount):
    """What follows `mounted SOURCE on MOUNTPOINT: `, of the one such line."""
    lines = [line for line in mount.log().splitlines() if " mounted " in line]
    assert len(lines) == 1, mount.log()
    start = f"shufflefs: info: mounted {mount.source} on {mount.path}: "
    found = re.fullmatch(STAMP + re.escape(start) + "(.*)", lines[0])
    assert found, lines[0]
    return found[1]


# [S-3.13d] A mount says in one line what its names show.
@pytest.mark.parametrize("options, line", [
    ({"policy": "lirs"},
     "policy lirs; file names may show other samples of their class"),
    ({"policy": "lirs", "substitute": "tree"},
     "policy lirs; file names may show other samples of the whole view"),
    ({"policy": "lirs", "substitute": "never"},
     "policy lirs; file names keep their samples"),
    ({"policy": "lirs", "layout": "ranked"},
     "policy lirs; file names are sorted by their rank in the epoch"),
    ({"policy": "native"}, "policy native; file names keep their samples")])
def test_one_line_says_what_is_mounted(mounts, source, options, line):
    mount = mounts(source, {**MANUAL, **options})
    assert line_of(mount) == line


def test_auto_says_why_before(mounts, source):
    mount = mounts(source)
    policy = mount.view()["policy"]
    assert line_of(mount).startswith(f"policy {policy}; file names ")
    assert f"info: auto: {mount.view()['why']}" in mount.log()


def test_containers_are_counted(mounts, folder):
    source = folder / "source"
    source.mkdir()
    for i in range(3):
        (source / f"rows-{i}.svm").write_text(
            "".join(f"{n} 1:{i}\n" for n in range(100)))
    mount = mounts(source, {"policy": "lirs", "record.as": "*.svm:lines"})
    assert line_of(mount) == ("policy lirs; records of 3 containers are "
                              "shuffled; file names keep their samples")


def test_each_view_has_its_line(mounts, folder):
    source = trees.train_and_val(folder / "source")
    file = folder / "views.toml"
    file.write_text('[[view]]\npath = "train"\npolicy = "lirs"\n'
                    'substitute = "directory"\n'
                    '[[view]]\npath = "val"\npolicy = "native"\n')
    mount = mounts(source, arguments=["--config", file])
    for name in ("train", "val"):
        assert (f"mounted {source}/{name} on {mount.path}/{name}: policy "
                in mount.log())


def test_a_command_that_returns_says_it_on_the_terminal(source, folder):
    mountpoint = folder / "mnt"
    mountpoint.mkdir()
    done = harness.run([harness.shufflefs(), "-o",
                        f"policy=lirs,state={folder / 'state'}", source,
                        mountpoint])
    harness.run([harness.shufflectl(), "umount", mountpoint])
    assert done.stdout == ""
    assert done.stderr == (
        f"shufflefs: info: mounted {source} on {mountpoint}: policy lirs; file "
        "names may show other samples of their class\n")


def test_whoever_may_not_is_told_who_may(mounts, source):
    if harness.NOBODY == harness.SELF:
        return  # there is no other user

    def refused(mount, *words):
        done = harness.run([harness.shufflectl(), *words], user=harness.NOBODY,
                           check=False)
        assert done.returncode == 1 and done.stderr.count("\n") == 1
        return done.stderr

    shared = mounts(source, {**MANUAL, "allow_other": None})
    assert refused(shared, "epoch", shared.path, "next") == (
        f"shufflectl: {shared.control_dir}/control: Permission denied; only "
        f"the mount's owner (user {harness.SELF.uid}) or the group of "
        "control.gid may do this\n")
    own = mounts(source, MANUAL)
    assert refused(own, "status", own.path) == (
        f"shufflectl: {own.control_dir}/status: Permission denied; only the "
        "user who mounted it may enter; for others, mount with -o "
        "allow_other\n")


def test_a_group_has_a_name(mounts, source):
    mount = mounts(source, {**MANUAL, "control.gid": "daemon",
                            "allow_other": None})
    group = (mount.control_dir / "control").stat().st_gid
    assert harness.run(["getent", "group", "daemon"]).stdout.split(":")[2] == (
        str(group))
