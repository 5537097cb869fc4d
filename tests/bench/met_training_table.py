# SPDX-License-Identifier: Apache-2.0
"""The table and the picture of what met_training.py measured."""
import measure
import line_chart

COLUMNS = ("mini-epochs", "repeated", "right on the test set, last epoch",
           "best epoch", "less than the plain shuffle, paired by seed",
           "dataset copied to the tier", "times that an image was shown")
KINDS = {("off", None): "", ("score", "held out"): "score, held-out loss",
         ("bollinger", "held out"): "bollinger, held-out loss",
         ("bollinger", "training"): "bollinger, training loss"}
COLOURS = {4: "#2f9e8f", 16: "#1f5fa8", 64: "#c02020"}  # by mini-epochs
DASHES = {"": "", "score, held-out loss": "9 4",
          "bollinger, held-out loss": "3 3",
          "bollinger, training loss": "12 4 3 4"}
PLAIN = ("#6b6b6b", "2 4")
REPEATS = (2, 4, 8, 16)
BY_REPEAT = {2: "#86bf40", 4: "#2f9e8f", 8: "#e08a1e", 16: "#c02020"}


def kind(row):
    return KINDS[row["adapt"], row["told"]]


def name(row):
    if row["minis"] is None:
        return "plain shuffle"
    return (f"{row['minis']} mini-epochs, {'at most ' if kind(row) else ''}"
            f"{row['repeat']} times" + (f", {kind(row)}" if kind(row) else ""))


def repeated(row):
    if row["minis"] is None:
        return "never: the plain shuffle"
    if not kind(row):
        return f"{row['repeat']} times"
    return f"at most {row['repeat']} times: {kind(row)}"


def cell(values, sign=""):
    middle, mad = measure.median_mad([100 * value for value in values])
    return f"{middle:{sign}.2f} ± {mad:.2f} %"


def print_row(row, plain):
    last = [run["right"][-1] for run in row["runs"]]
    less = [run["right"][-1] - own
            for run, own in zip(plain["runs"], last)]
    copies = measure.median_mad([run["copies"] for run in row["runs"]])[0]
    shown = sorted({run[key] for run in row["runs"]
                    for key in ("fewest", "most")})
    measure.row("-" if row["minis"] is None else str(row["minis"]),
                repeated(row), cell(last),
                cell([max(run["right"]) for run in row["runs"]]),
                "-" if row is plain else cell(less, "+"),
                "-" if row is plain else f"{copies:.1f} times",
                " to ".join(map(str, sorted({shown[0], shown[-1]}))))


def print_table(measured):
    rate, falls = measured["rate"]
    seeds = len(measured["rows"][0]["runs"])
    print(f"\nFashion-MNIST, {measured['images']:,} images, "
          f"{measured['epochs']} epochs, rate {rate:g}"
          f"{', falling to zero' if falls else ''}, {seeds} seeds, median ± "
          "median deviation\n")
    measure.row(*COLUMNS)
    print("|---" * len(COLUMNS) + "|")
    for row in measured["rows"]:
        print_row(row, measured["rows"][0])


def spread(values):
    return min(values), measure.median_mad(values)[0], max(values)


def by_epoch(row):
    return [spread(each) for each in zip(*(run["right"]
                                           for run in row["runs"]))]


def by_repeat(measured, minis, what):
    """Final accuracies: the plain shuffle, then by factor; None: no row."""
    found = {row["repeat"]: row for row in measured["rows"]
             if row["minis"] == minis and kind(row) == what}
    if not what:
        found[1] = measured["rows"][0]
    return [spread([run["right"][-1] for run in found[repeat]["runs"]])
            if repeat in found else None for repeat in (1, *REPEATS)]


def plot(measured, path):
    axis = ("repeating factor, or the most of it", [1, *REPEATS])
    rows = {(row["minis"], row["repeat"], kind(row)): row
            for row in measured["rows"]}
    fixed = [(COLOURS[minis], "", by_repeat(measured, minis, ""))
             for minis in COLOURS if (minis, 16, "") in rows]
    most = max(minis for minis in COLOURS if (minis, 16, "") in rows)
    adapted = [(COLOURS[minis], DASHES[what],
                by_repeat(measured, minis, what))
               for minis in (16, 64) for what in DASHES
               if (minis, 16, what) in rows]
    epochs = [(*PLAIN, by_epoch(measured["rows"][0]))]
    panels = [("Accuracy after the last epoch, fixed factors", fixed, False,
               axis),
              ("… with the factor found by the loss", adapted, False, axis)]
    panels.append((f"{most}: 2 (green), 4 (teal), 8 (orange), 16 times (red)", epochs + [
        (BY_REPEAT[repeat], "", by_epoch(rows[most, repeat, ""]))
        for repeat in REPEATS if (most, repeat, "") in rows], False))
    panels.append((f"{most} mini-epochs, at most 16 times", epochs + [
        (COLOURS[most], DASHES[what], by_epoch(rows[most, 16, what]))
        for what in DASHES if (most, 16, what) in rows], False))
    entries = [("plain", *PLAIN)]
    entries += [(f"{minis} mini-epochs", colour, "")
                for minis, colour in COLOURS.items()]
    entries += [(what.removesuffix(" loss"), "#000", dash)
                for what, dash in DASHES.items() if what]
    seeds = len(measured["rows"][0]["runs"])
    line_chart.write(path, "MET: share right on the test set (median; shaded: "
                     f"least to most of {seeds} seeds)", entries, panels)
