# SPDX-License-Identifier: Apache-2.0
"""The table and the picture of what brand.py measured: each policy beside the
raw directory of the same rounds, and what was aimed at."""
import collections
import statistics

import chart
import measure
from brand_record import Setting
from brand_runs import Case

# In the order of the table.
CASES = [Case("hdd", "40", 4), Case("hdd", "1000", 4), Case("hdd", "1", 4),
         Case("hdd", "200", 4), Case("hdd", "zipf", 4),
         Case("hdd600", "40", 4), Case("nas", "40", 4), Case("nas", "40", 16),
         Case("fast", "40", 4)]
# What the rows are called, and their colours in the picture.
TITLES = {"raw": "raw directory", "static": "static, memory filled",
          "location": "location, packed", "brand": "brand, as it lies",
          "packed": "brand, packed"}
COLOURS = {"raw": "#6b6b6b", "native": "#a8a8a8", "static": "#c9a66b",
           "location": "#e08a3c", "lirs": "#8a6bb1", "brand": "#4878a8",
           "packed": "#1f4e79"}
ORDER = list(COLOURS)

# What the targets are of; smaller trials are not held against them.
STANDARD = Setting(20000, "512MiB", "320MiB")
# At least, at least, at most; None: reported as it is.
Target = collections.namedtuple("Target", "faster of_sequential source")
TARGETS = {
    (Case("hdd", "40", 4), "brand"): Target(6, 0.6, 1.03),
    (Case("hdd", "40", 4), "packed"): Target(6, 0.6, 1.03),
    (Case("hdd", "1000", 4), "brand"): Target(3, None, 1.05),
    (Case("hdd", "1000", 4), "packed"): Target(4, None, 1.05),
    (Case("hdd600", "40", 4), "packed"): Target(2.5, 0.8, 1.03),
    (Case("nas", "40", 4), "brand"): Target(3, 0.8, 1.03),
    (Case("nas", "40", 4), "packed"): Target(3, 0.8, 1.03),
    (Case("nas", "40", 16), "brand"): Target(1, 0.8, 1.03),
    (Case("nas", "40", 16), "packed"): Target(1, 0.8, 1.03),
    (Case("fast", "40", 4), "brand"): Target(0.8, None, 1.03),
    (Case("fast", "40", 4), "packed"): Target(0.8, None, 1.03),
}
COLUMNS = ("device", "what", "seconds", "faster than raw", "of sequential",
           "read from the source", "bypass", "peak memory", "daemon CPU",
           "before the epoch", "target")

Figures = collections.namedtuple(
    "Figures", "seconds spread faster faster_spread of_sequential source "
    "bypass peak daemon cpu before")


def title(case):
    classes = ("long tail" if case.layout == "zipf" else
               f"{int(case.layout):,} class" +
               ("es" if case.layout != "1" else ""))
    return f"{case.profile}, {classes}, {case.workers} readers"


def figures(measured, label):
    """Medians over the rounds; None where there is no such figure."""
    epochs = measured.epochs[label]
    size = measured.dataset_bytes()
    raw = measured.epochs.get("raw", {})
    ratios = [raw[n].seconds / epochs[n].seconds
              for n in measured.common(label)]
    shares = [size / epochs[n].seconds / speed
              for n, speed in measured.sequential.items() if n in epochs]

    def middle(get):
        values = [get(epoch) for epoch in epochs.values()]
        return None if None in values else statistics.median(values)

    faster = measure.median_mad(ratios) if ratios else (None, None)
    mounted = label != "raw"
    return Figures(
        *measure.median_mad([e.seconds for e in epochs.values()]), *faster,
        statistics.median(shares) if shares else None,
        middle(lambda e: e.source_bytes) / size,
        middle(lambda e: None if e.bypass is None
               else e.bypass / e.totals.files),
        middle(lambda e: e.peak), middle(lambda e: e.daemon_peak),
        middle(lambda e: e.cpu_seconds) / (size / 1e9) if mounted else None,
        middle(lambda e: e.mount_seconds + e.list_seconds))


def verdicts(target, got):
    """Each bar, and whether it is met by the unrounded figure."""
    if target is None:
        return "-"
    bars = ((target.faster, got.faster, "≥ {:g}x", 1),
            (target.of_sequential, got.of_sequential, "≥ {:g}", 1),
            (target.source, got.source, "≤ {:g}x", -1))
    words = []
    for bar, figure, text, sign in bars:
        if bar is None or figure is None:
            continue
        met = (figure - bar) * sign >= 0
        words.append(text.format(bar) + (" met" if met else " **missed**"))
    return ", ".join(words)


def cell(value, text):
    return "-" if value is None else text.format(value)


def peak_text(got):
    if got.peak is None:
        return "-"
    own = (f", daemon {got.daemon / 2**20:.0f}" if got.daemon else "")
    return f"{got.peak / 2**20:.0f} MiB{own}"


def print_row(measured, label):
    got = figures(measured, label)
    raw = label == "raw"
    measure.row(
        title(measured.case), TITLES.get(label, label),
        f"{got.seconds:.1f} ± {got.spread:.1f}",
        "-" if raw or got.faster is None else
        f"**{got.faster:.2f}x** ± {got.faster_spread:.2f}",
        cell(got.of_sequential, "{:.2f}"), f"{got.source:.3f}x",
        cell(got.bypass, "{:.1%}"),
        peak_text(got),
        cell(got.cpu, "{:.2f} s/GB"), f"{got.before:.2f} s",
        verdicts(TARGETS.get((measured.case, label))
                 if measured.setting == STANDARD else None, got))


def labels(measured):
    """As in ORDER, whatever else was measured last."""
    return sorted(measured.epochs, key=lambda label: (
        ORDER.index(label) if label in ORDER else len(ORDER)))


def print_case(measured):
    speeds = [speed / 1e6 for speed in measured.sequential.values()]
    if speeds:
        measure.row(title(measured.case), "sequential",
                    f"{measured.dataset_bytes() / 1e6 / statistics.median(speeds):.1f}",
                    "-", f"1 = {statistics.median(speeds):.0f} MB/s",
                    *["-"] * (len(COLUMNS) - 5))
    for label in labels(measured):
        print_row(measured, label)


def all_of(record):
    """The cases that were measured, in order."""
    return sorted((measured for measured in record.cases.values()
                   if measured.epochs),
                  key=lambda measured: CASES.index(measured.case))


def print_all(record):
    """A table for each setting, of all its cases."""
    settings = dict.fromkeys(setting for _, setting in record.cases)
    for setting in settings:
        chosen = [measured for measured in all_of(record)
                  if measured.setting == setting]
        if not chosen:
            continue
        rounds = [len(measured.epochs[label]) for measured in chosen
                  for label in measured.epochs]
        count = (f"{min(rounds)} to {max(rounds)}"
                 if min(rounds) < max(rounds) else f"{max(rounds)}")
        print(f"\n{setting.files:,} files, "
              f"{chosen[0].dataset_bytes() / 1e9:.2f} GB; groups of "
              f"{setting.limit}, memory={setting.memory}; medians of {count} "
              "rounds ± median deviation:\n")
        measure.row(*COLUMNS)
        print("|---" * len(COLUMNS) + "|")
        for measured in chosen:
            print_case(measured)


def panel(measured):
    bars = []
    for label in labels(measured):
        got = figures(measured, label)
        bars.append((TITLES.get(label, label), COLOURS.get(label, "#5a9e5a"),
                     got.seconds, got.spread))
    speeds = list(measured.sequential.values())
    mark = None
    if speeds:
        mark = ("sequential",
                measured.dataset_bytes() / statistics.median(speeds))
    return title(measured.case), bars, mark


def draw(record, path):
    """Of the standard setting, or of all if there is nothing of it."""
    chosen = all_of(record)
    panels = [panel(measured) for measured in [
        measured for measured in chosen if measured.setting == STANDARD
    ] or chosen]
    chart.write(path, "Seconds of an epoch (median; dashed: one file read "
                "from end to end)", panels)
