# SPDX-License-Identifier: Apache-2.0
"""shufflectl doctor: what it reports, and what it keeps to itself."""
import os
import signal

import pytest

import harness
import trees

SECRET = "secret"


@pytest.fixture
def source(folder, user):
    """Every name in it is a secret, and many texts tell of one."""
    root = folder / "secret-data"
    trees.class_folders(root / "secret-a", classes=2, per_class=10)
    trees.class_folders(root / "secret-b", classes=2, per_class=10)
    for path in sorted(root.rglob("*.png")):
        path.rename(path.with_name(f"secret-{path.name}"))
    for path in sorted(root.glob("*/c*")):
        path.rename(path.with_name(f"secret-{path.name}"))
    (root / "secret-a" / "secret.csv").write_text("secret-000001.png,1\n")
    (root / "secret-a" / "secret.tfrecord").write_bytes(b"no record at all")
    trees.give_to(root, user)
    return root


@pytest.fixture
def mount(mounts, folder, source, user):
    config = folder / "secret.toml"
    config.write_text('memory = "16MiB"\n'
                      '[[view]]\npath = "secret-a"\npolicy = "lirs"\n'
                      '[[view]]\npath = "secret-b"\npolicy = "brand"\n'
                      'substitute = "directory"\n')
    return mounts(source, {}, user=user, mountpoint=folder / "secret-mnt",
                  arguments=["--config", config])


def doctor(user, *arguments, **kwargs):
    return harness.run([harness.shufflectl(), "doctor", *arguments], user=user,
                       **kwargs)


# [S-3.16i] A report of shufflectl doctor has no name of the dataset unless
# --names is given.
def test_names_are_left_out(mount, source, user):
    assert mount.write_control("secret = 1\n",
                               file="view/secret-a/control") is not None
    first = next((source / "secret-b").rglob("*.png")).relative_to(source)
    mount.run(["md5sum", mount.path / first])
    status = mount.read("status")
    assert status.count(SECRET) > 5  # names, reasons and warnings
    report = doctor(user).stdout
    assert SECRET not in report
    for part in ("mount 1: its daemon answers", "  source: ", "policy = lirs",
                 "policy = brand", "memory = 16MiB", '"policy": "brand"',
                 '"samples": 20', "last refusal: (left out)", "libfuse",
                 "RLIMIT_NOFILE", "/dev/fuse: mode"):
        assert part in report, part


def test_names_are_included_if_asked_for(mount, user):
    assert mount.write_control("secret = 1\n") is not None
    report = doctor(user, "--names").stdout
    assert f"at {mount.path}, of {mount.source}\n" in report
    assert "path = secret-a\n" in report
    assert '"name": "secret-b"' in report


def test_keys_of_a_view_whose_name_is_not_utf_8(mounts, source, user):
    name = os.fsdecode(b"secret-\xff")
    (source / "secret-a").rename(source / name)
    mounts(source, {"path": name, "policy": "lirs", "seed": 7}, user=user)
    report = doctor(user).stdout
    assert "  keys:\n    policy = lirs\n    seed = 7\n" in report
    assert SECRET not in report


def test_a_file(folder, user):
    place = folder / "out"
    place.mkdir()
    os.chown(place, user.uid, user.gid)
    done = doctor(user, "-o", "report.txt", cwd=place)
    assert done.stdout == ""
    text = (place / "report.txt").read_text()
    assert text.startswith("report of shufflectl doctor\n")
    assert f"user: {'root' if user.uid == 0 else 'not root'}\n" in text
    assert [path.name for path in place.iterdir()] == ["report.txt"]
    done = doctor(user, "-o", "/proc/report", check=False)
    assert done.returncode == 1 and "/proc/report" in done.stderr


def test_what_is_wrong_with_a_mount(mount, user):
    os.kill(mount.process.pid, signal.SIGSTOP)
    try:
        assert ("  mount 1: its daemon does not answer: shufflectl umount -l\n"
                in doctor(user).stdout)
    finally:
        os.kill(mount.process.pid, signal.SIGCONT)
    mount.kill()
    assert ("  mount 1: its daemon is gone: mount again, or shufflectl umount\n"
            in doctor(user).stdout)


def test_what_is_wrong_here(user):
    report = harness.run(["env", "PATH=/nonexistent", harness.shufflectl(),
                          "doctor"], user=user).stdout
    assert ("fusermount3 is missing, so only root can mount" in report
            ) == (user.uid != 0)
