# SPDX-License-Identifier: Apache-2.0
"""The log of a mount: levels, time stamps, JSON, and where it goes."""
import json
import os
import re
import subprocess

import pytest

import harness
import trees

LIRS = {"policy": "lirs", "substitute": "directory", "epoch.advance": "manual"}
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[-+]\d{4}"


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source")


def next_epoch(mount):
    (mount.control_dir / "control").write_text('epoch = "next"\n')


def test_the_foreground_logs_epochs_with_time_stamps(mounts, source):
    mount = mounts(source, LIRS)
    next_epoch(mount)
    lines = mount.log().splitlines()
    assert lines
    for line in lines:
        assert re.match(STAMP + " shufflefs: (info|warning): ", line), line
    assert lines[-1].endswith("info: epoch 1 begins, policy lirs")


def test_a_level_leaves_out_what_is_below(mounts, source):
    mount = mounts(source, {**LIRS, "log.level": "error"})
    next_epoch(mount)
    assert mount.log() == ""


def test_the_level_changes_while_mounted(mounts, source):
    mount = mounts(source, {**LIRS, "log.level": "error"})
    next_epoch(mount)
    assert mount.log() == ""
    harness.run([harness.shufflectl(), "policy", mount.path, "log.level=info"])
    assert 'log.level = "info"' in mount.read("control")
    next_epoch(mount)
    assert mount.log().endswith("info: epoch 2 begins, policy lirs\n")
    before = mount.log()
    # All or nothing, with the other lines.
    assert mount.write_control('log.level = "error"\nlayout = "ranked"\n')
    assert 'log.level = "info"' in mount.read("control")
    assert mount.write_control('log.level = "error"\n') is None
    next_epoch(mount)
    assert mount.log() == before


def test_json_is_an_object_a_line(mounts, source):
    mount = mounts(source, {**LIRS, "log.format": "json"})
    next_epoch(mount)
    lines = [json.loads(line) for line in mount.log().splitlines()]
    assert lines[-1]["message"] == "epoch 1 begins, policy lirs"
    for line in lines:
        assert list(line) == ["time", "level", "mountpoint", "message"]
        assert line["mountpoint"] == str(mount.path)


def test_a_daemon_may_keep_its_stderr(source, folder):
    mountpoint, log = folder / "mnt", folder / "daemon.log"
    mountpoint.mkdir()
    (folder / "state").mkdir()
    options = {**LIRS, "log.target": "stderr", "state": folder / "state"}
    with open(log, "wb") as file:
        subprocess.run([harness.shufflefs(), "-o", ",".join(
            f"{key}={value}" for key, value in options.items()),
                        source, mountpoint], stderr=file, check=True,
                       stdin=subprocess.DEVNULL, timeout=60)
    try:
        harness.run([harness.shufflectl(), "epoch", mountpoint, "next"])
        harness.eventually(
            lambda: "epoch 1 begins" in log.read_text(), what="log")
        assert re.match(STAMP, log.read_text().splitlines()[-1])
    finally:
        harness.run([harness.shufflectl(), "umount", mountpoint])


def test_the_journal_gets_priorities(source, folder):
    mountpoint, log = folder / "mnt", folder / "stream"
    mountpoint.mkdir()
    (folder / "state").mkdir()
    with open(log, "wb") as file:
        stat = os.fstat(file.fileno())
        environment = {**os.environ,
                       "JOURNAL_STREAM": f"{stat.st_dev}:{stat.st_ino}"}
        daemon = subprocess.Popen(
            [harness.shufflefs(), "-f", "-o",
             f"policy=lirs,state={folder / 'state'}", source, mountpoint],
            stderr=file, env=environment)
    try:
        harness.eventually(lambda: harness.mount_types(mountpoint), what="mount")
        harness.eventually(log.read_text, what="log")
    finally:
        harness.run([harness.shufflectl(), "umount", mountpoint])
        assert daemon.wait(30) == 0
    assert log.read_text().startswith("<6>shufflefs: info: ")
