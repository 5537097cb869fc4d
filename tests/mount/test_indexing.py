# SPDX-License-Identifier: Apache-2.0
"""A tree whose catalogue is not ready passes through."""
import os
import signal
import subprocess

import pytest

import containers
import harness
import record_sets
import trees

LIRS = {"policy": "lirs", "substitute": "directory",
        "epoch.advance": "manual", "wait": "0s"}


@pytest.fixture
def stuck(mounts, folder):
    """A source whose scan stands still until resume() is called.

    One of its folders is itself a mount, whose daemon is stopped.
    """
    inner_source = trees.class_folders(folder / "inner", classes=2)
    source = trees.class_folders(folder / "source")
    (source / "slow").mkdir()
    inner = mounts(inner_source, {"policy": "native"},
                   mountpoint=source / "slow")
    os.kill(inner.process.pid, signal.SIGSTOP)

    def resume():
        os.kill(inner.process.pid, signal.SIGCONT)

    yield source, resume
    resume()


def start(mounts, source, options=LIRS):
    mount = mounts(source, options, start=False)
    mount.start(ready=False)
    harness.eventually(lambda: harness.mount_types(mount.path),
                       what="the mount")
    return mount


def state(mount):
    return mount.view()["epoch_state"]


# [S-4.1a] Until the catalogue is ready names show their own content.
def test_names_show_their_own_content_until_the_catalogue_is_ready(mounts,
                                                                   stuck):
    source, resume = stuck
    mount = start(mounts, source)
    assert state(mount) == "indexing"
    harness.eventually(
        lambda: "still scanning, so names keep their samples" in mount.log(),
        what="log")
    for label in ("c0", "c1"):
        assert (trees.contents(mount.path / label)
                == trees.contents(source / label))
        assert (sorted(os.listdir(mount.path / label))
                == sorted(os.listdir(source / label)))
    assert state(mount) == "indexing"

    resume()
    harness.eventually(lambda: state(mount) != "indexing", what="catalogue")
    # Content was read in this epoch: the policy begins at the next one.
    assert state(mount) == "waiting"
    expected = trees.contents(source / "c0")
    assert trees.contents(mount.path / "c0") == expected
    mount.next_epoch()
    assert state(mount) == "running"
    shown = trees.contents(mount.path / "c0")
    assert trees.moved(expected, shown) > len(expected) / 2
    assert trees.by_folder(shown) == trees.by_folder(expected)


# [S-4.1b] What was opened before stays open.
def test_what_was_opened_before_stays_open(mounts, stuck):
    source, resume = stuck
    mount = start(mounts, source)
    name = sorted(os.listdir(source / "c0"))[0]
    data = (source / "c0" / name).read_bytes()
    with open(mount.path / "c0" / name, "rb", buffering=0) as file:
        begin = file.read(20)
        resume()
        harness.eventually(lambda: state(mount) != "indexing",
                           what="catalogue")
        mount.next_epoch()
        trees.contents(mount.path / "c0")
        assert begin + file.readall() == data


RECORDS = {"policy": "lirs", "substitute": "never", "wait": "0s",
           "memory": "64MiB"}


@pytest.fixture
def shards(stuck):
    """The paths of four shards in the source that is stuck."""
    source, _ = stuck
    names = [record_sets.shard("t", number) for number in range(4)]
    for number, name in enumerate(names):
        (source / name).write_bytes(containers.tfrecord(
            record_sets.data(1000 * number, 100)))
    return names


def records_of(root, names):
    """The records of each file, in the order in which it is read."""
    return [containers.read_tfrecord(root / name) for name in names]


def are_of_one_order(mount, source, names, epochs):
    """Each of these passes shows every record once."""
    raw = records_of(source, names)
    seen = [raw]
    for epoch in epochs:
        shown = []
        for name in names:
            shown += records_of(mount.path, [name])
            assert mount.view()["epoch"] == epoch
        assert sorted(sum(shown, [])) == sorted(sum(raw, []))
        assert shown not in seen
        seen.append(shown)


# [S-4.1a] Until the catalogue is ready names show their own content.
@pytest.mark.parametrize("scope", ["file", "set", "view"])
def test_a_pass_over_containers_ends_in_the_order_in_which_it_began(
        mounts, stuck, shards, scope):
    source, resume = stuck
    mount = start(mounts, source, {**RECORDS, "record.scope": scope})
    raw = [(source / name).read_bytes() for name in shards]
    assert (mount.path / shards[0]).read_bytes() == raw[0]
    with open(mount.path / shards[1], "rb", buffering=0) as half, \
            open(mount.path / shards[2], "rb", buffering=0) as begun:
        shown = half.read(len(raw[1]) // 2)
        resume()
        harness.eventually(lambda: state(mount) == "waiting", what="catalogue")
        # A switch waits for the end of the pass, too.
        assert mount.write_control("seed = 7\n") is None
        assert shown + half.readall() == raw[1]
        assert begun.readall() == raw[2]
    assert (mount.path / shards[3]).read_bytes() == raw[3]
    assert state(mount) == "waiting" and mount.view()["epoch"] == 0
    are_of_one_order(mount, source, shards, (1, 2, 3))
    assert state(mount) == "running" and mount.view()["seed"] == 7


# [S-4.1c] Where the state tells of an epoch that was shown, names wait for the
# catalogue.
def test_such_a_pass_goes_on_after_a_kill(mounts, stuck, shards):
    source, resume = stuck
    mount = start(mounts, source, {**RECORDS, "record.scope": "set"})
    raw = [(source / name).read_bytes() for name in shards]
    assert (mount.path / shards[0]).read_bytes() == raw[0]
    resume()
    harness.eventually(lambda: state(mount) == "waiting", what="catalogue")
    assert (mount.path / shards[1]).read_bytes() == raw[1]
    mount.kill()
    mount.start()
    assert state(mount) == "waiting"
    for name, content in zip(shards[2:], raw[2:]):
        assert (mount.path / name).read_bytes() == content
    are_of_one_order(mount, source, shards, (1, 2))


def test_a_pass_of_which_nobody_knows_what_was_read_ends_by_hand(mounts, stuck,
                                                                 shards):
    source, resume = stuck
    mount = start(mounts, source, {**RECORDS, "record.scope": "set"})
    raw = [(source / name).read_bytes() for name in shards]
    assert (mount.path / shards[0]).read_bytes() == raw[0]
    mount.kill()
    mount.start(ready=False)
    resume()
    harness.eventually(mount._alive, what="the mount")
    harness.eventually(lambda: state(mount) == "waiting", what="catalogue")
    for _ in range(2):
        for name, content in zip(shards[1:] + shards, raw[1:] + raw):
            assert (mount.path / name).read_bytes() == content
        assert state(mount) == "waiting"
        assert any("epoch = " in line for line in mount.view()["warnings"])
        mount.kill()
        mount.start()
    mount.next_epoch()
    assert mount.view()["warnings"] == []
    are_of_one_order(mount, source, shards, (1, 2))


@pytest.fixture
def going_on(mounts, stuck):
    """A mount that was killed in mid-epoch and made again, and what its names
    had shown. Its catalogue is not ready until resume() is called."""
    source, resume = stuck
    resume()
    mount = mounts(source, {**LIRS, "wait": "5s", "open": "seen"})
    mount.next_epoch()
    shown = trees.contents(mount.path / "c0")
    assert trees.moved(trees.contents(source / "c0"), shown) > len(shown) / 2
    mount.kill()
    os.unlink(mount.state / "catalogue")
    os.kill(mounts.running[0].process.pid, signal.SIGSTOP)
    mount.options["wait"] = "0s"
    mount.start(ready=False)
    harness.eventually(mount._alive, what="the mount")
    assert state(mount) == "indexing"
    return mount, shown, resume


def start_reading(path):
    """A client that is about to read a file that it lists."""
    script = ("import os, sys; print('reading', flush=True);"
              "name = sorted(os.listdir(sys.argv[1]))[0];"
              "file = open(os.path.join(sys.argv[1], name), 'rb');"
              "print(name, file.read().hex())")
    client = subprocess.Popen([harness.PYTHON, "-c", script, path],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    assert client.stdout.readline() == "reading\n"
    return client


# [S-4.1c] Where the state tells of an epoch that was shown, names wait for the
# catalogue.
def test_readers_of_an_epoch_that_goes_on_wait(going_on):
    mount, shown, resume = going_on
    clients = [start_reading(mount.path / "c0") for _ in range(3)]
    for _ in range(5):
        assert state(mount) == "indexing"
    assert mount.read("error") == ""
    resume()
    for client in clients:
        out, err = client.communicate(timeout=60 * harness.SLOWDOWN)
        assert client.returncode == 0, err
        name, content = out.split()
        found = trees.digest(bytes.fromhex(content))
        assert shown[name] == found
    assert mount.view()["epoch"] == 1
    assert trees.contents(mount.path / "c0") == shown


def test_who_waits_is_answered_when_the_mount_ends(going_on):
    mount, _, resume = going_on
    clients = [start_reading(mount.path / "c0") for _ in range(3)]
    for _ in range(5):
        assert state(mount) == "indexing"
    os.kill(mount.process.pid, signal.SIGTERM)
    for client in clients:
        _, err = client.communicate(timeout=60 * harness.SLOWDOWN)
        assert client.returncode != 0 and "[Errno " in err, err
    resume()
    mount.expect_exit()


def test_unmounting_does_not_wait_for_the_scan(mounts, stuck):
    source, resume = stuck
    mount = start(mounts, source)
    assert state(mount) == "indexing"
    mount.run(["umount" if mount.user.uid == 0 else "fusermount3",
               *([] if mount.user.uid == 0 else ["-u"]), mount.path])
    assert harness.mount_types(mount.path) == []
    resume()
    mount.expect_exit()


# [S-3.12j] shufflectl umount returns when the daemon has ended.
def test_umount_waits_for_a_daemon_that_scans(mounts, stuck):
    source, _ = stuck
    mount = start(mounts, source)
    assert state(mount) == "indexing"
    harness.run([harness.shufflectl(), "umount", "--wait", "1h", mount.path])
    assert os.waitid(os.P_PID, mount.process.pid,
                     os.WEXITED | os.WNOHANG | os.WNOWAIT), "it runs on"
    mount.expect_exit()


# [S-3.15c] A new file shows after the next mount, not before.
def test_a_saved_catalogue_is_used_again(mounts, folder):
    source = trees.class_folders(folder / "source")
    mount = mounts(source, {**LIRS, "wait": "5s"})
    before = trees.contents(mount.path)
    mount.unmount()
    mount.start()
    assert trees.contents(mount.path) == before
    mount.unmount()

    # Drift is noticed: a file that came later is found at the next mount.
    (source / "c0" / "999999.png").write_bytes(b"late")
    (source / "c9").mkdir()
    (source / "c9" / "999998.png").write_bytes(b"later")
    mount.start()
    assert (trees.by_folder(trees.contents(mount.path))
            == trees.by_folder(trees.contents(source)))


# A view has one name, which commands take. While it is indexed they say so.
def test_a_view_has_the_name_that_commands_take(mounts, stuck):
    source, resume = stuck
    trees.class_folders(source / "deep", classes=2)
    config = source.parent / "views.toml"
    config.write_text("".join(
        f'[[view]]\npath = "{path}"\npolicy = "lirs"\n'
        for path in ("deep/c0", "c1")))
    mount = start(mounts, source, {"wait": "0s", "config": config})

    def names():
        return [view["name"] for view in mount.status()["views"]]

    assert names() == ["deep~c0", "c1"]
    for command in ("order", "token"):
        done = harness.run([harness.shufflectl(), command, "-m", mount.path,
                            "--view", "c1"], check=False)
        assert done.returncode == 1
        assert "the catalogue is still being made" in done.stderr, done
    done = harness.run([harness.shufflectl(), "order", "-m", mount.path,
                        "--view", "c2"], check=False)
    assert 'there is no view "c2"' in done.stderr
    resume()
    harness.eventually(lambda: mount.status()["views"][1]["epoch_state"]
                       != "indexing", what="catalogue")
    assert names() == ["deep~c0", "c1"]
    for name in names():
        harness.run([harness.shufflectl(), "order", "-m", mount.path, "--view",
                     name])
