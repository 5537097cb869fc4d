# SPDX-License-Identifier: Apache-2.0
"""Messages say what was wrong, and not what might have been."""
import re

import pytest

import harness
import trees


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source", 2, 4)


def refused(*words, program=None, **kwargs):
    """The one line of a command that fails."""
    done = harness.run([program or harness.shufflectl(), *words], check=False,
                       **kwargs)
    assert done.returncode != 0, done
    return done.stderr.strip()


def test_a_word_too_much_names_its_own_command(mounts, source):
    mount = mounts(source, {"policy": "lirs"})
    for command, words in (("epoch", "3 4"), ("policy", "lirs native"),
                           ("feedback", "1 2")):
        line = refused(command, mount.path, *words.split())
        assert line.endswith("was not expected; see shufflectl "
                             f"{command} --help")


def test_policies_and_what_they_do_are_two_columns(mounts, source):
    mount = mounts(source, {"policy": "lirs"})
    done = harness.run([harness.shufflectl(), "policy", mount.path])
    rows = re.findall(r"^  ([a-z]+ +)\S", done.stdout, re.MULTILINE)
    assert {"auto", "clairvoyant", "lirs"} <= {row.strip() for row in rows}
    assert len({len(row) for row in rows if row.strip() in (
        "auto", "clairvoyant", "lirs", "native")}) == 1, done.stdout


def test_what_is_no_ledger_of_another_node_is_said_to_be_none(mounts, source,
                                                              folder):
    mount = mounts(source, {"policy": "lirs"})
    (folder / "other").write_bytes(b"something else, of no ledger" * 9)
    line = refused("verify", "--with", folder / "other", mount.path)
    assert f"--with {folder}/other: is no ledger" in line
    assert "-o state" not in line


def test_paths_of_keys_are_relative_to_the_working_directory(source, folder):
    (folder / "folds.tsv").write_text("c0/\tone\n")
    line = refused("simulate", "lirs", "groups=absent.tsv", source, cwd=folder)
    assert f"{folder}/absent.tsv" in line
    done = harness.run([harness.shufflectl(), "simulate", "lirs",
                        "groups=folds.tsv", source], cwd=folder, check=False)
    assert "must be" not in done.stderr


def test_warmup_of_nothing_is_an_error_as_check_says(folder):
    (folder / "empty").mkdir()
    told = {refused(command, folder / "empty") for command in ("check",
                                                               "warmup")}
    assert told == {f"shufflectl: {folder}/empty: there are no files; name the "
                    "dataset's directory"}
    line = refused("warmup", "--limit", "0", folder / "empty")
    assert line == "shufflectl: --limit 0: must be more than 0"


def test_absolute_paths_need_no_working_directory(source, folder):
    """Relative ones are of a directory that is gone."""
    for name in ("mnt", "gone"):
        (folder / name).mkdir()
    script = ('cd "$1"; rmdir "$1"; shift; exec "$@"', "sh", folder / "gone")
    words = [harness.shufflefs(), "-o", f"state={folder}/state,policy=lirs"]
    done = harness.run(["sh", "-c", *script, *words, source, folder / "mnt"])
    assert harness.mount_types(folder / "mnt") == ["fuse.shufflefs"], done
    harness.run([harness.shufflectl(), "umount", folder / "mnt"])
    (folder / "gone").mkdir()
    done = harness.run(["sh", "-c", *script, *words, "source",
                        folder / "mnt"], check=False)
    assert done.returncode != 0
    assert f"{folder}/gone (deleted)/source: No such file" in done.stderr


def test_the_help_of_install_deps_ends_with_a_sentence():
    script = harness.EXAMPLES.parent / "mount-tools" / "install-deps.sh"
    done = harness.run(["bash", script, "--help"])
    head = script.read_text().split("\nset -euo")[0].splitlines()
    assert done.stdout.splitlines() == [
        re.sub("^# ?", "", line) for line in head[3:]]
    assert done.stdout.endswith(".\n")
