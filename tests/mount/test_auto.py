# SPDX-License-Identifier: Apache-2.0
"""policy = auto: what it finds, and that what it chooses works."""
import collections
import json
import os
import re

import pytest

import containers
import harness
import trees

LARGER_THAN_MEMORY = 1 << 42


@pytest.fixture
def source(folder):
    """Class folders and a validation split, larger than any memory by a file
    of the split that has a size and no content."""
    root = trees.train_and_val(folder / "source", classes=4, per_class=60)
    os.truncate(sorted((root / "val" / "c0").iterdir())[0], LARGER_THAN_MEMORY)
    return root


def training(root):
    """(class, content) of each training file."""
    return collections.Counter(
        (path.parent.name, trees.digest(path.read_bytes()))
        for path in (root / "train").rglob("*.png"))


def read(root):
    return {path.relative_to(root): path.read_bytes()
            for path in sorted((root / "train").rglob("*.png"))}


# [S-3.13a] The policy auto says what it found and what to expect.
@pytest.mark.parametrize("device, gain", [("hdd", "x the files"), ("nas", "x of 16;")])
def test_large_class_folders_on_a_slow_device_are_brand(
        mounts, source, monkeypatch, device, gain):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", device)
    mount = mounts(source, {"epoch.advance": "manual"})
    view = mount.view()
    assert view["policy"] == "brand"
    for words in ("larger than memory", "brand, expect about", gain,
                  "of 4 plain readers", "with a validation split"):
        assert words in view["why"]
    assert device in view["device"]
    assert "brand, expect about" in mount.log_path.read_text()
    expected = training(source)
    first = read(mount.path)
    assert training(mount.path) == expected
    mount.next_epoch()
    second = read(mount.path)
    assert training(mount.path) == expected
    assert trees.moved(first, second) > len(first) / 2
    assert mount.view()["hits"] > 0
    val = sorted((source / "val" / "c1").iterdir())
    for path in val:
        shown = mount.path / path.relative_to(source)
        assert shown.read_bytes() == path.read_bytes()


# [S-3.13b] It is brand only for proven class folders larger than memory, on a
# device slow at random reads, with a validation split beside them.
@pytest.mark.parametrize("why", ["small", "flash", "no split", "unseen",
                                 "ranked", "never", "nodes"])
def test_otherwise_auto_is_native(mounts, source, monkeypatch, why):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "flash" if why == "flash" else "hdd")
    options = {"unseen": {"open": "unseen"}, "ranked": {"layout": "ranked"},
               "never": {"substitute": "never"},
               "nodes": {"nodes": "1/2"}}.get(why, {})
    if why == "small":
        os.truncate(sorted((source / "val" / "c0").iterdir())[0], 1000)
    if why == "no split":
        # A test split is no reason to think that nothing else is split off.
        (source / "val").rename(source / "test")
    mount = mounts(source, options)
    view = mount.view()
    assert view["policy"] == "native"
    assert {"small": "fits in memory", "flash": "on flash",
            "no split": "-o policy=brand may give about",
            "nodes": "nodes = 1/2", "unseen": "open = unseen", "ranked": "layout = ranked",
            "never": "names keep their own samples"}[why] in view["why"]


@pytest.fixture
def table(folder):
    """Files that a table lists, larger than any memory by a sparse one."""
    root = folder / "table"
    (root / "images").mkdir(parents=True)
    for i in range(1200):
        (root / "images" / f"{i * 7919 % 100000:05}.jpg").write_bytes(b"%d" % i)
    (root / "labels.csv").write_text("file,label\n")
    (root / "val").mkdir()
    (root / "val" / "large.jpg").touch()
    os.truncate(root / "val" / "large.jpg", LARGER_THAN_MEMORY)
    return root


@pytest.mark.parametrize("device, policy, words", [
    ("hdd", "clairvoyant", "no gain in speed can be promised"),
    ("nas", "clairvoyant", "expect about"),
    ("flash", "native", "on flash")])
def test_names_that_stay_are_read_ahead_of(mounts, table, monkeypatch, device,
                                           policy, words):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", device)
    mount = mounts(table)
    view = mount.view()
    assert view["policy"] == policy
    for each in (words, "larger than memory", "names keep their own samples"):
        assert each in view["why"]
    names = sorted((table / "images").iterdir())
    assert sorted(os.listdir(mount.path / "images")) == [n.name for n in names]
    for name in names[::40]:
        assert (mount.path / "images" / name.name).read_bytes() == name.read_bytes()
    found = json.loads(harness.run([harness.shufflectl(), "check", "--json",
                                    table]).stdout)
    assert found["policy"] == policy
    text = harness.run([harness.shufflectl(), "check", "-v", table]).stdout
    assert f"auto is {policy} here" in text


@pytest.mark.parametrize("options, words", [
    ({"layout": "ranked"}, "not clairvoyant because of layout = ranked"),
    ({"memory": "4MiB"}, "not clairvoyant because of memory, which gives"),
    ({"open": "unseen"}, None)])  # reads are seen
def test_what_leaves_no_room_for_it_keeps_it_native(mounts, table, monkeypatch,
                                                    options, words):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "nas")
    view = mounts(table, options).view()
    assert view["policy"] == ("native" if words else "clairvoyant")
    assert words is None or words in view["why"]
    told = "name a policy that shuffles" in str(view["warnings"])
    assert told == ("layout" in options)


def test_what_lies_beside_a_view_does_not_count(mounts, table, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "nas")
    view = mounts(table, {"path": "images"}).view()
    assert view["policy"] == "native"
    for words in ("1200 files", "fits in memory"):
        assert words in view["why"]


@pytest.fixture
def shards(folder):
    """Two shards, of which a sparse file beside them makes a set that is larger
    than any memory: it is a container by its name alone."""
    root = folder / "shards"
    (root / "val").mkdir(parents=True)
    data = [f"{i}:{'x' * (i % 300)}".encode() for i in range(3000)]
    for name in ("a.tfrecord", "b.tfrecord", "val/c.tfrecord"):
        (root / name).write_bytes(containers.tfrecord(data))
    (root / "large.tfrecord").touch()
    os.truncate(root / "large.tfrecord", LARGER_THAN_MEMORY)
    return root


# [S-3.13c] If most of it are self-contained containers larger than memory, it
# is reimu on a device slow at random reads, and lirs on flash.
@pytest.mark.parametrize("device, policy, words", [
    ("hdd", "reimu", "reimu, records come shuffled in blocks of 1.0 MiB"),
    ("nas", "reimu", "x what 4 plain readers get"),
    ("flash", "lirs", "lirs, a full shuffle of the records of each file")])
def test_large_containers_are_shuffled(mounts, shards, monkeypatch, device,
                                       policy, words):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", device)
    mount = mounts(shards, {"memory": "512MiB"})
    view = mount.view()
    assert view["policy"] == policy
    for each in (words, "larger than memory", "3 containers, whose records"):
        assert each in view["why"]
    raw = containers.read_tfrecord(shards / "a.tfrecord")
    for name in ("a.tfrecord", "b.tfrecord"):
        shown = containers.read_tfrecord(mount.path / name)
        assert shown != raw and sorted(shown) == sorted(raw)
    assert containers.read_tfrecord(mount.path / "val/c.tfrecord") == raw
    found = json.loads(harness.run([harness.shufflectl(), "check", "--json",
                                    shards]).stdout)
    if device != "flash":
        assert found["gain"][-1]["policy"] == "reimu"
        assert found["gain"][-1]["gain"] > 1.3
    os.truncate(shards / "large.tfrecord", 1000)
    small = mounts(shards, {"memory": "512MiB"})
    assert small.view()["policy"] == "native"
    assert ((small.path / "a.tfrecord").read_bytes()
            == (shards / "a.tfrecord").read_bytes())


def test_records_of_several_nodes_need_a_named_policy(mounts, shards,
                                                      monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "hdd")
    view = mounts(shards, {"memory": "512MiB", "nodes": "1/2"}).view()
    assert view["policy"] == "native"
    assert "another node might choose otherwise" in view["why"]


def test_records_go_on_whatever_is_measured(mounts, shards, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "hdd")
    mount = mounts(shards, {"memory": "512MiB"})
    assert mount.view()["policy"] == "reimu"
    (mount.path / "a.tfrecord").read_bytes()
    shown = (mount.control_dir / "epoch/0/tree/b.tfrecord").read_bytes()
    mount.kill()
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "flash")
    mount.start()
    view = mount.view()
    assert (view["policy"], view["epoch"]) == ("reimu", 0)
    assert "for its epoch is not finished" in view["why"]
    assert (mount.path / "b.tfrecord").read_bytes() == shown


def test_a_restart_goes_on_whatever_is_measured(mounts, source, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "hdd")
    mount = mounts(source, {"epoch.advance": "manual"})
    names = sorted((mount.path / "train").rglob("*.png"))
    shown = {name: name.read_bytes() for name in names[:100]}
    mount.kill()
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "flash")
    mount.start()
    assert mount.view()["policy"] == "brand"
    assert "for its epoch is not finished" in mount.view()["why"]
    assert mount.view()["consumed"] == 100
    assert all(name.read_bytes() == data for name, data in shown.items())
    assert training(mount.path) == training(source)
    mount.unmount()
    mount.start()  # all was read: it chooses anew
    assert mount.view()["policy"] == "native"


def test_what_was_measured_decides_by_itself(mounts, source):
    """On whatever device the tests run it says which."""
    view = mounts(source).view()
    assert view["policy"] in ("native", "brand")
    assert view["device"] and "larger than memory" in view["why"]


def test_check_says_the_same_as_the_mount(mounts, source, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "hdd")
    found = json.loads(harness.run([harness.shufflectl(), "check", "--json",
                                    source]).stdout)
    view = mounts(source).view()
    # How much memory is free differs from one moment to the next.
    free = re.compile(r"memory \([^)]*\)")
    assert free.sub("", found["why"]) == free.sub("", view["why"])
    assert found["policy"] == "brand"
    assert found["gain"][0]["gain"] > 1.3
    text = harness.run([harness.shufflectl(), "check", "-v", source]).stdout
    assert "gain:       brand about " in text
    assert "auto is brand here" in text


@pytest.mark.parametrize("chunks, device, found", [
    ("auto", "hdd", "that lie together"), ("auto", "nas", "files at random"),
    ("random", "hdd", "files at random, as asked"),
    ("physical", "nas", ", as asked, on nas")])
def test_a_key_overrides_the_choice_of_chunks(mounts, source, monkeypatch,
                                              chunks, device, found):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", device)
    mount = mounts(source, {"policy": "brand", "brand.chunk_layout": chunks})
    how = mount.view()["supply"]
    assert found in how and device in how
    assert ("because" in how) == (chunks == "auto")
    assert training(mount.path) == training(source)


def test_where_files_lie_is_asked_once(mounts, source, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "hdd")
    os.sync()  # before, files may have no address yet
    mount = mounts(source, {"policy": "brand"})
    places = mount.state / "places"
    saved = places.read_bytes()
    how = mount.view()["supply"]
    mount.unmount()
    written = places.stat().st_mtime_ns
    mount.start()
    assert mount.view()["supply"] == how
    assert places.stat().st_mtime_ns == written
    mount.unmount()
    places.write_bytes(saved[:-1] + bytes([saved[-1] ^ 1]))
    mount.start()
    assert "places: the checksum differs: searching again" in (
        mount.log_path.read_text())
    assert mount.view()["supply"] == how
    assert places.read_bytes() == saved
    assert training(mount.path) == training(source)
