#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headers.py [--all | --note | HEADER...]

Compiles each header of the programs as if it stood alone. Names those that lack
an include, and exits 1. The build does not see them: its precompiled headers and
unity builds give a header what others included.

All of them take five minutes of a processor. So headers.checked has a hash of
each header that passed, and of all headers of the project that it includes. Only
headers with another hash are compiled. `--note` writes the file anew if all pass;
commit it with the headers. `--all` compiles all, whatever the file says: after a change of the compiler or a
library, too.

To compile them one by one would take six minutes. Here a compiler
takes a row of headers, in which each includes all those before it, and begins
with precompiled headers of libraries that all of the row include. So each still
finds only what it includes itself.
"""
import functools
import hashlib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterable

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("core", "fs", "policies", "mount-tools")
CHECKED = pathlib.Path(__file__).with_name("headers.checked")
INCLUDE = re.compile(r'^#include ["<]([^">]+)[">]', re.MULTILINE)
PRECOMPILING = 2.0  # what it costs, as a multiple of parsing
Names = frozenset[str]


def compiler(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command(), *arguments], cwd=ROOT, input=text,
                          text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)


@functools.cache
def command() -> list[str]:
    flags = subprocess.check_output(
        ["pkg-config", "--cflags", "fuse3", "liburing"], text=True)
    return [os.environ.get("CXX", "c++"), "-std=c++20", "-w", *shlex.split(flags),
            "-DFUSE_USE_VERSION=314", "-I."]


def text_of(included: Iterable[str]) -> str:
    return "".join(f"#include <{name}>\n" for name in included)


def headers() -> dict[str, list[str]]:
    """What each header includes, by the names that it writes."""
    return {str(path.relative_to(ROOT)): INCLUDE.findall(path.read_text())
            for folder in FOLDERS for path in (ROOT / folder).rglob("*.h")}


def closures(direct: dict[str, list[str]]) -> dict[str, Names]:
    """Each header and all that it includes, by others of the project too."""
    @functools.cache
    def closure(name: str) -> Names:
        return frozenset({name}).union(*map(closure, direct.get(name, ())))
    return {name: closure(name) for name in direct}


def hashes(known: dict[str, Names]) -> dict[str, str]:
    """Of each header, with all of the project that it includes."""
    @functools.cache
    def hash_of(name: str) -> str:
        return hashlib.sha256((ROOT / name).read_bytes()).hexdigest()
    return {name: hashlib.sha256("".join(
                hash_of(other) for other in sorted(closure) if other in known
            ).encode()).hexdigest()[:16]
            for name, closure in known.items()}


def noted() -> dict[str, str]:
    lines = CHECKED.read_text().splitlines() if CHECKED.exists() else []
    return dict(line.split()[::-1] for line in lines)


def rows(known: dict[str, Names]) -> list[list[str]]:
    """All headers, in rows in which each includes those before it."""
    left = sorted(known, key=lambda name: (-len(known[name]), name))
    made = []
    while left:
        row = left[:1]
        for name in left[1:]:
            if known[name] < known[row[-1]]:
                row.append(name)
        left = [name for name in left if name not in row]
        made.append(row[::-1])
    return made


class Libraries:
    """The headers of libraries, and which files each reads."""

    def __init__(self, names: Iterable[str]) -> None:
        self._files = {name: self._files_of(name) for name in sorted(names)}

    @staticmethod
    def _files_of(name: str) -> Names:
        done = compiler("-M", "-x", "c++", "-", text=text_of([name]))
        return frozenset(word for word in done.stdout.split()
                         if word.startswith("/"))

    def within(self, names: Names) -> Names:
        """All headers of libraries that these include."""
        files = self._union(names)
        return frozenset(name for name, own in self._files.items()
                         if own <= files)

    @functools.cache
    def cost(self, names: Names) -> int:
        return sum(map(os.path.getsize, self._union(names)))

    def _union(self, names: Names) -> Names:
        return frozenset().union(*(self._files.get(name, frozenset())
                                   for name in names))


def to_precompile(begins: list[Names], libraries: Libraries) -> list[Names]:
    """The sets worth precompiling for rows that begin with these."""
    sets = {one & other for one in begins for other in begins}
    saved = [0] * len(begins)
    chosen: list[Names] = []

    def gain(names: Names) -> float:
        cost = libraries.cost(names)
        return sum(max(0, cost - have) for begin, have in zip(begins, saved)
                   if names <= begin) - PRECOMPILING * cost

    while gain(best := max(sorted(sets, key=sorted), key=gain)) > 0:
        chosen.append(best)
        saved = [max(have, libraries.cost(best)) if best <= begin else have
                 for begin, have in zip(begins, saved)]
    return sorted(chosen, key=libraries.cost, reverse=True)


def precompile(header: pathlib.Path, names: Names) -> None:
    header.write_text(text_of(sorted(names)))
    done = compiler("-x", "c++-header", "-o", f"{header}.gch", str(header))
    if done.returncode:
        sys.exit(done.stderr)


def check(row: list[str], begin: pathlib.Path | None) -> str:
    """What the compiler says of a row: nothing if all is well."""
    first = ["-include", str(begin)] if begin else []
    done = compiler("-fsyntax-only", *first, "-x", "c++", "-", text=text_of(row))
    return done.stderr if done.returncode else ""


def faults_of(known: dict[str, Names], direct: dict[str, list[str]]) -> list[str]:
    """What the compiler says of these headers, by rows: nothing if all is well."""
    libraries = Libraries(frozenset().union(*known.values()) - set(direct))
    all_rows = rows(known)
    begins = [libraries.within(known[row[0]]) for row in all_rows]
    with tempfile.TemporaryDirectory() as folder:
        compiled = {}
        for number, names in enumerate(to_precompile(begins, libraries)):
            compiled[names] = pathlib.Path(folder, f"libraries{number}.h")
            precompile(compiled[names], names)
        return [check(row, next((header for names, header in compiled.items()
                                 if names <= begin), None))
                for row, begin in zip(all_rows, begins)]


def main() -> int:
    direct = headers()
    known = closures(direct)
    now = hashes(known)
    named = sys.argv[1:]
    if named in ([], ["--note"]):
        before = noted()
        chosen = [name for name in direct if before.get(name) != now[name]]
    elif named == ["--all"]:
        chosen = list(direct)
    elif direct.keys() >= set(named):
        chosen = named
    else:
        sys.exit(__doc__)
    faults = faults_of({name: known[name] for name in chosen},
                       direct) if chosen else []
    print("".join(faults), end="")
    print(f"{len(chosen)} headers of {len(direct)} compiled, "
          f"{sum(map(bool, faults))} rows that fail")
    if named == ["--note"] and not any(faults):
        CHECKED.write_text("".join(f"{now[name]} {name}\n"
                                   for name in sorted(now)))
    return 1 if any(faults) else 0


if __name__ == "__main__":
    sys.exit(main())
