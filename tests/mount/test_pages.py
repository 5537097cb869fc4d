# SPDX-License-Identifier: Apache-2.0
"""What README.md and the pages of docs tell readers to type works.

The lines of their blocks of code that call shufflefs, shufflectl or a Python
example are run in their order, page by page. Words that stand for something of
the reader's, such as DATA, are replaced.
"""
import re
import shlex

import pytest

import containers
import harness
import test_start

ROOT = harness.EXAMPLES.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"^(?:\$ )?((?:shufflefs|shufflectl|/usr/bin/python3) .*)")
ACCURACY = re.compile(r"accuracy ([0-9.]+)")
STOP = ("||", "|")  # what follows is the shell's

places = test_start.places


def commands(page):
    """(words, comment) of each command of a page."""
    found = []
    for block in BLOCK.findall(page.read_text()):
        for line in map(PROGRAM.match, block.splitlines()):
            if line is None or "how_it_works" in line[1]:
                continue
            text, _, comment = line[1].partition(" #")
            words = shlex.split(text)
            ends = [words.index(word) for word in STOP if word in words]
            found.append((words[:min(ends, default=len(words))], comment))
    return found


PAGES_WITH_COMMANDS = [page for page in PAGES if commands(page)]


# The reader's own program, which takes `--data DIR`.
TRAIN = """import os, sys
for folder, _, names in os.walk(sys.argv[sys.argv.index("--data") + 1]):
    for name in names:
        open(os.path.join(folder, name), "rb").read()
"""


class Reader:
    """Types commands, one after the other, at a place of the test's own."""

    def __init__(self, folder, mountpoint, state):
        self.mountpoint, self.state = mountpoint, state
        data, shards = folder / "data", folder / "shards"
        harness.run([harness.PYTHON, harness.EXAMPLES / "make_tree.py", data,
                     "--limit", 100], timeout=120)
        shards.mkdir()
        (shards / "x.tfrecord").write_bytes(
            containers.tfrecord([bytes([i]) * 99 for i in range(50)]))
        (folder / "train.py").write_text(TRAIN)
        tier = folder / "tier"
        tier.mkdir()
        self.meant = [
            (r"/tmp/try/mnt", mountpoint), (r"/tmp/try", folder / "try"),
            (r"/data/criteo\.4k", folder / "aligned"),
            (r"/data/criteo", shards), (r"/data/imagenet|\bDATA\b", data),
            (r"/mnt/imagenet|\bMNT\b|\$mnt", mountpoint),
            (r"\bSHARDS\b", shards), (r"\bPACK\b", folder / "pack"),
            (r"\bCKPT\b", folder / "checkpoint"), (r"\$state", state),
            (r"/nvme/tier|(?<=tier.path=)DIR", tier), (r"(?<==)N\b", 2),
            (r"^python$", harness.PYTHON),
            (r"^train\.py$", folder / "train.py"),
            (r"\bFILE\b", harness.EXAMPLES / "shufflefs.toml"),
            (r",?allow_other", ""), (r"200GiB", "64MiB"),
        ]

    def word(self, word):
        for pattern, meant in self.meant:
            word = re.sub(pattern, str(meant), word)
        return word

    def mounted(self):
        return bool(harness.mount_types(self.mountpoint))

    def unmount(self):
        if self.mounted():
            harness.run([harness.shufflectl(), "umount", self.mountpoint])

    def type(self, words):
        """What the command prints; it must not fail."""
        program, *words = map(self.word, words)
        if program == "shufflefs" and len(words) > 1:
            self.unmount()
            words = ["-o", f"state={self.state}", *words]
        elif words[0] == "index":
            self.unmount()
            words += ["--state", str(self.state)]
        elif (str(self.mountpoint) in words and words[0] != "umount"
              and not self.mounted()):
            self.type(["shufflefs", "DATA", "MNT"])
        programs = {"shufflefs": harness.shufflefs(),
                    "shufflectl": harness.shufflectl()}
        return harness.run([programs.get(program, program), *words],
                           timeout=120, cwd=ROOT).stdout


def test_commands_are_found():
    assert len([command for page in PAGES for command in commands(page)]) > 40


@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS,
                         ids=lambda page: page.stem)
def test_its_commands_work(page, folder, places):
    reader = Reader(folder, *places)
    for words, comment in commands(page):
        print(words)
        output = reader.type(words)
        told = re.findall(r"0\.[0-9]+", comment)
        if "accuracy" in comment:
            reached = ACCURACY.findall(output)
            assert len(reached) == len(told) > 0
            for is_now, was in zip(reached, told):
                assert abs(float(is_now) - float(was)) < 0.1, output
    reader.unmount()
