# SPDX-License-Identifier: Apache-2.0
"""examples/fluid: its script mounts as the files say, without Fluid."""
import json
import os
import re
import signal
import subprocess

import pytest
import yaml

import harness
import trees

FLUID = harness.EXAMPLES / "fluid"


def documents(name):
    return list(yaml.safe_load_all((FLUID / name).read_text()))


def config(folder, mounts):
    """Writes what Fluid writes: one line."""
    path = folder / "config.json"
    path.write_text(json.dumps(
        {"mounts": mounts, "targetPath": str(folder / "thin" / "thin-fuse"),
         "accessModes": ["ReadOnlyMany"]}, separators=(",", ":")))
    return path


def start(path):
    programs = [os.path.dirname(harness.shufflefs()), "/usr/bin", "/bin"]
    return subprocess.Popen(
        [FLUID / "mount.sh"], text=True, stderr=subprocess.PIPE,
        env={"FLUID_CONFIG": str(path), "PATH": ":".join(programs)})


@pytest.fixture
def dataset(folder):
    """The configuration for the dataset of the files, and where it is shown."""
    mounts = documents("dataset.yaml")[0]["spec"]["mounts"]
    source = trees.blobs(folder / "source", classes=3, per_class=10)
    mounts[0]["mountPoint"] = f"shufflefs://{source}"
    mounts[0]["options"]["state"] = str(folder / "state")
    target = folder / "thin" / "thin-fuse"
    yield config(folder, mounts), source, target
    while harness.mount_types(target):
        harness.run(["umount", "-l", target], check=False)


def await_mount(script, target):
    harness.eventually(
        lambda: script.poll() is not None or is_live(target),
        what="the mount")
    assert script.poll() is None, script.stderr.read()


def is_live(target):
    """A name alone does not tell: the kernel knows those of a dead mount."""
    try:
        return bool((target / ".shufflefs" / "status").read_text())
    except OSError:
        return False


def end(script):
    script.send_signal(signal.SIGTERM)
    _, said = script.communicate(timeout=60 * harness.SLOWDOWN)
    assert script.returncode == 0, said


@pytest.mark.parametrize("_", ["root"] if os.geteuid() == 0 else [])
def test_it_mounts_what_the_dataset_says(dataset, _):
    """The container runs as root."""
    path, source, target = dataset
    wanted, runtime = documents("dataset.yaml")
    profile, = documents("profile.yaml")
    assert runtime["spec"]["profileName"] == profile["metadata"]["name"]
    assert runtime["metadata"]["name"] == wanted["metadata"]["name"]
    script = start(path)
    try:
        await_mount(script, target)
        assert harness.mount_types(target) == [
            profile["spec"]["fileSystemType"]]
        status = json.loads((target / ".shufflefs" / "status").read_text())
        assert "lirs" in json.dumps(status)
        assert sorted(os.listdir(source)) == sorted(
            set(os.listdir(target)) - {".shufflefs"})
    finally:
        end(script)
    assert harness.mount_types(target) == []


@pytest.mark.parametrize("_", ["root"] if os.geteuid() == 0 else [])
def test_it_mounts_again_where_a_daemon_was_killed(dataset, _):
    """Its dead mount stays when the container starts again."""
    path, _, target = dataset
    script = start(path)
    await_mount(script, target)
    script.kill()
    script.communicate()
    assert harness.mount_types(target) == ["fuse.shufflefs"]
    script = start(path)
    try:
        await_mount(script, target)
    finally:
        end(script)
    assert harness.mount_types(target) == []


@pytest.mark.parametrize("mounts, words", [
    ([], "not exactly one mountPoint"),
    ([{"mountPoint": "shufflefs:///a"}] * 2, "not exactly one mountPoint"),
    ([{"mountPoint": "s3://a"}], "is not shufflefs://"),
    ([{"mountPoint": "shufflefs://a"}], "is not shufflefs://"),
    ([{"mountPoint": "shufflefs:///a\"b"}], "has a backslash"),
])
def test_what_it_cannot_mount_is_an_error(folder, mounts, words):
    script = start(config(folder, mounts))
    _, said = script.communicate(timeout=60)
    assert script.returncode == 1 and words in said


def test_the_image_has_the_script():
    """The one that is built without --target, whose last stage may be another
    stage by name."""
    command, = documents("profile.yaml")[0]["spec"]["fuse"]["command"]
    text = (harness.EXAMPLES / "container" / "Containerfile").read_text()
    stages = re.split(r"^FROM ", text, flags=re.M)[1:]
    named = {words[2]: stage for stage in stages
             for words in [stage.split("\n")[0].split()] if len(words) == 3}
    base, *own = stages[-1].splitlines()
    lines = named[base].splitlines() + own
    copied = [line.split() for line in lines
              if line.startswith("COPY") and "fluid" in line]
    assert [words[-2:] for words in copied] == [
        ["/src/examples/fluid", os.path.dirname(command)]]
