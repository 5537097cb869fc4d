# SPDX-License-Identifier: Apache-2.0
"""Opens that the kernel reports after it has answered them by itself."""
import collections
import hashlib
import pickle
import random
import signal
import subprocess
import sys
import time

import pytest

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


def read(names):
    return [(name.parent.name, name.read_bytes()) for name in names]


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
@pytest.mark.parametrize("policy", ["lirs", "window"])
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
    assert mount.view()["consumed"] == 360
    assert mount.view()["warnings"] == mount.status()["warnings"] == []
    bindings = [tuple(sorted(map(tuple, epoch))) for epoch in epochs]
    assert len(set(bindings)) > EPOCHS // 2, mount.log()


# Readers that are as fast as they can be, over many boundaries.
def test_passes_of_some_milliseconds_each(mounts, source):
    mount = reported(mounts(source, OBSERVED))
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


# [S-3.11k] If reports of opens were lost, the next boundary is held.
def test_a_queue_that_overflows(mounts, source, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_LOSE_OPEN", "500")  # in the second pass
    mount = reported(mounts(source, OBSERVED))
    held = []
    for shown in passes(mount, 4):
        assert each_once(shown, source)
        held.append(mount.view()["epoch_hold_reason"])
    assert held[2] == "lost", (held, mount.log())
    assert mount.view()["epoch"] == 3


# [S-3.12u] If the kernel reports opens, the boundary after a kill of the daemon
# is held.
@pytest.mark.parametrize("opened", [1, 100, 359, 360, 361, 500])
def test_the_daemon_is_killed_with_reports_under_way(mounts, source, opened):
    mount = reported(mounts(source, OBSERVED))
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


# [S-3.12u] If the kernel reports opens, the boundary after a kill of the daemon
# is held.
def test_the_daemon_never_reads_the_last_reports(mounts, source):
    mount = reported(mounts(source, OBSERVED))
    for shown in passes(mount, 2):  # the kernel has all pages now
        assert each_once(shown, source)
    names = random.Random(9).sample(names_of(mount), 360)
    shown = read(names[:100])
    for name in names:
        name.stat()
    time.sleep(0.3)  # all names are cached, too
    mount.process.send_signal(signal.SIGSTOP)
    unseen = names[100:160]
    told = subprocess.run([sys.executable, "-c", READ_AND_TELL],
                          input=pickle.dumps([str(name) for name in unseen]),
                          stdout=subprocess.PIPE, timeout=30, check=True)
    shown += [(name.parent.name, data)
              for name, data in zip(unseen, pickle.loads(told.stdout))]
    mount.kill()
    reported(mount.start())
    assert mount.view()["consumed"] < 160
    shown += read(names[160:])
    assert each_once(shown, source)
    for shown in passes(mount, 3, seed=4):
        assert each_once(shown, source)
    assert mount.view()["epoch_held"] >= 1


# [S-3.11l] Status says how opens are seen, and why.
def test_an_ordinary_user_has_opens_answered(mounts, source):
    mount = mounts(source, OBSERVED, user=harness.NOBODY)
    opens = mount.status()["opens"]
    assert opens["seen_by"] == "requests" and "root" in opens["why"]
    for shown in [mount.run(["sh", "-c", f"cat {mount.path}/*/*.png"])] * 2:
        assert shown.returncode == 0


@pytest.mark.parametrize("options, by, why", [
    ({"policy": "brand"}, "requests", "brand"),
    ({"open": "seen"}, "requests", "open = seen"),
    ({"open": "unseen", "epoch.advance": "manual"}, "nothing", "unseen"),
    ({"policy": "native", "open": "auto"}, "nothing", "nothing depends"),
])
def test_status_says_how_opens_are_seen(mounts, source, options, by, why):
    mount = mounts(source, {**OBSERVED, **options})
    opens = mount.status()["opens"]
    assert opens["seen_by"] == by and why in opens["why"]


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


def test_a_policy_that_needs_answers_is_refused(mounts, source):
    mount = reported(mounts(source, OBSERVED))
    assert mount.write_control('policy = "brand"\n') is not None
    assert "open=seen" in mount.read("error")
