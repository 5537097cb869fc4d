# SPDX-License-Identifier: Apache-2.0
"""fio through a mount, with the job files of examples/fio."""
import json
import os

import pytest

import harness
import trees

JOBS = harness.EXAMPLES / "fio"


def fio(job, folder, *arguments, **kwargs):
    """Runs a job file over a folder; returns what it read in bytes."""
    done = harness.run(
        ["fio", "--output-format=json", *arguments, JOBS / job],
        env={**os.environ, "DIR": str(folder)}, timeout=120, **kwargs)
    result = json.loads(done.stdout[done.stdout.index("{"):])
    assert all(job["error"] == 0 for job in result["jobs"]), done.stdout
    return sum(job["read"]["io_bytes"] for job in result["jobs"])


@pytest.fixture
def source(folder):
    root = trees.blobs(folder / "source")
    fio("layout.fio", root, cwd=folder)
    return root


@pytest.mark.parametrize("policy", ["native", "lirs"])
@pytest.mark.parametrize("job", ["read.fio", "randread.fio"])
def test_engines_read_what_was_laid_out(mounts, source, folder, policy, job):
    mount = mounts(source, {"policy": policy, "substitute": "directory",
                            "epoch.advance": "manual"})
    engines = (JOBS / job).read_text().count("ioengine=")
    assert engines == 3  # psync, mmap, io_uring
    size = os.path.getsize(source / "fio.bin")
    assert fio(job, mount.path, "--readonly", cwd=folder) == engines * size


def test_verification_notices_a_wrong_byte(source, folder):
    with open(source / "fio.bin", "r+b") as file:
        file.seek(1 << 20)
        byte = file.read(1)
        file.seek(1 << 20)
        file.write(bytes([byte[0] ^ 1]))
    done = harness.run(["fio", "--readonly", JOBS / "read.fio"], check=False,
                       env={**os.environ, "DIR": str(source)}, cwd=folder)
    assert done.returncode != 0


def whole_tree(folder, tree):
    return fio("opendir.fio", tree, "--readonly", cwd=folder)


def test_a_whole_tree(mounts, source, folder):
    mount = mounts(source, {"policy": "lirs", "substitute": "directory",
                            "epoch.advance": "manual"})
    for _ in range(2):
        assert whole_tree(folder, mount.path) == whole_tree(folder, source)
        mount.next_epoch()


def test_a_whole_tree_while_epochs_advance(mounts, folder):
    """fio notes the sizes of all files before it reads the first one, so
    here they are alike: a boundary may come between."""
    source = trees.class_folders(
        folder / "source", classes=3, per_class=40,
        content=lambda rng, _: rng.randbytes(49_152))
    mount = mounts(source, {"policy": "lirs", "substitute": "directory",
                            "epoch.advance": "auto"})
    for _ in range(5):
        assert whole_tree(folder, mount.path) == 2 * 120 * 49_152
    assert mount.view()["epoch"] >= 1
