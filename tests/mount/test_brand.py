# SPDX-License-Identifier: Apache-2.0
"""policy = brand: names show whatever of their class is in memory, and every
sample comes exactly once."""
import collections
import concurrent.futures
import errno
import hashlib
import json
import os
import random

import pytest
from PIL import Image

import harness
import trees

BRAND = {"policy": "brand", "substitute": "directory", "memory": "8MiB"}
MANUAL = {**BRAND, "epoch.advance": "manual"}
CLASSES, PER_CLASS = 4, 150


@pytest.fixture
def source(folder):
    """About five times the memory."""
    return trees.blobs(folder / "source", CLASSES, PER_CLASS, largest=140_000)


def names_of(root):
    return sorted(path.relative_to(root) for path in root.rglob("*.png"))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def read_all(mount, names, seed=0, readers=1):
    """(class, content) of each name, read in a random order."""
    names = list(names)
    random.Random(seed).shuffle(names)

    def read(name):
        return name.parts[0], digest(mount.path / name)
    with concurrent.futures.ThreadPoolExecutor(readers) as pool:
        return collections.Counter(pool.map(read, names))


def whole(source):
    return collections.Counter((name.parts[0], digest(source / name))
                               for name in names_of(source))


# [S-3.10d] Under brand each sample comes exactly once too, whatever the order
# and number of the readers.
@pytest.mark.parametrize("readers", [1, 4])
def test_each_epoch_shows_every_sample_once(mounts, source, readers):
    mount = mounts(source, MANUAL)
    names, expected = names_of(source), whole(source)
    shown = []
    for epoch in range(3):
        if epoch:
            mount.next_epoch()
        assert read_all(mount, names, epoch, readers) == expected
        shown.append([digest(mount.path / name) for name in names])
        assert sum(collections.Counter(shown[-1]).values()) == len(names)
    assert trees.moved(dict(zip(names, shown[0])),
                       dict(zip(names, shown[1]))) > len(names) / 2
    view = mount.view()
    assert view["reproducible"] is False
    assert view["pool_bytes"] <= view["memory_limit"] == 6 << 20
    assert view["hits"] > 2 * len(names)


# [S-3.10e] The pool keeps to memory, and no reader waits for another.
def test_samples_are_read_once_an_epoch_in_batches(mounts, source):
    mount = mounts(source, MANUAL)
    names = names_of(source)
    total = sum(path.stat().st_size for path in source.rglob("*.png"))
    for epoch in range(2):
        if epoch:
            mount.next_epoch()
        read_all(mount, names, epoch, 4)
    view = mount.view()
    # Whole pages, and what is in memory for the epoch to come.
    pages = 4096 * len(names)
    assert view["source_bytes"] <= 2 * (total + pages) + (8 << 20)
    assert view["bypass"] < len(names) / 10


def test_a_name_keeps_its_sample_for_the_epoch(mounts, source):
    mount = mounts(source, MANUAL)
    names = names_of(source)
    for path in mount.path.rglob("*.png"):  # a storm of stats binds them all
        path.stat()
    first = {name: digest(mount.path / name) for name in names}
    for name in names:
        path = mount.path / name
        assert digest(path) == first[name]
        assert path.stat().st_size == len(path.read_bytes())
    assert (collections.Counter(first.values()) ==
            collections.Counter(digest(source / name) for name in names))


def test_a_stock_loader_gets_full_epochs(mounts, folder):
    source = trees.train_and_val(folder / "source", 4, 60)
    mount = mounts(source, BRAND)
    expected = sorted(
        (hashlib.sha256(Image.open(path).convert("RGB").tobytes())
         .hexdigest()[:16], path.parent.name)
        for path in (source / "train").glob("*/*.png"))
    epochs = mount.client("imagefolder.py", mount.path / "train", "--epochs", 3,
                          "--workers", 2, timeout=120)
    for epoch in epochs:
        assert sorted((content, label)
                      for _, content, label in epoch) == expected
    assert mount.view()["epoch"] == 2
    assert mount.status()["warnings"] == mount.view()["warnings"] == []


# A copy reads in the order of the listing, which no pool can foresee.
def test_copies_are_whole(mounts, source, folder):
    mount = mounts(source, MANUAL)
    harness.run(["cp", "-r", mount.path, folder / "copy"])
    assert (sorted(trees.contents(folder / "copy").values()) ==
            sorted(trees.contents(source).values()))


def test_a_killed_daemon_goes_on_with_the_epoch(mounts, source):
    mount = mounts(source, MANUAL)
    names = names_of(source)
    random.Random(1).shuffle(names)
    half = len(names) // 2
    before = {name: digest(mount.path / name) for name in names[:half]}
    mount.kill()
    mount.start()
    after = {name: digest(mount.path / name) for name in names[half:]}
    assert (collections.Counter([*before.values(), *after.values()]) ==
            collections.Counter(digest(source / name) for name in names))
    for name in names[:20]:
        assert digest(mount.path / name) == before[name]


def test_a_lost_file_costs_its_own_reader_only(mounts, source):
    mount = mounts(source, MANUAL)
    names = names_of(source)
    lost = source / names[7]
    gone = digest(lost)
    lost.unlink()
    failed = []
    shown = collections.Counter()
    for name in names:
        try:
            shown[digest(mount.path / name)] += 1
        except OSError as error:
            failed.append(error.errno)
    assert failed == [errno.ESTALE]
    assert shown == collections.Counter(
        digest(source / name) for name in names if name != names[7])
    assert gone not in shown
    assert mount.log().count(str(names[7])) == 1


def test_the_policy_is_switched_there_and_back(mounts, source):
    mount = mounts(source, {**MANUAL, "policy": "lirs", "open": "seen"})
    names, expected = names_of(source), whole(source)
    for policy in ("brand", "native", "brand", "lirs"):
        assert mount.write_control(
            f'policy = "{policy}"\nepoch = "next"\n') is None
        assert mount.view()["policy"] == policy
        assert read_all(mount, names, 3, 2) == expected


def test_the_order_is_what_is_bound_so_far(mounts, source):
    mount = mounts(source, MANUAL)
    names = names_of(source)[::3]
    expected = sorted((str(name), digest(mount.path / name))
                      for name in names)
    lines = [line.split("\t") for line in mount.read("order").splitlines()]
    assert sorted((name, digest(source / sample))
                  for _, name, sample in lines) == expected
    done = mount.run([harness.shufflectl(), "verify", "-m", mount.path,
                      "--json"])
    epoch = json.loads(done.stdout)["epochs"][-1]
    assert epoch["consumed"] == len(names)
    assert epoch["shown_by_mount"] is True


def test_it_needs_to_see_opens(mounts, source):
    mount = mounts(source, {**MANUAL, "policy": "lirs", "open": "unseen"})
    assert mount.write_control('policy = "brand"\n') == errno.EINVAL
    assert "open" in mount.read("error")


@pytest.mark.parametrize("options", [{"brand.binding": "location"},
                                     {"policy": "static"}],
                         ids=["location", "static"])
def test_the_baselines_are_right_too(mounts, source, options):
    mount = mounts(source, {**MANUAL, **options})
    names, expected = names_of(source), whole(source)
    for epoch in range(2):
        if epoch:
            mount.next_epoch()
        assert read_all(mount, names, epoch, 4) == expected
    view = mount.view()
    assert view["pool_bytes"] <= view["memory_limit"]
    assert view["source_reads"] > 0


def test_static_keeps_what_it_read_first(mounts, source):
    mount = mounts(source, {**MANUAL, "policy": "static", "memory": "64MiB"})
    names, expected = names_of(source), whole(source)
    assert read_all(mount, names) == expected
    first = mount.view()["source_bytes"]
    # Forget what the kernel keeps by a view of its own: the names are fixed,
    # so only memory of the daemon spares the source.
    for name in names:
        with open(mount.path / name, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert read_all(mount, names, 1) == expected
    assert mount.view()["source_bytes"] == first


def test_a_pack_is_read_and_a_bad_one_refused(mounts, source, folder):
    pack = folder / "pack"
    harness.run([harness.shufflectl(), "pack", source, pack])
    mount = mounts(source, {**MANUAL, "brand.packed": pack})
    names, expected = names_of(source), whole(source)
    for epoch in range(2):
        if epoch:
            mount.next_epoch()
        assert read_all(mount, names, epoch, 4) == expected
    assert "pack" in mount.view()["supply"]
    mount.kill()
    (pack / "manifest").write_bytes(b"no manifest")
    with pytest.raises(AssertionError, match="manifest"):
        mount.start()


def test_verify_proves_it(mounts, source):
    mount = mounts(source, MANUAL)
    for epoch in range(2):
        if epoch:
            mount.next_epoch()
        read_all(mount, names_of(source), epoch, 4)
    done = mount.run([harness.shufflectl(), "verify", "-m", mount.path,
                      "--json"])
    proof = json.loads(done.stdout)
    assert proof["proven"] is True
    for epoch in proof["epochs"]:
        assert epoch["complete"] and epoch["bijection"] and epoch["reactive"]
