#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Read files of a tree in random order until the tree goes away or SIGTERM.

  load.py TREE DIGESTS

DIGESTS is a JSON file with the digests that any whole file may have. After
the first file it prints "reading"; at the end comes one line of JSON: how many
files were read, and the errnos of those that could not be. A file with a
content that is in no list ends it with exit code 1.
"""
import hashlib
import json
import os
import random
import signal
import sys


def main():
    root, digests = sys.argv[1], set(json.load(open(sys.argv[2])))
    names = [os.path.join(folder, name)
             for folder, _, files in os.walk(root) for name in files]
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    count, errors = 0, {}
    while not stop:
        name = random.choice(names)
        try:
            with open(name, "rb") as file:
                data = file.read()
        except OSError as error:
            errors[error.errno] = errors.get(error.errno, 0) + 1
            if sum(errors.values()) >= 20000:
                break
            continue
        count += 1
        if hashlib.sha256(data).hexdigest()[:16] not in digests:
            sys.exit(f"{name}: {len(data)} bytes that no source file holds")
        if count == 1:
            print("reading", flush=True)
    print(json.dumps({"count": count, "errors": errors}))


main()
