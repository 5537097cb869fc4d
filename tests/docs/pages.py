#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The pages in Markdown, as a whole: exits 1 and names what is wrong.

  pages.py

README.md has at most 180 lines, and its best figures are in docs/benchmarks.md.
What it says of brand on hard disks is the range of the table there.
Every relative link, and every anchor in it, leads somewhere. docs/README.md
lists every page of docs. docs/troubleshooting.md quotes messages that exist.
docs/monitoring.md explains each word that the status has for the end of an
epoch.
The diagram is what its script makes. Whatever names the version names that of
CMakeLists.txt.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
README_LINES = 180
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def pages():
    """Every page but those of builds."""
    return [page for page in sorted(ROOT.rglob("*.md"))
            if not {"build", ".git"} & set(page.relative_to(ROOT).parts)]


def prose(page):
    """The text without blocks of code, which have no links."""
    return CODE.sub("", page.read_text())


def anchors(page):
    """What GitHub makes of the headings: `## A, b` is #a-b."""
    found, seen = set(), {}
    for heading in re.findall(r"^#+ (.+?)\s*$", prose(page), re.MULTILINE):
        words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        name = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.add(f"{name}-{count}" if count else name)
    return found


def broken_links():
    for page in pages():
        for link in LINK.findall(prose(page)):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                yield f"{page.relative_to(ROOT)}: {link} leads nowhere"
            elif anchor and anchor not in anchors(target):
                yield f"{page.relative_to(ROOT)}: {link}: no such heading"


def unlisted_pages():
    listed = set(LINK.findall((ROOT / "docs/README.md").read_text()))
    for page in sorted((ROOT / "docs").glob("*.md")):
        if page.name not in listed | {"README.md"}:
            yield f"docs/README.md: does not list {page.name}"


def readme_faults():
    readme = (ROOT / "README.md").read_text()
    lines = readme.count("\n")
    if lines > README_LINES:
        yield f"README.md: {lines} lines, at most {README_LINES}"
    benchmarks = (ROOT / "docs/benchmarks.md").read_text()
    gains = readme.split("\n## What you gain\n")[1].split("\n## ")[0]
    for figure in re.findall(r"\*\*([0-9.]+)", gains):
        if figure not in benchmarks:
            yield f"README.md: {figure} is not in docs/benchmarks.md"


def range_faults():
    """Of brand as it lies, over all rows of hard disks."""
    benchmarks = (ROOT / "docs/benchmarks.md").read_text()
    table = benchmarks.split("\n## brand: ")[1].split("\n| ")[1:]
    table = "| " + "\n| ".join(table).split("\n\n")[0]
    head, *rows = re.findall(r"^\| (.*) \|$", table, re.MULTILINE)
    column = head.split(" | ").index("brand, as it lies")
    gains = [float(re.search(r"\*\*([0-9.]+)x", row.split(" | ")[column])[1])
             for row in rows if row.startswith("hdd")]
    told = re.search(r"policy=brand DATA MNT` \| ([^|]*) on a hard disk \|",
                     (ROOT / "README.md").read_text())[1]
    found = f"{min(gains):.1f}x to {max(gains):.1f}x"
    if told != found:
        yield f"README.md: brand gains {told}; docs/benchmarks.md has {found}"


def sources():
    """All C++ but tests, with literals that were broken into lines whole."""
    return "".join(re.sub(r'"\s*\n\s*"', "", file.read_text())
                   for folder in ("core", "fs", "mount-tools", "policies")
                   for file in sorted((ROOT / folder).rglob("*.[ch]*"))
                   if file.suffix in (".cc", ".h"))


def unknown_messages():
    page, code = ROOT / "docs/troubleshooting.md", sources()
    others = {os.strerror(number) for number in range(1, 134)}
    others.add("failed to open /dev/fuse")  # libfuse says that
    for row in re.findall(r"^\| (`.*?) \|", page.read_text(), re.MULTILINE):
        for message in re.findall(r"`([^`]+)`", row):
            for part in re.split(r"…|KEY = VALUE|MNT", message):
                if part.strip() not in others and part.strip() not in code:
                    yield f"{page.relative_to(ROOT)}: {message} is no message"


def verdict_faults():
    """The tables of docs/monitoring.md have each word for the end of an epoch.
    """
    def body(file, function):
        text = (ROOT / file).read_text()
        return re.split(rf"(?m)^\w.*\b{function}\(", text)[1].split("\n}")[0]

    detector = "core/epoch/epoch_detector.cc"
    decision = (ROOT / "core/job_epochs/epoch_decision.cc").read_text()
    returned = r'return "(\w+)"'
    known = {
        "epoch_verdict": {
            *re.findall(r"'(\w)'", body(detector, "TestWindows")),
            *re.findall(r"Declare\('(\w)'", (ROOT / detector).read_text()),
            *re.findall(returned, body("core/epoch/epoch_detector.cc",
                                       "VerdictName")),
            *re.findall(r'verdict = "(\w+)"', decision)},
        "epoch_hold_reason": set(
            re.findall(returned, body(detector, "HoldReasonName")))}
    page = (ROOT / "docs/monitoring.md").read_text()
    for field, words in known.items():
        table = page.split(f"\n| `{field}` | ")[-1].split("\n\n")[0]
        cells = [row.split(" | ")[0] for row in table.split("\n")[2:]]
        listed = set(re.findall(r"`(\w+)`", " ".join(cells)))
        if listed != words:
            yield (f"docs/monitoring.md: {field}: has {sorted(listed)}, but "
                   f"the code has {sorted(words)}")


# Where the version is written, but for CMakeLists.txt.
VERSIONS = (
    ("CHANGELOG.md", r"^## \[([^]]+)\]"),  # its newest
    ("CITATION.cff", r'^version: "([^"]+)"$'),
    ("python/shufflefs/_version.py", r'^__version__ = "([^"]+)"$'),
    ("mount-tools/man/shufflefs.1", r"^\.Os shufflefs (\S+)$"),
    ("mount-tools/man/shufflectl.1", r"^\.Os shufflefs (\S+)$"),
    ("mount-tools/man/shufflefs.toml.5", r"^\.Os shufflefs (\S+)$"))


def version_faults():
    def named(path, pattern):
        found = re.search(pattern, (ROOT / path).read_text(), re.MULTILINE)
        return found[1] if found else "none"
    project = named("CMakeLists.txt", r"^project\(shufflefs VERSION (\S+) ")
    for path, pattern in VERSIONS:
        if named(path, pattern) != project:
            yield (f"{path}: version {named(path, pattern)}, but CMakeLists.txt "
                   f"has {project}")


def diagram_faults():
    made = subprocess.run(
        [sys.executable, "-B", ROOT / "docs/how_it_works.py", "--check"],
        stderr=subprocess.PIPE, text=True, check=False)
    if made.returncode != 0:
        yield made.stderr.strip()


def main():
    if len(sys.argv) > 1:
        sys.exit(__doc__)
    checks = (broken_links, unlisted_pages, readme_faults, range_faults,
              unknown_messages, verdict_faults, version_faults,
              diagram_faults)
    faults = [fault for check in checks for fault in check()]
    print("\n".join(faults) or f"{len(pages())} pages, nothing wrong")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
