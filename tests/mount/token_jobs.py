# SPDX-License-Identifier: Apache-2.0
"""What the tests of the token share: mounts of each policy, and a job that
reads names in its own order and goes on from a place in it."""
import collections
import hashlib
import json
import random
import subprocess

import harness
import trees

CLASSES, PER_CLASS = 4, 50


def source_in(folder):
    """Large enough for several mini-epochs and some chunks."""
    return trees.blobs(folder / "source", CLASSES, PER_CLASS, largest=80_000)


def options(policy, advance, folder):
    keys = {"policy": policy, "substitute": "directory", "open": "seen",
            "epoch.advance": advance}
    if policy == "brand":
        keys["memory"] = "4MiB"
    if policy == "met":
        tier = folder / f"tier{len(list(folder.glob('tier*')))}"
        tier.mkdir()
        keys.update({"memory": "16MiB", "tier.path": tier,
                     "tier.capacity": "6MiB"})
    return keys


def names_of(source):
    return sorted(str(path.relative_to(source))
                  for path in source.rglob("*.png"))


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def whole(source):
    """(class, content) of each sample, once."""
    return collections.Counter((name.split("/")[0], digest(source / name))
                               for name in names_of(source))


def order(source, epoch):
    """The order of a sampler: from a seed and the epoch."""
    names = names_of(source)
    random.Random(epoch).shuffle(names)
    return names


class Job:
    """One process that reads names of a mount as it is told to."""

    def __init__(self, mount):
        self.process = subprocess.Popen(
            [harness.PYTHON, harness.CLIENTS / "read_in_order.py", mount.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self, names, own_thread=False):
        """(class, content) of each, in their order."""
        asked = [None, *names] if own_thread else names
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        seen = json.loads(self.process.stdout.readline())
        return [(name.split("/")[0], content)
                for name, content in zip(names, seen)]

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0


def read(mount, *lists):
    """What one process reads, a list after the other."""
    job = Job(mount)
    seen = [job.read(names) for names in lists]
    job.end()
    return sum(seen, [])


def proven(mount):
    return json.loads(mount.run([*verify(mount), "--json"]).stdout)


def verify(mount):
    return [harness.shufflectl(), "verify", mount.path]


def last_of(proof, epoch):
    """What verify says of the epoch, where it was begun last."""
    return [each for each in proof["epochs"] if each["epoch"] == epoch][-1]
