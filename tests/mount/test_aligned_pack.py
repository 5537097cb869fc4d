# SPDX-License-Identifier: Apache-2.0
"""shufflectl pack --align, by its program: what another reader makes of it."""
import json
import random
import signal
import subprocess
import time

import pytest

import containers
import harness

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
