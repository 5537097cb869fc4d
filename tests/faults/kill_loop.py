#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 at random moments, under a reader that lives on.

Kills the daemon, mounts again with the same command, and so on, until the
reader has read --count epochs. Each of these has to show every sample once, by
what the reader saw and by `shufflectl verify`. Ends with 1 if one did not, or
if the daemon, a client or the next mount hangs.

kill_loop.py --count 500 --policy brand --advance auto --seed 3
"""
import argparse
import collections
import json
import pathlib
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mount"))

import harness  # noqa: E402  (found by the path above)
import namespace  # noqa: E402

HANGS = 60  # seconds


def make_source(root, options):
    """Class folders of files that hold their number. Returns the names."""
    rng = random.Random(options.seed)
    names = []
    for number in range(options.files):
        label = root / f"c{number % options.classes}"
        label.mkdir(parents=True, exist_ok=True)
        name = f"{rng.getrandbits(40):x}-{number}.jpg"
        filling = rng.randrange(options.bytes) * b"x"
        (label / name).write_bytes(b"%d " % number + filling)
        names.append(f"{label.name}/{name}")
    return names


class Loop:
    def __init__(self, options, folder):
        self.options = options
        self.rng = random.Random(options.seed)
        self.folder = folder
        names = make_source(folder / "source", options)
        (folder / "names").write_text("\n".join(names))
        keys = {"policy": options.policy, "substitute": "directory",
                "epoch.advance": options.advance, "open": options.open,
                "seed": options.seed}
        if options.policy == "brand":
            keys["memory"] = "8MiB"
        self.mount = harness.Mount(folder / "source", folder / "mount", keys)
        self.mounting = []  # seconds
        self.kills = 0
        self.wrong = []
        self.epochs = 0

    def start(self):
        begin = time.monotonic()
        self.mount.start(ready=False)
        path = self.mount.control_dir / "status"

        def serves():
            self.mount._check_runs()
            if not harness.mount_types(self.mount.path):
                return False
            return subprocess.run(["cat", path], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, check=False,
                                  timeout=HANGS).returncode == 0

        harness.eventually(serves, timeout=HANGS, what="mounting again")
        self.mounting.append(time.monotonic() - begin)

    def kill(self):
        self.kills += 1
        self.mount.process.send_signal(signal.SIGKILL)
        self.mount.process.wait(timeout=HANGS)

    def abort(self):
        """Ends whoever waits for a daemon that does not die."""
        if harness.mount_types(self.mount.path):
            harness.run(["umount", "-f", self.mount.path], check=False)

    def read_line(self, reader, seconds):
        """What the reader says within that time, or nothing."""
        if not select.select([reader.stdout], [], [], seconds)[0]:
            return None
        line = reader.stdout.readline()
        assert line, f"the reader ended with {reader.wait()}"
        return json.loads(line)

    def check(self, epoch):
        self.epochs += 1
        count = collections.Counter(epoch["numbers"])
        missing = self.options.files - len(count)
        if missing:
            twice = sorted(n for n, times in count.items() if times > 1)
            self.wrong.append((epoch["epoch"], missing, twice[:5]))
            print(f"epoch {epoch['epoch']}: {missing} missing, twice {twice[:5]}",
                  flush=True)

    def run(self):
        options = self.options
        self.start()
        reader = subprocess.Popen(
            [harness.PYTHON, HERE / "retrying_reader.py", self.mount.path,
             self.folder / "names", str(options.count), str(options.seed),
             str(options.threads), options.advance],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        quiet = time.monotonic()
        try:
            while self.epochs < options.count:
                # Now and then at once, while the mount is being made.
                wait = self.rng.expovariate(1 / options.lives)
                until = time.monotonic() + wait
                while self.epochs < options.count:
                    left = max(0.0, until - time.monotonic())
                    epoch = self.read_line(reader, left)
                    if epoch is None:
                        break
                    quiet = time.monotonic()
                    self.check(epoch)
                assert time.monotonic() - quiet < HANGS * harness.SLOWDOWN, (
                    "the reader hangs")
                if self.epochs < options.count:
                    self.kill()
                    self.start()
            assert reader.wait(timeout=HANGS) == 0
        except BaseException:
            self.abort()
            raise
        finally:
            if reader.poll() is None:
                reader.kill()
                reader.wait(timeout=HANGS)
        return self.verify()

    def verify(self):
        done = subprocess.run(
            [harness.shufflectl(), "verify", "--json", self.mount.path],
            stdout=subprocess.PIPE, text=True, check=False, timeout=HANGS)
        return json.loads(done.stdout)


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=20, help="epochs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--policy", default="lirs")
    parser.add_argument("--advance", default="auto",
                        choices=["auto", "manual"])
    parser.add_argument("--open", default="seen", choices=["seen", "unseen"])
    parser.add_argument("--files", type=int, default=800)
    parser.add_argument("--classes", type=int, default=4)
    parser.add_argument("--bytes", type=int, default=20000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--lives", type=float, default=0.4,
                        help="seconds that a daemon lives, on average")
    return parser.parse_args(arguments)


def run(arguments):
    """Runs the loop; returns what it found. The caller is in a namespace."""
    options = parse(arguments)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="shufflefs-kills-"))
    (folder / "source").mkdir()
    loop = Loop(options, folder)
    try:
        proof = loop.run()
        loop.mount.unmount()
    finally:
        loop.mount.close()
        shutil.rmtree(folder)
    return {"policy": options.policy, "advance": options.advance,
            "epochs": loop.epochs, "wrong": len(loop.wrong),
            "kills": loop.kills, "proven": proof["proven"],
            "binding_epochs": len({epoch["binding"]
                                   for epoch in proof["epochs"]}),
            "last_epoch": proof["epochs"][-1]["epoch"],
            "longest_mounting": round(max(loop.mounting), 2)}


if __name__ == "__main__":
    namespace.enter()
    found = run(sys.argv[1:])
    print(json.dumps(found))
    sys.exit(0 if found["wrong"] == 0 and found["proven"] else 1)
