#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""14,000,000 files in 20,000 directories, the shape of ImageNet-21k: scanning
them against find, mounting them again from the saved catalogue, the daemon's
memory a file, switching the epoch, and `shufflectl check`.

The files have sizes but no blocks, so the image takes some 5 GB. To make it
takes 10 to 20 minutes, once."""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402
from brand_data import testbed  # noqa: E402

FILES = 14_000_000
DIRECTORIES = 20_000
MOST_IN_A_GROUP = 32768  # inodes of a block group of ext4, which has 128 MiB
SWITCHES = 15
PAUSE = 0.3  # seconds
LIRS = {"policy": "lirs", "substitute": "directory",
        "epoch.advance": "manual", "wait": "3600s"}
# What is mounted, and the most bytes of memory a file, with names.
VIEWS = {
    "native": ({"wait": "3600s"}, 80),
    "lirs, names move": (LIRS, 80),
    "brand": ({**LIRS, "policy": "brand", "memory": "256MiB"}, 120),
}


def build(root, files, directories):
    """Names as ImageNet-21k has them: n01440764_10026.JPEG."""
    rng = random.Random(1)
    for d in range(directories):
        name = f"n{1_000_000 + d * 531:08d}"
        folder = root / "train" / name
        folder.mkdir(parents=True)
        os.chdir(folder)
        for i in range(files // directories):
            file = f"{name}_{i * 7 + d % 7}.JPEG"
            os.mknod(file, 0o100644)
            os.truncate(file, rng.randrange(20_000, 200_000))
        if d % 1000 == 999:
            measure.say(f"{d + 1} of {directories} directories")
    os.chdir("/")


def open_device(files, directories):
    """The device with the tree, made unless it is there."""
    device = testbed.Device(f"many-{files}-{directories}")
    done = device.path / "complete"
    if device.exists():
        device.attach("fast")
        if done.exists():
            return device
        device.destroy()
    measure.say(f"making {device.name}")
    inodes = files + directories + 1000
    groups = -(-inodes // MOST_IN_A_GROUP) + 2
    # Without a journal files are made faster.
    device.create(groups << 27, used=inodes * 400,
                  mkfs=["-N", str(inodes), "-I", "256", "-O", "^has_journal"])
    device.attach("fast")
    root = device.path / "data"
    root.mkdir()
    # ext4 looks for a place of each folder by itself.
    subprocess.run(["chattr", "+T", root], check=True)
    build(root, files, directories)
    done.touch()
    subprocess.run(["sync", "--file-system", done], check=True)
    return device


def seconds_of(argv):
    """Of a command whose output is thrown away."""
    start = time.perf_counter()
    subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                   check=True)
    return time.perf_counter() - start


def find_seconds(root):
    return seconds_of(["find", root, "-type", "f", "-printf", "%s"])


class Background:
    """A daemon in the background, from its start until its root is listed."""

    def __init__(self, root, path, state, options):
        path.mkdir(exist_ok=True)
        state.mkdir(exist_ok=True)
        self.path = path
        self.state = state
        text = ",".join(f"{k}={v}" for k, v in {**options,
                                                "state": state}.items())
        start = time.perf_counter()
        with open(f"{state}.log", "ab") as log:
            subprocess.run([os.environ["SHUFFLEFS_BIN"], "-o", text, root,
                            path], stdin=subprocess.DEVNULL, stderr=log,
                           check=True)
        os.listdir(path)
        self.seconds = time.perf_counter() - start

    def close(self):
        """Returns when the daemon has ended, and its state is free."""
        subprocess.run([os.environ["SHUFFLECTL_BIN"], "umount", self.path],
                       check=True, stdout=subprocess.DEVNULL)


def scan(device, folder, rounds):
    """Scan, save and mount against find: each on the device as it is after
    `cold`."""
    fresh, saved = measure.Pairs(), measure.Pairs()
    root = device.path / "data"
    for i in range(rounds):
        device.cold()
        raw = find_seconds(root)
        state = folder / f"state{i}"
        for pairs in (fresh, saved):
            device.cold()
            mount = Background(root, folder / "mnt", state,
                               VIEWS["native"][0])
            mount.close()
            pairs.add(raw, mount.seconds)
    fresh.row("`find -printf %s` / scan, save and mount, both cold", "≤ 1.2x")
    middle, mad = measure.median_mad(saved.view)
    measure.row("mount from the saved catalogue until `ls` answers, cold", "-",
                f"{middle:.2f} ± {mad:.2f} s", "-", "< 3 s")


def memory(mount, files, what, target):
    resident = mount.memory_mb()[0]
    measure.row(what, "-", f"{resident:.0f} MB, {resident * 1e6 / files:.0f} "
                "bytes a file", "-", f"≤ {target} bytes a file")


def live(device, folder, files, name):
    """Memory and switches of a view, and both again after a tenth of all
    names was looked up."""
    options, target = VIEWS[name]
    state = folder / "live-state"
    state.mkdir(exist_ok=True)
    mount = measure.Mount(device.path / "data", folder / "live",
                          {**options, "state": state})
    try:
        mount.start(ready=False)
        measure.harness.eventually(lambda: ready(mount), 3600, "catalogue")
        memory(mount, files, f"{name}: memory", target)
        if "policy" not in options:
            return
        switches(mount, f"{name}: epoch switch, nothing read yet")
        for path in sorted((mount.path / "train").iterdir())[::10]:
            for entry in os.scandir(path):
                entry.stat()
        first = mount.switch_seconds()
        measure.row(f"{name}: the first switch after a tenth was listed", "-",
                    f"{first * 1e3:.2f} ms", "-", "< 10 ms")
        switches(mount, f"{name}: further switches")
        memory(mount, files, f"{name}: memory after that", target)
    finally:
        mount.close()


def ready(mount):
    if mount.process.poll() is not None:
        raise RuntimeError(mount.log()[-4000:])
    if measure.harness.mount_types(mount.path)[-1:] != ["fuse.shufflefs"]:
        return False
    return mount.view()["epoch_state"] != "indexing"


def processor_seconds(mount):
    """What the daemon's threads have computed so far."""
    return sum(int(path.read_text().split()[0]) for path in pathlib.Path(
        f"/proc/{mount.process.pid}/task").glob("*/schedstat")) / 1e9


def switches(mount, what):
    times = []
    computed = []
    for _ in range(SWITCHES):
        before = processor_seconds(mount)
        times.append(mount.switch_seconds())
        computed.append(processor_seconds(mount) - before)
        time.sleep(PAUSE)  # lets what the switch left for later end
    middle, mad = measure.median_mad(times)
    measure.row(what, "-", f"{middle * 1e3:.2f} ± {mad * 1e3:.2f} ms, worst "
                f"{max(times) * 1e3:.2f}; processor "
                f"{measure.median_mad(computed)[0] * 1e3:.2f} ms", "-",
                "< 10 ms")


def check(device):
    device.cold()
    seconds = seconds_of([os.environ["SHUFFLECTL_BIN"], "check",
                          device.path / "data"])
    measure.row("`shufflectl check`, cold", "-", f"{seconds:.1f} s", "-",
                "< 60 s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--directories", type=int, default=DIRECTORIES)
    parser.add_argument("--only", choices=("scan", "live", "check"))
    arguments = parser.parse_args()
    testbed.require_root()
    measure.enter()
    device = open_device(arguments.files, arguments.directories)
    print(f"{arguments.files:,} files in {arguments.directories:,} "
          "directories.\n")
    print(measure.header(), flush=True)
    with measure.folder() as folder:
        folder = pathlib.Path(folder)
        if arguments.only in (None, "scan"):
            scan(device, folder, arguments.rounds)
        if arguments.only in (None, "live"):
            for name in VIEWS:
                live(device, folder, arguments.files, name)
        if arguments.only in (None, "check"):
            check(device)
    device.detach()


if __name__ == "__main__":
    main()
