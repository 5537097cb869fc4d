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


# [S-9.2e] Too few threads, or too little address space, end a mount with a
# line that says so and status 1, if it cannot do with what there is.
@pytest.mark.parametrize("limit", ["as", "nproc"])
def test_few_threads_and_little_memory(source, folder, limit):
    if limit == "nproc" and harness.NOBODY.uid == harness.SELF.uid:
        return  # the limit counts all that this user runs
    if limit == "nproc":  # of all that the user runs
        values, user = [1, 2, 3, 4, 6, 8, 12, 20, 1000], harness.NOBODY
    else:
        values = [mib << 20 for mib in (16, 24, 32, 48, 64, 96, 128, 192, 256, 512,
                                   4096)]
        user = harness.SELF
    trees.give_to(source, user)
    mounted = 0
    for number, value in enumerate(values):
        place = folder / f"{limit}{number}"
        place.mkdir()
        (place / "mnt").mkdir()
        os.chown(place, user.uid, user.gid)
        os.chown(place / "mnt", user.uid, user.gid)
        done = harness.run(
            ["prlimit", f"--{limit}={value}", *harness.as_user(
                user, [harness.shufflefs(), "-o",
                       f"policy=brand,substitute=directory,memory=32MiB,"
                       f"state={place / 'state'}", source, place / "mnt"])],
            check=False)
        # 126 and 127: it could not even be loaded.
        assert done.returncode in (0, 1, 126, 127), (value, done)
        assert "terminate" not in done.stderr, (value, done)
        if done.returncode != 0:  # libfuse may have said something before
            last = (done.stderr.splitlines() or [""])[-1]
            assert done.returncode > 1 or last.startswith("shufflefs: "), done
            harness.eventually(
                lambda: not harness.mount_types(place / "mnt"), what="the end")
            continue
        mounted += 1
        try:
            assert total(place / "mnt", user) == total(source, user), value
        finally:
            harness.run(["umount" if user.uid == 0 else "fusermount3",
                         *([] if user.uid == 0 else ["-u"]), place / "mnt"],
                        user=user)
    assert mounted > 0


def total(root, user):
    """The bytes of all files in class folders, as the user reads them."""
    done = harness.run(["sh", "-c", f"cat {root}/c*/* | wc -c"], user=user)
    return int(done.stdout)
