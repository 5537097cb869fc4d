# SPDX-License-Identifier: Apache-2.0
"""Training jobs (clients/loader.py) that read through a mount step by step,
and what the mount says that it knows of them."""
import contextlib
import json
import os
import signal
import subprocess

import harness


class Loader:
    """A job that is a family of processes of its own, or a part of this
    program's. Use as a context."""

    def __init__(self, mount, seed=0, own_family=True, python=harness.PYTHON,
                 keep=False):
        # Without a session of its own, or started by a Python itself, it counts
        # as a part of this program.
        apart = ["setsid", "--fork", "--wait"] if own_family else []
        self.process = subprocess.Popen(
            harness.as_user(mount.user, [
                *apart, python, harness.CLIENTS / "loader.py",
                mount.path, "--seed", seed, *(["--keep"] if keep else [])]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self._answer()

    def __enter__(self):
        return self

    def __exit__(self, failed, *_):
        if failed:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        self.process.communicate(timeout=60 * harness.SLOWDOWN)
        assert failed or self.process.returncode == 0

    def _answer(self):
        line = self.process.stdout.readline()
        assert line, f"the job ended: {self.process.wait()}"
        return json.loads(line)

    def _ask(self, command):
        self.send(command)
        return self._answer()

    def send(self, command):
        """What it answers is to be taken by taken()."""
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def taken(self):
        return self._answer()

    def begin(self, sampler, path=".", **more):
        """The next epoch; returns how many samples the dataset has."""
        return self._ask({"begin": {"path": path, "sampler": sampler, **more}})

    def read(self, samples=None):
        """[name, digest, class] of at least so many samples, or of all."""
        return self._ask({"read": samples})


def predicted(mount):
    return mount.view()["clairvoyant"]


def job_of(mount, path=""):
    """What status says of the one job below the directory."""
    jobs = [job for job in predicted(mount)["jobs"] if job["path"] == path]
    assert len(jobs) <= 1, jobs
    return jobs[0] if jobs else None


def recognised(mount, path="", epochs=1):
    """Waits until the order of the job is known, in that epoch of it (None: in
    any)."""
    def known():
        job = job_of(mount, path)
        if job is None or job["state"] != "recognised":
            return None
        return job if epochs in (None, job["epochs"]) else None

    try:
        return harness.eventually(known, 60, "an order")
    except AssertionError as error:
        raise AssertionError(f"{error}: {predicted(mount)}") from error


def prefetched(mount):
    """Waits until as much was read ahead as there is to read now."""
    seen = []

    def quiet():
        seen.append(predicted(mount)["prefetched_bytes"])
        return seen[-1] > 0 and len(seen) > 10 and len(set(seen[-10:])) == 1

    harness.eventually(quiet, what="reading ahead")



def true_items(truth, path="."):
    """What an epoch over the folder is to give, from trees.contents()."""
    prefix = "" if path == "." else path + "/"
    return [[name, digest, name.split("/")[-2]]
            for name, digest in truth.items() if name.startswith(prefix)]


def assert_right(items, truth):
    """Each file shows its own bytes under its own label."""
    for name, digest, label in items:
        assert digest == truth[name] and label == name.split("/")[-2], name


def assert_whole(items, truth, path="."):
    """An epoch that was read to its end, each file once."""
    assert sorted(items) == sorted(true_items(truth, path))
