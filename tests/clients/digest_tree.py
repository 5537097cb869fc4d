#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Print {path: digest} of the regular files of a tree, as JSON.

A file that cannot be read stands there with its errno.
"""
import hashlib
import json
import os
import stat
import sys


def main():
    root = sys.argv[1]
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = os.path.join(folder, name)
            try:
                if not stat.S_ISREG(os.lstat(path).st_mode):
                    continue
                with open(path, "rb") as file:
                    value = hashlib.sha256(file.read()).hexdigest()[:16]
            except OSError as error:
                value = error.errno
            found[os.path.relpath(path, root)] = value
    print(json.dumps(found))


main()
