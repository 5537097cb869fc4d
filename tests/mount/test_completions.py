# SPDX-License-Identifier: Apache-2.0
"""What bash, fish and zsh complete is what the programs take.

tests/docs/completions_test.cc holds bash to the table of keys.
"""
import os
import pathlib
import re

import pytest

import harness
import trees

COMPLETIONS = harness.EXAMPLES.parent / "mount-tools" / "completions"
SHELLS = ("bash", "fish", "zsh")
SWITCHES = {"ro", "rw", "allow_other", "config="}


def environment(folder):
    path = [os.path.dirname(harness.shufflefs()),
            os.path.dirname(harness.shufflectl()), os.environ["PATH"]]
    return {"PATH": ":".join(path), "HOME": str(folder), "TERM": "dumb"}


def bash(line, folder):
    """As readline does, a word is broken at `=`."""
    words = line.split(" ")
    broken = [part for word in words for part in re.split("(=)", word)
              if part or word == ""] + [""] * line.endswith("=")
    quoted = " ".join(f"'{word}'" for word in broken)
    script = (f". {COMPLETIONS / words[0]}\nCOMP_WORDS=({quoted})\n"
              f"COMP_CWORD={len(broken) - 1}\nCOMP_LINE='{line}'\n"
              f"COMP_POINT={len(line)}\n_{words[0]}\n"
              "printf '%s\\n' \"${COMPREPLY[@]}\"\n")
    return harness.run(["bash", "-c", script], env=environment(folder)).stdout


def bash_quotes(line, folder):
    """Whether readline is told that these are names, which it then quotes."""
    words = " ".join(f"'{word}'" for word in line.split(" "))
    script = (f". {COMPLETIONS / 'shufflectl'}\n"
              'compopt() { printf "%s" "$*"; }\n'
              f"COMP_WORDS=({words})\nCOMP_CWORD={line.count(' ')}\n"
              f"COMP_LINE='{line}'\nCOMP_POINT={len(line)}\n_shufflectl\n")
    done = harness.run(["bash", "-c", script], env=environment(folder))
    return done.stdout == "-o filenames"


def fish(line, folder):
    script = (f"source {COMPLETIONS / 'shufflefs.fish'}; "
              f"source {COMPLETIONS / 'shufflectl.fish'}; complete -C '{line}'")
    done = harness.run(["fish", "--no-config", "-c", script],
                       env=environment(folder))
    assert done.stderr == ""
    return re.sub("\t.*", "", done.stdout)


def zsh(line, folder):
    script = pathlib.Path(__file__).with_name("complete.zsh")
    offered = folder / "offered"
    offered.write_text("")
    harness.run(["zsh", "-f", script, COMPLETIONS, offered, line],
                env=environment(folder))
    return offered.read_text()


@pytest.fixture(params=SHELLS)
def complete(request, folder):
    """complete(line): the candidates, without what the line has of a list."""
    shell = globals()[request.param]

    def candidates(line):
        typed = line.rsplit(" ", 1)[1]
        # bash offers what follows the last `=` only.
        before = re.match("(.*,)?([^=]*=)?", typed)[0]
        found = set()
        for word in shell(line, folder).splitlines():
            whole = word.removeprefix(before)
            found.add(whole.removeprefix(before.rsplit("=", 1)[-1] or before))
        return found - {"", "--"}
    candidates.shell = request.param
    return candidates


def help_of(program, *arguments):
    return harness.run([program, *arguments, "--help"]).stdout


def commands():
    found = re.findall(r"^  ([a-z]+) ", help_of(harness.shufflectl()), re.M)
    assert len(found) > 12
    return found


def keys():
    text = harness.run([harness.shufflefs(), "--help=all"]).stdout
    text = text.split("\nkeys (")[1].split("\n\n")[0]
    found = re.findall(r"^  ([a-z_.]+) ", text, re.M)
    assert len(found) > 30
    return found


def words_of(key, folder):
    """The values of a key that has words for values, as the program says."""
    done = harness.run([harness.shufflefs(), "-o", f"{key}=?", folder / "absent",
                        folder], check=False, cwd=folder)
    assert done.returncode != 0
    values = re.search(r"must be (.*)", done.stderr)
    words = re.split(", | or ", values[1]) if values else []
    if not all(re.fullmatch("[a-z]+", word) for word in words):
        return set(words) & {"all"}
    return set(words)


def test_commands(complete):
    assert complete("shufflectl ") | {"--help", "--version"} == {
        *commands(), "--help", "--version"}
    assert complete("shufflectl --") == {"--help", "--version"}
    assert complete("shufflectl st") == {"status"}


def test_options_of_each_command(complete):
    for command in commands():
        text = help_of(harness.shufflectl(), command)
        options = set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", text, re.M))
        assert "--help" in options
        assert complete(f"shufflectl {command} x --") == options, command


def test_options_of_shufflefs(complete):
    text = help_of(harness.shufflefs()).split("\nkeys (")[0]
    options = set(re.findall(r"(?<=[ ,])(--[a-z]+)", text))
    assert len(options) == 5
    assert complete("shufflefs --") == options


def test_keys(complete):
    expected = {f"{key}=" for key in keys()}
    assert complete("shufflefs -o ") == expected | SWITCHES
    assert complete("shufflefs -o ro,se") == {"seed="}
    assert complete("shufflefs -o seed=3,lirs.u") == {"lirs.unit="}


def test_values_of_keys(complete, folder):
    found = {}
    for key in keys():
        found[key] = words_of(key, folder)
        assert complete(f"shufflefs -o ro,{key}=") == found[key], key
    assert found["policy"] >= {"auto", "lirs", "brand"}
    assert found["met.adapt"] == {"off", "score", "bollinger"}
    assert found["epoch.length"] == {"all"}
    assert complete("shufflefs -o seed=1,policy=li") == {"lirs"}


def test_policies_and_settings(complete, folder):
    policies = words_of("policy", folder)
    for command in ("policy", "simulate"):
        offered = complete(f"shufflectl {command} ")
        assert offered - {f"{key}=" for key in keys()} >= policies
    settings = {word for word in complete("shufflectl policy lirs ")
                if word.endswith("=")}
    assert settings == {word for word in bash("shufflectl policy lirs ",
                                              folder).split()
                        if word.endswith("=")}
    assert "seed=" in settings and "memory=" not in settings


def test_values_of_options(complete):
    assert complete("shufflectl pack --align ") == {"page"}
    assert complete("shufflectl pack --fit ") == {"next", "best"}
    assert complete("shufflectl pack --page ") == set()
    assert complete("shufflectl simulate --refill ") == {"none", "random",
                                                        "fill-rate"}


def test_mount_points(complete, mounts, folder):
    source = trees.class_folders(folder / "source")
    mount = mounts(source, {"policy": "lirs"})
    for line in ("status ", "umount ", "epoch -m ", "verify "):
        assert str(mount.path) in complete(f"shufflectl {line}"), line


def test_keys_of_a_run(complete):
    assert complete("shufflectl run -o pol") == {"policy="}
    assert complete("shufflectl bench -o ro,pair=") == {"off", "stem"}


# Nothing in the name of a mount point is run.
ODD = ["a b\\c", "it's", 'say "so"', "$(touch${IFS}pwned)", "`touch pwned`",
       "*", "~", "x;y", "#"]


def test_odd_mount_points(mounts, folder):
    source = trees.class_folders(folder / "source")
    (folder / "m").mkdir()
    odd = [folder / "m" / name for name in ODD]
    for each in odd:
        mounts(source, {"policy": "lirs"}, mountpoint=each)
    expected = {str(each) for each in odd}
    for shell in (zsh, fish):
        offered = shell("shufflectl status ", folder).splitlines()
        assert expected <= set(offered), shell
    for command in ("status ", "umount ", "epoch -m "):
        offered = bash(f"shufflectl {command}{folder}/m/", folder).splitlines()
        assert len(offered) == len(odd), offered
        words = harness.run(["bash", "-c", "printf '%s\\n' " + " ".join(offered)],
                            cwd=folder).stdout.splitlines()
        assert set(words) == expected
    assert not list(folder.rglob("pwned")) and not os.path.exists("pwned")


@pytest.mark.parametrize("line", [
    "run --config ", "verify --with ", "umount --state ", "token --save ",
    "token --restore ", "doctor -o "])
def test_bash_quotes_the_names_of_files(folder, line):
    (folder / "a $(touch b)").mkdir()
    assert bash_quotes(f"shufflectl {line}{folder}/", folder)
