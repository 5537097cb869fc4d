# SPDX-License-Identifier: Apache-2.0
"""Files, writes and limits that are meant to end the daemon."""
import errno
import os
import resource
import subprocess

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


@pytest.mark.parametrize("name", ["catalogue", "places", "devices",
                                  "control.toml", "learnt"])
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


# [S-9.2b] A write to control of more than 64 KiB is refused whole, and so is
# a key of very many parts.
def test_a_large_write_is_refused_whole(mounts, source):
    mount = mounts(source, MANUAL)
    line = "seed = 5\n"
    for size in ((64 << 10) + 1, 1 << 20, 3 << 20):
        text = line + "#" * (size - 2 * len(line)) + "\n" + line.replace(
            "seed", "sede")
        assert mount.write_control(text) == errno.EINVAL, size
        assert mount.view()["seed"] == 0
        assert "65536" in mount.read("error")
    assert mount.write_control(line + "#" * 60_000 + "\n") is None
    assert mount.view()["seed"] == 5


def test_a_key_of_20000_parts_is_refused(mounts, source):
    mount = mounts(source, MANUAL)
    key = ".".join(["a"] * 20_000)
    for line in (f"{key} = 1", f"x = {{{key} = 1}}", f"[{key}]\nx = 1"):
        assert mount.write_control(line + "\n") == errno.EINVAL
        assert "dots" in mount.read("error")
    assert mount.write_control("seed = 3\n") is None
    mount.unmount()


# [S-9.2c] However many hold order open, one text of it is in memory while
# nothing in it changes.
def test_orders_that_are_open_share_their_memory(mounts, folder):
    source = folder / "many"
    for c in range(3):
        (source / f"c{c}").mkdir(parents=True)
        for i in range(4000):
            (source / f"c{c}" / f"{c}{i:06d}{'x' * 100}.bin").write_bytes(b"x")
    mount = mounts(source, MANUAL)
    size = len(mount.read("order"))
    assert size > 2 << 20
    before = resident(mount)
    held = []
    for _ in range(200):
        held.append(open(mount.control_dir / "order", "rb"))
    texts = {held[i].read() for i in (0, 100, 199)}
    assert len(texts) == 1 and len(texts.pop()) == size
    assert resident(mount) - before < 20 * size
    mount.next_epoch()
    with open(mount.control_dir / "order", "rb") as file:
        fresh = file.read()
    held[0].seek(0)
    assert held[0].read() != fresh
    for file in held:
        file.close()


HOLD = """
import os, resource, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
held, refusals = [], set()
for number in range(int(sys.argv[2])):
    try:
        held.append(os.open(sys.argv[1].replace("@", str(number + 5)),
                            os.O_RDONLY))
        if "@" in sys.argv[1]:
            os.listdir(held[-1])
    except OSError as error:
        refusals.add(error.errno)
print(len(held), *refusals, flush=True)
sys.stdin.read()
"""


# [S-9.2f] What other users keep open of the control directory takes less than
# 16 MiB of the daemon's memory, for each of them.
@pytest.mark.parametrize("name", ["metrics", "epoch/@/tree/c0"])
def test_what_strangers_keep_open_is_bounded(mounts, source, name):
    if harness.NOBODY.uid == harness.SELF.uid:
        return
    mount = mounts(source, {**MANUAL, "allow_other": None})
    before = resident(mount)
    holder = subprocess.Popen(
        harness.as_user(harness.NOBODY,
                        [harness.PYTHON, "-c", HOLD,
                         mount.control_dir / name, "4000"]),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with holder:
        held, *refusals = map(int, holder.stdout.readline().split())
        assert refusals == [errno.ENFILE] and held > 100
        assert resident(mount) - before < 16 << 20
        refused = harness.run(["cat", mount.control_dir / "metrics"],
                              user=harness.NOBODY, check=False)
        assert os.strerror(errno.ENFILE) in refused.stderr
        assert "shufflefs_" in mount.read("metrics")  # the owner's
        holder.stdin.close()
    harness.eventually(
        lambda: harness.run(["cat", mount.control_dir / "metrics"],
                            user=harness.NOBODY, check=False).returncode == 0,
        what="the memory is free again")


LIST = """
import ctypes, os, resource, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
libc, piece = ctypes.CDLL(None), ctypes.create_string_buffer(1 << 20)
for number in range(int(sys.argv[2])):
    held = os.open(sys.argv[1], os.O_RDONLY)
    while libc.syscall(217, held, piece, 1 << 20) > 0 and len(sys.argv) > 3:
        pass
print(flush=True)
sys.stdin.read()
"""


# [S-9.2g] What all open directories keep for their next reads takes at most
# 32 MiB of the daemon's memory.
@pytest.mark.parametrize("how, count, most",
                         [("begun", 150, 40 << 20), ("ended", 4000, 8 << 20)])
def test_directories_that_are_open_take_little_memory(mounts, folder, how,
                                                      count, most):
    source = folder / "wide"
    (source / "c0").mkdir(parents=True)
    for i in range(12000 if how == "begun" else 100):
        (source / "c0" / f"{i:06d}{'x' * 200}.bin").write_bytes(b"x")
    mount = mounts(source, MANUAL)
    os.listdir(mount.path / "c0")
    before = resident(mount)
    reads_on = ["to the end"] if how == "ended" else []
    holder = subprocess.Popen(
        [harness.PYTHON, "-c", LIST, mount.path / "c0", str(count), *reads_on],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with holder:
        holder.stdout.readline()
        grown = resident(mount) - before
        holder.stdin.close()
    assert grown < most, f"{grown / count} bytes each"


# [S-9.2d] Epochs that were looked up by path and are not in use are let go of.
def test_epochs_by_path_are_forgotten(mounts, source):
    mount = mounts(source, MANUAL)
    epochs = mount.control_dir / "epoch"
    first = os.listdir(epochs / "0" / "tree" / "c0")
    with open(epochs / "3" / "tree" / "c0" / first[0], "rb") as file:
        shown = file.read()
    # By hand with more than 2^20 of them, which once were all there could be.
    for number in range(int(os.environ.get("SHUFFLEFS_EPOCHS", "20000"))):
        os.stat(epochs / str(number))
    os.stat(epochs / str((1 << 64) - 1) / "tree")
    # Names that were looked up long ago are other nodes now, of the same.
    with open(epochs / "3" / "tree" / "c0" / first[0], "rb") as file:
        assert file.read() == shown
    assert os.listdir(epochs / "0" / "tree" / "c0") == first


# [S-9.2e] With too few threads or too little address space, a mount that needs
# more ends with a line that says so and status 1.
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
            harness.eventually(lambda: ended(place / "mnt", user),
                               what="the end")
            continue
        mounted += 1
        try:
            # The limit of threads counts what this user runs beside: a thread
            # may be missing later. Then a read fails; no byte is invented.
            size, errors = total(place / "mnt", user)
            whole, _ = total(source, user)
            assert size == whole or (size < whole and errors), value
            assert size == whole or value != values[-1], errors
        finally:
            harness.run(["umount" if user.uid == 0 else "fusermount3",
                         *([] if user.uid == 0 else ["-u"]), place / "mnt"],
                        user=user)
    assert mounted > 0


def ended(mount, user):
    """Whether nothing serves there. A user's mount may be left, since there was
    no process for fusermount3 to end it; it can be taken away."""
    status = harness.run(["cat", mount / ".shufflefs" / "status"], user=user,
                         check=False)
    if status.returncode == 0:
        return False
    if harness.mount_types(mount):
        harness.run(["fusermount3" if user.uid else "umount",
                     *(["-u"] if user.uid else []), mount], user=user,
                    check=False)
    return not harness.mount_types(mount)


def total(root, user):
    """The bytes of all files in class folders, as the user reads them, and what
    cat says of those that it could not read."""
    done = harness.run(["sh", "-c", f"cat {root}/c*/* | wc -c"], user=user)
    return int(done.stdout), done.stderr
