# SPDX-License-Identifier: Apache-2.0
"""What policy = clairvoyant cannot foresee costs no error, no wrong byte and
little more than native."""
import errno
import os
import signal
import time

import pytest

import harness
import trees
from loader_client import (Loader, assert_right, assert_whole, job_of,
                           predicted, prefetched, recognised)
from test_crash import GONE

CLASSES, PER_CLASS = 20, 60
LARGEST = 16_000
CLAIRVOYANT = {"policy": "clairvoyant", "memory": "16MiB",
               "clairvoyant.cores": 0}
WINDOW = 256  # files that are read ahead of a job at most
# Seeds a generator of which the first epoch's seed is a large number, so that
# a search of all seeds, which begins at 0, is long under way.
FOUND_LATE = 100007
REFUSED = {errno.EIO, errno.ESTALE, errno.ENOENT}


@pytest.fixture(autouse=True)
def slow_device(monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "nas")


@pytest.fixture
def source(folder):
    """More than there is memory for."""
    return trees.blobs(folder / "source", CLASSES, PER_CLASS, largest=LARGEST)


@pytest.fixture
def truth(source):
    return trees.contents(source)


def assert_little_waste(mount, breaks=0):
    view = mount.view()
    lost = breaks * WINDOW * LARGEST // 2
    wasted = view["clairvoyant"]["wasted_bytes"]
    assert wasted <= 0.05 * view["served_bytes"] + lost, view
    assert view["pool_bytes"] <= view["memory_limit"]


# [S-8.1f] What was foreseen wrongly, or not at all, costs reads that nobody
# wanted, never an error or a wrong byte.
@pytest.mark.parametrize("sampler", ["weighted", "walk"])
def test_orders_that_nobody_knows(mounts, source, truth, sampler):
    mount = mounts(source, CLAIRVOYANT)
    with Loader(mount) as loader:
        for _ in range(3):
            loader.begin(sampler)
            items = loader.read()
            assert len(items) == len(truth)
            assert_right(items, truth)
    assert_little_waste(mount)
    assert mount.view()["warnings"] == []


def test_an_epoch_that_is_broken_off(mounts, source, truth):
    mount = mounts(source, CLAIRVOYANT)
    with Loader(mount) as loader:
        for epoch in range(3):
            loader.begin("distributed", epoch=epoch)
            items = loader.read(len(truth) // 3)
            recognised(mount, epochs=epoch + 1)
            assert_right(items, truth)
        items += loader.read()
        assert_whole(items, truth)
    assert_little_waste(mount, breaks=2)


# A job that begins far from the beginning of its order is served plainly, and
# known from the next epoch on.
@pytest.mark.parametrize("skipped", [0.15, 0.4])
def test_a_job_that_resumes_in_mid_epoch(mounts, source, truth, skipped):
    mount = mounts(source, CLAIRVOYANT)
    skip = int(len(truth) * skipped)
    with Loader(mount) as loader:
        loader.begin("distributed", epoch=3, skip=skip)
        items = loader.read(400)
        if skipped < 0.25:
            order = recognised(mount)["order"]
            assert order == "DistributedSampler, seed + epoch = 3"
        items += loader.read()
        assert len({name for name, _, _ in items}) == len(truth) - skip
        assert_right(items, truth)
        loader.begin("distributed", epoch=4)
        items = loader.read(300)
        recognised(mount, epochs=2)
        assert_whole(items + loader.read(), truth)
    assert_little_waste(mount, breaks=1)


def both_known(mount):
    def known():
        orders = [job["order"] for job in predicted(mount)["jobs"]]
        return (sorted(order.split(",")[0] for order in orders) ==
                ["DistributedSampler", "RandomSampler"])

    try:
        harness.eventually(known, 60, "two jobs")
    except AssertionError as error:
        raise AssertionError(f"{error}: {predicted(mount)}") from error


@pytest.mark.parametrize("own_families", [True, False])
def test_two_jobs_with_different_orders(mounts, source, truth, own_families):
    """Of two shells, or of one script."""
    mount = mounts(source, CLAIRVOYANT)
    with Loader(mount, own_family=own_families) as one, \
            Loader(mount, seed=1234, own_family=own_families) as other:
        one.begin("distributed", epoch=0)
        other.begin("random")
        read = []
        for samples in (200, 200, None):
            for loader in (one, other):
                loader.send({"read": samples})
            read.append((one.taken(), other.taken()))
            if samples:
                both_known(mount)
        for each in zip(*read):
            assert_whole(sum(each, []), truth)
    assert_little_waste(mount)


# [S-8.1e] No order is claimed that later reads contradict.
def test_a_claim_that_is_not_borne_out_is_dropped(mounts, source, truth):
    mount = mounts(source, CLAIRVOYANT)
    with Loader(mount) as loader:
        loader.begin("distributed", epoch=0)
        items = loader.read(300)
        recognised(mount)
        loader.begin("walk")
        items += loader.read()
        harness.eventually(lambda: job_of(mount)["state"] != "recognised",
                           what="doubt")
        assert job_of(mount)["order"] == ""
        assert_right(items, truth)
    assert_little_waste(mount, breaks=1)


def error_of(path):
    try:
        return trees.digest(path.read_bytes())
    except OSError as error:
        return error.errno


@pytest.mark.parametrize("damage", trees.DAMAGES)
def test_a_source_that_changes_below_it(mounts, source, truth, damage):
    native = mounts(source, {"policy": "native"})
    mount = mounts(source, CLAIRVOYANT)
    with Loader(mount) as loader:
        loader.begin("distributed", epoch=0)
        order = [name for name, _, _ in loader.read()]
        loader.begin("distributed", epoch=0)
        items = loader.read(300)
        recognised(mount, epochs=2)
        prefetched(mount)
        # What comes next is in memory by now, and what comes last is not.
        held, unread = order[400:420], order[-20:]
        for name in held + unread:
            damage(source / name)
        items += loader.read()
    shown = {name: digest for name, digest, _ in items}
    assert shown.keys() == truth.keys() and len(items) == len(truth)
    for name in unread:
        assert shown[name] == error_of(native.path / name)
        assert shown[name] in REFUSED
    for name in held:
        assert shown[name] == truth[name] or shown[name] in REFUSED
    for name in shown.keys() - {*held, *unread}:
        assert shown[name] == truth[name]
    log = mount.log()
    for name, digest in shown.items():
        assert log.count(name) == (1 if isinstance(digest, int) else 0)
        if isinstance(digest, int):  # whoever asks again is told again
            assert error_of(mount.path / name) == digest


# [S-8.1a] Under clairvoyant every name shows its own file, and directories
# list as the source does, in every epoch.
def test_a_switch_to_native_and_back_while_a_job_reads(mounts, source, truth):
    mount = mounts(source, CLAIRVOYANT)
    with Loader(mount) as loader:
        loader.begin("distributed", epoch=0)
        items = loader.read(300)
        recognised(mount)
        for policy in ("native", "clairvoyant"):
            loader.send({"read": 200})
            assert mount.write_control(
                f'policy = "{policy}"\nepoch = "next"\n') is None
            view = mount.view()
            assert view["policy"] == policy
            assert ("clairvoyant" in view) == (policy == "clairvoyant")
            items += loader.taken()
        assert_whole(items + loader.read(), truth)
        loader.begin("distributed", epoch=1)
        items = loader.read(300)
        recognised(mount, epochs=None)
        assert_whole(items + loader.read(), truth)
    assert trees.contents(mount.path) == truth
    for folder in sorted(path for path in source.iterdir()):
        assert (trees.listing(mount.path / folder.name) ==
                trees.listing(folder))


# [S-3.11g] A switch under load breaks no reader.
@pytest.mark.parametrize("opens", ["auto", "seen"])
def test_switches_while_the_kernel_is_asked(mounts, source, truth, opens):
    """The daemon asks the kernel what it has through the mount itself. So a
    switch, which ends that, must not wait for an answer of the mount."""
    mount = mounts(source, {**CLAIRVOYANT, "open": opens})
    with Loader(mount, keep=True) as loader:
        loader.begin("distributed", epoch=0)
        assert_whole(loader.read(), truth)
        for epoch in range(1, 9):
            loader.begin("distributed", epoch=epoch)
            read = len(loader.read(110))  # now the order is known
            loader.send({"read": None})
            time.sleep(0.002 * (epoch % 4))
            for policy in ("lirs", "clairvoyant"):
                assert mount.write_control(
                    f'policy = "{policy}"\nepoch = "next"\n') is None
                assert mount.view()["policy"] == policy
            assert read + len(loader.taken()) == len(truth)
    assert trees.contents(mount.path) == truth


def threads_of(mount, name):
    tasks = f"/proc/{mount.process.pid}/task"
    return [int(task) for task in os.listdir(tasks)
            if open(f"{tasks}/{task}/comm").read().strip() == name]


def wait_for_search(mount):
    """The job is not known yet, and all seeds are being looked through."""
    def searching():
        job = job_of(mount)
        return job if job and job["state"] == "searching" else None

    job = harness.eventually(searching, 60, "a search")
    assert job["order"] == "" and 0 <= job["searched"] < 1


# [S-8.1c] The seed of a RandomSampler is searched among all of 2^32, at the
# lowest priority and on no more than clairvoyant.cores cores.
def test_unmounting_ends_a_search(mounts, source, truth):
    mount = mounts(source, {**CLAIRVOYANT, "clairvoyant.cores": 1})
    with Loader(mount, seed=FOUND_LATE) as loader:
        loader.begin("random")
        items = loader.read(300)
        wait_for_search(mount)
        # It has its name before it gives up its priority.
        harness.eventually(
            lambda: [os.sched_getscheduler(thread)
                     for thread in threads_of(mount, "sfs-idle")
                     ] == [os.SCHED_IDLE], what="its idle thread")
        mount.unmount()
        assert_right(items, truth)


def test_without_a_search_an_unknown_seed_is_read_plainly(mounts, source,
                                                          truth):
    mount = mounts(source, CLAIRVOYANT)
    with Loader(mount, seed=FOUND_LATE) as loader:
        for _ in range(2):
            loader.begin("random")
            assert_whole(loader.read(), truth)
    job = job_of(mount)
    assert job["recognised_epochs"] == 0 and job["searched"] is None
    assert predicted(mount)["prefetched_bytes"] == 0


@pytest.mark.parametrize("cores", [0, 1])
def test_a_signal_while_a_job_reads(mounts, source, truth, cores):
    """With a search under way, and with files that are read ahead."""
    mount = mounts(source, {**CLAIRVOYANT, "clairvoyant.cores": cores})
    with Loader(mount, seed=FOUND_LATE) as loader:
        if cores:
            loader.begin("random")
            items = loader.read(300)
            wait_for_search(mount)
        else:
            loader.begin("distributed", epoch=0)
            items = loader.read(300)
            recognised(mount)
        loader.send({"read": None})
        os.kill(mount.process.pid, signal.SIGTERM)
        items += loader.taken()
    mount.expect_exit()
    assert harness.mount_types(mount.path) == []
    assert len(items) == len(truth)
    for name, digest, _ in items:
        assert digest == truth[name] or digest in GONE, name


def test_a_job_outlives_a_killed_daemon(mounts, source, truth):
    mount = mounts(source, CLAIRVOYANT)
    with Loader(mount) as loader:
        loader.begin("distributed", epoch=0)
        items = loader.read(300)
        recognised(mount)
        loader.send({"read": None})
        mount.kill()
        mount.start()
        items += loader.taken()
        assert len(items) == len(truth)
        for name, digest, _ in items:
            assert digest == truth[name] or digest in GONE, name
        loader.begin("distributed", epoch=1)
        items = loader.read(300)
        recognised(mount, epochs=None)
        assert_whole(items + loader.read(), truth)


# [S-8.1g] Nothing of what was found out is kept beyond the mount.
def test_nothing_is_kept(mounts, source, truth):
    mount = mounts(source, CLAIRVOYANT)
    kept = trees.contents(mount.state)
    with Loader(mount) as loader:
        loader.begin("distributed", epoch=0)
        loader.read(300)
        recognised(mount)
    mount.unmount()
    assert trees.contents(mount.state).keys() <= kept.keys()
    mount.start()
    known = predicted(mount)
    assert known["jobs"] == [] and known["opens"] == 0
