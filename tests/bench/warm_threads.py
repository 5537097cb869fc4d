#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds beside each other: 1 and 8 readers that open, read and close warm
small files in one mount. Each round runs both builds, in turn first; a row has
the times of the old one, of the new one, and the median of the rounds' ratios.

  warm_threads.py --old SHUFFLEFS [--new SHUFFLEFS] [--rounds N]

The 8 readers are processes of one job, each with an eighth of the files. What
is measured is the time until the last of them is done."""
import argparse
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

PARTS, CLASSES, FILES, BYTES = 8, 5, 250, 4096  # classes a part, files a class
ALL = PARTS * CLASSES * FILES
MOUNTS = {
    "native": {"policy": "native"},
    # A pass takes less than the 10 s in which a second open may be a double
    # one, which no training epoch does.
    "auto": {"policy": "lirs", "substitute": "directory",
             "epoch.double_open": "0"},
}


def build(root):
    for i in range(ALL):
        folder = root / f"part{i % PARTS}" / f"class{i // PARTS % CLASSES}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{i * 7919:09d}.bin").write_bytes(os.urandom(BYTES))


class Readers:
    """One reader of all files, or one of each part."""

    def __init__(self, root, count):
        names = [f"part{k}" for k in range(PARTS)] if count > 1 else ["."]
        self.parts = [(name, measure.Reader()) for name in names]
        for name, reader in self.parts:
            reader.do(f"list {root / name}")

    def seconds(self, mount, seed):
        begin = time.perf_counter()
        for name, reader in self.parts:
            reader.process.stdin.write(f"files {seed} {mount.path / name}\n")
            reader.process.stdin.flush()
        files = 0
        for _, reader in self.parts:
            answer = reader.process.stdout.readline().split()
            if not answer or answer[0] == "error":
                raise RuntimeError(" ".join(answer))
            files += int(answer[-2])
        assert files == ALL, files
        return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", default=os.environ.get("SHUFFLEFS_BIN"))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    measure.enter()
    root = measure.build_once("warm_threads", build)
    readers = {count: Readers(root, count) for count in (1, 8)}
    pairs = {(kind, count): measure.Pairs()
             for kind in MOUNTS for count in readers}
    with measure.folder() as folder:
        mounts = {}
        try:
            for build_name in ("old", "new"):
                os.environ["SHUFFLEFS_BIN"] = getattr(options, build_name)
                for kind, keys in MOUNTS.items():
                    mount = measure.Mount(
                        root, pathlib.Path(folder) / f"{build_name}-{kind}",
                        keys)
                    mounts[build_name, kind] = mount
                    mount.__enter__()
                    readers[1].seconds(mount, 0)
            for seed in range(1, options.rounds + 1):
                for (kind, count), found in pairs.items():
                    order = ("old", "new") if seed % 2 else ("new", "old")
                    took = {each: readers[count].seconds(mounts[each, kind],
                                                         seed)
                            for each in order}
                    found.add(took["old"], took["new"])
        finally:
            for mount in mounts.values():
                mount.close()
    print("| what | old | new | new against old | |\n|---|---|---|---|---|")
    for (kind, count), found in pairs.items():
        found.row(f"{kind}, readers: {count}", "", scale=1e6 / ALL,
                  unit="µs a file", digits=1)


if __name__ == "__main__":
    main()
