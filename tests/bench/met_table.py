# SPDX-License-Identifier: Apache-2.0
"""The tables of met.py."""
import statistics

import measure

SPEED_TARGET = 0.9   # of the consumption
SOURCE_TARGET = 0.05  # more or less than dataset / factor
LOSS_TARGET = 0.05
FIRST_TARGET = 1.0   # seconds
WHOLE_PASSES = 3     # from which on the whole job has that target, too
JOBS = ("device", "consumption", "repeated", "passes", "raw", "first epoch",
        "later epochs", "of the consumption", "target",
        "from the source an epoch: first", "later epochs",
        "later, against dataset / factor", "the whole job", "target")


def verdict(met):
    return "met" if met else "**missed**"


def spread(values, form="{:.1f} ± {:.1f}"):
    return form.format(*measure.median_mad(values))


def later(job):
    """The first epoch also copies the first mini-epoch."""
    return job["epochs"][1:] or job["epochs"]


def source_share(job, epochs, paged):
    """Bytes of the device in some epochs, against dataset / factor."""
    return (statistics.mean(epoch["source"] for epoch in epochs) /
            (paged / job["repeat"]))


def passes_of(job):
    """How often the job showed the whole dataset's order, repetitions aside."""
    return len(job["epochs"]) / job["repeat"]


def source_cell(share, has_target):
    if not has_target:
        return f"**{share:.3f}**"
    return f"**{share:.3f}** {verdict(abs(share - 1) <= SOURCE_TARGET)}"


def print_jobs(entry):
    """`entry`: one device and its jobs, those of a cell together."""
    raw = statistics.median(entry["raw"])
    cells = {}
    for job in entry["jobs"]:
        cells.setdefault((job["factor"], job["repeat"], passes_of(job)),
                         []).append(job)
    for (factor, repeat, passes), jobs in cells.items():
        speeds = [epoch["bytes"] / epoch["seconds"] / 1e6 for job in jobs
                  for epoch in later(job)]
        reached = statistics.median(speeds) / (jobs[0]["rate"] / 1e6)
        source, whole = (statistics.median(
            source_share(job, epochs(job), entry["paged"]) for job in jobs)
            for epochs in (later, lambda job: job["epochs"]))
        measure.row(
            entry["profile"],
            f"{jobs[0]['rate'] / 1e6:.1f} MB/s, {factor:g} x raw", str(repeat),
            f"{passes:g}", f"{raw / 1e6:.1f} MB/s",
            spread([job["epochs"][0]["bytes"] / job["epochs"][0]["seconds"] /
                    1e6 for job in jobs]) + " MB/s",
            spread(speeds) + " MB/s", f"**{reached:.2f}**",
            "-" if repeat <= factor else
            f"≥ {SPEED_TARGET:g} " + verdict(reached >= SPEED_TARGET),
            *(spread([value / 1e6 for value in values]) + " MB"
              for values in ([job["epochs"][0]["source"] for job in jobs],
                             [epoch["source"] for job in jobs
                              for epoch in later(job)])),
            source_cell(source, True),
            source_cell(whole, passes >= WHOLE_PASSES),
            f"within {SOURCE_TARGET:.0%}; whole jobs from "
            f"{WHOLE_PASSES} passes on")


def print_foreground(entry):
    middle, mad = measure.median_mad(
        [1 - each[0]["speed"] / each[1]["speed"]
         for each in entry["foreground"]])
    control = [100 * (1 - each[1]["speed"] / each[2]["speed"])
               for each in entry["foreground"]]
    measure.row(
        entry["profile"],
        *(spread([pair[i]["speed"] / 1e6 for pair in entry["foreground"]]) +
          " MB/s" for i in (1, 0)),
        spread([pair[0]["copied"] / 1e6 for pair in entry["foreground"]]) +
        " MB", spread([pair[0]["left"] / 1e6 for pair in entry["foreground"]]) +
        " MB", spread(control) + " %", f"**{middle:.1%}** ± {mad:.1%}",
        f"≤ {LOSS_TARGET:.0%} {verdict(middle <= LOSS_TARGET)}")


def print_first(entry):
    cells = []
    for i in (0, 1):
        cells.append(spread([pair[i]["seconds"] for pair in entry["first"]],
                            "{:.2f} ± {:.2f} s"))
    saved = statistics.median(pair[1]["seconds"] for pair in entry["first"])
    read = max(pair[1]["source_bytes"] for pair in entry["first"])
    measure.row(entry["profile"], *cells, f"{read / 1e6:.1f} MB",
                f"≤ {FIRST_TARGET:g} s {verdict(saved <= FIRST_TARGET)}")


def header(*cells):
    measure.row(*cells)
    print("|---" * len(cells) + "|")


def print_all(measured):
    first = measured[0]
    print(f"\n{first['files']:,} files, {first['bytes'] / 1e6:.0f} MB, a tier "
          f"of a quarter of it, {first['readers']} readers, daemon and readers "
          f"in a group of {first['limit']}, memory={first['memory']}\n")
    with_jobs = [entry for entry in measured if entry["jobs"]]
    if with_jobs:
        header(*JOBS)
        for entry in with_jobs:
            print_jobs(entry)
    if any(entry["foreground"] for entry in measured):
        print()
        header("device", "a reader of the source, nothing copied",
               "while the next mini-epoch is copied", "copied meanwhile",
               "copied after that",
               "control: nothing copied, twice", "loss", "target")
        for entry in measured:
            print_foreground(entry)
    if any(entry["first"] for entry in measured):
        print()
        header("device", "first sample, never mounted before",
               "with the saved catalogue, tier empty",
               "read from the source by then", "target")
        for entry in measured:
            print_first(entry)
