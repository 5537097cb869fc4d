#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What torchrun does on one node, and starts without options on Debian, too.

  torchrun.py --standalone --nproc_per_node N SCRIPT [ARGUMENT...]

Starts N ranks and tells each its place. If one fails, or on SIGTERM, ends all.
"""
import os
import signal
import socket
import subprocess
import sys


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    standalone, option, count, *command = sys.argv[1:]
    assert (standalone, option) == ("--standalone", "--nproc_per_node")
    shared = {**os.environ, "MASTER_ADDR": "127.0.0.1",
              "MASTER_PORT": str(free_port()), "WORLD_SIZE": count}
    ranks = [subprocess.Popen([sys.executable, *command], env={
        **shared, "RANK": str(rank), "LOCAL_RANK": str(rank)})
             for rank in range(int(count))]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    code = 0
    try:
        while code == 0 and any(rank.poll() is None for rank in ranks):
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            code = max(abs(rank.poll() or 0) for rank in ranks)
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    sys.exit(code)


main()
