#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what the project's sources weigh.

The lines of C++ outside tests, the folders with most files, the classes with
most lines of implementation, and what the example policy and format of
tests/examples took: each is one file and one line of the list that registers
it. Counts blank lines and comments, too.
"""
import argparse
import collections
import pathlib
import re
import sys
from collections.abc import Iterable

ROOT = pathlib.Path(__file__).resolve().parents[2]
CODE = ("core", "fs", "policies", "peers", "mount-tools", "examples")
MOST_LINES = 500  # of a class
# These may have another number. The first two are to become smaller.
MOST_LINES_OF = {"RecordPool (core/records/content)": 550,
                 "Supply (core/pool)": 550,
                 "View (core/view)": 350}
MOST_SOURCES = 2
# The first line of a member function's definition, from which the class is
# taken; its last line is a brace of its own.
MEMBER = re.compile(r"^(?:[\w:<>,*&~\[\]() ]+[ *&])?([A-Z]\w*)::~?[\w=<>!]+\(")


def sources(*folders: str) -> list[pathlib.Path]:
    """The C++ files below folders of the project."""
    return sorted(file for folder in folders
                  for file in (ROOT / folder).rglob("*")
                  if file.suffix in (".h", ".cc"))


def lines_of(file: pathlib.Path) -> list[str]:
    return file.read_text().splitlines()


def class_lines(lines: Iterable[str]) -> collections.Counter[str]:
    """Lines of member functions, by class."""
    counts: collections.Counter[str] = collections.Counter()
    inside = ""
    for line in lines:
        member = MEMBER.match(line)
        if not inside and member and not line.rstrip().endswith(";"):
            inside = member[1]
        if inside:
            counts[inside] += 1
        if line.startswith("}") or line.rstrip().endswith("{}"):
            inside = ""
    return counts


def classes() -> list[tuple[int, str, int]]:
    """(lines, class, sources) of each class, the largest first."""
    lines: collections.Counter[str] = collections.Counter()
    files: collections.Counter[str] = collections.Counter()
    for file in sources(*CODE):
        if file.suffix != ".cc":
            continue
        for name, count in class_lines(lines_of(file)).items():
            # Classes of one name in two folders are two classes.
            key = f"{name} ({file.parent.relative_to(ROOT)})"
            lines[key] += count
            files[key] += 1
    return [(count, name, files[name]) for name, count in lines.most_common()]


def too_large() -> list[str]:
    """What a class may not be: long, or cut into many sources."""
    return [f"{name}: {lines} lines in {files} sources"
            for lines, name, files in classes()
            if lines > MOST_LINES_OF.get(name, MOST_LINES)
            or files > MOST_SOURCES]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--most", type=int, default=8,
                        help="folders and classes to print (default: 8)")
    parser.add_argument("--check", action="store_true",
                        help="print only the classes that are too large, and "
                             "fail if there are any")
    args = parser.parse_args()
    if args.check:
        print("\n".join(too_large()))
        return 1 if too_large() else 0
    print_all(args.most)
    return 0


def print_all(most: int) -> None:

    print("lines of C++ outside tests")
    total = 0
    for folder in CODE:
        count = sum(len(lines_of(file)) for file in sources(folder))
        total += count
        print(f"  {count:6}  {folder}")
    print(f"  {total:6}  together")

    print("files a folder")
    folders = collections.Counter(file.parent.relative_to(ROOT)
                                  for file in sources(*CODE))
    for path, files in folders.most_common(most):
        print(f"  {files:6}  {path}")

    print("lines a class, and in how many sources")
    for lines, name, files in classes()[:most]:
        print(f"  {lines:6}  {files}  {name}")

    print("lines of the examples in tests/examples")
    for file in sources("tests/examples"):
        print(f"  {len(lines_of(file)):6}  {file.name}")


if __name__ == "__main__":
    sys.exit(main())
