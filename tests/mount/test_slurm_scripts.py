# SPDX-License-Identifier: Apache-2.0
"""examples/slurm-prolog.sh and slurm-epilog.sh, called as slurmd does."""
import json
import os
import pathlib
import signal
import subprocess

import pytest

import harness
import trees

JOB = "4711"
PORT = 20000 + 4711 * 8 % 10000  # of its first dataset
KEYS = 'policy = "lirs"\nepoch.advance = "manual"\nsubstitute = "directory"\n'
OTHER = harness.User("daemon", 1, 1)


class Node:
    """A node with slurmd: its folders, and a job of `user`."""

    def __init__(self, folder, user):
        self.run, self.etc, self.user = folder / "run", folder / "etc", user
        self.job = self.run / JOB
        self.etc.mkdir()

    def dataset(self, name, source, keys=KEYS):
        (self.etc / f"{name}.env").write_text(f"# a note\nSOURCE={source}\n")
        (self.etc / f"{name}.toml").write_text(keys)

    def secret(self, content="0123456789abcdef", mode=0o600):
        path = self.etc / "images.secret"
        path.write_text(content)
        path.chmod(mode)

    def job_secret(self, job=JOB):
        return (self.run / job / ".images.secret").read_text()

    def script(self, name, comment="", **variables):
        """Runs it and returns what it said; it never fails."""
        path = [os.path.dirname(harness.shufflefs()),
                os.path.dirname(harness.shufflectl()), "/usr/bin", "/bin"]
        # slurmd sets no search path.
        env = {"SHUFFLEFS_PATH": ":".join(path),
               "SHUFFLEFS_ETC": str(self.etc), "SHUFFLEFS_RUN": str(self.run),
               "SLURM_JOB_ID": JOB,
               "SLURM_JOB_UID": str(self.user.uid),
               "SLURM_JOB_COMMENT": comment, **variables}
        # slurmd kills the script's group of processes when it has ended.
        script = subprocess.Popen(
            [harness.EXAMPLES / f"slurm-{name}.sh"], env=env, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True, cwd="/")
        out, said = script.communicate(timeout=60 * harness.SLOWDOWN)
        try:
            os.killpg(script.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        assert (script.returncode, out) == (0, ""), said
        return said

    def prolog(self, comment, **variables):
        return self.script("prolog", comment, **variables)

    def epilog(self, **variables):
        return self.script("epilog", **variables)

    def mount(self, name="images"):
        """The facts of a mount that its user sees, or None."""
        done = harness.run([harness.shufflectl(), "list", "--json"],
                           user=self.user)
        found = {entry["mountpoint"]: entry
                 for entry in map(json.loads, done.stdout.splitlines())}
        return found.get(str(self.job / name))


@pytest.fixture(params=["root"] if os.geteuid() == 0 else [])
def node(folder):
    """slurmd runs as root."""
    node = Node(folder, harness.NOBODY)
    yield node
    pids = [entry["pid"] for entry in map(node.mount, ("images", "text"))
            if entry and entry["pid"]]
    node.epilog()
    for pid in pids:
        harness.eventually(lambda pid=pid: not os.path.exists(f"/proc/{pid}"),
                           what="the end of a daemon")
    assert not node.job.exists()
    assert str(node.run) not in pathlib.Path("/proc/self/mounts").read_text()


@pytest.fixture
def source(folder, node):
    source = trees.blobs(folder / "source", classes=3, per_class=30)
    node.dataset("images", source)
    return source


def can_look(path, user):
    return harness.run(["ls", path], user=user, check=False).returncode == 0


def test_a_job_has_its_mount_to_itself(node, source):
    assert node.prolog("night run, shufflefs:images") == ""
    at = node.job / "images"
    assert node.mount()["source"] == str(source)
    found = harness.run([harness.PYTHON, harness.CLIENTS / "digest_tree.py",
                         at], user=node.user)
    expected = trees.contents(source)
    assert sorted(json.loads(found.stdout).values()) == sorted(
        expected.values())
    assert json.loads(found.stdout) != expected
    harness.run([harness.shufflectl(), "epoch", "-m", at, "next"],
                user=node.user)
    assert node.mount()["views"][0]["epoch"] == 1
    assert not can_look(at, OTHER) and not can_look(at, harness.SELF)
    assert not can_look(node.job / ".images.state", OTHER)
    daemon = pathlib.Path("/proc", str(node.mount()["pid"]))
    assert daemon.stat().st_uid == node.user.uid
    assert node.epilog() == ""
    assert not node.job.exists() and node.mount() is None
    harness.eventually(lambda: not daemon.exists(), what="its end")


def test_what_the_user_may_not_read_stays_closed(node, source):
    (source / "c1").chmod(0o700)
    node.prolog("shufflefs:images")
    assert can_look(node.job / "images" / "c0", node.user)
    assert not can_look(node.job / "images" / "c1", node.user)


def test_twice_is_once_and_a_dead_mount_is_made_anew(node, source):
    for _ in range(2):
        assert node.prolog("shufflefs:images") == ""
    pid = node.mount()["pid"]
    assert node.prolog("shufflefs:images") == ""
    assert node.mount()["pid"] == pid
    os.kill(pid, signal.SIGKILL)
    harness.eventually(lambda: node.mount()["state"] == "gone")
    assert node.prolog("shufflefs:images") == ""
    assert node.mount()["state"] == "serves" and node.mount()["pid"] != pid
    assert harness.mount_types(node.job / "images") == ["fuse.shufflefs"]


def test_several_datasets(node, source, folder):
    node.dataset("text", trees.blobs(folder / "more", classes=1))
    node.prolog("shufflefs:images,shufflefs:text")
    assert node.mount("images") and node.mount("text")
    node.epilog()
    assert harness.mount_types(node.job / "text") == []


def test_a_busy_mount_is_detached(node, source):
    node.prolog("shufflefs:images")
    left = subprocess.Popen(
        harness.as_user(node.user, ["sh", "-c", 'cd "$1" && exec sleep 300',
                                    "sh", node.job / "images"]))
    try:
        harness.eventually(lambda: os.readlink(f"/proc/{left.pid}/cwd") ==
                           str(node.job / "images"))
        node.epilog()
        assert harness.mount_types(node.job / "images") == []
        assert not node.job.exists()
    finally:
        left.kill()
        left.wait()


def test_jobs_that_ask_for_nothing(node, source):
    for comment in ("", "a comment", "myshufflefs:images"):
        assert node.prolog(comment) == ""
    assert not node.run.exists()
    assert node.epilog() == ""


@pytest.mark.parametrize("name", ["nothing", "../etc/images", "", ".hidden",
                                  "$(touch X)", "*"])
def test_names_that_are_no_dataset(node, source, name):
    said = node.prolog(f"shufflefs:{name}")
    assert "no dataset" in said or "not the name" in said
    assert node.mount() is None


@pytest.mark.parametrize("variables", [
    {"SLURM_JOB_ID": "../4711"}, {"SLURM_JOB_ID": ""},
    {"SLURM_JOB_UID": "nobody"}, {"SLURM_JOB_UID": "4294967000"}])
def test_a_job_without_a_number_or_a_user(node, source, variables):
    assert "no job and user" in node.prolog("shufflefs:images", **variables)
    assert not node.run.exists()


def test_a_folder_that_somebody_else_can_write_to(node, source, folder):
    node.run.mkdir()
    os.chown(node.run, OTHER.uid, OTHER.gid)
    assert "root alone" in node.prolog("shufflefs:images")
    os.chown(node.run, 0, 0)
    node.run.chmod(0o777)
    assert "root alone" in node.prolog("shufflefs:images")
    node.run.rmdir()
    (folder / "elsewhere").mkdir()
    node.run.symlink_to(folder / "elsewhere")
    assert "root alone" in node.prolog("shufflefs:images")
    assert node.mount() is None and not any((folder / "elsewhere").iterdir())


def test_what_went_wrong_is_beside_the_mount(node, source):
    node.dataset("images", source, "policy = 'lris'\n")
    assert "must be" in node.prolog("shufflefs:images")
    log = harness.run(["cat", node.job / "images.log"], user=node.user)
    assert "lris" in log.stdout


def test_the_epilog_leaves_what_links_lead_to(node, source, folder):
    node.prolog("shufflefs:images")
    harness.run(["ln", "-s", folder / "source",
                 node.job / ".images.state" / "link"], user=node.user)
    node.epilog()
    assert not node.job.exists() and len(trees.contents(source)) == 90


def test_root_unmounts_nothing_by_a_name_that_the_user_can_change(node, source):
    node.prolog("shufflefs:images")
    below = node.job / ".images.state" / "a"
    harness.run(["mkdir", below], user=node.user)
    harness.run(["mount", "-t", "tmpfs", "none", below])
    try:
        assert "stays behind" in node.epilog()
        assert harness.mount_types(below) == ["tmpfs"]
        assert harness.mount_types(node.job / "images") == []
    finally:
        harness.run(["umount", below])


def test_each_job_has_a_secret_of_its_own(node, source):
    node.secret()
    node.prolog("shufflefs:images")
    path = node.job / ".images.secret"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_uid == node.user.uid
    first = node.job_secret()
    assert len(first) > 60 and "0123456789abcdef" not in first
    node.epilog()
    node.prolog("shufflefs:images")
    assert node.job_secret() == first  # as on the other nodes
    node.prolog("shufflefs:images", SLURM_JOB_ID="4712")
    assert node.job_secret("4712") != first
    node.epilog(SLURM_JOB_ID="4712")
    node.epilog()
    node.secret("another secret, as long")
    node.prolog("shufflefs:images")
    assert node.job_secret() != first


@pytest.mark.parametrize("content, mode", [("0123456789abcde", 0o600),
                                           ("0123456789abcdef", 0o640),
                                           ("", 0o600)])
def test_a_secret_that_others_may_know_makes_no_mount(node, source, content,
                                                      mode):
    node.secret(content, mode)
    assert "16 bytes or more for root alone" in node.prolog("shufflefs:images")
    assert node.mount() is None
