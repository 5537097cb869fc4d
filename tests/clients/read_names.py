#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Open the named files of a tree once, in a random order.

  read_names.py TREE SEED NAME...

Prints {name: digest} as JSON.
"""
import hashlib
import json
import os
import random
import sys


def main():
    root, seed, *names = sys.argv[1:]
    random.Random(int(seed)).shuffle(names)
    found = {}
    for name in names:
        with open(os.path.join(root, name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()[:16]
    print(json.dumps(found))


main()
