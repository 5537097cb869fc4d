# SPDX-License-Identifier: Apache-2.0
"""A policy that is added by a pair of files and a line (tests/examples)."""
import os

import pytest

import harness
import trees

REVERSE = {"policy": "reverse", "substitute": "directory",
           "epoch.advance": "manual"}


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source")


@pytest.fixture
def example(monkeypatch):
    """The daemon that has the policy, for all mounts of the test."""
    monkeypatch.setenv("SHUFFLEFS_BIN", os.environ["SHUFFLEFS_EXAMPLE_BIN"])


def bytes_by_name(root):
    return {path.relative_to(root): path.read_bytes()
            for path in root.glob("c*/*")}


def reversed_in_classes(source, skip=0):
    """What each name shows: the samples of its class from the end on."""
    shown = {}
    for folder in source.iterdir():
        names = sorted(folder.iterdir())
        for index, name in enumerate(names):
            other = names[(2 * len(names) - 1 - index - skip) % len(names)]
            shown[name.relative_to(source)] = other.read_bytes()
    return shown


def test_help_shows_the_policy_and_its_key(monkeypatch):
    def words():
        return harness.run([harness.shufflefs(), "--help=all"]).stdout.split()

    assert "reverse" not in words() and "reverse.skip" not in words()
    monkeypatch.setenv("SHUFFLEFS_BIN", os.environ["SHUFFLEFS_EXAMPLE_BIN"])
    assert "reverse" in words() and "reverse.skip" in words()


def test_the_product_does_not_know_it(mounts, source):
    mount = mounts(source, REVERSE, start=False)
    done = harness.run(mount.command(), check=False)
    assert done.returncode == 2
    assert "policy = reverse: must be auto, native," in done.stderr


@pytest.mark.usefixtures("example")
def test_names_show_the_samples_of_their_class_reversed(mounts, source):
    mount = mounts(source, REVERSE)
    expected = reversed_in_classes(source)
    for _ in range(2):
        assert bytes_by_name(mount.path) == expected
        mount.next_epoch()
    assert mount.write_control("reverse.skip = 3\nepoch = \"next\"\n") is None
    assert bytes_by_name(mount.path) == reversed_in_classes(source, skip=3)
    assert mount.write_control("reverse.skip = 1001\n") is not None


@pytest.mark.usefixtures("example")
def test_ranked_names_list_the_source_reversed(mounts, source):
    mount = mounts(source, {**REVERSE, "layout": "ranked"})
    names = sorted(os.listdir(mount.path))
    told = [name[10:].replace("~", "/") for name in names]
    assert told == sorted(map(str, bytes_by_name(source)), reverse=True)
    for name, path in zip(names, told):
        assert (mount.path / name).read_bytes() == (source / path).read_bytes()


@pytest.mark.usefixtures("example")
def test_its_epoch_goes_on_after_kill_9(mounts, source):
    mount = mounts(source, {**REVERSE, "reverse.skip": 3})
    for _ in range(2):
        mount.next_epoch()
    expected = reversed_in_classes(source, skip=3)
    assert bytes_by_name(mount.path) == expected
    mount.kill()
    mount.start()
    assert mount.view()["policy"] == "reverse"
    assert mount.view()["epoch"] == 2
    assert bytes_by_name(mount.path) == expected
