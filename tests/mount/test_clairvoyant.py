# SPDX-License-Identifier: Apache-2.0
"""policy = clairvoyant: the order of a stock job is found out and read ahead,
and every name shows its own bytes."""
import os

import pytest

import harness
import trees
from loader_client import (Loader, assert_whole, job_of, predicted, prefetched,
                           recognised)

CLASSES, PER_CLASS = 20, 60
AHEAD = 150  # files; more than these and those of the workers are read ahead
# No search of all seeds: it would take the processor from other tests.
CLAIRVOYANT = {"policy": "clairvoyant", "memory": "16MiB",
               "clairvoyant.cores": 0}
# Seeds a generator of which the first epoch's seed is a small number, so that
# a search of all seeds, which begins at 0, ends soon; and so does the one of all
# generators.
FOUND_EARLY = 116949


@pytest.fixture
def device(request, monkeypatch):
    """On a device that is not slow nothing is read ahead."""
    name = getattr(request, "param", "nas")
    monkeypatch.setenv("SHUFFLEFS_DEVICE", name)
    return name


@pytest.fixture
def source(folder):
    """More than there is memory for."""
    return trees.blobs(folder / "source", CLASSES, PER_CLASS, largest=16_000)


@pytest.fixture
def truth(source):
    return trees.contents(source)


# [S-8.1b] If a stock PyTorch sampler draws the order, the first files of an
# epoch tell it, and what comes next is read ahead.
@pytest.mark.parametrize("device", ["nas", "hdd"], indirect=True)
def test_a_distributed_sampler(mounts, source, truth, device, user):
    trees.give_to(source, user)
    mount = mounts(source, CLAIRVOYANT, user=user)
    with Loader(mount) as loader:
        for epoch in range(3):
            assert loader.begin("distributed", epoch=epoch) == len(truth)
            items = loader.read(300)
            job = recognised(mount, epochs=epoch + 1)
            assert job["files"] == len(truth)
            assert job["order"] == f"DistributedSampler, seed + epoch = {epoch}"
            assert job["after_opens"] <= 400 and job["evidence"]
            assert job["recognised_epochs"] == epoch + 1
            # Nobody overtakes what is read ahead of it. A reader of cached
            # files would, where the daemon gets no processor.
            more = items
            while more:
                prefetched(mount)
                more = loader.read(AHEAD)
                items += more
            assert_whole(items, truth)
    view, known = mount.view(), predicted(mount)
    assert 0 < known["ready"] <= known["opens"] <= 3 * len(truth)
    assert known["prefetched_bytes"] > 0
    assert known["wasted_bytes"] <= 0.05 * known["prefetched_bytes"]
    assert device in view["supply"] and view["warnings"] == []
    assert view["pool_bytes"] <= view["memory_limit"] <= 16 << 20


# The epochs of a generator that was seeded in a usual way need no search.
def test_a_random_sampler_with_a_usual_seed(mounts, source, truth, device):
    mount = mounts(source, CLAIRVOYANT)
    orders = set()
    with Loader(mount, seed=1234) as loader:
        for epoch in range(3):
            loader.begin("random")
            items = loader.read(300)
            job = recognised(mount, epochs=epoch + 1)
            assert job["order"].startswith("RandomSampler, seed ")
            assert job["searched"] is None and job["search_seconds"] == 0
            orders.add(job["order"])
            assert_whole(items + loader.read(), truth)
    assert len(orders) == 3
    assert mount.view()["warnings"] == []


# A job that pauses when its order is found is read ahead of, too. The seeds of
# its next epochs are large: these are known by the generator that draws them.
def test_a_random_sampler_is_found_by_a_search(mounts, source, truth, device):
    mount = mounts(source, {**CLAIRVOYANT, "clairvoyant.cores": 1})
    with Loader(mount, seed=FOUND_EARLY) as loader:
        for epoch in range(3):
            loader.begin("random")
            items = loader.read(100)
            job = recognised(mount, epochs=epoch + 1)
            assert job["order"].startswith("RandomSampler, seed ")
            assert job["search_seconds"] > 0
            prefetched(mount)
            assert_whole(items + loader.read(), truth)
    assert predicted(mount)["ready"] > 0


def test_a_seed_of_the_user(mounts, source, truth, device):
    mount = mounts(source, {**CLAIRVOYANT, "clairvoyant.seeds": FOUND_EARLY})
    with Loader(mount, seed=FOUND_EARLY) as loader:
        loader.begin("random")
        items = loader.read(300)
        assert recognised(mount)["search_seconds"] == 0
        assert_whole(items + loader.read(), truth)


# [S-8.1i] Where the mount sees opens, cached files hide no order, and they are
# not read ahead.
@pytest.mark.parametrize("opens", ["auto", "seen"])
def test_what_the_kernel_has_is_known(mounts, source, truth, device, opens):
    mount = mounts(source, {**CLAIRVOYANT, "open": opens})
    seen_by = "requests" if opens == "seen" else "reports"
    harness.eventually(
        lambda: mount.status()["opens"]["seen_by"] == seen_by,
        what=f"{seen_by}: {mount.status()['opens']}")
    known = []
    with Loader(mount, keep=True) as loader:
        for epoch in range(3):
            loader.begin("distributed", epoch=epoch)
            items = loader.read(300)
            job = recognised(mount, epochs=epoch + 1)
            assert job["recognised_epochs"] == epoch + 1
            assert_whole(items + loader.read(), truth)
            known.append(predicted(mount))
    # From the second epoch on the kernel has everything, unless it dropped a
    # file of its own accord.
    before, after = known[0], known[-1]
    ahead = [each["prefetched_bytes"] for each in known]
    assert ahead[0] > 0
    assert 0 in [late - soon for soon, late in zip(ahead, ahead[1:])], ahead
    opens = after["opens"] - before["opens"]
    assert opens > 1.5 * len(truth)
    missed = opens - (after["ready"] - before["ready"])
    assert 0 <= missed <= opens // 100, missed


# A ranked view shows its classes' files in one directory.
@pytest.mark.parametrize("_", ["root"] if os.geteuid() == 0 else [])
def test_opens_are_reported_beside_a_ranked_view(mounts, folder, device, _):
    source = trees.train_and_val(folder / "source", CLASSES, 50, val=20)
    config = folder / "views.toml"
    config.write_text("""
memory = "16MiB"
clairvoyant.cores = 0
[[view]]
path = "train"
policy = "clairvoyant"
[[view]]
path = "val"
policy = "lirs"
layout = "ranked"
epoch.advance = "manual"
""")
    mount = mounts(source, {}, arguments=["--config", config])
    opens = harness.eventually(
        lambda: mount.status()["opens"]["why"] != "reports are being set up" and
        mount.status()["opens"], what="opens")
    assert opens["seen_by"] == "reports", opens
    with Loader(mount, keep=True) as loader:
        for epoch in range(2):
            loader.begin("distributed", "train", epoch=epoch)
            items = loader.read(300)
            recognised(mount, "train", epoch + 1)
            items += loader.read()
            assert len({name for name, _, _ in items}) == 50 * CLASSES


# Kernels before 6.8: an order is learnt from reads alone, as without root.
def test_a_kernel_that_reports_no_opens(mounts, source, truth, device,
                                        monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_KERNEL_REPORTS", "no")
    mount = mounts(source, CLAIRVOYANT)
    opens = harness.eventually(
        lambda: mount.status()["opens"]["why"] != "reports are being set up" and
        mount.status()["opens"], what="opens")
    assert opens["seen_by"] == "nothing" and "does not report" in opens["why"]
    with Loader(mount) as loader:
        loader.begin("distributed", epoch=3)
        items = loader.read(300)
        assert recognised(mount)["order"] == (
            "DistributedSampler, seed + epoch = 3")
        assert_whole(items + loader.read(), truth)
    assert mount.view()["warnings"] == mount.status()["warnings"] == []


@pytest.mark.parametrize("workers", [0, 3])
def test_sorted_names(mounts, source, truth, device, workers):
    mount = mounts(source, CLAIRVOYANT)
    with Loader(mount) as loader:
        for epoch in range(2):
            loader.begin("sorted", workers=workers)
            items = loader.read(300)
            assert recognised(mount, epochs=epoch + 1)["order"] == "sorted names"
            assert_whole(items + loader.read(), truth)
    assert mount.view()["warnings"] == []  # this order comes again rightly


# [S-8.1d] An epoch in the order of the last one is known again; if it was
# shuffled, a warning asks whether set_epoch was forgotten.
def test_a_forgotten_set_epoch_is_told(mounts, source, truth, device):
    mount = mounts(source, CLAIRVOYANT)
    with Loader(mount) as loader:
        for number, epoch in enumerate([None, None, 1], 1):
            loader.begin("distributed", epoch=epoch)
            items = loader.read(300)
            recognised(mount, epochs=number)
            warnings = mount.view()["warnings"]
            assert_whole(items + loader.read(), truth)
            assert len(warnings) == (1 if number == 2 else 0)
            assert "sampler.set_epoch(epoch)" in str(warnings) or not warnings


def test_a_validation_pass_is_a_job_of_its_own(mounts, folder, device):
    source = trees.train_and_val(folder / "source", CLASSES, 50, val=20)
    truth = trees.contents(source)
    mount = mounts(source, CLAIRVOYANT)
    with Loader(mount) as loader:
        for epoch in range(3):
            loader.begin("distributed", "train", epoch=epoch)
            items = loader.read(300)
            job = recognised(mount, "train", epoch + 1)
            assert job["order"] == f"DistributedSampler, seed + epoch = {epoch}"
            assert_whole(items + loader.read(), truth, "train")
            loader.begin("sorted", "val")
            items = loader.read(100)
            job = recognised(mount, "val", epoch + 1)
            assert job["order"] == "sorted names"
            assert_whole(items + loader.read(), truth, "val")
    assert len(predicted(mount)["jobs"]) == 2
    for path, files in [("train", 50 * CLASSES), ("val", 20 * CLASSES)]:
        job = job_of(mount, path)
        assert job["files"] == files and job["recognised_epochs"] == 3


@pytest.mark.parametrize("device, memory", [("flash", "16MiB"),
                                            ("nas", "4MiB")],
                         indirect=["device"])
def test_it_is_native_where_nothing_can_be_gained(mounts, source, truth,
                                                  device, memory):
    mount = mounts(source, {**CLAIRVOYANT, "memory": memory})
    view = mount.view()
    assert view["policy"] == "clairvoyant" and "clairvoyant" not in view
    assert "nothing is read ahead" in view["why"]
    with Loader(mount) as loader:
        loader.begin("distributed", epoch=0)
        assert_whole(loader.read(), truth)
