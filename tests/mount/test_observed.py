# SPDX-License-Identifier: Apache-2.0
"""Opens that the kernel reports after it has answered them by itself."""
import collections
import concurrent.futures
import hashlib
import os
import pickle
import random
import signal
import subprocess
import sys
import time

import pytest

import containers
import harness
import trees

OBSERVED = {"policy": "lirs", "substitute": "directory", "open": "observed"}
EPOCHS = 4


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source", 6, 60)


def reported(mount):
    """The mount, once the kernel reports its opens."""
    harness.eventually(
        lambda: mount.status()["opens"]["seen_by"] == "reports",
        what=f"reports: {mount.status()['opens']}")
    return mount


def names_of(mount):
    return sorted(mount.path.glob("*/*.png"))


def read_one(name):
    return name.parent.name, name.read_bytes()


def read(names):
    return [read_one(name) for name in names]


def passes(mount, count, seed=1):
    """Reads everything `count` times, in random orders."""
    rng = random.Random(seed)
    names = names_of(mount)
    for _ in range(count):
        rng.shuffle(names)
        yield read(names)


def each_once(shown, source):
    return (collections.Counter(shown) ==
            collections.Counter(read(sorted(source.glob("*/*.png")))))


# [S-3.11j] Opens that the kernel reports late lose no sample.
@pytest.mark.parametrize("policy", ["lirs", "window", "brand"])
@pytest.mark.parametrize("workers", [0, 2, 4])
def test_stock_loaders_see_each_sample_once(mounts, source, policy, workers):
    mount = reported(mounts(source, {**OBSERVED, "policy": policy}))
    epochs = mount.client("imagefolder.py", mount.path, "--epochs", EPOCHS,
                          "--workers", workers, timeout=120)
    for epoch in epochs:
        shown = [content for _, content, _ in epoch]
        assert len(shown) == len(set(shown)) == 360
        assert all(name.split("/")[0] == label for name, _, label in epoch)
    assert mount.view()["epoch"] == EPOCHS - 1
    # The reports of the last opens may still be on their way.
    harness.eventually(lambda: mount.view()["consumed"] == 360,
                       what="the reports")
    assert mount.view()["warnings"] == mount.status()["warnings"] == []
    bindings = [tuple(sorted(map(tuple, epoch))) for epoch in epochs]
    assert len(set(bindings)) > EPOCHS // 2, mount.log()


# Readers that are as fast as they can be, over many boundaries.
@pytest.mark.parametrize("policy", ["lirs", "brand"])
def test_passes_of_some_milliseconds_each(mounts, source, policy):
    mount = reported(mounts(source, {**OBSERVED, "policy": policy}))
    for number, shown in enumerate(passes(mount, 30)):
        assert each_once(shown, source), f"pass {number}"
    view = mount.view()
    assert view["epoch"] == 29 and view["epoch_held"] < 15, view


# Each reader has ended when its open is reported.
def test_a_process_for_each_file(mounts, folder):
    source = trees.class_folders(folder / "few", 4, 30)
    expected = collections.Counter(
        (label, hashlib.md5(content).hexdigest())
        for label, content in read(sorted(source.glob("*/*.png"))))
    mount = reported(mounts(source, OBSERVED))
    names = names_of(mount)
    rng = random.Random(1)
    for number in range(6):
        rng.shuffle(names)
        lines = mount.run(
            ["sh", "-c", 'for f; do md5sum "$f"; done', "sh", *names],
            timeout=120).stdout.splitlines()
        shown = collections.Counter(
            (name.parent.name, line.split()[0])
            for name, line in zip(names, lines))
        assert shown == expected, f"pass {number}"
    view = mount.view()
    assert view["epoch"] == 5 and view["epoch_held"] <= 2, view


# [S-3.11k] If reports of opens were lost, no boundary of that job is believed.
def test_a_queue_that_overflows(mounts, source, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_LOSE_OPEN", "500")  # in the second pass
    mount = reported(mounts(source, OBSERVED))
    held = []
    for shown in passes(mount, 5):
        assert each_once(shown, source)
        held.append(mount.view()["epoch_hold_reason"])
    assert held[2:] == ["lost"] * 3, (held, mount.log())
    assert mount.view()["epoch"] == 4
    mount.write_control('epoch = "next"')
    for shown in passes(mount, 2):
        assert each_once(shown, source)
    view = mount.view()
    assert view["epoch"] == 6 and view["epoch_hold_reason"] == "", view


# [S-3.12u] If the kernel reports opens, the boundary after a kill of the daemon
# is held.
@pytest.mark.parametrize("policy", ["lirs", "brand"])
@pytest.mark.parametrize("opened", [1, 100, 359, 360, 361, 500])
def test_the_daemon_is_killed_with_reports_under_way(mounts, source, opened,
                                                     policy):
    mount = reported(mounts(source, {**OBSERVED, "policy": policy}))
    rng = random.Random(opened)
    orders = []
    for _ in range(3):
        orders += rng.sample(names_of(mount), 360)
    shown = read(orders[:opened])
    mount.kill()
    reported(mount.start())
    shown += read(orders[opened:])
    for begin in range(0, len(shown), 360):
        assert each_once(shown[begin:begin + 360], source), begin // 360
    assert mount.view()["epoch_held"] >= 1


# The kernel opens what it has cached although the daemon stands still.
READ_AND_TELL = """
import os, pickle, sys
shown = []
for name in pickle.load(sys.stdin.buffer):
    descriptor = os.open(name, os.O_RDONLY)  # open() would send an ioctl
    shown.append(os.read(descriptor, 1 << 20))
pickle.dump(shown, sys.stdout.buffer)
"""


def read_unseen(mount, names):
    """Reads while the daemon stands still, and kills it."""
    for name in names:
        name.stat()
    time.sleep(0.3)  # all names are cached, too
    mount.process.send_signal(signal.SIGSTOP)
    told = subprocess.run([sys.executable, "-c", READ_AND_TELL],
                          input=pickle.dumps([str(name) for name in names]),
                          stdout=subprocess.PIPE, timeout=30, check=True)
    mount.kill()
    return [(name.parent.name, data)
            for name, data in zip(names, pickle.loads(told.stdout))]


# [S-3.12u] If the kernel reports opens, the boundary after a kill of the daemon
# is held.
def test_the_daemon_never_reads_the_last_reports(mounts, source):
    mount = reported(mounts(source, OBSERVED))
    for shown in passes(mount, 2):  # the kernel has all pages now
        assert each_once(shown, source)
    names = random.Random(9).sample(names_of(mount), 360)
    shown = read(names[:100])
    shown += read_unseen(mount, names[100:160])
    reported(mount.start())
    assert mount.view()["consumed"] < 160
    shown += read(names[160:])
    assert each_once(shown, source)
    for shown in passes(mount, 3, seed=4):
        assert each_once(shown, source)
    assert mount.view()["epoch_held"] >= 1


# The first opens of a pass are lost. A reader of a fixed order opens these names
# first in the next pass, too, and there they are the only ones not yet opened.
@pytest.mark.parametrize("restored", [False, True])
@pytest.mark.parametrize("later", ["observed", "seen"])
def test_a_reader_of_a_fixed_order_lives_through_a_kill(mounts, source,
                                                        restored, later):
    mount = reported(mounts(source, OBSERVED))
    token = mount.read("token")
    for shown in passes(mount, 2):  # the kernel has all pages now
        assert each_once(shown, source)
    if restored:
        assert mount.write_control(token, "token") is None, mount.read("error")
        assert mount.view()["epoch"] == 0
    names = random.Random(9).sample(names_of(mount), 360)
    shown = read(names[:200])
    shown += read_unseen(mount, names[200:] + names[:20])
    mount.options["open"] = later
    mount.start()
    if later == "observed":
        reported(mount)
    shown += read(names[20:])
    assert each_once(shown[:360], source)
    assert each_once(shown[360:], source)
    for number in range(4):
        assert each_once(read(names), source), number
    assert mount.view()["epoch_hold_reason"] == "lost", mount.log()


# [S-3.11m] What a name shows under brand or met is recorded before a reader is
# told, if opens are reported.
def test_the_epoch_of_brand_goes_on(mounts, folder):
    source = trees.class_folders(folder / "source", 4, 50)
    mount = reported(mounts(source, {**OBSERVED, "policy": "brand",
                                     "memory": "8MiB"}))
    names = random.Random(3).sample(names_of(mount), 200)
    shown = read(names[:100])
    assert mount.write_control('policy = "lirs"\n') is None, mount.read("error")
    assert mount.view()["epoch_state"] == "waiting"
    mount.kill()
    reported(mount.start())
    shown += read(names[100:])
    assert each_once(shown, source)
    for number in range(3):
        shown = read(random.Random(number).sample(names, 200))
        assert each_once(shown, source), (number, mount.log())
    assert mount.view()["warnings"] == []


# The kernel has the pages of what is read twice, and says nothing of closes.
def test_the_pool_of_brand_is_not_full_of_what_nobody_reads(mounts, folder):
    source = trees.class_folders(
        folder / "source", 4, 500, content=lambda rng, _: rng.randbytes(20_000))
    mount = reported(mounts(source, {**OBSERVED, "policy": "brand",
                                     "memory": "8MiB",
                                     "epoch.advance": "manual"}))
    names = names_of(mount)
    for number in range(3):
        random.Random(number).shuffle(names)
        for name in names[:200]:  # nobody reads to the end
            with open(name, "rb", buffering=0) as file:
                file.read(100)
        assert each_once(read(names), source), number
        mount.next_epoch()
    view = mount.view()
    assert view["bypass"] < 600, view


# A file of no sample is opened like the others, and reported like them.
def test_files_of_no_sample_beside_those_of_brand(mounts, folder):
    source = trees.class_folders(folder / "source", 2, 100)
    (source / "c0" / "README.txt").write_text("about these pictures")
    mount = reported(mounts(source, {**OBSERVED, "policy": "brand",
                                     "memory": "8MiB"}))
    for number, shown in enumerate(passes(mount, 3)):
        assert each_once(shown, source), number
        assert (mount.path / "c0" / "README.txt").read_text() == (
            "about these pictures")
        time.sleep(1.1)  # it counts as closed now
    assert mount.view()["bypass"] == 0


MET = {**OBSERVED, "policy": "met", "met.mini_epochs": "3", "met.repeat": "2",
       "met.epochs": "6"}


# met repeats samples within an epoch, but over all its epochs each comes as
# often as the others. In a fixed order the same name is opened first each time.
@pytest.mark.parametrize("fixed", [False, True])
def test_met_shows_each_sample_equally_often(mounts, source, folder, fixed):
    tier = folder / "tier"
    tier.mkdir(mode=0o700)
    mount = reported(mounts(source, {**MET, "tier.path": tier}))
    counts = collections.Counter()
    names = names_of(mount)
    rng = random.Random(1)
    for _ in range(6):
        if not fixed:
            rng.shuffle(names)
        shown = read(names)
        assert (collections.Counter(label for label, _ in shown) ==
                collections.Counter(name.parent.name for name in names))
        counts.update(shown)
    assert mount.view()["epoch"] == 5, mount.view()
    assert len(counts) == 360 and set(counts.values()) <= {5, 6, 7}, counts


def read_below(directory, names):
    shown = []
    for name in names:
        descriptor = os.open(name, os.O_RDONLY, dir_fd=directory)
        with open(descriptor, "rb") as file:
            shown.append(file.read())
    return shown


# A directory that was opened before the scan ended is not watched.
def test_a_reader_below_a_directory_of_before_the_scan(mounts, folder):
    source = trees.class_folders(folder / "source", 2, 60)
    (source / "slow").mkdir()
    inner = mounts(trees.class_folders(folder / "inner", classes=1),
                   {"policy": "native"}, mountpoint=source / "slow")
    try:
        os.kill(inner.process.pid, signal.SIGSTOP)
        mount = mounts(source, {**OBSERVED, "wait": "0s"}, start=False)
        mount.start(ready=False)
        harness.eventually(lambda: harness.mount_types(mount.path),
                           what="the mount")
        directory = os.open(mount.path / "c0", os.O_RDONLY | os.O_DIRECTORY)
        os.kill(inner.process.pid, signal.SIGCONT)
        reported(mount)
        names = sorted(os.listdir(source / "c0"))
        try:
            shown = read_below(directory, names[:30])
            # Others end passes meanwhile, whose epochs are held.
            everything = sorted(mount.path.rglob("*.png"))
            for number in range(3):
                read(random.Random(number).sample(everything, len(everything)))
            shown += read_below(directory, names[30:])
        finally:
            os.close(directory)
        assert (collections.Counter(shown) == collections.Counter(
            (source / "c0" / name).read_bytes() for name in names))
        view = mount.view()
        assert view["epoch_hold_reason"] == "lost", view
        assert any("before the scan ended" in line
                   for line in view["warnings"]), view
    finally:
        os.kill(inner.process.pid, signal.SIGCONT)


def read_as_a_job(names):
    """Reads as a program that an interactive shell started."""
    subprocess.run(["sh", "-c", 'for f; do cat "$f"; done', "sh", *names],
                   timeout=60, stdout=subprocess.DEVNULL, check=True,
                   start_new_session=True)


# Its first open is known, so only the pass that was broken off is in doubt.
def test_a_job_that_begins_after_a_kill_has_epochs(mounts, source):
    mount = reported(mounts(source, OBSERVED))
    names = names_of(mount)
    read_as_a_job(names + names[:100])
    mount.kill()
    reported(mount.start())
    before = mount.view()
    read_as_a_job(5 * random.Random(2).sample(names, 360))
    view = mount.view()
    assert view["epoch"] >= before["epoch"] + 4, (view, mount.log())
    # The first boundary is held, and two because readers are short.
    assert view["epoch_held"] <= 3, (view, mount.log())


# [S-3.11l] Status says how opens are seen, and why.
def test_an_ordinary_user_has_opens_answered(mounts, source):
    mount = mounts(source, OBSERVED, user=harness.NOBODY)
    opens = mount.status()["opens"]
    assert opens["seen_by"] == "requests" and "root" in opens["why"]
    for shown in [mount.run(["sh", "-c", f"cat {mount.path}/*/*.png"])] * 2:
        assert shown.returncode == 0


@pytest.mark.parametrize("options, by, why", [
    ({"policy": "brand"}, "reports", "observed"),
    ({"open": "seen"}, "requests", "open = seen"),
    ({"open": "unseen", "epoch.advance": "manual"}, "nothing", "unseen"),
    ({"policy": "native", "open": "auto"}, "nothing", "nothing depends"),
])
def test_status_says_how_opens_are_seen(mounts, source, options, by, why):
    mount = mounts(source, {**OBSERVED, **options})
    opens = mount.status()["opens"]
    assert opens["seen_by"] == by and why in opens["why"]


# [S-3.11l] Status says how opens are seen, and why.
def test_auto_has_the_opens_of_large_datasets_reported(mounts, folder):
    source = trees.class_folders(folder / "large", 64, 128)
    mount = reported(mounts(source, {"policy": "lirs"}))
    assert mount.status()["opens"]["why"] == "epochs end by opens"
    with concurrent.futures.ThreadPoolExecutor(8) as readers:
        for number in range(6):
            names = random.Random(number).sample(names_of(mount), 8192)
            shown = collections.Counter(readers.map(read_one, names))
            expected = collections.Counter(read(source.glob("*/*.png")))
            assert shown == expected, f"pass {number}"
    # On a busy machine a report may come too late to let the names move.
    view = mount.view()
    assert view["epoch"] == 5 and view["epoch_held"] <= 2, view


def test_auto_asks_for_each_open_of_a_small_dataset(mounts, source):
    opens = mounts(source, {"policy": "lirs"}).status()["opens"]
    assert opens == {"seen_by": "requests",
                     "why": "a pass of 360 samples is short"}


def test_epoch_next_and_a_switch_of_the_seed(mounts, source):
    mount = reported(mounts(source, OBSERVED))
    first, = passes(mount, 1)
    mount.next_epoch()
    second, = passes(mount, 1)
    assert mount.view()["epoch"] == 1
    assert mount.write_control("seed = 7\n") is None
    assert mount.view()["epoch"] == 1  # waits for the boundary
    third, fourth = passes(mount, 2, seed=3)
    for shown in (first, second, third, fourth):
        assert each_once(shown, source)


@pytest.mark.parametrize("there", ["brand", "lirs"])
def test_a_switch_to_brand_or_back_while_opens_are_reported(mounts, source,
                                                            there):
    back = {"brand": "lirs", "lirs": "brand"}[there]
    mount = reported(mounts(source, {**OBSERVED, "policy": back}))
    for number in range(2):
        for policy in (there, back):
            assert mount.write_control(f'policy = "{policy}"\n') is None
            for shown in passes(mount, 2, seed=number):
                assert each_once(shown, source), (policy, mount.log())
            assert mount.view()["policy"] == policy
    assert mount.status()["opens"]["seen_by"] == "reports"


def test_shuffled_records_are_refused_once_opens_are_reported(mounts, folder):
    """An open may begin the next pass over a container, so it is a request."""
    source = trees.class_folders(folder / "source", 4, 20)
    (source / "data.tfrecord").write_bytes(containers.tfrecord(
        [bytes([k]) * 100 for k in range(200)]))
    mount = reported(mounts(source, {**OBSERVED, "policy": "native"}))
    for policy in ("reimu", "lirs"):
        assert mount.write_control(f'policy = "{policy}"\n') is not None
        assert "open=seen" in mount.read("error")
    assert mount.view()["policy"] == "native"
