# SPDX-License-Identifier: Apache-2.0
"""The tables and the picture of what convergence.py measured."""
import measure
import line_chart

# Colour and dashes of each row, in the order of the table.
STYLES = {
    "control": ("#6b6b6b", "2 4"),
    "full": ("#1f5fa8", ""),
    "page": ("#2f9e8f", "9 4"),
    "page, mixed": ("#86bf40", "6 3"),
    "reimu": ("#e08a1e", "12 5"),
    "reimu, fine": ("#c9b400", "3 3"),
    "window": ("#b04fb0", ""),
    "small window": ("#7a4a2a", "4 3"),
    "none": ("#c02020", ""),
}
TITLES = {"adult": "LIBSVM set a1a (adult)", "fashion": "Fashion-MNIST"}
ABOUT = {
    "control": "the file itself, permuted by the program",
    "full": "lirs, by instance",
    "page": "lirs, pages of {page}",
    "page, mixed": "lirs, pages of {page}, {batch} mixed",
    "reimu": "{blocks} blocks of {block} KiB, 1/8 of the file",
    "reimu, fine": "{blocks} blocks of {block} KiB, 1/8 of the file",
    "window": "window of {queue:,} records, 1/8",
    "small window": "window of {queue:,} records, 1/50",
    "none": "native, sorted by class",
}


def about(row):
    options = row["options"] or {}
    return f"**{row['label']}**: " + ABOUT[row["label"]].format(
        page=options.get("lirs.page", "").replace("KiB", " KiB"), batch=options.get("lirs.batch"),
        blocks=options.get("reimu.window"),
        block=options.get("reimu.block", 0) // 1024,
        queue=options.get("window.samples", 0))


def objectives(entry, run):
    """Above LIBLINEAR's least in shares of it, where that is known."""
    if entry["reference"] is None:
        return run["objective"]
    least = entry["reference"]["primal"][0]
    return [value / least - 1 for value in run["objective"]]


def cell(values, percent):
    middle, mad = measure.median_mad(values)
    if percent:
        return f"{100 * middle:.2f} ± {100 * mad:.2f} %"
    return f"{middle:.4f} ± {mad:.4f}"


def print_set(entry):
    known = entry["reference"]
    print(f"\n{TITLES[entry['name']]}: {entry['records']:,} records, "
          f"{entry['bytes'] / 1e6:.1f} MB, {entry['epochs']} epochs, "
          f"{entry['seeds']} seeds, median ± median deviation\n")
    what = "objective above the least" if known else "objective"
    last = entry["epochs"]
    columns = ("order", "rate", f"{what}, epoch 1", f"epoch {last}",
               "right on the test set, epoch 1", f"epoch {last}")
    measure.row(*columns)
    print("|---" * len(columns) + "|")
    for row in entry["rows"]:
        objective = [objectives(entry, run) for run in row["runs"]]
        right = [run["accuracy"] for run in row["runs"]]
        measure.row(about(row), f"{row['rate']:.2g}",
                    *(cell([each[at] for each in objective], bool(known))
                      for at in (0, -1)),
                    *(cell([each[at] for each in right], True)
                      for at in (0, -1)))
    if known:
        print("\nLIBLINEAR: least objective {:.5f}, {:.2%} right; its dual "
              "solver, which permutes by itself, ends\nfrom the sorted file at "
              "{:.5f}, {:.2%} right, from a shuffled view at {:.5f}, "
              "{:.2%} right".format(*known["primal"], *known["sorted"],
                                    *known["shuffled"]))


def series(entry, values):
    """`values(run)`: one an epoch."""
    drawn = []
    for row in entry["rows"]:
        runs = [values(run) for run in row["runs"]]
        points = [(min(each), measure.median_mad(each)[0], max(each))
                  for each in zip(*runs)]
        drawn.append((*STYLES[row["label"]], points))
    return drawn


def plot(measured, path):
    panels = []
    for entry in measured:
        title = TITLES[entry["name"]]
        what = ("objective above LIBLINEAR's least, share"
                if entry["reference"] else "objective")
        panels.append((f"{title}: {what}",
                       series(entry, lambda run, of=entry: objectives(of, run)),
                       True))
        panels.append((f"{title}: share right on the test set",
                       series(entry, lambda run: run["accuracy"]), False))
    drawn = {row["label"] for entry in measured for row in entry["rows"]}
    entries = [(label, *style) for label, style in STYLES.items()
               if label in drawn]
    line_chart.write(path, "SGD by order of records (median; shaded: least to "
                     f"most of {measured[0]['seeds']} seeds)", entries, panels)
