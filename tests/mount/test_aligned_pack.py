# SPDX-License-Identifier: Apache-2.0
"""shufflectl pack --align, by its program: what another reader makes of it."""
import json
import os
import random
import signal
import subprocess
import time

import pytest

import containers
import harness
import record_checks
from harness import NOBODY
from test_access import as_root

PAGE = 1024


@pytest.fixture
def source(folder):
    rng = random.Random(5)
    (folder / "source").mkdir()
    for shard in range(3):
        records = [rng.randbytes(rng.randrange(rng.choice((40, 400, 3000))))
                   for _ in range(300)]
        (folder / "source" / f"train.tfrecord-{shard}").write_bytes(
            containers.tfrecord(records))
    return folder / "source"


def command(source, pack, fit):
    return [harness.shufflectl(), "pack", "--align", "page", "--json",
            "--page", str(PAGE), "--fit", fit, source, pack]


def by_index(path):
    """The records' bytes where the index says they are; zeros elsewhere."""
    data = path.read_bytes()
    frames, end = [], 0
    for line in path.with_name(path.name + ".idx").read_text().splitlines():
        offset, size = map(int, line.split(" "))
        assert not data[end:offset].strip(b"\0")
        pages = (offset + size - 1) // PAGE - offset // PAGE + 1
        assert pages == 1 or size > PAGE and offset % PAGE == 0
        frames.append(data[offset:offset + size])
        end = offset + size
    assert end == len(data)
    return frames


@pytest.mark.parametrize("fit", ["next", "best"])
def test_the_index_leads_to_the_records(source, folder, fit):
    pack = folder / "pack"
    report = json.loads(harness.run(command(source, pack, fit)).stdout)
    assert report["records"] == 900
    for original in source.iterdir():
        frames = by_index(pack / original.name)
        stripped = folder / "stripped"
        stripped.write_bytes(b"".join(frames))
        expected = containers.read_tfrecord(original)
        if fit == "next":
            assert stripped.read_bytes() == original.read_bytes()
        assert sorted(containers.read_tfrecord(stripped)) == sorted(expected)
    assert report["amplification_before"] > report["amplification_after"]


def test_a_run_that_was_killed_is_gone_on_with(source, folder):
    whole = folder / "whole"
    harness.run(command(source, whole, "best"))
    pack = folder / "pack"
    for delay in (0, 0.01, 0.02, 0.05):
        run = subprocess.Popen(command(source, pack, "best"),
                               stdout=subprocess.DEVNULL)
        time.sleep(delay)
        run.send_signal(signal.SIGKILL)
        run.wait()
    harness.run(command(source, pack, "best"))
    assert (sorted(path.name for path in pack.iterdir())
            == sorted(path.name for path in whole.iterdir()))
    for path in whole.iterdir():
        assert (pack / path.name).read_bytes() == path.read_bytes()


def packed(source, folder, fit):
    harness.run(command(source, folder / "pack", fit))
    return folder / "pack"


# [S-6.5e] Of files that `shufflectl pack --align` wrote the padding is not
# shown.
@pytest.mark.parametrize("fit", ["next", "best"])
@pytest.mark.parametrize("policy", [
    {"policy": "lirs", "lirs.unit": "page", "lirs.page": "4KiB"},
    {"policy": "lirs"}, {"policy": "reimu", "reimu.block": "64KiB"}], ids=str)
def test_a_view_strips_the_padding(mounts, source, folder, fit, policy):
    pack = packed(source, folder, fit)
    mount = mounts(pack, {**record_checks.MANUAL, **policy})
    for original in source.iterdir():
        path = mount.path / original.name
        assert path.stat().st_size == original.stat().st_size
        raw = containers.read_tfrecord(original)
        seen = [raw]
        for epoch in range(3):
            root = mount.control_dir / "epoch" / str(epoch) / "tree"
            shown = containers.read_tfrecord(root / original.name)
            assert sorted(shown) == sorted(raw) and shown not in seen
            assert shown == containers.read_by_index(
                root / original.name, root / (original.name + ".idx"))
            seen.append(shown)
        assert containers.read_tfrecord(path) == seen[1]
    status = record_checks.indexed(mount).view()["records"]
    assert (status["padded"], status["containers"]) == (3, 3)
    assert status["untouched"] == []


# [S-6.5f] Policies that shuffle no records show such files without their
# padding, too, in the order of the file.
@pytest.mark.parametrize("fit", ["next", "best"])
def test_the_padding_goes_without_a_shuffle(mounts, source, folder, fit):
    pack = packed(source, folder, fit)
    mount = mounts(pack, {"policy": "native", "epoch.advance": "auto"})
    for _ in range(3):
        for original in source.iterdir():
            path = mount.path / original.name
            stripped = b"".join(by_index(pack / original.name))
            assert path.stat().st_size == len(stripped)
            assert path.read_bytes() == stripped
            if fit == "next":
                assert stripped == original.read_bytes()
            containers.read_by_index(
                path, mount.path / (original.name + ".idx"))
    assert mount.view()["epoch"] == 0
    assert mount.view()["records"]["padded"] == 3


def test_a_split_keeps_its_order_without_the_padding(mounts, source, folder):
    packed(source, folder, "next").rename(folder / "val")
    (folder / "both").mkdir()
    (folder / "val").rename(folder / "both/val")
    mount = mounts(folder / "both", {"policy": "lirs"})
    for original in source.iterdir():
        assert ((mount.path / "val" / original.name).read_bytes()
                == original.read_bytes())


def test_the_policy_can_be_switched(mounts, source, folder):
    pack = packed(source, folder, "next")
    mount = mounts(pack, {**record_checks.MANUAL, "policy": "native"})
    original = source / "train.tfrecord-0"
    path = mount.path / original.name
    assert path.read_bytes() == original.read_bytes()
    assert mount.write_control('policy = "lirs"\nepoch = "next"\n') is None
    harness.eventually(lambda: mount.view()["records"]["containers"] == 3)
    assert path.read_bytes() != original.read_bytes()
    assert (sorted(containers.read_tfrecord(path))
            == sorted(containers.read_tfrecord(original)))


def test_a_manifest_that_is_damaged_is_told(mounts, source, folder):
    pack = packed(source, folder, "next")
    manifest = bytearray((pack / "aligned.manifest").read_bytes())
    manifest[-1] ^= 1
    (pack / "aligned.manifest").write_bytes(manifest)
    for name in ("train.tfrecord-0", "train.tfrecord-0.idx"):
        (pack / name).rename(pack / name.replace("-0", "-00000-of-00001"))
    mount = mounts(pack, {**record_checks.MANUAL, "policy": "lirs"})
    record_checks.is_the_source(mount)
    why = record_checks.untouched(mount)
    assert list(why) == ["train.tfrecord-00000-of-00001"]
    assert "aligned.manifest: the checksum differs" in why.popitem()[1]


# [S-6.5g] A manifest takes nothing out of a file of another user.
@as_root
def test_a_strangers_manifest_changes_no_file(mounts, folder):
    """He may add files to the directory, and replace none."""
    def records(*sizes):
        return containers.tfrecord([bytes([i + 1]) * (size - 16)
                                    for i, size in enumerate(sizes)])
    source, own, out = (folder / name for name in ("source", "own", "out"))
    for path in (source, own, out):
        path.mkdir()
    (own / "a.tfrecord").write_bytes(records(3000, 3000))
    for path in (own, out):
        os.chown(path, NOBODY.uid, NOBODY.gid)
    harness.run([harness.shufflectl(), "pack", "--align", "page", own, out],
                user=NOBODY)
    data = records(3000, 1096, 3000)
    assert (out / "a.tfrecord").stat().st_size == len(data)
    (source / "a.tfrecord").write_bytes(data)
    source.chmod(0o1777)
    for name in ("aligned.manifest", "a.tfrecord.idx"):
        harness.run(["cp", out / name, source / name], user=NOBODY)
    for policy in ("native", "lirs"):
        mount = mounts(source, {"policy": policy, "epoch.advance": "manual"})
        assert (mount.path / "a.tfrecord").read_bytes() == data
        untouched = mount.view()["records"]["untouched"]
        assert "file of another user" in untouched[0]["why"]
        mount.unmount()
