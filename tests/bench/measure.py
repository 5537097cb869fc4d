# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: trees, mounts, paired rounds, table rows.

Environment: SHUFFLEFS_BIN and READER_BIN name the programs, BENCH_DIR the
folder that keeps the trees between runs (default /var/tmp/shufflefs-bench).
"""
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mount"))
import harness  # noqa: E402
import namespace  # noqa: E402

COLUMNS = ("what", "raw", "view", "view against raw", "target")
REQUESTS = ("lookups", "getattrs", "opens", "stale_opens", "reads", "readdirs")


def trees():
    path = pathlib.Path(os.environ.get("BENCH_DIR",
                                       "/var/tmp/shufflefs-bench"))
    path.mkdir(parents=True, exist_ok=True)
    return path


def say(text):
    print(text, file=sys.stderr, flush=True)


def enter():
    """A mount namespace of our own, so that no mount can be left behind."""
    namespace.enter()


def build_once(name, build):
    """The tree trees()/name, made by build(path) unless it is complete."""
    path = trees() / name
    done = trees() / (name + ".complete")
    if not done.exists():
        say(f"making {path}")
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        build(path)
        os.sync()
        done.touch()
    return path


def folder():
    """A private folder for mounts and state, removed at the end."""
    return tempfile.TemporaryDirectory(prefix="shufflefs-bench-")


class Mount(harness.Mount):
    """A mount that says its command; use as a context manager."""

    def __enter__(self):
        say("$ shufflefs -f -o " + ",".join(
            f"{k}={v}" for k, v in self.options.items() if k != "state") +
            f" {self.source.name} MNT")
        return self.start()

    def __exit__(self, *unused):
        self.close()

    def requests(self):
        """Requests that reached the daemon so far, by kind."""
        text = (self.control_dir / "metrics").read_text()
        return {kind: int(re.search(rf"^shufflefs_{kind}_total (\d+)", text,
                                    re.M).group(1)) for kind in REQUESTS}

    def await_opens(self):
        """Returns when the mount has settled how it sees opens. Builds that do
        not say so have settled it."""
        harness.eventually(
            lambda: self.status().get("opens", {}).get("why") not in
            ("still scanning", "reports are being set up"),
            what="how opens are seen")

    def switch_seconds(self):
        """Wall time of the write that begins the next epoch."""
        fd = os.open(self.control_dir / "control", os.O_WRONLY)
        try:
            start = time.perf_counter()
            os.write(fd, b'epoch = "next"\n')
            return time.perf_counter() - start
        finally:
            os.close(fd)

    def memory_mb(self):
        """Resident and proportional memory of the daemon, in MB."""
        text = pathlib.Path(
            f"/proc/{self.process.pid}/smaps_rollup").read_text()
        return [int(re.search(rf"^{key}:\s+(\d+) kB", text, re.M).group(1)) *
                1024 / 1e6 for key in ("Rss", "Pss")]


class Reader:
    """One long-lived process of reader_bench."""

    def __init__(self):
        self.process = subprocess.Popen(
            [os.environ["READER_BIN"]], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def do(self, line):
        """Returns (times in seconds, files, bytes)."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        words = answer.split()
        if len(words) < 2 or words[0] == "error":
            raise RuntimeError(f"reader: {line}: {answer}")
        return [float(w) for w in words[:-2]], int(words[-2]), int(words[-1])


def median_mad(values):
    middle = statistics.median(values)
    return middle, statistics.median(abs(v - middle) for v in values)


class Pairs:
    """Interleaved measurements of raw and view. The ratio is the median of
    the rounds' ratios: a neighbour that slows a round slows both."""

    def __init__(self):
        self.raw = []
        self.view = []

    def add(self, raw, view):
        self.raw.append(raw)
        self.view.append(view)

    def ratio(self, inverse=False):
        return median_mad([r / v if inverse else v / r
                           for r, v in zip(self.raw, self.view)])

    def row(self, what, target, scale=1.0, unit="s", digits=2, inverse=False):
        """A line of the table; `inverse` for throughputs from seconds."""
        cells = []
        for values in (self.raw, self.view):
            middle, mad = median_mad([v * scale for v in values])
            cells.append(f"{middle:.{digits}f} ± {mad:.{digits}f} {unit}")
        ratio, mad = self.ratio(inverse)
        return row(what, *cells, f"**{ratio:.2f}x** ± {mad:.2f}", target)


def row(*cells):
    line = "| " + " | ".join(cells) + " |"
    print(line, flush=True)
    return line


def header():
    return ("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")


def machine():
    """The machine in a line, without its name."""
    cpu = "unknown CPU"
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    fuse = subprocess.run(["pkg-config", "--modversion", "fuse3"],
                          stdout=subprocess.PIPE, text=True,
                          check=False).stdout.strip() or "unknown"
    kind = subprocess.run(["stat", "-f", "-c", "%T", trees()],
                          stdout=subprocess.PIPE, text=True,
                          check=True).stdout.strip()
    return (f"{cpu}, {os.cpu_count()} cores, {memory / 2**30:.0f} GiB, "
            f"Linux {re.match(r'[0-9.]+', platform.release()).group(0)}, "
            f"libfuse {fuse}, source on {kind}; "
            f"load before: {os.getloadavg()[0]:.1f}")
