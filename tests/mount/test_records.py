# SPDX-License-Identifier: Apache-2.0
"""Records of container files come in the epoch's order."""
import concurrent.futures
import csv
import json
import mmap
import os
import random
import re
import signal

import pytest

import containers
import harness

LINES = {"record.as": "*.svm:lines", "epoch.advance": "manual"}
POLICIES = [
    {"policy": "lirs"},
    {"policy": "lirs", "lirs.unit": "page", "lirs.page": "64KiB"},
    {"policy": "lirs", "lirs.unit": "page", "lirs.batch": "5"},
    {"policy": "reimu", "reimu.block": "16KiB", "reimu.window": "4"},
    {"policy": "window", "window.samples": "500"},
]


def name_of(options):
    return " ".join(map(str, options.values()))


def records(mount):
    return mount.view()["records"]


def indexed(mount):
    harness.eventually(
        lambda: records(mount)["indexed"] == records(mount)["containers"],
        what="the index")
    return mount


@pytest.fixture
def source(folder):
    (folder / "source").mkdir()
    containers.write_lines(folder / "source/train.svm",
                           containers.lines(30000))
    return folder / "source"


# [S-6.1a] Every record is there once, whole.
@pytest.mark.parametrize("policy", POLICIES, ids=name_of)
def test_every_record_comes_once_and_whole(mounts, source, policy):
    mount = mounts(source, {**LINES, **policy})
    raw = (source / "train.svm").read_text()
    seen = []
    for _ in range(3):
        shown = (mount.path / "train.svm").read_text()
        assert sorted(shown.splitlines()) == sorted(raw.splitlines())
        assert len(shown) == len(raw) and shown.endswith("\n")
        seen.append(shown)
        mount.next_epoch()
    assert len({raw, *seen}) == 4
    before, now = (os.stat(root / "train.svm") for root in (source, mount.path))
    assert (before.st_size, before.st_mtime_ns) == (now.st_size,
                                                    now.st_mtime_ns)
    assert records(mount) == {**records(mount), "containers": 1, "indexed": 1,
                              "records": 30000, "untouched": []}


# [S-6.1b] The same seed and epoch give the same bytes, live and by path.
@pytest.mark.parametrize("policy", POLICIES, ids=name_of)
def test_the_same_seed_repeats(mounts, source, policy):
    first = mounts(source, {**LINES, **policy})
    again = mounts(source, {**LINES, **policy})
    other = mounts(source, {**LINES, **policy, "seed": 5})
    fixed = first.control_dir / "epoch"
    for epoch in range(3):
        shown = (first.path / "train.svm").read_text()
        assert (again.path / "train.svm").read_text() == shown
        assert (other.path / "train.svm").read_text() != shown
        assert (fixed / str(epoch) / "tree/train.svm").read_text() == shown
        first.next_epoch()
        again.next_epoch()
        other.next_epoch()


# [S-6.1c] A descriptor of a container reads the epoch in which it was opened
# to its end.
def test_a_descriptor_keeps_its_epoch(mounts, source):
    mount = mounts(source, {**LINES, "policy": "lirs"})
    whole = (mount.path / "train.svm").read_bytes()
    with open(mount.path / "train.svm", "rb") as old:
        head = old.read(1000)
        mount.next_epoch()
        assert (mount.path / "train.svm").read_bytes() != whole
        assert head + old.read() == whole


# [S-6.1d] Any place of it can be read, by several readers, and mapped.
@pytest.mark.parametrize("policy", POLICIES, ids=name_of)
@pytest.mark.parametrize("memory", ["16MiB", "256MiB"])
def test_any_place_can_be_read(mounts, source, policy, memory):
    containers.write_lines(source / "train.svm", containers.lines(250000))
    mount = mounts(source, {**LINES, **policy, "memory": memory})
    whole = (mount.control_dir / "epoch/0/tree/train.svm").read_bytes()
    path = mount.path / "train.svm"

    def read(seed):
        rng = random.Random(seed)
        with open(path, "rb", buffering=0) as file:
            for _ in range(40):
                at = rng.randrange(len(whole))
                length = rng.randrange(1, 300000)
                got = os.pread(file.fileno(), length, at)
                assert got == whole[at:at + length], (at, length)

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(4)))
    with open(path, "rb") as file, \
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert mapped[:] == whole


def test_headers_stay_and_the_last_line_gives_up_its_end(mounts, folder):
    source = folder / "source"
    content = containers.lines(5000)
    containers.write_lines(source / "x.csv", ["label,a", "i,f", *content],
                           end="")
    mount = mounts(source, {**LINES, "policy": "lirs", "record.header": "2",
                            "record.as": "*.csv:lines"})
    raw = (source / "x.csv").read_text()
    for _ in range(3):
        shown = (mount.path / "x.csv").read_text()
        assert shown.splitlines()[:2] == ["label,a", "i,f"]
        assert sorted(shown.splitlines()[2:]) == sorted(content)
        assert len(shown) == len(raw) and shown != raw
        mount.next_epoch()


def test_quoted_line_ends_are_not_cut(mounts, folder):
    source = folder / "source"
    content = [f'{i},"some\nwords",{i * i}' for i in range(3000)]
    containers.write_lines(source / "x.csv", ["a,b,c", *content])
    raw = (source / "x.csv").read_text()
    options = {**LINES, "policy": "lirs", "record.as": "*.csv:lines",
               "record.header": "1"}
    mount = indexed(mounts(source, options))
    assert (mount.path / "x.csv").read_text() == raw
    assert "record.csv" in records(mount)["untouched"][0]["why"]
    mount = indexed(mounts(source, {**options, "record.csv": "quoted"}))
    shown = (mount.path / "x.csv").read_text()
    assert shown != raw and shown.startswith("a,b,c\n")
    with open(mount.path / "x.csv", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert sorted(rows) == sorted([str(i), "some\nwords", str(i * i)]
                                  for i in range(3000))


def test_tfrecords_are_known_by_themselves(mounts, folder):
    source = folder / "source"
    (source / "val").mkdir(parents=True)
    data = [f"{i}:{'x' * (i % 300)}".encode() for i in range(4000)]
    for name in ("train-00000-of-00002", "b.tfrecord", "val/c.tfrecord"):
        (source / name).write_bytes(containers.tfrecord(data))
    (source / "d-00001-of-00002").write_bytes(b"something else entirely")
    broken = bytearray(containers.tfrecord(data))
    broken[70000] ^= 1
    (source / "e.tfrecord").write_bytes(broken)
    mount = indexed(mounts(source, {"policy": "reimu",
                                    "epoch.advance": "manual"}))
    for name in ("train-00000-of-00002", "b.tfrecord"):
        shown = containers.read_tfrecord(mount.path / name)
        assert sorted(shown) == sorted(data) and shown != data
    for name in ("val/c.tfrecord", "d-00001-of-00002", "e.tfrecord"):
        assert ((mount.path / name).read_bytes()
                == (source / name).read_bytes())
    untouched = {each["path"]: each["why"]
                 for each in records(mount)["untouched"]}
    assert set(untouched) == {"val/c.tfrecord", "d-00001-of-00002",
                              "e.tfrecord"}
    assert "split" in untouched["val/c.tfrecord"]
    assert "first bytes" in untouched["d-00001-of-00002"]
    assert "e.tfrecord: shown as it is: " in mount.log()


# [S-6.1f] What is not understood, stands in a split or has a sidecar file is
# shown as it is.
def test_what_was_not_named_or_has_a_sidecar_is_untouched(mounts, source):
    for name in ("train.txt", "train.npy", "train.csv"):
        (source / name).write_bytes((source / "train.svm").read_bytes())
    data = containers.tfrecord([b"one", b"two", b"three", b"four"] * 50)
    for name in ("a.tfrecord", "b.tfrecord"):
        (source / name).write_bytes(data)
    (source / "a.tfrecord.index").write_text("0 18\n18 18\n")
    (source / "b.labels").write_text("x\n" * 200)
    mount = mounts(source, {"policy": "lirs", "epoch.advance": "manual"})
    for name in os.listdir(source):
        assert ((mount.path / name).read_bytes()
                == (source / name).read_bytes()), name
    assert records(mount)["containers"] == 0
    assert ([each["path"] for each in records(mount)["untouched"]]
            == ["a.tfrecord", "b.tfrecord"])
    assert "untouched: 2, the first a.tfrecord: it has a sidecar file" in mount.log()


def test_policies_of_files_leave_records_alone(mounts, source):
    for policy in ("native", "static", "auto"):
        mount = mounts(source, {**LINES, "policy": policy})
        assert ((mount.path / "train.svm").read_bytes()
                == (source / "train.svm").read_bytes())


def test_a_policy_can_be_switched_while_files_are_read(mounts, source):
    mount = mounts(source, {**LINES, "policy": "native", "open": "seen"})
    raw = (source / "train.svm").read_text()
    path = mount.path / "train.svm"
    assert path.read_text() == raw
    with open(path) as old:
        for policy in ("reimu", "lirs", "native"):
            assert mount.write_control(
                f'policy = "{policy}"\nepoch = "next"\n') is None
            shown = path.read_text()
            assert sorted(shown.splitlines()) == sorted(raw.splitlines())
            assert (shown == raw) == (policy == "native")
        assert old.read() == raw


def test_a_source_that_changes_is_an_error_and_no_wrong_byte(mounts, source):
    mount = indexed(mounts(source, {**LINES, "policy": "lirs"}))
    with open(source / "train.svm", "a") as file:
        file.write("one more\n")
    with pytest.raises(OSError):
        (mount.path / "train.svm").read_bytes()
    assert "train.svm" in mount.log()


def test_wrong_rules_are_refused(mounts, source):
    for option, value in (("record.as", "*.svm"), ("record.as", "x:parquets"),
                          ("record.as", "*.bin:fixed"),
                          ("reimu.block", "1KiB"), ("reimu.window", "0")):
        mount = mounts(source, {"policy": "lirs", option: value}, start=False)
        done = harness.run(mount.command(), check=False)
        assert done.returncode != 0
        assert option in done.stderr, (option, value, done.stderr)


def test_a_saved_index_is_used_and_a_damaged_one_is_replaced(mounts, source):
    mount = indexed(mounts(source, {**LINES, "policy": "lirs"}))
    first = (mount.path / "train.svm").read_bytes()
    mount.unmount()
    saved = list((mount.state / "records").iterdir())
    assert len(saved) == 1
    inode = saved[0].stat().st_ino
    indexed(mount.start())
    assert (mount.path / "train.svm").read_bytes() == first
    assert saved[0].stat().st_ino == inode
    mount.unmount()
    saved[0].write_bytes(saved[0].read_bytes()[:-5] + b"wrong")
    indexed(mount.start())
    assert (mount.path / "train.svm").read_bytes() == first
    assert saved[0].stat().st_ino != inode
    assert "saved index of train.svm" in mount.log()


def index(source, state, *words, options="policy=lirs,record.as=*.svm:lines",
          check=True, **kwargs):
    return harness.run([harness.shufflectl(), "index", "--json", "--state",
                        state, "-o", options, *words, source], check=check,
                       **kwargs)


# [S-6.1g] What `shufflectl index` has read no mount reads again.
def test_a_mount_uses_what_was_indexed_ahead(mounts, source):
    (source / "a.tfrecord").write_bytes(containers.tfrecord([b"x"] * 900))
    mount = mounts(source, {**LINES, "policy": "lirs"}, start=False)
    done = json.loads(index(source, mount.state).stdout)
    assert (done["indexed"], done["read_through"]) == (2, 2)
    assert done["records"] == 30900
    indexed(mount.start())
    assert records(mount)["read_through"] == 0
    assert records(mount)["records"] == 30900
    busy = index(source, mount.state, check=False)
    assert busy.returncode == 1 and "uses this state" in busy.stderr
    mount.unmount()
    containers.write_lines(source / "train.svm", containers.lines(300))
    assert json.loads(index(source, mount.state).stdout)["read_through"] == 1
    indexed(mount.start())
    assert records(mount)["read_through"] == 0
    assert records(mount)["records"] == 1200


def test_an_interrupted_index_goes_on(source, folder):
    def interrupt():  # waits until the program takes it
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        os.kill(os.getpid(), signal.SIGINT)
    ended = index(source, folder / "s", check=False, preexec_fn=interrupt)
    assert ended.returncode == 1
    assert "interrupted: 0 of 1 containers are indexed" in ended.stderr
    assert json.loads(ended.stdout)["interrupted"] is True
    done = json.loads(index(source, folder / "s").stdout)
    assert (done["indexed"], done["interrupted"]) == (1, False)


# [S-6.1h] A container belongs to the innermost view around it.
def test_views_inside_have_their_own_containers(mounts, source, folder):
    (source / "in").mkdir()
    data = [b"%d" % i for i in range(2000)]
    for name in ("a.tfrecord", "in/b.tfrecord", "in/d.tfrecord"):
        (source / name).write_bytes(containers.tfrecord(data))
    (source / "in/d.tfrecord.index").write_text("0 18")
    config = folder / "views.toml"
    config.write_text('[[view]]\npath = ""\npolicy = "lirs"\n'
                      '[[view]]\npath = "in"\npolicy = "reimu"\n')
    mount = mounts(source, arguments=["--config", config])
    harness.eventually(lambda: all(view["records"]["indexed"] == 1
                                   for view in mount.status()["views"]))
    outer, inner = (view["records"] for view in mount.status()["views"])
    assert (outer["containers"], inner["containers"]) == (1, 1)
    assert outer["untouched"] == []
    assert [each["path"] for each in inner["untouched"]] == ["in/d.tfrecord"]
    # A pass of the outer one is its own container.
    shown = set()
    for epoch in range(3):
        shown.add((mount.path / "a.tfrecord").read_bytes())
        assert mount.view(0)["epoch"] == epoch
    assert len(shown) == 3


# [S-3.14b] Where records of containers are shuffled, the grade is of the
# records of the container that is mixed worst.
@pytest.mark.parametrize("window, grade", [("1", "F"), ("8", "C"), ("64", "A")])
def test_the_mixing_of_records_is_graded(mounts, source, window, grade):
    containers.write_lines(source / "small.svm", containers.lines(100))
    mount = indexed(mounts(source, {**LINES, "policy": "reimu",
                                    "reimu.block": "16KiB",
                                    "reimu.window": window}))
    line = mount.view()["mixing"]
    if grade == "A":
        assert line == "A: all records of a file are in one window" or (
            "from 64 of " in line)
    else:
        assert "blocks of 16384 bytes of train.svm" in line
    assert line.startswith(grade + ": ")
    assert ("more blocks per window" in line) == (grade == "F")


def test_a_window_that_does_not_fit_is_said_and_still_right(mounts, source):
    containers.write_lines(source / "train.svm", containers.lines(100000))
    mount = indexed(mounts(source, {**LINES, "policy": "reimu",
                                    "memory": "16MiB"}))
    assert ("64 blocks of 1MiB do not fit three eighths of the memory, so each "
            "window is read ") in mount.log()
    shown = (mount.path / "train.svm").read_text()
    raw = (source / "train.svm").read_text()
    assert shown != raw and sorted(shown) == sorted(raw)


def test_status_says_how_often_pages_are_read(mounts, source):
    containers.write_lines(source / "train.svm", containers.lines(100000))
    mount = indexed(mounts(source, {
        **LINES, "policy": "lirs", "lirs.unit": "page", "lirs.page": "4KiB",
        "memory": "16MiB", "epoch.advance": "manual"}))
    view = mount.view()
    assert "cross blocks of 4KiB" in view["block_reads"]
    assert "of train.svm is kept (R / 4B" in view["block_reads"]
    assert any("raise" in warning and "lirs.page to " in warning
               for warning in view["warnings"])
    assert mount.write_control('lirs.page = "256KiB"\n') is None
    mount.next_epoch()
    view = mount.view()
    assert view["block_reads"] is None
    assert not any("lirs.page" in warning for warning in view["warnings"])


# The largest values of all keys together are more bytes than a number holds.
def test_a_window_of_everything_is_read_as_often_as_the_file_needs(mounts,
                                                                   source):
    containers.write_lines(source / "train.svm", containers.lines(100000))
    mount = indexed(mounts(source, {
        **LINES, "policy": "lirs", "lirs.unit": "page", "lirs.page": "16MiB",
        "lirs.batch": 1 << 40, "memory": "16MiB"}))
    times, = re.findall("so each window is read ([0-9]+) times", mount.log())
    assert 2 <= int(times) <= (source / "train.svm").stat().st_size >> 20


def test_a_rule_has_its_own_sizes(mounts, folder):
    source = folder / "source"
    source.mkdir()
    rng = random.Random(5)
    shapes = {"a.bin": (100, 16), "b.bin": (64, 0)}
    for name, (size, header) in shapes.items():
        rows = 200 + header  # not as many, or the rows might belong together
        (source / name).write_bytes(rng.randbytes(header + rows * size))
    mount = indexed(mounts(source, {
        "policy": "lirs", "epoch.advance": "manual",
        "record.as": "a.bin:fixed,bytes=100,header=16;b.bin:fixed",
        "record.bytes": 64}))

    def cut(path):
        size, header = shapes[path.name]
        data = path.read_bytes()
        return data[:header], [data[at:at + size] for at in
                               range(header, len(data), size)]

    for name in shapes:
        header, shown = cut(mount.path / name)
        own_header, own = cut(source / name)
        assert header == own_header
        assert shown != own and sorted(shown) == sorted(own)
