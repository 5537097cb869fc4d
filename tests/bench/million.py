#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""1,000,000 files of one byte, as 1,000 directories of 1,000 and as one
directory: scanning them, mounting them again from the saved catalogue,
switching the epoch, the daemon's memory, and listing the large directory."""
import argparse
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

FILES = 1_000_000
TREES = {"1,000 x 1,000": ("million_wide", 1000), "1 x 1,000,000":
         ("million_flat", 1)}
MOVING = {"policy": "lirs", "substitute": "directory",
          "epoch.advance": "manual", "wait": "600s"}
SWITCHES = 15


def build(root, directories):
    each = FILES // directories
    for d in range(directories):
        path = root / "train" / f"class{d:04d}"
        path.mkdir(parents=True)
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        for i in range(each):
            # No unbroken run of numbers: that would be a video's frames.
            name = f"sample_{(d * each + i) * 3:08d}.bin"
            file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=fd)
            os.write(file, b"x")
            os.close(file)
        os.close(fd)


def timed(argv, shell=False):
    start = time.perf_counter()
    done = subprocess.run(argv, shell=shell, stdout=subprocess.PIPE, text=True,
                          check=True)
    return time.perf_counter() - start, done.stdout


def find_seconds(root):
    """find as the issue's target has it, its output thrown away."""
    return timed(f"find {root} -type f -printf '%s' >/dev/null", True)[0]


def listing_seconds(directory):
    seconds, text = timed(f"ls -f {directory} | wc -l", True)
    assert int(text) == FILES + 2, text  # with . and ..
    return seconds


def daemonise(root, path, state):
    """Mounts in the background and lists the mount's root: wall time of both."""
    path.mkdir(exist_ok=True)
    options = ",".join(f"{k}={v}" for k, v in {**MOVING, "state": state}.items())
    return timed(f"{os.environ['SHUFFLEFS_BIN']} -o {options} {root} {path} "
                 f"2>{state}.log && ls {path}", True)[0]


def unmount(path):
    subprocess.run(["fusermount3", "-u", path], check=True)


def scan(label, root, folder, rounds):
    """The command from start to the served mount, without and with a saved
    catalogue, against find."""
    fresh, saved = measure.Pairs(), measure.Pairs()
    find_seconds(root)
    for i in range(rounds):
        state = folder / f"state{i}"
        for pairs in (fresh, saved):
            raw = find_seconds(root)
            pairs.add(raw, daemonise(root, folder / "mnt", state))
            unmount(folder / "mnt")
            wait_for_lock(state)
    fresh.row(f"{label}: `find -printf %s` / scan, save and mount", "≤ 1.5x")
    cells = measure.median_mad(saved.view)
    measure.row(f"{label}: mount from the saved catalogue until `ls` answers",
                "-", f"{cells[0]:.2f} ± {cells[1]:.2f} s", "-", "< 2 s")


def wait_for_lock(state):
    """The daemon goes after its mount: its state's lock is free then."""
    import fcntl
    for path in state.glob("*lock*"):
        with open(path) as file:
            fcntl.flock(file, fcntl.LOCK_EX)


def switches(label, mount):
    times = [mount.switch_seconds() for _ in range(SWITCHES)]
    middle, mad = measure.median_mad(times)
    measure.row(label, "-", f"{middle * 1e3:.2f} ± {mad * 1e3:.2f} ms, "
                f"worst {max(times) * 1e3:.2f}", "-", "< 5 ms")


def live(label, root, folder, reader):
    """Switches and memory, before and after the whole tree was read."""
    with measure.Mount(root, folder / "live", MOVING) as mount:
        switches(f"{label}: epoch switch, nothing read yet", mount)
        memory(f"{label}: daemon's memory after that", mount)
        reader.do(f"list {root}")
        reader.do(f"files 1 {mount.path}")
        first = mount.switch_seconds()
        measure.row(f"{label}: first switch after all was read", "-",
                    f"{first * 1e3:.2f} ms", "-", "< 5 ms")
        switches(f"{label}: further switches", mount)
        memory(f"{label}: daemon's memory after that", mount)


def memory(label, mount):
    rss, pss = mount.memory_mb()
    measure.row(label, "-", f"{rss:.0f} MB resident, {pss:.0f} MB proportional",
                "-", "< 250 MB")


def listings(root, folder, rounds):
    directory = pathlib.Path("train") / "class0000"
    for what, options in (("native", {"wait": "600s"}), ("lirs", MOVING)):
        pairs = measure.Pairs()
        with measure.Mount(root, folder / what, options) as mount:
            for _ in range(rounds):
                pairs.add(listing_seconds(root / directory),
                          listing_seconds(mount.path / directory))
        pairs.row(f"`ls -f` of 1,000,000 names, {what} (speed)", "≥ 0.5x",
                  inverse=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    measure.enter()
    with measure.folder() as folder, measure.Reader() as reader:
        for label, (name, directories) in TREES.items():
            root = measure.build_once(name, lambda p: build(p, directories))
            here = pathlib.Path(folder) / name
            here.mkdir()
            scan(label, root, here, rounds)
            live(label, root, here, reader)
            if directories == 1:
                listings(root, here, rounds)


if __name__ == "__main__":
    main()
