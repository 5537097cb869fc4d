#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Small wrong changes of the program, and whether the tests notice them.

  mutants.py                       # all of them; an hour on two busy cores
  mutants.py --area ledger tar     # of these tables
  mutants.py --only 'retained|crc'  # whose names match
  mutants.py --check               # builds nothing: do the tables still fit?

The tables are the .toml files beside this program, one an area. A mutant is

  [[mutant]]
  name = "short and unique"
  file = "core/…"
  old = '''text that stands in the file once'''
  new = '''what stands there instead'''
  tests = ["core/x_test.cc", "mount/test_y.py::test_z"]
  why = "what would go wrong for a user"
  equivalent = "why no test can tell it"   # only if that is so

Each is applied by itself to a copy of the tree. Its tests are built and run one
by one: those it names, then those that any mutant of its table names, and with
--all every unit test. The first that fails, or does not end, kills the mutant,
and no other is built. In the copy each source of tests is a program of its own,
so that little is linked. Code is compiled for a short build, not for speed.
Behind a mutant the object that was compiled without it is put back. Mount tests
run with --mount only: they need the daemon to be linked. With
--mount=living they run only for mutants that no unit test kills.

Prints a line a mutant and a summary. The status is 0 if none lives that is not
argued to be equivalent, 1 if one does, 2 on wrong usage or if a test fails
without any mutant.
"""
import argparse
import collections
import contextlib
import dataclasses
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEYS = {"name", "file", "old", "new", "tests", "why"}
TIME_OUT = 300  # seconds, of one run of mount tests, or without a mutant
MORE_TIME = (30, 10)  # seconds, and a factor of what it took without a mutant


@dataclasses.dataclass(frozen=True)
class Mutant:
    area: str
    name: str
    file: str
    old: str
    new: str
    tests: tuple
    why: str
    equivalent: str = ""

    def unit_tests(self):
        return [test for test in self.tests if not test.startswith("mount/")]

    def mount_tests(self):
        return [test for test in self.tests if test.startswith("mount/")]


class Failure(Exception):
    """Ends the program with its words."""


def say(words):
    print(words, file=sys.stderr, flush=True)


def tables():
    """All mutants, by the order of tables and inside them."""
    out = []
    for path in sorted(HERE.glob("*.toml")):
        with open(path, "rb") as file:
            table = tomllib.load(file)
        for entry in table["mutant"]:
            keys = set(entry) - {"equivalent"}
            if keys != KEYS:
                raise Failure(f"{path.name}: {entry.get('name')}: the keys are "
                              f"{sorted(keys)}, not {sorted(KEYS)}")
            entry["tests"] = tuple(entry["tests"])
            out.append(Mutant(area=path.stem, **entry))
    return out


def faults_of(mutant):
    """What is wrong with an entry of a table, as lines."""
    where = f"{mutant.area}: {mutant.name}"
    path = ROOT / mutant.file
    if not path.is_file():
        yield f"{where}: {mutant.file} is gone"
        return
    count = path.read_text().count(mutant.old)
    if count != 1:
        yield (f"{where}: its text stands {count} times in {mutant.file}: "
               f"adapt the table to the code")
    if mutant.old == mutant.new:
        yield f"{where}: changes nothing"
    if not mutant.unit_tests() and not mutant.mount_tests():
        yield f"{where}: names no test"
    for test in mutant.tests:
        source, _, case = test.partition("::")
        found = ROOT / "tests" / source
        wanted = f"def {case}(" if case else ""
        if not found.is_file() or wanted not in found.read_text():
            yield f"{where}: there is no test {test}"


def check(mutants):
    faults = [fault for mutant in mutants for fault in faults_of(mutant)]
    twice = collections.Counter(mutant.name for mutant in mutants)
    faults += [f"{name}: a name of {count} mutants"
               for name, count in twice.items() if count > 1]
    return faults


# A program of one source of tests, with no more libraries than it includes.
PROGRAM = """
add_executable({program} {sources} $<TARGET_OBJECTS:test_main>)
target_include_directories({program} PRIVATE ${{CMAKE_SOURCE_DIR}})
target_compile_options({program} PRIVATE ${{test_options}})
target_link_libraries({program} PRIVATE shufflefs_flags {libraries}
                      GTest::gmock)
target_precompile_headers({program} REUSE_FROM test_main)
"""

# To compile and link once more is what a mutant costs.
SETTINGS = ["-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"]
if shutil.which("ld.lld"):
    SETTINGS.append("-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld")


def program_of(source):
    return "only_" + re.sub("[/.]", "_", source)


def cmake_of(source):
    """What a CMakeLists.txt says of the program of a source of tests."""
    text = (ROOT / "tests" / source).read_text()
    libraries = "shufflefs_policies shufflefs_fs"
    if '"mount-tools/' in text:
        libraries = "shufflefs_mount_tools"
    sources = source
    if source == "policies/contract_test.cc":
        sources += " examples/reverse_policy.cc"
    return PROGRAM.format(program=program_of(source), sources=sources,
                          libraries=libraries)


class Tree:
    """A copy of the repository and its build."""

    def __init__(self, folder, jobs):
        self.folder, self.jobs = folder, jobs
        self.build = folder / "build" / "release"

    def refresh(self, sources):
        """Files that are as before keep their time: less is built anew."""
        listed = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], check=True, capture_output=True, text=True)
        names = [name for name in listed.stdout.split("\0")
                 if name and (ROOT / name).is_file()]
        for name in names:
            data = (ROOT / name).read_bytes()
            if name == "tests/CMakeLists.txt":
                data += "".join(map(cmake_of, sources)).encode()
            copy = self.folder / name
            if copy.is_file() and copy.read_bytes() == data:
                continue
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
            shutil.copymode(ROOT / name, copy)
        self._run(["cmake", "--preset", "release", *SETTINGS])

    @contextlib.contextmanager
    def changed(self, mutant):
        """The tree with a mutant. Behind it the source's object is put back,
        so that it is not compiled again."""
        path = self.folder / mutant.file
        original, times = path.read_text(), path.stat()
        objects = [found for found in self.build.rglob(f"{path.name}.o")
                   if found.as_posix().endswith(f"/{mutant.file}.o")]
        for built in objects:
            built.rename(built.with_suffix(".kept"))
        path.write_text(original.replace(mutant.old, mutant.new))
        try:
            yield
        finally:
            path.write_text(original)
            for built in objects:
                built.with_suffix(".kept").rename(built)
                os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            for library in self.build.glob("libshufflefs_*.a"):
                library.unlink()  # older than the object: made anew

    def _run(self, command):
        done = subprocess.run(command, cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise Failure(f"{command[0]} failed:\n{done.stdout[-4000:]}")
        return done.stdout

    def all_programs(self):
        """Those of all unit and model tests."""
        targets = self._run(["ninja", "-C", self.build, "-t", "targets", "all"])
        found = re.findall(r"^tests/(\w[\w-]*_tests):", targets,
                           re.MULTILINE)
        return sorted(program for program in set(found)
                      if not program.startswith(("meta", "docs")))

    def make(self, targets):
        """Whether they build."""
        return subprocess.run(
            ["ninja", "-C", self.build, "-j", str(self.jobs), *targets],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL).returncode == 0


def run(command, folder, environment=None, limit=TIME_OUT):
    """The output of a program that failed; "" if it did not. One that does not
    end has failed."""
    process = subprocess.Popen(command, cwd=folder, text=True, env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "[  FAILED  ] did not end (0 ms)"
    if process.returncode == 0:
        return ""
    return output or f"status {process.returncode}"


def first_failure(output):
    for pattern in (r"^\[  FAILED  \] (\S.*?)(?:, where .*)? \(\d+ ms\)",
                    r"^FAILED (\S+)", r"^\[ RUN      \] (\S+)$"):
        found = re.findall(pattern, output, re.MULTILINE)
        if found:
            # What crashed is the last that was begun.
            return found[-1] if "RUN" in pattern else found[0]
    return output.strip().rsplit("\n", 1)[-1][:80]


class Tests:
    def __init__(self, tree, options, mutants):
        self.tree, self.options = tree, options
        self.limits = {}
        self.of_area = collections.defaultdict(list)
        for mutant in mutants:
            for source in mutant.unit_tests():
                if source not in self.of_area[mutant.area]:
                    self.of_area[mutant.area].append(source)

    def unit(self, program):
        """What fails of a program; "" if nothing does."""
        output = run([self.tree.build / "tests" / program,
                      "--gtest_fail_fast"], self.tree.folder,
                     limit=self.limits.get(program, TIME_OUT))
        return first_failure(output) if output else ""

    def mounted(self, mutant):
        environment = {
            **os.environ,
            "SHUFFLEFS_BIN": str(self.tree.build / "mount-tools/shufflefs"),
            "SHUFFLECTL_BIN": str(self.tree.build / "mount-tools/shufflectl")}
        for test in mutant.mount_tests():
            output = run(["/usr/bin/python3", "-B", "-m", "pytest", "-qx", "-p",
                          "no:cacheprovider", test.removeprefix("mount/")],
                         self.tree.folder / "tests" / "mount", environment)
            if output:
                return first_failure(output)
        return ""

    def stages(self, mutant):
        """What to build and what to run then, the likely killers first."""
        def stage(program):
            return [program], lambda: self.unit(program)

        def mount():
            if mutant.mount_tests():
                yield (["shufflefs", "shufflectl"],
                       lambda: self.mounted(mutant))

        named = [program_of(source) for source in mutant.unit_tests()]
        others = [program_of(source) for source in self.of_area[mutant.area]]
        yield from map(stage, named)
        if self.options.mount == "all":
            yield from mount()
        yield from (stage(other) for other in others if other not in named)
        if self.options.all:
            yield from map(stage, self.tree.all_programs())
        if self.options.mount == "living":
            yield from mount()

    def verdict(self, mutant):
        """(killed, lived or does not build; by what)."""
        for targets, test in self.stages(mutant):
            if not self.tree.make(targets):
                return "does not build", ""
            by = test()
            if by:
                return "killed", by
        return "lived", ""

    def baseline(self, area):
        """Without a mutant all tests have to pass. How long each takes says
        when one with a mutant does not end."""
        programs = [program_of(source) for source in self.of_area[area]]
        programs = [program for program in programs
                    if program not in self.limits]
        targets = programs + (["shufflefs", "shufflectl"]
                              if self.options.mount else [])
        say(f"{area}: building {len(targets)} programs")
        if not self.tree.make(targets):
            raise Failure("the tests do not build as they are: ninja -C "
                          f"{self.tree.build} {' '.join(targets)}")
        say("testing without any mutant")
        for program in programs:
            begun = time.monotonic()
            by = self.unit(program)
            if by:
                raise Failure(f"fails without any mutant: {by}")
            least, factor = MORE_TIME
            self.limits[program] = least + factor * (time.monotonic() - begun)


def test(tree, mutants, options):
    tests = Tests(tree, options, mutants)
    area = ""
    results = collections.Counter()
    living = []
    for number, mutant in enumerate(mutants, 1):
        if mutant.area != area:
            area = mutant.area
            tests.baseline(area)
        begun = time.monotonic()
        with tree.changed(mutant):
            verdict, by = tests.verdict(mutant)
        results[verdict] += 1
        print(f"{verdict:14} {mutant.area}: {mutant.name}"
              f"{f' ({by})' if by else ''}", flush=True)
        say(f"{number} of {len(mutants)}, "
            f"{time.monotonic() - begun:.0f} s, {dict(results)}")
        if verdict != "killed" and not mutant.equivalent:
            living.append(mutant)
    print(f"\n{len(mutants)} mutants: " +
          ", ".join(f"{count} {verdict}" for verdict, count in results.items()))
    for mutant in living:
        print(f"lives: {mutant.area}: {mutant.name}, {mutant.file}: "
              f"{mutant.why}")
    return 1 if living else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--area", nargs="+", metavar="TABLE",
                        help="mutants of these tables only")
    parser.add_argument("--only", metavar="REGEX",
                        help="mutants whose names match")
    parser.add_argument("--check", action="store_true",
                        help="only whether each text still stands in its file")
    parser.add_argument("--list", action="store_true",
                        help="print the mutants, and end")
    parser.add_argument("--all", action="store_true",
                        help="what lives has to pass every unit test")
    parser.add_argument("--mount", nargs="?", const="all",
                        choices=["all", "living"],
                        help="the mount tests that are named, too (as root)")
    parser.add_argument("--folder", type=pathlib.Path, metavar="DIR",
                        help="keep the copy of the tree and its build here, "
                        "for the next run")
    parser.add_argument("--jobs", type=int, default=2, metavar="N",
                        help="compilers at once (default: 2)")
    options = parser.parse_args()
    mutants = [mutant for mutant in tables()
               if (not options.area or mutant.area in options.area) and
               (not options.only or re.search(options.only, mutant.name))]
    if not mutants:
        parser.error("there are no such mutants")
    if options.list:
        for mutant in mutants:
            print(f"{mutant.area}: {mutant.name} ({mutant.file}): {mutant.why}")
        return 0
    faults = check(mutants)
    if faults:
        raise Failure("\n".join(faults))
    if options.check:
        print(f"{len(mutants)} mutants fit the code")
        return 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        tree = Tree((options.folder or pathlib.Path(scratch)).resolve(),
                    options.jobs)
        tree.refresh(sorted({source for mutant in mutants
                             for source in mutant.unit_tests()}))
        return test(tree, mutants, options)


if __name__ == "__main__":
    # So that a copy that is kept is left as it was.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"mutants.py: {failure}", file=sys.stderr)
        sys.exit(2)
