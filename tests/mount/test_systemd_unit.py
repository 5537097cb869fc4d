# SPDX-License-Identifier: Apache-2.0
"""The systemd unit: what it forbids is what a mount does not need."""
import collections
import json
import os
import pathlib
import re
import signal

import pytest

import harness
import trees

UNIT = (harness.EXAMPLES.parent / "mount-tools" / "systemd" /
        "shufflefs@.service")
SANDBOX = harness.CLIENTS / "sandbox.py"
# Settings that imply a mount namespace, by systemd.exec(5).
NAMESPACES = re.compile(
    r"^(Protect\w+|Private\w+|Read(Only|Write)Paths|InaccessiblePaths|"
    r"(No)?ExecPaths|TemporaryFileSystem|Bind\w*Paths|Root\w+|MountAPIVFS|"
    r"MountFlags|DynamicUser|MountImages|ExtensionImages|ProcSubset|"
    r"RestrictSUIDSGID|IPAddress\w+)=", re.M)


def in_sandbox(*argv, unit=UNIT, **kwargs):
    return harness.run([harness.PYTHON, "-B", SANDBOX, unit, *argv], **kwargs)


def in_python(script, **kwargs):
    return in_sandbox(harness.PYTHON, "-c", script, **kwargs)


def commands(config, source, mountpoint):
    """ExecStart and ExecStop with their variables, for these programs."""
    names = {"shufflefs": harness.shufflefs(),
             "shufflectl": harness.shufflectl(), "${SOURCE}": str(source),
             "${MOUNTPOINT}": str(mountpoint),
             "/etc/shufflefs/%i.toml": str(config)}
    found = re.findall(r"^Exec(?:Start|Stop)=(.*)$", UNIT.read_text(), re.M)
    start, stop = (" ".join(names.get(word, word) for word in line.split())
                   .replace("$OPTIONS", "-o allow_other").split()
                   for line in found)
    return start, stop


def daemon_of(mountpoint):
    text = harness.run([harness.shufflectl(), "list", "--json"]).stdout
    pids = {entry["mountpoint"]: entry["pid"]
            for entry in map(json.loads, text.splitlines())}
    return pids.get(str(mountpoint))


@pytest.fixture
def source(folder):
    """Of somebody else, with one class that is closed to others."""
    source = trees.blobs(folder / "source", classes=3, per_class=100)
    trees.give_to(source, harness.NOBODY)
    (source / "c1").chmod(0o700)
    return source


@pytest.fixture(params=["root"] if os.geteuid() == 0 else [])
def serve(folder, source):
    """serve(**keys) mounts as the unit does, as root; returns where."""
    started = []

    def make(**keys):
        (folder / "tier").mkdir()
        mountpoint, config = folder / "mnt", folder / "name.toml"
        mountpoint.mkdir()
        keys["state"] = str(folder / "state")
        config.write_text("".join(f"{key} = {json.dumps(value)}\n"
                                  for key, value in keys.items()))
        start, stop = commands(config, source, mountpoint)
        in_sandbox(*start)
        started.append((mountpoint, stop, daemon_of(mountpoint)))
        return mountpoint

    yield make
    for mountpoint, stop, pid in started:
        try:
            in_sandbox(*stop)
            assert harness.mount_types(mountpoint) == []
            harness.eventually(lambda: not os.path.exists(f"/proc/{pid}"),
                               what="the end of the daemon")
        finally:
            if os.path.exists(f"/proc/{pid}"):
                os.kill(pid, signal.SIGKILL)


KEYS = [{"policy": "lirs"}, {"policy": "brand", "memory": "8MiB"},
        {"policy": "met", "tier.capacity": "8MiB"},
        {"policy": "clairvoyant"}]


@pytest.mark.parametrize("keys", KEYS, ids=lambda keys: keys["policy"])
def test_a_mount_works_under_the_limits(serve, source, folder, keys):
    if keys["policy"] == "met":
        keys = {**keys, "tier.path": str(folder / "tier")}
    mountpoint = serve(**keys)
    pid = daemon_of(mountpoint)
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    assert re.search(r"^NoNewPrivs:\t1$", status, re.M)
    assert re.search(r"^Seccomp:\t2$", status, re.M)
    expected = collections.Counter(trees.contents(source).values())
    assert collections.Counter(trees.contents(mountpoint).values()) == expected
    found = harness.run([harness.PYTHON, harness.CLIENTS / "digest_tree.py",
                         mountpoint / "c0"], user=harness.NOBODY)
    assert len(json.loads(found.stdout)) == 100
    status = json.loads((mountpoint / ".shufflefs" / "status").read_text())
    assert status["views"][0]["policy"] == keys["policy"]
    assert "Operation not permitted" not in json.dumps(status)


def test_the_kernel_may_report_opens(serve):
    mountpoint = serve(policy="lirs", open="observed")

    def opens():
        status = mountpoint / ".shufflefs" / "status"
        return json.loads(status.read_text())["opens"]
    harness.eventually(lambda: opens()["seen_by"] == "reports",
                       what=f"reports: {opens()}")


def test_a_reader_of_another_user_is_looked_at(serve):
    """Its environment shows that it has several nodes.

    Older kernels want CAP_SYS_PTRACE for that, newer ones CAP_SYS_ADMIN.
    """
    mountpoint = serve(policy="brand", memory="8MiB")
    span = {**os.environ, "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4"}
    harness.run([harness.PYTHON, harness.CLIENTS / "digest_tree.py",
                 mountpoint / "c0"], user=harness.NOBODY, env=span)
    status = json.loads((mountpoint / ".shufflefs" / "status").read_text())
    assert "WORLD_SIZE=8" in json.dumps(status["views"][0]["warnings"])


def test_a_read_leaves_the_time_of_access(serve, source):
    """CAP_FOWNER: also of files that belong to another user."""
    before = {path: path.stat().st_atime_ns for path in source.rglob("c?/*")}
    for path in before:
        os.utime(path, ns=(1, path.stat().st_mtime_ns))
    trees.contents(serve(policy="brand", memory="8MiB"))
    assert {path.stat().st_atime_ns for path in before} == {1}


REFUSED = ["import socket; socket.socket(socket.AF_INET)",
           "import os; os.chown('/', 1, 1)",
           "import os; os.mknod('node', 0o20666, 259)",
           "import os; os.setuid(1)",
           "import ctypes; c = ctypes.CDLL(None, use_errno=True);"
           "assert c.unshare(0x20000) == 0",
           "import mmap; mmap.mmap(-1, 4096, prot=7)",
           "import os; os.sched_setscheduler(0, 1, os.sched_param(1))"]


@pytest.mark.parametrize("script", REFUSED if os.geteuid() == 0 else [])
def test_the_limits_hold(script, folder):
    """The sandbox of these tests is one."""
    assert harness.run([harness.PYTHON, "-c", "import mmap, os, socket"],
                       cwd=folder).returncode == 0
    done = in_python(script, check=False, cwd=folder)
    assert re.search("PermissionError|AssertionError", done.stderr), done


def with_families(folder, families):
    """The unit with a drop-in that allows more families of addresses."""
    text, count = re.subn(r"^(RestrictAddressFamilies=.*)$",
                          rf"\1 {families}", UNIT.read_text(), flags=re.M)
    assert count == 1
    unit = folder / "unit"
    unit.write_text(text)
    return unit


@pytest.mark.parametrize("module", harness.peers_modules()
                         if os.geteuid() == 0 else [])
def test_the_drop_in_for_peers_is_enough(module, folder, source):
    """A daemon finds its own address with it, if the machine has one."""
    text = (harness.EXAMPLES.parent / "docs" / "deploy.md").read_text()
    families = re.search(r"`RestrictAddressFamilies=([^`]*)`", text)[1]
    secret, mountpoint = folder / "secret", folder / "mnt"
    mountpoint.mkdir()
    secret.write_text("a secret of this job")
    secret.chmod(0o600)
    environment = {**os.environ, "SHUFFLEFS_PEERS_MODULE": str(module)}

    def mount(families):
        done = in_sandbox(
            harness.shufflefs(), "-o", f"state={folder / 'state'},"
            f"peers=10.255.0.1:7373,peers.secret={secret}", source, mountpoint,
            unit=with_families(folder, families), env=environment,
            check=False)
        if done.returncode == 0:
            in_sandbox(harness.shufflectl(), "umount", mountpoint)
        return done.stderr

    assert "AF_NETLINK" not in mount(families)
    assert "allow AF_NETLINK" in mount(families.replace("AF_NETLINK", ""))


def test_the_unit_has_no_mounts_of_its_own():
    assert NAMESPACES.findall(UNIT.read_text()) == []
    assert NAMESPACES.findall("[Service]\nPrivateTmp=yes\n")


def test_systemd_finds_nothing_wrong(folder):
    """With the programs of this build, which are in no path of systemd's."""
    text = UNIT.read_text()
    for name, program in (("shufflefs", harness.shufflefs()),
                          ("shufflectl", harness.shufflectl())):
        text = re.sub(rf"=({name}) ", f"={program} ", text)
    unit = folder / "shufflefs@name.service"
    unit.write_text(text)
    done = harness.run(["systemd-analyze", "verify", "--man=no", unit],
                       check=False)
    about = [line for line in done.stderr.splitlines() if "shufflefs@" in line]
    assert (done.returncode, about) == (0, [])
    unit.write_text(text.replace("LockPersonality", "LockPersonalty"))
    done = harness.run(["systemd-analyze", "verify", "--man=no", unit],
                       check=False)
    assert "LockPersonalty" in done.stderr


def test_systemd_grades_the_unit():
    """9.6, "UNSAFE", without any of this."""
    done = harness.run(["systemd-analyze", "security", "--offline=true",
                        "--threshold=50", UNIT], check=False)
    assert done.returncode == 0, done.stdout[-200:]
