#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The README of each folder: exits 1 and names what is wrong.

  readmes.py

A folder with more than ten files has a README.md, which says what the folder is
for and what to read first. It has at most 60 lines: a newcomer reads it whole
before the code. What is longer gets a page of its own beside it. The README at
the top and those of docs are for users, and may be longer.

A name in backticks that looks like a C++ type or function, such as `OpenReply`
or `View::Lookup`, is in a source outside comments, and outside tests unless the
page is about tests. So no page of a source folder names what is gone.
"""
import collections
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST_FILES = 10  # of a folder without a README
MOST_LINES = 60
# Each file of a corpus is an input of a fuzz target, and would be one if it was
# a README. tests/fuzz/README.md says what they are.
NO_README = ("tests/fuzz/corpus",)
FOR_USERS = (".", "docs")
CODE = (".h", ".cc", ".py", ".proto")
SPAN = re.compile(r"`([^`\n]+)`")
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# `View`, `OpenReply`, `View::Lookup`, `Grouping::Piece`, `LastAnswer<T>`.
NAME = re.compile(r"((?:\w+::)*[A-Z]\w*[a-z]\w*(?:::~?\w+)*)(?:<.*>|\(\))?")
COMMENT = re.compile(r"//.*")


def files() -> list[pathlib.Path]:
    """What git knows or would add, relative to the root."""
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached",
         "--others", "--exclude-standard"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if listed.returncode == 0:
        # A file that was removed, but not from the index yet, is gone.
        return [pathlib.Path(name) for name in listed.stdout.split("\0")
                if name and (ROOT / name).is_file()]
    # An archive without git's folder.
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*")
             if path.is_file())
    return [path for path in found if path.parts[0] != "build"
            and "__pycache__" not in path.parts]


def needs_no_readme(folder: pathlib.Path) -> bool:
    return any(folder.is_relative_to(path) for path in NO_README)


def missing(paths: list[pathlib.Path]) -> Iterator[str]:
    counts = collections.Counter(path.parent for path in paths)
    for folder, count in sorted(counts.items()):
        if (count > MOST_FILES and not needs_no_readme(folder)
                and folder / "README.md" not in paths):
            yield f"{folder}: {count} files and no README.md"


def too_long(paths: list[pathlib.Path]) -> Iterator[str]:
    for path in sorted(paths):
        if path.name != "README.md" or str(path.parent) in FOR_USERS:
            continue
        lines = (ROOT / path).read_text().count("\n")
        if lines > MOST_LINES:
            yield f"{path}: {lines} lines, at most {MOST_LINES}"


def words(path: pathlib.Path) -> set[str]:
    """The identifiers of a source, without those of C++ comments."""
    text = (ROOT / path).read_text()
    if path.suffix != ".py":
        text = COMMENT.sub("", text)
    return set(re.findall(r"\w+", text))


def named(page: pathlib.Path) -> set[str]:
    """What a page names in backticks that looks like C++."""
    text = BLOCK.sub("", (ROOT / page).read_text())
    spans = (NAME.fullmatch(span) for span in SPAN.findall(text))
    return {match[1] for match in spans if match}


def is_in(name: str, sources: list[set[str]]) -> bool:
    """Whether one source has all parts of a name, as a header does."""
    parts = {part.lstrip("~") for part in name.split("::")}
    # InvalidArgument is the code that InvalidArgumentError makes.
    return any(parts <= source or f"{name}Error" in source
               for source in sources)


def gone(paths: list[pathlib.Path]) -> Iterator[str]:
    sources = {path: words(path) for path in paths if path.suffix in CODE}
    # What only tests have does not keep a name of the program alive.
    program = [found for path, found in sources.items()
               if path.parts[0] != "tests"]
    for page in sorted(paths):
        # Pages for users name classes of other programs, and earlier ones.
        if page.suffix != ".md" or str(page.parent) in FOR_USERS:
            continue
        of_tests = page.parts[0] == "tests"
        for name in sorted(named(page)):
            if not is_in(name, list(sources.values()) if of_tests else program):
                yield f"{page}: no source has `{name}`"


def main() -> int:
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    paths = files()
    faults = [fault for check in (missing, too_long, gone)
              for fault in check(paths)]
    print("\n".join(faults) or f"{len(paths)} files, nothing wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
