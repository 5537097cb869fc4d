# SPDX-License-Identifier: Apache-2.0
"""A rank of a job: reads the files that each line of standard input names, as
a list, and prints the two numbers that each file begins with."""
import json
import os
import sys


def main():
    root = sys.argv[1]
    for line in sys.stdin:
        shown = []
        for name in json.loads(line):
            with open(os.path.join(root, name), "rb") as file:
                shown.append([int(word) for word in file.read().split()[:2]])
        print(json.dumps(shown), flush=True)


main()
