# SPDX-License-Identifier: Apache-2.0
"""The examples that use the Python package, as a user runs them.

The one for WebDataset is run by test_reader_clients.py. Those for Lightning and
Hugging Face datasets need large packages that Debian lacks: they are compiled,
and were run by hand.
"""
import os
import re
import subprocess

import pytest

import harness
import shufflefs
import trees

RANKED = {"policy": "lirs", "layout": "ranked", "epoch.advance": "manual"}
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(harness.MODULE),
               "PYTHONDONTWRITEBYTECODE": "1"}
TORCHRUN = ("--redirects", "1", "--tee", "1")  # or Debian 12's does not start


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source")


def example(name, *arguments, **kwargs):
    """What an example prints."""
    return harness.run([harness.PYTHON, harness.EXAMPLES / name, *arguments],
                       env=ENVIRONMENT, timeout=120, **kwargs).stdout


def test_a_job_stops_and_goes_on_elsewhere(mounts, source, folder):
    """Twice in one epoch, and over the boundary into the next."""
    whole = shufflefs.attach(mounts(source, {**RANKED, "seed": 3}).path)
    expected = example("checkpoint_token.py", whole, folder / "none")
    saved, read = folder / "saved.json", []
    for seed, stop in ((3, 40), (8, 70), (9, 100), (3, 1000)):
        mount = mounts(source, {**RANKED, "seed": seed})
        read += example("checkpoint_token.py", mount.path, saved, "--stop",
                        stop).splitlines()
        assert saved.exists()
        mount.unmount()
    assert read == expected.splitlines()
    for epoch in ("0", "1"):
        names = [line.split(" ", 1)[1] for line in read
                 if line.startswith(epoch)]
        assert sorted(names) == sorted(trees.contents(source))


@pytest.fixture
def cluster(folder, monkeypatch):
    """A Slurm of one node: srun runs what it is given, and so does torchrun."""
    programs = folder / "bin"
    programs.mkdir()
    for name, called in (
            ("srun", ""), ("shufflefs", harness.shufflefs()),
            ("shufflectl", harness.shufflectl()),
            ("torchrun", f"{harness.PYTHON} {harness.CLIENTS}/torchrun.py")):
        (programs / name).write_text(f'#!/bin/sh\nexec {called} "$@"\n')
        (programs / name).chmod(0o755)
    place = folder / "node"
    place.mkdir()
    place.chmod(0o1777)
    monkeypatch.setitem(ENVIRONMENT, "PATH",
                        f"{programs}:{os.environ['PATH']}")
    monkeypatch.setitem(ENVIRONMENT, "XDG_RUNTIME_DIR", str(place))
    monkeypatch.setitem(ENVIRONMENT, "SLURM_SUBMIT_DIR",
                        str(harness.EXAMPLES.parent))
    monkeypatch.setitem(ENVIRONMENT, "SLURM_GPUS_ON_NODE", "2")
    monkeypatch.setitem(ENVIRONMENT, "OMP_NUM_THREADS", "1")
    yield place
    left = list(place.glob("shufflefs-*/mnt"))
    for mount in left:
        harness.run(["umount", "-l", mount], check=False)
    assert left == []


def test_the_job_of_slurm_trains_on_two_ranks_and_unmounts(source, cluster):
    done = harness.run(["bash", harness.EXAMPLES / "slurm.sh", source, 2],
                       env=ENVIRONMENT, timeout=200)
    found = re.findall(r"epoch (\d): 150 samples, last loss", done.stdout)
    assert found == ["0", "1"], done
    assert list(cluster.iterdir()) == []


@pytest.mark.parametrize("page", ["docs/frameworks.md", "examples/README.md",
                                  "examples/ddp.py", "examples/slurm.sh"])
def test_pages_say_with_which_options_debians_torchrun_starts(page):
    text = (harness.EXAMPLES.parent / page).read_text()
    assert " ".join(TORCHRUN) in text


def test_torchrun_itself_starts_ranks_with_these_options(mounts, source,
                                                         folder):
    mount = mounts(source, RANKED)
    done = harness.run(
        ["/usr/bin/torchrun", "--standalone", *TORCHRUN, "--nproc_per_node", 2,
         harness.EXAMPLES / "ddp.py", mount.path], timeout=200,
        env={**ENVIRONMENT, "OMP_NUM_THREADS": "1", "TMPDIR": str(folder)})
    found = re.findall(r"epoch (\d): 150 samples, last loss", done.stdout)
    assert found == ["0", "1"], done


def test_a_job_of_slurm_that_fails_or_is_ended_unmounts(source, cluster):
    done = harness.run(["bash", harness.EXAMPLES / "slurm.sh", source,
                        "nonsense"], env=ENVIRONMENT, check=False, timeout=200)
    assert done.returncode != 0 and "invalid int value" in done.stderr
    assert list(cluster.iterdir()) == []
    job = subprocess.Popen(
        ["bash", harness.EXAMPLES / "slurm.sh", source, "100000"],
        env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True)
    assert "epoch 0" in job.stdout.readline()
    job.terminate()
    # That of the command.
    assert job.wait(timeout=60 * harness.SLOWDOWN) == 1
    job.stdout.close()
    assert list(cluster.iterdir()) == []


def test_a_loop_reports_its_loss_to_met(mounts, folder):
    data = folder / "data"
    harness.run([harness.PYTHON, harness.EXAMPLES / "make_tree.py", data,
                 "--limit", 100], timeout=120)
    (folder / "tier").mkdir()
    mount = mounts(data, {"policy": "met", "tier.path": folder / "tier",
                          "met.epochs": 2, "met.adapt": "score"})
    output = example("met_feedback.py", mount.path, "--epochs", 2)
    assert re.findall(r"epoch (\d): loss [0-9.]+", output) == ["0", "1"]
    assert mount.read("error") == ""
