# SPDX-License-Identifier: Apache-2.0
"""Requests that have no effect say so."""
import pytest

import harness
import trees

NAMED = ["brand", "lirs", "met", "window"]


@pytest.fixture
def labelled(folder):
    """Files whose labels are in a table, so that no name may move."""
    source = trees.class_folders(folder / "source")
    (source / "labels.csv").write_text("name,label\n000001.png,3\n")
    return source


# [S-3.4i] If the policy that you named has no effect, status and the log warn.
@pytest.mark.parametrize("policy", NAMED)
def test_a_policy_over_names_that_stay_warns(mounts, labelled, policy):
    mount = mounts(labelled, {"policy": policy})
    warning, = [line for line in mount.view()["warnings"]
                if line.startswith(f"policy = {policy} does not shuffle")]
    assert "labels.csv" in warning and "layout=ranked" in warning
    assert f"warning: {warning}" in mount.log()
    # [S-3.14d] What is too small to grade, or ordered by your program, is not
    # graded.
    assert mount.view()["mixing"] == (
        "not graded: your program decides the order")


# [S-3.4i] If the policy that you named has no effect, status and the log warn.
def test_a_policy_of_records_without_containers_warns(mounts, folder):
    source = trees.class_folders(folder / "source")
    mount = mounts(source, {"policy": "reimu"})
    warning, = mount.view()["warnings"]
    assert warning.startswith("policy = reimu changes nothing")
    assert "record.as" in warning


# [S-3.4i] If the policy that you named has no effect, status and the log warn.
def test_containers_that_turn_out_to_be_none_warn(mounts, folder):
    source = folder / "source"
    source.mkdir()
    (source / "t.csv").write_text("1,2\n" * 1000)
    mount = mounts(source, {"policy": "reimu", "record.as": "t.csv:npy"})
    (mount.path / "t.csv").read_bytes()
    warning, = mount.view()["warnings"]
    assert warning.startswith("policy = reimu shuffles no container")
    assert "t.csv: " in warning


def test_a_rule_of_records_that_matches_no_file_warns(mounts, folder):
    source = folder / "source"
    for name in ("a/x.npy", "b/y.csv"):
        (source / name).parent.mkdir(parents=True)
        (source / name).write_text("1,2\n" * 1000)
    mount = mounts(source, {"policy": "reimu", "record.as": "*.npyy:npy"})
    useless, rule = mount.view()["warnings"]
    assert useless.startswith("policy = reimu changes nothing")
    assert "Correct the patterns of record.as" in useless
    assert rule.startswith("record.as: *.npyy:npy decides no file")
    assert f"warning: {rule}" in mount.log()


def test_rules_of_records_that_all_views_share_do_not_warn(mounts, folder):
    source = folder / "source"
    for name in ("a/x.txt", "b/y.csv"):
        (source / name).parent.mkdir(parents=True)
        (source / name).write_text("1,2\n" * 1000)
    config = folder / "views.toml"
    config.write_text('policy = "lirs"\nrecord.as = "*.csv:lines;*.txt:lines"\n'
                      '[[view]]\npath = "a"\n[[view]]\npath = "b"\n')
    mount = mounts(source, {}, arguments=["--config", config])
    assert [view["warnings"] for view in mount.status()["views"]] == [[], []]


@pytest.mark.parametrize("options", [
    {"policy": "auto"}, {"policy": "native"},
    {"policy": "lirs", "layout": "ranked"},
    {"policy": "lirs", "substitute": "never"},
    {"policy": "lirs", "substitute": "directory"}])
def test_what_has_an_effect_or_was_not_asked_for_does_not_warn(
        mounts, labelled, options):
    assert mounts(labelled, options).view()["warnings"] == []


# [S-3.4i] If the policy that you named has no effect, status and the log warn.
def test_a_switch_to_a_policy_without_effect_warns(mounts, labelled):
    mount = mounts(labelled, {"policy": "native"})
    done = harness.run([harness.shufflectl(), "policy", mount.path, "brand"])
    warning, = mount.view()["warnings"]
    assert "does not shuffle" in warning
    assert f"\n  warning: {warning}\n" in done.stdout
    done = harness.run([harness.shufflectl(), "policy", mount.path, "seed=3"])
    assert "warning" not in done.stdout  # it was there before


def test_a_switch_without_effect_warns_before_it_comes(mounts, folder):
    source = trees.class_folders(folder / "source")
    mount = mounts(source, {"policy": "lirs", "substitute": "directory",
                            "epoch.advance": "manual"})
    trees.contents(mount.path)
    done = harness.run([harness.shufflectl(), "policy", mount.path, "reimu"])
    assert "from the next epoch: reimu\n  warning: policy = reimu " in done.stdout
    assert mount.view()["policy"] == "lirs"


def test_a_pack_that_no_mount_would_read_is_refused(labelled, folder):
    pack = folder / "pack"
    done = harness.run([harness.shufflectl(), "pack", labelled, pack],
                       check=False)
    assert done.returncode == 1
    assert "labels.csv" in done.stderr and "--force" in done.stderr
    assert not pack.exists()
    done = harness.run([harness.shufflectl(), "pack", "--force", labelled, pack])
    assert (pack / "manifest").exists()


def test_an_old_name_of_a_key_works_and_warns(mounts, folder):
    source = trees.class_folders(folder / "source")
    mount = mounts(source, {"policy": "brand", "brand.chunk": 8})
    warning, = mount.status()["warnings"]
    assert "brand.chunk is now called brand.chunk_files" in warning
    assert "brand.chunk_files = 8" in (mount.control_dir /
                                       "control").read_text()
    control = mount.control_dir / "control"
    control.write_text('brand.chunks = "random"\n')
    assert 'brand.chunk_layout = "random"' in control.read_text()
    assert "brand.chunks is now called brand.chunk_layout" in mount.log()
