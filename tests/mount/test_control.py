# SPDX-License-Identifier: Apache-2.0
"""The control directory."""
import errno
import json
import os
import tomllib

import pytest

import harness
import trees

MANUAL = {"policy": "lirs", "substitute": "directory",
          "epoch.advance": "manual"}
VIEW_KEYS = set("""name path policy why substitute seed epoch epoch_state
epoch_verdict epoch_held carried samples consumed hits misses bypass rereads
source_bytes source_reads served_bytes pool_bytes memory_limit stall_seconds
consumer_seconds reproducible mixing block_reads device warnings""".split())
FILES = {"control", "error", "token", "status", "metrics", "order", "epoch"}


@pytest.fixture
def source(folder):
    return trees.train_and_val(folder / "source")


@pytest.fixture
def mount(mounts, source):
    return mounts(source, MANUAL)


def state_of(mount):
    """All that a write could change, but for the last refusal."""
    view = mount.view()
    return (mount.read("control"), mount.read("order"),
            {key: view[key] for key in ("policy", "seed", "epoch")},
            trees.contents(mount.path))


# [S-4.2e] A write is taken whole or refused, wherever in the file it begins.
@pytest.mark.parametrize("opens", ["seen", "unseen"])
def test_no_write_is_taken_in_part(mounts, source, opens):
    """One descriptor for many writes crosses the pages of the file."""
    mount = mounts(source, {**MANUAL, "open": opens})
    control = os.open(mount.control_dir / "control", os.O_WRONLY)
    try:
        written = os.pwrite(control, b"seed = 1234\n", 4087)
    except OSError as error:
        assert opens == "unseen" and error.errno == errno.EINVAL
        assert "cut this write" in mount.read("error")
        assert "seed = 1" not in mount.read("control")
    else:
        assert opens == "seen" and written == 12
        assert "seed = 1234\n" in mount.read("control")
    refused = 0
    for number in range(1, 601):
        line = f"epoch = {number}\n".encode()
        try:
            written = os.write(control, line)
        except OSError as error:
            assert error.errno == errno.EINVAL
            refused += 1
            os.lseek(control, 0, os.SEEK_SET)
            written = os.write(control, line)
        assert written == len(line)
        status = json.loads((mount.control_dir / "status").read_text())
        assert status["views"][0]["epoch"] == number
    assert refused == (0 if opens == "seen" else 1)
    os.close(control)


# [S-4.2b] The control directory is hidden from listings.
def test_the_directory_is_hidden_and_complete(mount):
    assert ".shufflefs" not in os.listdir(mount.path)
    assert set(os.listdir(mount.control_dir)) >= FILES
    modes = {name: (mount.control_dir / name).stat().st_mode & 0o777
             for name in FILES}
    assert modes == {"control": 0o600, "token": 0o600, "error": 0o444,
                     "status": 0o444, "metrics": 0o444, "order": 0o444,
                     "epoch": 0o555}
    assert mount.control_dir.stat().st_mode & 0o777 == 0o555


def test_source_bytes_count_no_container_of_the_page_cache(mounts, folder):
    """As the page says."""
    source = folder / "records"
    source.mkdir()
    (source / "x.bin").write_bytes(os.urandom(8 << 20))  # stays in the cache
    mount = mounts(source, {"policy": "lirs", "record.as": "*.bin:fixed",
                            "record.bytes": 4096, "epoch.advance": "manual"})
    assert len((mount.path / "x.bin").read_bytes()) == 8 << 20
    assert mount.view()["served_bytes"] == 8 << 20
    assert mount.view()["source_bytes"] < 1 << 20
    page = (harness.EXAMPLES.parent / "docs" / "monitoring.md").read_text()
    row, = [line for line in page.splitlines()
            if line.startswith("| `source_bytes`")]
    assert "page cache had are not counted" in row


def test_status_has_every_field(mount, source):
    status = mount.status()
    assert {"version", "source", "warnings", "views"} <= set(status)
    assert status["source"] == str(source)
    view, = status["views"]
    assert VIEW_KEYS <= set(view), VIEW_KEYS - set(view)
    assert view["policy"] == "lirs" and view["seed"] == 0
    assert view["epoch"] == 0 and view["epoch_state"] == "running"
    # Those that the policy orders: the validation split is left as it is.
    assert view["samples"] == len(trees.contents(source / "train"))
    assert view["reproducible"] is True and view["why"]
    assert view["consumed"] is None  # nobody sees the opens here


def test_the_size_of_a_control_file_is_its_content(mount):
    for name in ("control", "status", "metrics", "order", "error", "token"):
        path = mount.control_dir / name
        with open(path, "rb") as file:
            assert os.fstat(file.fileno()).st_size == len(file.read()), name
    order = mount.control_dir / "order"
    assert order.stat().st_size == len(order.read_bytes())


# [S-3.2e] Each lookup of a control file is a snapshot of its own.
def test_a_control_file_is_a_snapshot_for_its_reader(mount):
    with open(mount.control_dir / "status", "rb", buffering=0) as file:
        begin = file.read(10)
        mount.next_epoch()
        status = json.loads(begin + file.readall())
    assert status["views"][0]["epoch"] == 0
    assert mount.view()["epoch"] == 1


def test_cp_copies_every_control_file(mount, folder):
    """cp looks a file up twice and compares the inode numbers."""
    numbers = {}
    for name in sorted(FILES - {"epoch"}):
        path = mount.control_dir / name
        numbers[name] = path.stat().st_ino
        mount.next_epoch()
        done = mount.run(["cp", path, folder / name])
        assert done.stderr == ""
        with open(path) as file:
            assert os.fstat(file.fileno()).st_ino == numbers[name]
    assert len(set(numbers.values())) == len(numbers)
    assert (folder / "order").read_text().count("\n") == mount.view()["samples"]
    mount.run(["cp", mount.control_dir / "token", folder])
    saved = mount.view()["epoch"]
    mount.next_epoch()
    mount.run(["cp", folder / "token", mount.control_dir])
    assert mount.view()["epoch"] == saved


def test_control_shows_the_effective_configuration_as_toml(mount):
    settings = tomllib.loads(mount.read("control"))
    assert settings["policy"] == "lirs" and settings["seed"] == 0
    assert settings["epoch"]["advance"] == "manual"


def test_what_control_shows_may_be_edited_and_written_back(mount):
    text = mount.read("control")
    assert mount.write_control(text) is None
    assert mount.write_control(text.replace("seed = 0", "seed = 11")) is None
    assert mount.view()["seed"] == 11


def test_epochs_by_control(mount):
    assert mount.write_control('epoch = "next"\n') is None
    assert mount.view()["epoch"] == 1
    assert mount.view()["epoch_verdict"] == "signal"
    assert mount.write_control("epoch = 7\n") is None
    assert mount.view()["epoch"] == 7
    seventh = trees.contents(mount.path)
    assert mount.write_control("epoch = 2\n") is None
    assert trees.contents(mount.path) != seventh
    assert mount.write_control("epoch = 7\n") is None
    assert trees.contents(mount.path) == seventh


def test_several_lines_are_one_change(mount):
    assert mount.write_control(
        '# a comment\nseed = 5\n\npolicy = "window"\nepoch = 3\n') is None
    view = mount.view()
    assert (view["seed"], view["policy"], view["epoch"]) == (5, "window", 3)


# [S-4.2a] A write is all or nothing, and the file error says why it was
# refused.
@pytest.mark.parametrize("text, word", [
    ("nonsense = 1\n", "nonsense"),
    ('policy = "fastest"\n', "policy"),
    ("seed = -1\n", "seed"),
    ('seed = "three"\n', "seed"),
    ('epoch = "previous"\n', "epoch"),
    ("epoch = -1\n", "epoch"),
    ("seed = 4\nnonsense = 1\n", "nonsense"),
    ('epoch = "next"\nseed = \n', "line 2"),
    ("seed = 4\nseed = 5\n", "seed"),
    ('substitute = "tree"\n', "substitute"),
    ("policy\n", "line 1"),
    ("\n", "nothing"),
    ("\0\xff", ""),
])
def test_a_bad_line_changes_nothing_and_is_explained(mount, text, word):
    before = state_of(mount)
    assert mount.write_control(text) == errno.EINVAL
    error = mount.read("error")
    assert word in error and error.count("\n") == 1 and len(error) > 10
    assert state_of(mount) == before


def test_error_tells_the_last_refusal(mount):
    assert mount.read("error").strip() == ""
    mount.write_control("nonsense = 1\n")
    first = mount.read("error")
    mount.write_control("seed = -1\n")
    assert mount.read("error") != first


def test_feedback_is_refused_where_no_policy_takes_it(mount):
    assert mount.write_control("feedback = 0.531\n") == errno.EINVAL
    assert "feedback" in mount.read("error")


# [S-4.2d] What order tells is what the names show.
def test_order_lists_rank_name_and_sample(mount, source):
    for _ in range(2):
        rows = [line.split("\t")
                for line in mount.read("order").splitlines()]
        assert [int(rank) for rank, _, _ in rows] == list(range(len(rows)))
        files = trees.contents(source)
        train = {name for name in files if name.startswith("train/")}
        names = {name for _, name, _ in rows}
        samples = {sample for _, _, sample in rows}
        assert names == samples and train <= names <= set(files)
        for _, name, sample in rows:
            data = (mount.path / name).read_bytes()
            assert trees.digest(data) == files[sample], name
            told = os.getxattr(mount.path / name, "user.shufflefs.sample")
            assert told.decode() == sample
        mount.next_epoch()


def test_names_of_metrics_follow_prometheus(mount):
    """A counter ends in _total behind its unit; every series says its unit."""
    kinds = dict(line.split()[2:] for line in mount.read("metrics").splitlines()
                 if line.startswith("# TYPE"))
    assert "shufflefs_stall_seconds_total" in kinds
    assert "shufflefs_consumer_seconds_total" in kinds
    for name, kind in kinds.items():
        if name == "shufflefs_fill_rate":  # an old name, for one release
            continue
        assert name.endswith("_total") == (kind == "counter"), name
        if kind == "histogram":
            assert name.endswith("_seconds"), name
        if kind == "gauge":
            assert name.endswith(("_bytes", "_ratio")), name


def test_metrics_are_in_prometheus_text_format(mount):
    trees.contents(mount.path)
    lines = mount.read("metrics").splitlines()
    helped = {line.split()[2] for line in lines if line.startswith("# HELP")}
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert helped and helped == typed
    values = {}
    for line in lines:
        if line.startswith("#") or not line:
            continue
        name, value = line.rsplit(" ", 1)
        values[name] = float(value)
        base = name.split("{")[0]
        for suffix in ("_bucket", "_sum", "_count"):
            if base not in helped:
                base = base.removesuffix(suffix)
        assert base in helped, line
        assert base.startswith("shufflefs_")
    assert any(value > 0 for value in values.values())


def test_consumed_counts_what_was_read(mounts, source):
    mount = mounts(source, {**MANUAL, "open": "seen"})
    names = sorted(name for name in trees.contents(source)
                   if name.startswith("train/"))
    for name in names[:20]:
        (mount.path / name).read_bytes()
    assert mount.view()["consumed"] == 20
    for name in names[:20]:
        (mount.path / name).read_bytes()
    assert mount.view()["consumed"] == 20
    assert mount.view()["served_bytes"] > 0
    mount.next_epoch()
    assert mount.view()["consumed"] == 0


def test_the_token_brings_a_job_back(mounts, source, mount):
    assert mount.write_control("seed = 6\nepoch = 4\n") is None
    token = mount.read("token")
    assert token.count("\n") == 1 and token.endswith("\n")
    expected = trees.contents(mount.path)
    mount.next_epoch()
    assert trees.contents(mount.path) != expected
    assert mount.write_control(token, "token") is None
    assert mount.view()["epoch"] == 4 and mount.view()["seed"] == 6
    assert trees.contents(mount.path) == expected

    fresh = mounts(source, MANUAL)
    assert fresh.write_control(token, "token") is None
    assert trees.contents(fresh.path) == expected


def test_a_token_of_another_data_set_is_refused(mounts, mount, folder):
    other = mounts(trees.class_folders(folder / "other", seed=5), MANUAL)
    before = state_of(other)
    assert other.write_control(mount.read("token"), "token") == errno.EINVAL
    assert other.read("error").strip()
    assert other.write_control("no token at all\n", "token") == errno.EINVAL
    assert state_of(other) == before


def test_a_view_below_another_has_its_files_for_itself(mounts, folder):
    source = trees.class_folders(folder / "source", classes=3)
    config = folder / "views.toml"
    config.write_text("""
epoch.advance = "manual"
substitute = "tree"
policy = "lirs"
[[view]]
path = ""
[[view]]
path = "c1"
""")
    mount = mounts(source, {}, arguments=["--config", config])
    for _ in range(3):
        shown = trees.contents(mount.path)
        inner = {path for path in shown if path.startswith("c1/")}
        for names in inner, shown.keys() - inner:
            before = trees.contents(source)
            assert (sorted(shown[path] for path in names) ==
                    sorted(before[path] for path in names))
        assert mount.write_control('epoch = "next"\n') is None


# [S-4.2c] Each view has a policy, a seed and an epoch of its own.
def test_several_views_are_independent(mounts, source, folder):
    config = folder / "views.toml"
    config.write_text("""
epoch.advance = "manual"
[[view]]
path = "train"
policy = "lirs"
substitute = "directory"
[[view]]
path = "val"
policy = "native"
""")
    mount = mounts(source, {}, arguments=["--config", config])
    views = {view["path"]: view for view in mount.status()["views"]}
    assert views.keys() == {"train", "val"}
    base = mount.control_dir / "view"
    train = base / views["train"]["name"]
    val = base / views["val"]["name"]
    assert sorted(os.listdir(base)) == sorted([train.name, val.name])
    for folder_of_view in (train, val):
        assert set(os.listdir(folder_of_view)) >= FILES

    text = mount.read("control")
    settings = tomllib.loads(text)
    assert [(view["path"], view["policy"]) for view in settings["view"]] == [
        ("train", "lirs"), ("val", "native")]
    assert settings["state"] == str(mount.state) and text.count("\nstate =") <= 1
    assert mount.write_control(text) == errno.EINVAL
    config.write_text(text)
    assert harness.run([harness.shufflefs(), "--config", config, source,
                        folder / "absent"], check=False).returncode == 1

    before = trees.contents(mount.path / "train")
    assert mount.write_control('epoch = "next"\n',
                               train / "control") is None
    views = {view["path"]: view for view in mount.status()["views"]}
    assert views["train"]["epoch"] == 1 and views["val"]["epoch"] == 0
    after = trees.contents(mount.path / "train")
    assert trees.moved(before, after) > len(before) / 2
    assert trees.contents(mount.path / "val") == trees.contents(source / "val")
