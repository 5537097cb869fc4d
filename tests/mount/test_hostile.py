# SPDX-License-Identifier: Apache-2.0
"""Files, writes and limits that are meant to end the daemon."""
import errno
import os
import resource

import pytest

import harness
import trees

MANUAL = {"policy": "lirs", "substitute": "directory",
          "epoch.advance": "manual"}
HUGE = 64 << 30


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source")


def make_huge(path, head=b""):
    path.write_bytes(head)
    os.truncate(path, HUGE)


def resident(mount):
    with open(f"/proc/{mount.process.pid}/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


# [S-9.2a] The size that a file claims to have is not believed.
@pytest.mark.parametrize("name", ["aligned.manifest", "x.parquet", "x.arrow",
                                  "x.tfrecord", "x.npy"])
def test_a_source_file_that_claims_64_gib(mounts, source, name):
    policy = {"policy": "lirs", "record.as": "*.npy:npy"}
    make_huge(source / "c0" / name)
    if name == "x.parquet":  # the last bytes ask for a footer of 256 MiB
        with open(source / "c0" / name, "r+b") as file:
            file.seek(HUGE - 8)
            file.write((255 << 20).to_bytes(4, "little") + b"PAR1")
    if name == "x.arrow":
        with open(source / "c0" / name, "r+b") as file:
            file.seek(HUGE - 10)
            file.write((255 << 20).to_bytes(4, "little") + b"ARROW1")
    mount = mounts(source, policy)
    with open(mount.path / "c0" / name, "rb") as file:
        file.read(4096)
    assert mount.view()["policy"] == "lirs"
    assert resident(mount) < 500 << 20


@pytest.mark.parametrize("name", ["catalogue", "places", "control.toml",
                                  "learnt"])
def test_a_state_file_that_claims_64_gib(mounts, source, folder, name):
    state = folder / "state"
    state.mkdir(mode=0o700)
    mount = mounts(source, {**MANUAL, "state": state})
    assert mount.view()["policy"] == "lirs"
    mount.unmount()
    head = (state / name).read_bytes() if (state / name).exists() else b""
    make_huge(state / name, head)
    mount = mounts(source, {**MANUAL, "state": state})
    assert mount.view()["policy"] == "lirs"
    assert resident(mount) < 500 << 20
