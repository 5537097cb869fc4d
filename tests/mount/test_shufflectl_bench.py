# SPDX-License-Identifier: Apache-2.0
"""shufflectl bench: one dataset, raw and through mounts."""
import json
import os
import subprocess

import pytest

import harness
import trees


@pytest.fixture
def source(folder, user):
    root = trees.train_and_val(folder / "data")
    trees.give_to(root, user)
    return root


def environment(place):
    return {**os.environ, "HOME": "/nonexistent",
            "XDG_RUNTIME_DIR": str(place)}


@pytest.fixture
def bench(source, place, user):
    def run(*arguments, check=True, **kwargs):
        return harness.run([harness.shufflectl(), "bench", "--warm", source,
                            *arguments], user=user, env=environment(place),
                           check=check, **kwargs)
    return run


def test_the_policies_that_suit_are_measured(bench):
    lines = bench("--time", "300ms").stdout.splitlines()
    assert lines[0].startswith("190 files, ")
    assert lines[1] == "4 readers, random order, at most 300ms each"
    assert lines[2] == "warm: what is cached stays cached"
    assert lines[3].split() == ["FILES/S", "MIB/S", "AGAINST", "RAW"]
    rows = [line.split() for line in lines[4:-1]]
    assert [row[0] for row in rows] == ["raw", "native", "lirs", "brand"]
    assert rows[0][3] == "1.00x"
    assert all(int(row[1].replace(",", "")) > 0 for row in rows)
    assert lines[-1].startswith(("fastest: ", "no mount was faster"))


def test_a_command_is_measured(bench, folder, user):
    folder.chmod(0o777)
    done = bench("--json", "--policy", "lirs", "-o", "substitute=never", "--",
                 "sh", "-c", 'test "$SHUFFLEFS_MOUNT" = {} && sleep 0.2 && '
                 f"cat {{}}/train/*/* {{}}/val/*/* | md5sum >> {folder}/sums "
                 "&& echo said")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["name"] for row in rows] == ["raw", "lirs"]
    assert all(row["seconds"] > 0.2 and row["trouble"] is None and
               row["cold"] is False for row in rows)
    assert rows[0]["against_raw"] == 1
    assert done.stderr.count("said\n") == 2 and "said" not in done.stdout
    first, second = (folder / "sums").read_text().splitlines()
    assert first == second  # the glob is sorted, and names keep their samples


def test_the_working_directory_stays(bench, folder, source):
    name = next(source.glob("train/c0/*")).relative_to(source)
    (folder / "groups").write_text(f"{name}\tg\n")
    done = bench("--json", "--policy", "native", "--policy", "lirs", "-o",
                 "substitute=directory,groups=groups", "--", "sh", "-c",
                 "pwd >&2", cwd=folder)
    assert done.stderr.count(f"{folder}\n") == 3
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["trouble"] for row in rows] == [None] * 3


def test_what_fails_is_said(bench):
    done = bench("--policy", "native", "--", "sh", "-c", "exit 3", check=False)
    assert done.stdout.count("the command ended with status 3\n") == 2
    done = bench("--policy", "lris", "--time", "10ms", check=False)
    assert "-o: policy = lris: must be" in done.stderr
    assert bench("--time", "soon", check=False).returncode == 2


def test_an_empty_dataset_is_an_error(folder, place):
    (folder / "empty").mkdir()
    done = harness.run([harness.shufflectl(), "bench", folder / "empty"],
                       check=False)
    assert done.returncode == 1 and "empty: holds no files" in done.stderr


def test_who_may_not_drop_caches_is_told(source, place, user):
    if user.uid == 0:  # it would drop those of the whole machine
        return
    done = harness.run([harness.shufflectl(), "bench", "--policy", "native",
                        "--time", "50ms", source], user=user,
                       env=environment(place))
    assert "warm: only root may drop caches" in done.stdout


def test_an_interrupt_leaves_no_mount(source, place, user):
    running = subprocess.Popen(
        harness.as_user(user, [harness.shufflectl(), "bench", "--warm",
                               "--policy", "lirs", source, "--", "sh", "-c",
                               'case {} in */mnt) echo in >&2; exec sleep 1000;'
                               " esac"]),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True, env=environment(place))
    while running.stderr.readline() not in ("in\n", ""):
        pass
    running.terminate()
    _, err = running.communicate(timeout=60 * harness.SLOWDOWN)
    assert running.returncode == 1 and "shufflectl: interrupted\n" in err


@pytest.mark.parametrize("arguments", [
    ["--policy", "nope"], ["--policy", "lirs", "--policy", "nope"],
    ["-o", "memory=x"], ["-o", "nope=1"],
    ["--policy", "lirs", "-o", "seed=1,policy=brand"]])
def test_what_no_mount_takes_is_refused_first(bench, arguments):
    done = bench(*arguments, check=False)
    assert done.returncode == 2, done
    assert done.stdout == "" and done.stderr.count("\n") == 1


def test_no_verdict_without_measurements(bench):
    done = bench("--policy", "lirs", "--", "false", check=False)
    assert done.returncode == 1
    assert done.stdout.count("the command ended with status 1") == 2
    assert "raw: mount only" not in done.stdout
    assert "2 of 2 measurements failed" in done.stderr
