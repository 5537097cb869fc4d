#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Write stdin to a file by one write(2); print 0, or the errno as JSON."""
import os
import sys


def main():
    data = sys.stdin.buffer.read()
    try:
        descriptor = os.open(sys.argv[1], os.O_WRONLY)
        try:
            written = os.write(descriptor, data)
        finally:
            os.close(descriptor)
        if written != len(data):
            sys.exit(f"short write: {written} of {len(data)}")
        print(0)
    except OSError as error:
        print(error.errno)


main()
