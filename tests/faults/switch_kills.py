#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 right after an epoch switch, when the names are being taken up.

Each time the daemon has to die, and the same command to mount again. Ends with
1 if either takes --limit seconds.

switch_kills.py --count 300 --seed 1
"""
import argparse
import concurrent.futures
import json
import pathlib
import random
import shutil
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mount"))

import harness  # noqa: E402  (found by the path above)
import kill_loop  # noqa: E402
import namespace  # noqa: E402
import retrying_reader  # noqa: E402


class Switches:
    def __init__(self, options, folder):
        self.options = options
        self.rng = random.Random(options.seed)
        self.loop = kill_loop.Loop(
            kill_loop.parse(["--files", str(options.files), "--classes", "20",
                             "--bytes", "3000", "--advance", "manual",
                             "--seed", str(options.seed)]), folder)
        self.mount = self.loop.mount
        self.names = (folder / "names").read_text().split("\n")
        self.dying = []  # seconds
        self.ended = threading.Event()

    def read_on(self, seed):
        """Reads names until the end, whatever happens to the mount."""
        rng = random.Random(seed)
        while not self.ended.is_set():
            try:
                (self.mount.path / rng.choice(self.names)).read_bytes()
            except OSError:
                time.sleep(0.001)

    def switch(self):
        for _ in range(self.rng.randrange(1, 4)):
            # EAGAIN until the catalogue is there.
            retrying_reader.again(
                lambda: retrying_reader.write_next(self.mount.path))
        time.sleep(self.rng.random() * self.options.within)

    def run(self):
        self.loop.start()
        for name in self.names:
            (self.mount.path / name).read_bytes()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            readers = [pool.submit(self.read_on, seed) for seed in range(4)]
            try:
                for _ in range(self.options.count):
                    self.switch()
                    begin = time.monotonic()
                    self.mount.process.kill()
                    self.mount.process.wait(timeout=self.options.limit)
                    self.dying.append(time.monotonic() - begin)
                    self.loop.start()
                    assert self.loop.mounting[-1] < self.options.limit
            except BaseException:
                # Else the readers wait for ever, and so would this process.
                self.loop.abort()
                raise
            finally:
                self.ended.set()
        for reader in readers:
            reader.result()


def run(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--within", type=float, default=0.02,
                        help="seconds after a switch")
    parser.add_argument("--limit", type=float, default=30)
    options = parser.parse_args(arguments)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shufflefs-switch-"))
    (folder / "source").mkdir()
    switches = Switches(options, folder)
    try:
        switches.run()
    finally:
        switches.mount.close()
        shutil.rmtree(folder)
    return {"kills": len(switches.dying),
            "longest_dying": round(max(switches.dying), 2),
            "longest_mounting": round(max(switches.loop.mounting), 2)}


if __name__ == "__main__":
    namespace.enter()
    print(json.dumps(run(sys.argv[1:])))
