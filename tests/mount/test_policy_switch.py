# SPDX-License-Identifier: Apache-2.0
"""A policy is switched while fio and a DataLoader read through the mount."""
import concurrent.futures
import json
import os
import random
import subprocess

import pytest

import harness
import trees

LIRS = {"policy": "lirs", "substitute": "directory", "epoch.advance": "auto"}
EPOCHS = 6


# [S-3.11g] A switch under load breaks no reader.
def test_switch_under_load(mounts, folder):
    source = trees.train_and_val(folder / "source", per_class=80)
    (source / "bulk").mkdir()
    jobs = harness.EXAMPLES / "fio"
    environment = {**os.environ, "DIR": str(source / "bulk")}
    harness.run(["fio", jobs / "layout.fio"], env=environment, cwd=folder)
    mount = mounts(source, LIRS)

    fio = subprocess.Popen(
        ["fio", "--readonly", "--output-format=json", "--time_based",
         "--runtime=30", "--section=psync", jobs / "randread.fio"],
        env={**environment, "DIR": str(mount.path / "bulk")}, cwd=folder,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    loader = subprocess.Popen(
        [harness.PYTHON, harness.CLIENTS / "imagefolder.py",
         mount.path / "train", "--epochs", str(EPOCHS), "--workers", "2"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    harness.eventually(lambda: mount.view()["consumed"], timeout=60,
                       what="the first read")
    assert mount.view()["policy"] == "lirs"
    assert mount.write_control('policy = "window"\n') is None
    out, _ = loader.communicate(timeout=120 * harness.SLOWDOWN)
    assert loader.returncode == 0
    epochs = json.loads(out)
    assert mount.view()["policy"] == "window"
    assert mount.write_control('policy = "native"\nepoch = "next"\n') is None
    assert mount.view()["policy"] == "native"
    fio.terminate()
    out, _ = fio.communicate(timeout=60 * harness.SLOWDOWN)
    result = json.loads(out[out.index("{"):])
    assert all(job["error"] == 0 for job in result["jobs"])
    assert result["jobs"][0]["read"]["io_bytes"] > 0

    expected = None
    for epoch in epochs:
        found = sorted((content, label) for _, content, label in epoch)
        assert len({name for name, _, _ in epoch}) == len(epoch)
        assert expected in (None, found)
        expected = found
    assert trees.contents(mount.path) == trees.contents(source)


# [S-3.11f] A switch of policy or seed waits for the boundary unless nothing
# was read.
def test_a_switch_waits_for_the_boundary_unless_nothing_was_read(mounts,
                                                                 folder):
    source = trees.class_folders(folder / "source")
    mount = mounts(source, {**LIRS, "epoch.advance": "manual"})
    assert mount.write_control('policy = "native"\n') is None
    assert mount.view()["policy"] == "native"  # nothing was read
    assert mount.write_control('policy = "lirs"\n') is None
    before = mount.client("digest_tree.py", mount.path)
    assert mount.write_control('policy = "window"\nseed = 5\n') is None
    assert mount.view()["policy"] == "lirs"
    assert mount.client("digest_tree.py", mount.path) == before
    mount.next_epoch()
    assert mount.view()["policy"] == "window" and mount.view()["seed"] == 5
    assert trees.moved(before, mount.client("digest_tree.py",
                                            mount.path)) > 0


def numbered(root):
    """300 files in two classes, each with a content of its own."""
    names = [f"{c}/{i:03d}.bin" for c in "ab" for i in range(150)]
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return names


# The first opens of a pass come before it is known that it
# has begun. Names that are not to move any more keep those samples, too.
@pytest.mark.parametrize("policy, wanted, order", [
    *((policy, wanted, "random") for policy in ("lirs", "brand")
      for wanted in ("native", "static", "clairvoyant", "window")),
    ("lirs", "native", "sorted"), ("brand", "static", "sorted")])
def test_a_switch_in_mid_pass_loses_no_sample(mounts, folder, policy, wanted,
                                              order):
    names = numbered(folder / "source")
    mount = mounts(folder / "source", {**LIRS, "policy": policy})
    rng = random.Random(1)
    for number in range(6):
        if order == "random":
            rng.shuffle(names)
        shown = {}
        for k, name in enumerate(names):
            shown[name] = (mount.path / name).read_text()
            if number == 0 and k == 150:
                assert mount.write_control(f'policy = "{wanted}"\n') is None
        assert sorted(shown.values()) == sorted(names), number
        if number in (1, 2):  # what was opened first shows the same still
            rows = (line.split("\t")
                    for line in mount.read("order").splitlines())
            kept = {name: sample for _, name, sample in rows}
            assert [kept[name] for name in names[:12]] == [
                shown[name] for name in names[:12]], number
    view = mount.view()
    assert (view["policy"], view["epoch_state"]) == (wanted, "running")
    if wanted != "window":
        assert all(name == sample for name, sample in shown.items())


# Nobody counts what is opened under native, so no pass is seen to end.
def test_a_switch_from_native_says_that_it_waits_for_a_signal(mounts, folder):
    names = numbered(folder / "source")
    mount = mounts(folder / "source", {**LIRS, "policy": "native"})
    for name in names[:150]:
        assert (mount.path / name).read_text() == name
    assert mount.write_control('policy = "static"\n') is None
    assert mount.view()["policy"] == "static"  # nothing changes with it
    assert mount.write_control('policy = "lirs"\n') is None
    for name in names[150:] + names:
        assert (mount.path / name).read_text() == name
    view = mount.view()
    assert (view["policy"], view["epoch_state"]) == ("static", "waiting")
    assert any("policy = lirs waits for epoch" in warning
               for warning in view["warnings"])
    mount.next_epoch()
    assert mount.view()["policy"] == "lirs"
    shown = {name: (mount.path / name).read_text() for name in names}
    assert sorted(shown.values()) == sorted(names)
    assert shown != {name: name for name in names}


def test_the_new_policy_is_the_one_a_fresh_mount_would_have(mounts, folder):
    source = trees.class_folders(folder / "source")
    manual = {**LIRS, "epoch.advance": "manual"}
    mount = mounts(source, manual)
    mount.client("digest_tree.py", mount.path)
    assert mount.write_control('policy = "window"\nseed = 5\nepoch = 4\n'
                               ) is None
    fresh = mounts(source, {**manual, "policy": "window", "seed": 5,
                            "epoch.start": 4})
    assert trees.contents(mount.path) == trees.contents(fresh.path)
    assert mount.view()["epoch"] == fresh.view()["epoch"] == 4


def test_names_of_open_files_move_too_on_a_kernel_without_epochs(
        mounts, folder, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_KERNEL_EPOCHS", "no")
    source = trees.class_folders(folder / "source")
    mount = mounts(source, {**LIRS, "policy": "native",
                            "epoch.advance": "manual"})
    names = sorted(trees.contents(mount.path))
    held = [open(mount.path / name, "rb") for name in names]
    assert mount.write_control('policy = "lirs"\nepoch = "next"\n') is None
    rows = [line.split("\t") for line in mount.read("order").splitlines()]
    assert sum(name != sample for _, name, sample in rows) > len(names) / 2
    for _, name, sample in rows:
        assert ((mount.path / name).read_bytes()
                == (source / sample).read_bytes()), name
    for name, file in zip(names, held):
        with file:
            assert file.read() == (source / name).read_bytes()


def test_many_switches_at_once_are_all_answered(mounts, folder):
    """More than the daemon has threads for: each waits for the mount itself,
    which must be served meanwhile."""
    source = trees.class_folders(folder / "source")
    mount = mounts(source, {**LIRS, "epoch.advance": "manual"})
    mount.client("digest_tree.py", mount.path)
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        refusals = list(pool.map(
            lambda _: mount.write_control('epoch = "next"\n'), range(100)))
    assert refusals == [None] * 100
    assert mount.view()["epoch"] == 100
    assert sorted(trees.contents(mount.path).values()) == sorted(
        trees.contents(source).values())
