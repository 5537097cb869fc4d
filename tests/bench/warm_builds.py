#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds beside each other, warm: the rows of `warm_files`, `large_file`
and `no_harm`. One build can take half as long again from mount to mount. So
each round makes new mounts of both builds, in turn first, and a row has the
median of the rounds of each, and of the rounds' ratios: above 1 the new one is
faster. In brackets: the raw directory's share of both, from the same rounds.

  warm_builds.py --old SHUFFLEFS [--new SHUFFLEFS] [--rounds N] [--only ROWS]"""
import argparse
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import large_file  # noqa: E402
import measure  # noqa: E402
import no_harm  # noqa: E402
import warm_files  # noqa: E402

SIDES = ("old", "new")
PASSES = 3  # of each mount


class Rows:
    """What both builds took, by row."""

    def __init__(self):
        self.raw = {}  # (row, side): seconds of each round
        self.view = {}

    def add(self, row, side, pairs):
        """The medians of what one mount took."""
        for values, into in ((pairs.raw, self.raw), (pairs.view, self.view)):
            into.setdefault((row, side), []).append(
                measure.median_mad(values)[0])

    def print(self, row, what, scale, unit, digits):
        cells = []
        for side in SIDES:
            view, mad = measure.median_mad(
                [v * scale for v in self.view[row, side]])
            against, _ = measure.median_mad(
                [r / v for r, v in zip(self.raw[row, side],
                                       self.view[row, side])])
            cells.append(f"{view:.{digits}f} ± {mad:.{digits}f} {unit} "
                         f"({against:.2f})")
        ratio, mad = measure.median_mad(
            [old / new for old, new in zip(self.view[row, "old"],
                                           self.view[row, "new"])])
        measure.row(what, *cells, f"**{ratio:.2f}x** ± {mad:.2f}")


def turns(programs, number):
    for side in SIDES if number % 2 == 0 else SIDES[::-1]:
        os.environ["SHUFFLEFS_BIN"] = programs[side]
        yield side


def small_files(programs, rounds, rows):
    root = measure.build_once("warm_files", warm_files.build)
    with measure.Reader() as reader:
        reader.do(f"list {root}")
        for number in range(rounds):
            for side in turns(programs, number):
                bench = one_mount_each(root, reader)
                for key, pairs in bench.pairs.items():
                    if pairs.raw:
                        rows.add(key, side, pairs)
    for key, (what, _) in warm_files.ROWS.items():
        if (key, SIDES[0]) not in rows.raw:
            continue
        rows.print(key, what, 1e6 / warm_files.FILES, "µs a file", 1)


def one_mount_each(root, reader):
    with measure.folder() as folder:
        mounts = {name: measure.Mount(root, pathlib.Path(folder) / name,
                                      options)
                  for name, options in warm_files.MOUNTS.items()}
        try:
            for mount in mounts.values():
                mount.start()
            bench = warm_files.Bench(reader, root, mounts)
            bench.warm()
            for _ in range(PASSES):
                bench.round()
            return bench
        finally:
            for mount in mounts.values():
                mount.close()


def one_large_file(programs, rounds, rows):
    root = measure.build_once("large_file", large_file.build)
    with measure.Reader() as reader:
        for number in range(rounds):
            for side in turns(programs, number):
                with measure.folder() as folder:
                    bench = large_file.Bench(reader, root,
                                             pathlib.Path(folder))
                    bench.read(root)
                    for _ in range(PASSES):
                        bench.warm_round()
                rows.add("first", side, bench.first)
                rows.add("repeat", side, bench.repeat)
    rows.print("first", "2 GB file, first read", 1, "s", 2)
    rows.print("repeat", "2 GB file, repeated read", 1, "s", 2)


def pictures(programs, rounds, rows):
    for name, build, images in (
            ("no_harm_large", no_harm.large, no_harm.LARGE),
            ("no_harm", no_harm.small, no_harm.SMALL)):
        root = measure.build_once(name, build) / "tree"
        for number in range(rounds):
            for side in turns(programs, number):
                pairs = no_harm.compare(root, PASSES)
                seconds = measure.Pairs()
                for raw, view in zip(pairs.raw, pairs.view):
                    seconds.add(images / raw, images / view)
                rows.add(name, side, seconds)
        rows.print(name, f"ImageFolder, PNG, {images:,} pictures of "
                   f"{'224 x 224' if build is no_harm.large else '28 x 28'}",
                   1e6 / images, "µs a picture", 0)


PARTS = {"files": small_files, "large": one_large_file, "pictures": pictures}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", default=os.environ.get("SHUFFLEFS_BIN"))
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", nargs="+", choices=list(PARTS),
                        default=list(PARTS))
    options = parser.parse_args()
    measure.enter()
    programs = {side: getattr(options, side) for side in SIDES}
    for side in SIDES:
        subprocess.run([programs[side], "--version"], check=True,
                       stdout=subprocess.DEVNULL)
    measure.row("what", "old", "new", "new against old")
    print("|---" * 4 + "|")
    for part in options.only:
        PARTS[part](programs, options.rounds, Rows())


if __name__ == "__main__":
    main()
