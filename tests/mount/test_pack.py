# SPDX-License-Identifier: Apache-2.0
"""Packs that are not as they should be: never a wrong byte."""
import collections
import errno
import json
import os
import random
import signal
import subprocess
import time

import pytest

import harness
import trees

BRAND = {"policy": "brand", "substitute": "directory", "memory": "8MiB",
         "epoch.advance": "manual"}


@pytest.fixture
def source(folder):
    return trees.blobs(folder / "source", classes=3, per_class=100)


@pytest.fixture
def pack(folder, source):
    run_pack(source, folder / "pack")
    return folder / "pack"


def run_pack(source, pack, *options):
    done = harness.run([harness.shufflectl(), "pack", "--json", *options,
                        source, pack])
    return json.loads(done.stdout)


def read_all(mount):
    """{name: digest or errno} of the view."""
    return mount.client("digest_tree.py", mount.path)


def flip_a_byte(path, seed):
    """Changes one byte; size and mtime stay. Returns its place."""
    before = path.stat()
    data = bytearray(path.read_bytes())
    place = random.Random(seed).randrange(len(data))
    data[place] ^= 0x10
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return place


@pytest.mark.parametrize("seed", range(3))
def test_a_changed_byte_costs_one_sample(mounts, source, pack, seed):
    chunks = sorted(pack.glob("chunk-*.pack"))
    chunk = chunks[seed % len(chunks)]
    flip_a_byte(chunk, seed)
    mount = mounts(source, {**BRAND, "brand.packed": pack})
    expected = collections.Counter(trees.contents(source).values())
    found = read_all(mount)
    served = collections.Counter(v for v in found.values()
                                 if isinstance(v, str))
    refused = [v for v in found.values() if isinstance(v, int)]
    assert refused == [errno.EIO], found
    assert not served - expected
    lost = list((expected - served).elements())
    assert len(lost) == 1
    name = next(name for name, digest in trees.contents(source).items()
                if digest == lost[0])
    lines = [line for line in mount.log().splitlines()
             if "the checksum differs" in line]
    assert lines, mount.log()
    for line in lines:
        assert str(name) in line and chunk.name in line
    # Right again, and read again: nothing was cached of the damage. The new mode
    # tells why its ctime is another one.
    flip_a_byte(chunk, seed)
    chunk.chmod(chunk.stat().st_mode ^ 0o100)
    mount.next_epoch()
    assert collections.Counter(read_all(mount).values()) == expected


@pytest.mark.parametrize("damage", ["other", "gone", "short", "unfinished"])
def test_what_is_no_pack_of_the_source_is_refused(mounts, source, pack,
                                                  damage):
    chunk = pack / "chunk-000001.pack"
    if damage == "other":
        (source / "c0" / "new.png").write_bytes(b"one more")
        expected = "is the pack of another dataset or of another state of it"
    elif damage == "gone":
        chunk.unlink()
        expected = f"{pack}: {chunk.name}: "
    elif damage == "short":
        os.truncate(chunk, 100)
        expected = f"{chunk}: is not the file of "
    else:
        (pack / "manifest").rename(pack / "manifest.part")
        expected = f"{pack}: the pack is not finished"
    mount = mounts(source, {**BRAND, "brand.packed": pack}, start=False)
    with pytest.raises(AssertionError) as refusal:
        mount.start()
    assert expected in str(refusal.value)


# [S-9.1d] A pack in a directory that others may write to is refused.
def test_a_pack_that_others_may_write_to_is_refused(mounts, source, pack):
    for mode, says in ((0o757, "others may write to it"), (0o755, None)):
        pack.chmod(mode)
        mount = mounts(source, {**BRAND, "brand.packed": pack}, start=False)
        if says is None:
            mount.start()
            assert mount.write_control('policy = "lirs"\n') is None
            pack.chmod(0o775)
            assert mount.write_control('policy = "brand"\n') == errno.EPERM
            continue
        with pytest.raises(AssertionError) as refusal:
            mount.start()
        assert f"brand.packed: {pack}: {says}" in str(refusal.value)


def test_a_pack_may_be_below_the_mount_point(mounts, source, folder):
    mountpoint = folder / "over"
    mountpoint.mkdir()
    run_pack(source, mountpoint / "pack")
    mount = mounts(source, {**BRAND, "brand.packed": mountpoint / "pack"},
                   mountpoint=mountpoint)
    assert (collections.Counter(read_all(mount).values())
            == collections.Counter(trees.contents(source).values()))
    assert not (mountpoint / "pack").exists()
    mount.unmount()
    assert (mountpoint / "pack" / "manifest").exists()


def test_a_run_that_was_killed_is_gone_on_with(mounts, source, folder):
    whole = folder / "whole"
    run_pack(source, whole, "--chunk", "8")
    pack = folder / "pack"
    command = [harness.shufflectl(), "pack", "--chunk", "8", "--memory",
               "1MiB", source, pack]
    for delay in (0, 0.02, 0.05):
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        time.sleep(delay)
        run.send_signal(signal.SIGKILL)
        run.wait()
    report = run_pack(source, pack, "--chunk", "8")
    assert report["files"] == 300
    assert [path.name for path in sorted(pack.iterdir())] == [
        path.name for path in sorted(whole.iterdir())]
    for path in whole.iterdir():
        assert (pack / path.name).read_bytes() == path.read_bytes()
    mount = mounts(source, {**BRAND, "brand.packed": pack})
    assert (collections.Counter(read_all(mount).values())
            == collections.Counter(trees.contents(source).values()))
