#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command whose kernel seems to have no io_uring.

  without_io_uring.py COMMAND...
"""
import errno
import os
import sys

import seccomp


def main() -> None:
    rules = seccomp.SyscallFilter(seccomp.ALLOW)
    rules.add_rule(seccomp.ERRNO(errno.ENOSYS), "io_uring_setup")
    rules.load()
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
