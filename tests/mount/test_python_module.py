# SPDX-License-Identifier: Apache-2.0
"""import shufflefs: it mounts, moves, and unmounts whatever happens."""
import errno
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

import pytest

import harness
import shufflefs
import token_jobs
import trees

KEYS = {"policy": "lirs", "substitute": "directory", "epoch.advance": "manual"}
Error = shufflefs.ShufflefsError


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source")


@pytest.fixture
def mounted(mounts, source):
    """The harness's mount, and the object for it."""
    mount = mounts(source, KEYS)
    return mount, shufflefs.attach(mount.path)


@pytest.fixture
def private(folder, monkeypatch):
    """Where private directories are made, and no mount left at the end."""
    place = folder / "private"
    place.mkdir()
    place.chmod(0o1777)
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    left = [mount for mount in place.glob("*/mnt")
            if harness.mount_types(mount)]
    for mount in left:
        harness.run(["umount", "-l", mount], check=False)
    assert left == []


def test_it_mounts_moves_and_unmounts(source, folder):
    mountpoint = folder / "mnt"
    mountpoint.mkdir()
    with shufflefs.mount(source, mountpoint, KEYS, seed=3,
                         state=folder / "state") as view:
        assert view.path == os.fspath(view) == f"{view}" == str(mountpoint)
        assert view.mounted and view.ready
        status = view.status()
        assert status["views"][0]["policy"] == "lirs"
        assert status["views"][0]["seed"] == 3
        first = trees.contents(view)
        assert sorted(first.values()) == sorted(trees.contents(source).values())
        view.next_epoch()
        assert view.epoch == 1
        assert trees.moved(first, trees.contents(view)) > 50
        view.set_epoch(0)
        assert view.epoch == 0 and trees.contents(view) == first
        view.set_epoch(7)
        seventh = trees.contents(view)
        view.set_epoch(8)
        assert trees.contents(view.epoch_path(7)) == seventh
        assert len(os.listdir(view.epoch_path(7, "ranked"))) == len(first)
    assert harness.mount_types(mountpoint) == [] and not view.mounted
    assert (folder / "state").is_dir(), "only a private state goes away"


SCRIPT = """
import json, os, sys
import shufflefs
with shufflefs.mount(sys.argv[1], policy="lirs",
                     epoch_advance="manual") as view:
    view.next_epoch()
    names = sorted(os.listdir(view))
    print(json.dumps([view.path, view.epoch, names]))
"""


def test_each_user_may_mount_in_a_private_directory(source, private, user):
    trees.give_to(source, user)
    environment = {**os.environ, "PYTHONPATH": str(harness.MODULE),
                   "TMPDIR": str(private)}
    done = harness.run([harness.PYTHON, "-B", "-c", SCRIPT, source], user=user,
                       env=environment)
    path, epoch, names = json.loads(done.stdout)
    assert (epoch, names) == (1, sorted(os.listdir(source)))
    assert pathlib.Path(path).parent.parent == private
    assert done.stderr == "" and list(private.iterdir()) == []


def test_an_exception_unmounts_and_goes_on(source, private):
    with pytest.raises(KeyError, match="mine"):
        with shufflefs.mount(source, policy="native") as view:
            raise KeyError("mine")
    assert not view.mounted and list(private.iterdir()) == []


def test_a_mount_in_use_is_detached_at_the_end(source, private, caplog):
    with shufflefs.mount(source, policy="native") as view:
        name = next(pathlib.Path(view).glob("c0/*"))
        file = open(name, "rb")
    assert not view.mounted and list(private.iterdir()) == []
    assert f"{view.path}: detached while in use" in caplog.text
    assert str(os.getpid()) in caplog.text
    assert file.read() == (source / name.relative_to(view)).read_bytes()
    file.close()


def test_who_unmounted_already_is_left_in_peace(source, private):
    with shufflefs.mount(source, policy="native") as view:
        view.unmount()
        assert list(private.iterdir()) == []
    with shufflefs.mount(source, policy="native") as view:
        harness.run([harness.shufflectl(), "umount", view.path])
    assert list(private.iterdir()) == []


def test_copies_own_no_mount(source, private):
    with shufflefs.mount(source, policy="native") as view:
        with pickle.loads(pickle.dumps(view)) as copy:
            assert type(copy) is shufflefs.Mount and copy.path == view.path
            assert view.owned and not copy.owned
        child = os.fork()
        if child == 0:
            view.__exit__(None, None, None)
            os._exit(0 if view.mounted and not view.owned else 1)
        assert os.waitpid(child, 0)[1] == 0
        with shufflefs.attach(view) as other:
            assert other.epoch == 0
        assert view.mounted


@pytest.mark.parametrize("keys, words", [
    ({"lirs.pagee": 1}, "no such key: lirs.pagee; did you mean lirs.page?"),
    ({"policy": "fastest"}, "policy = fastest: must be"),
    ({"epoch_advance": "auto"}, "no such key: epoch_advance"),
])
def test_a_refusal_has_the_daemons_words_and_leaves_nothing(
        source, private, keys, words):
    with pytest.raises(Error) as refused:
        shufflefs.mount(source, keys=keys)
    assert words in str(refused.value)
    assert not str(refused.value).startswith("shufflefs: ")
    assert list(private.iterdir()) == []
    with pytest.raises(Error, match="absent"):
        shufflefs.mount(source / "absent")
    assert list(private.iterdir()) == []


def test_a_catalogue_that_takes_too_long_leaves_nothing(source, private,
                                                        monkeypatch):
    monkeypatch.setattr(shufflefs.Mount, "ready", property(lambda self: False))
    with pytest.raises(Error, match="not ready after 0.2 s"):
        shufflefs.mount(source, policy="native", timeout=0.2)
    assert list(private.iterdir()) == []


def test_a_live_mount_is_refused_and_stays(source, folder, private):
    (folder / "mnt").mkdir()
    with shufflefs.mount(source, folder / "mnt", KEYS,
                         state=folder / "state") as view:
        with pytest.raises(Error, match="mnt"):
            shufflefs.mount(source, folder / "mnt", state=folder / "other")
        assert view.mounted and view.epoch == 0


def test_a_dead_mount_is_replaced(mounts, source, folder):
    mount = mounts(source, KEYS)
    shufflefs.attach(mount.path).set_epoch(3)
    mount.kill()
    with shufflefs.mount(source, mount.path, KEYS,
                         state=mount.state) as view:
        assert view.epoch == 3
    assert harness.mount_types(mount.path) == []


def test_what_replaced_a_dead_mount_is_undone_too(mounts, source, monkeypatch):
    mount = mounts(source, KEYS)
    mount.kill()
    monkeypatch.setattr(shufflefs.Mount, "ready", property(lambda self: False))
    with pytest.raises(Error, match="not ready"):
        shufflefs.mount(source, mount.path, KEYS, state=mount.state, timeout=0)
    assert harness.mount_types(mount.path) == []


def test_a_mount_point_behind_a_link(source, folder, private):
    (folder / "real" / "mnt").mkdir(parents=True)
    (folder / "link").symlink_to(folder / "real")
    for place in (folder / "link" / "mnt", folder / "last"):
        if place.name == "last":
            place.symlink_to(folder / "real" / "mnt")
        with shufflefs.mount(source, place, KEYS,
                             state=folder / "state") as view:
            assert view.mounted and view.epoch == 0
            assert harness.mount_types(folder / "real" / "mnt")
        assert not view.mounted
        assert harness.mount_types(folder / "real" / "mnt") == []


def test_others_see_a_private_mount_with_allow_other(source, private):
    trees.give_to(source, harness.SELF)
    if harness.NOBODY == harness.SELF:  # only root may let others in
        return
    with shufflefs.mount(source, allow_other=True, policy="native") as view:
        names = harness.run(["ls", view.path], user=harness.NOBODY).stdout
        assert names.split() == sorted(os.listdir(source))
        state = f"{view.path}/../state"
        assert harness.run(["ls", state], user=harness.NOBODY,
                           check=False).returncode != 0


def test_the_mount_table_is_read_to_its_end_and_unescaped(source, folder,
                                                          private):
    place = folder / "a b\tc\\d"
    place.mkdir()
    with shufflefs.mount(source, place, KEYS, state=folder / "state") as view:
        assert view.mounted
        if harness.SELF.uid == 0:
            harness.run(["mount", "-t", "tmpfs", "tmpfs", place])
            assert not view.mounted
            harness.run(["umount", place])
    assert not view.mounted and harness.mount_types(place) == []


def test_warnings_of_the_daemon_are_logged(source, folder, private,
                                           monkeypatch, caplog):
    daemon = folder / "shufflefs"
    daemon.write_text("#!/bin/sh\n"
                      "echo 'shufflefs: info: all is well' >&2\n"
                      "echo 'shufflefs: warning: too little memory' >&2\n"
                      f'exec {harness.shufflefs()} "$@"\n')
    daemon.chmod(0o755)
    monkeypatch.setenv("SHUFFLEFS_BIN", str(daemon))
    with shufflefs.mount(source, policy="native"):
        assert [(record.levelname, record.getMessage())
                for record in caplog.records] == [
                    ("WARNING", "shufflefs: warning: too little memory")]


def test_paths_with_commas_and_backslashes(folder, private):
    source = trees.class_folders(folder / "a,b\\,c", 2, 4)
    state = folder / "s\\t,\\\\a"
    with shufflefs.mount(source, policy="native", state=state) as view:
        assert view.status()["source"] == str(source)
        assert trees.contents(view) == trees.contents(source)
    assert state.is_dir()


def test_a_config_file_and_what_wins_over_it(source, folder, private):
    config = folder / "keys.toml"
    config.write_text('policy = "lirs"\nseed = 3\n[epoch]\nstart = 5\n')
    with shufflefs.mount(source, config=config, seed=4) as view:
        one = view.status()["views"][0]
        assert (one["policy"], one["seed"], one["epoch"]) == ("lirs", 4, 5)


def test_attach_finds_the_mount_above(mounted, folder):
    mount, view = mounted
    assert view.path == str(mount.path)
    assert shufflefs.attach(mount.path / "c0").path == str(mount.path)
    assert shufflefs.attach(view.epoch_path(3)).path == str(mount.path)
    with pytest.raises(Error, match="is not inside a shufflefs mount"):
        shufflefs.attach(folder)
    with pytest.raises(Error, match="there is no view 'absent'"):
        shufflefs.attach(mount.path, view="absent")


def test_a_dead_mount_is_said_to_be_dead(mounts, source):
    mount = mounts(source, KEYS)
    view = shufflefs.attach(mount.path)
    mount.kill()
    for call in (view.next_epoch, view.status, view.token,
                 lambda: shufflefs.attach(mount.path)):
        with pytest.raises(Error) as told:
            call()
        assert "its daemon is gone" in str(told.value)
        assert f"shufflectl umount {mount.path}" in str(told.value)
    view.unmount()
    assert not view.mounted
    with pytest.raises(Error, match="is shufflefs mounted"):
        view.next_epoch()


@pytest.mark.parametrize("epoch", [-1, 1.5, "next", None])
def test_what_is_no_epoch_is_refused_here(mounted, epoch):
    with pytest.raises(Error, match="must be a whole number"):
        mounted[1].set_epoch(epoch)
    with pytest.raises(Error, match="must be a whole number"):
        mounted[1].epoch_path(epoch)
    assert mounted[1].epoch == 0


def test_refused_writes_have_the_daemons_words(mounted):
    _, view = mounted
    with pytest.raises(Error, match="no policy that runs here uses it"):
        view.feedback(0.5)
    for loss in ("nan", "inf"):
        with pytest.raises(Error, match="finite number"):
            view.feedback(float(loss))
    with pytest.raises(Error, match="tree or ranked"):
        view.epoch_path(1, "flat")
    with pytest.raises(Error, match="token is empty"):
        view.restore("\n")
    with pytest.raises(Error, match="token: must be the line"):
        view.restore("no token")


def test_while_the_catalogue_is_made_a_write_says_so(mounted, monkeypatch):
    def busy(*_):
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    monkeypatch.setattr(os, "write", busy)
    with pytest.raises(Error, match="wait_until_ready"):
        mounted[1].next_epoch()


def test_a_write_in_part_is_an_error(mounted, monkeypatch):
    monkeypatch.setattr(os, "write", lambda *_: 3)
    with pytest.raises(Error, match="was written in part"):
        mounted[1].next_epoch()


def test_how_long_unmount_waits_is_what_it_was_told(mounted, monkeypatch):
    told = []
    monkeypatch.setattr("shufflefs.control.run",
                        lambda *arguments: told.append(arguments))
    _, view = mounted
    view.unmount()
    view.unmount(lazy=True, wait=0.25)
    assert told == [
        ("shufflectl", ["umount", "--wait", "5000ms", view.path]),
        ("shufflectl", ["umount", "--wait", "250ms", "--lazy", view.path])]


def test_the_group_and_owner_alone_may_write(mounts, source):
    if harness.NOBODY == harness.SELF:
        return
    mount = mounts(source, {**KEYS, "allow_other": None})
    code = ("import sys, shufflefs\n"
            "view = shufflefs.attach(sys.argv[1])\n"
            "print(view.epoch)\n"
            "try: view.next_epoch()\n"
            "except shufflefs.ShufflefsError as error: print(error)")
    done = harness.run([harness.PYTHON, "-B", "-c", code, mount.path],
                       user=harness.NOBODY, env={
                           **os.environ, "PYTHONPATH": str(harness.MODULE)})
    assert done.stdout.startswith("0\n") and "control.gid" in done.stdout


def test_feedback_reaches_met(mounts, source, folder):
    (folder / "tier").mkdir()
    mount = mounts(source, {
        "policy": "met", "tier.path": folder / "tier", "met.epochs": 8,
        "met.adapt": "score", "epoch.advance": "manual"})
    view = shufflefs.attach(mount.path)
    for loss in (1e-9, 3, 1e20):
        view.feedback(loss)
    assert mount.read("error") == ""


def test_views_are_moved_alone_or_together(mounts, folder):
    source = trees.train_and_val(folder / "source")
    config = folder / "views.toml"
    config.write_text("""
epoch.advance = "manual"
policy = "lirs"
[[view]]
path = "train"
[[view]]
path = "val"
""")
    mount = mounts(source, {}, arguments=["--config", config])
    both = shufflefs.attach(mount.path)
    names = {view["path"]: view["name"] for view in both.status()["views"]}
    train, val = (shufflefs.attach(mount.path, names[path])
                  for path in ("train", "val"))
    train.set_epoch(4)
    assert (train.epoch, val.epoch) == (4, 0)
    both.next_epoch()
    assert (train.epoch, val.epoch) == (5, 1)
    with pytest.raises(Error, match="several views; choose one"):
        both.epoch  # pylint: disable=pointless-statement
    with pytest.raises(Error, match="several views; choose one"):
        both.token()
    token = train.token()
    train.next_epoch()
    train.restore(token)
    assert (train.epoch, val.epoch) == (5, 1)
    assert os.path.isdir(train.epoch_path(2))


def test_a_token_goes_on_in_another_state(mounts, source):
    one = shufflefs.attach(mounts(source, KEYS).path)
    other = shufflefs.attach(mounts(source, {**KEYS, "seed": 9}).path)
    one.set_epoch(3)
    expected = trees.contents(one)
    token = one.token()
    assert token.count("\n") == 1
    other.restore(token)
    assert other.epoch == 3 and trees.contents(other) == expected
    with pytest.raises(Error, match="token: it is damaged"):
        other.restore(token.replace(" 3 ", " 4 ", 1))
    assert other.epoch == 3


# More than a line has room for, as test_more_than_a_line_holds in test_token.
@pytest.mark.parametrize("with_shufflectl", [True, False])
def test_a_token_of_brand_is_whole(mounts, folder, monkeypatch,
                                   with_shufflectl):
    source = trees.class_folders(folder / "source", 2, 4100,
                                 content=lambda rng, _: rng.randbytes(40))
    options = token_jobs.options("brand", "manual", folder)
    view = shufflefs.attach(mounts(source, options).path)
    names = token_jobs.order(source, 0)
    half = len(names) // 2
    seen = token_jobs.read(view, names[:half])
    if not with_shufflectl:
        monkeypatch.setattr("shufflefs.control.find_program", lambda _: None)
    token = view.token()
    other = shufflefs.attach(mounts(source, {**options, "seed": 3}).path)
    if not with_shufflectl:
        with pytest.raises(Error, match="--save DIR"):
            other.restore(token)
        return
    monkeypatch.setattr("shufflefs.control._PART", 1000)
    sizes, write = [], os.write
    monkeypatch.setattr(os, "write", lambda file, data: (
        sizes.append(len(data)), write(file, data))[1])
    assert len(token) > 10_000, "comes in parts"
    other.restore(token)
    monkeypatch.setattr(os, "write", write)
    assert len(sizes) > 10 and max(sizes) < 1100
    seen += token_jobs.read(other, names[half:])
    assert sorted(seen) == sorted(token_jobs.whole(source).elements())


def test_unmount_names_who_is_in_the_way(source, private):
    view = shufflefs.mount(source, policy="native")
    holder = subprocess.Popen(
        [sys.executable, "-c", "import sys; f = open(sys.argv[1]); "
         "print('open', flush=True); sys.stdin.read()",
         str(next(pathlib.Path(view).glob("c0/*")))],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "open\n"
    with pytest.raises(Error, match=str(holder.pid)):
        view.unmount(wait=0.1)
    assert view.mounted
    holder.communicate()
    view.unmount()
    assert not view.mounted and list(private.iterdir()) == []
