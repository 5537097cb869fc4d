#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A job that opens the files it is told to, once each, in their order.

  read_in_order.py TREE

Answers each line of its standard input, a JSON list of names, with a JSON list
of their digests, and ends with its input. A list that begins with null is read
by a thread of its own.
"""
import concurrent.futures
import hashlib
import json
import os
import sys


def read(root, names):
    digests = []
    for name in names:
        with open(os.path.join(root, name), "rb") as file:
            digests.append(hashlib.sha256(file.read()).hexdigest()[:16])
    return digests


def main():
    root = sys.argv[1]
    for line in sys.stdin:
        names = json.loads(line)
        if names and names[0] is None:
            with concurrent.futures.ThreadPoolExecutor(1) as thread:
                digests = thread.submit(read, root, names[1:]).result()
        else:
            digests = read(root, names)
        print(json.dumps(digests), flush=True)


main()
