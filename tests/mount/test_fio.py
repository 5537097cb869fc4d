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


@pytest.mark.parametrize("advance", ["manual", "auto"])
def test_a_whole_tree(mounts, source, folder, advance):
    mount = mounts(source, {"policy": "lirs", "substitute": "directory",
                            "epoch.advance": advance})
    for _ in range(2):
        assert (fio("opendir.fio", mount.path, "--readonly", cwd=folder)
                == fio("opendir.fio", source, "--readonly", cwd=folder))
        if advance == "manual":
            mount.next_epoch()
