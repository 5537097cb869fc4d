#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what the project's sources weigh.

The lines of C++ outside tests, the folders with most files, the classes with
most lines of implementation, and what the example policy and format of
tests/examples took: their lines, and the files that the addition touched, which
are the example's own pair and the list that enters it. Counts blank lines and
comments, too.
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
# These have another limit. The first is to become smaller.
MOST_LINES_OF = {"RecordProducer (core/records/content)": 515,
                 "View (core/view)": 350}
MOST_SOURCES = 2
# Of each example: its files, the symbol of its entry, and the most lines.
EXAMPLES = (("policy", "reverse_policy", "kReverseEntry", 60),
            ("format", "framed_format", "FramedFormat", 120))
MOST_TOUCHED = 3
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


def example_files(stem: str) -> list[pathlib.Path]:
    return [ROOT / "tests/examples" / f"{stem}{suffix}"
            for suffix in (".h", ".cc")]


def touched(stem: str, symbol: str) -> list[pathlib.Path]:
    """The sources that hold an example or know it, without its tests."""
    return [file for file in sources(*CODE, "tests/examples")
            if not file.name.endswith("_test.cc")
            and (file in example_files(stem)
                 or re.search(rf"\b{symbol}\b|/{stem}\.h",
                              file.read_text()))]


def costly_examples() -> list[str]:
    """What the addition of a policy or a format may not take."""
    wrong = []
    for kind, stem, symbol, most in EXAMPLES:
        lines = sum(len(lines_of(file)) for file in example_files(stem))
        if lines > most:
            wrong.append(f"the example {kind}: {lines} lines, not {most}")
        files = touched(stem, symbol)
        if len(files) > MOST_TOUCHED:
            wrong.append(f"the example {kind} touches {len(files)} files, not "
                         f"{MOST_TOUCHED}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--most", type=int, default=8,
                        help="folders and classes to print (default: 8)")
    parser.add_argument("--check", action="store_true",
                        help="print only what is too large, and fail if "
                             "anything is")
    args = parser.parse_args()
    if args.check:
        wrong = too_large() + costly_examples()
        print("\n".join(wrong))
        return 1 if wrong else 0
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

    for kind, stem, symbol, _ in EXAMPLES:
        files = touched(stem, symbol)
        print(f"files that the example {kind} touched: {len(files)}; lines")
        for file in files:
            print(f"  {len(lines_of(file)):6}  {file.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
