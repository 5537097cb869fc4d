#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The manuals as mandoc and groff print them: exits 1 and names what is wrong.

  manuals.py SHUFFLEFS

mandoc has no warning. Head and foot say which page it is and, as the program
SHUFFLEFS does, which version, and name no other system.
"""
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "mount-tools" / "man"
PRINTERS = (["mandoc", "-T", "utf8"], ["nroff", "-mdoc", "-Tutf8"])
OTHERS = re.compile(r"BSD|Linux|Debian|GNU")


def output(argv):
    done = subprocess.run([str(word) for word in argv], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def head_and_foot(page, text):
    """Of a printed page: its first and last line, without overstriking."""
    lines = [re.sub(r".\x08|\x1b\[[0-9;]*m", "", line)
             for line in text.splitlines() if line.strip()]
    assert len(lines) > 50, page
    return lines[0], lines[-1]


def faults_of(page, version):
    code, text = output(["mandoc", "-T", "lint", "-W", "warning", page])
    if code != 0 or text:
        yield f"{page.name}: {text.strip()}"
    title = "{}({})".format(page.stem.upper(), page.suffix[1:])
    for printer in PRINTERS:
        code, text = output([*printer, page])
        if code != 0:
            yield f"{page.name}: {printer[0]}: {text.strip()[-200:]}"
            continue
        head, foot = head_and_foot(page, text)
        if not (head.startswith(title) and head.endswith(title)):
            yield f"{page.name}: {printer[0]}: its head is: {head}"
        if version not in foot:
            yield f"{page.name}: {printer[0]}: its foot is not of {version}"
        for line in (head, foot):
            if OTHERS.search(line):
                yield f"{page.name}: {printer[0]}: another system: {line}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    version = output([sys.argv[1], "--version"])[1].strip()
    pages = sorted(FOLDER.iterdir())
    assert pages and re.fullmatch(r"shufflefs [0-9.]+", version), version
    faults = [fault for page in pages for fault in faults_of(page, version)]
    print("\n".join(faults) or f"{len(pages)} manuals, nothing wrong")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
