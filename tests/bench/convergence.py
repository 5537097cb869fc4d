#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How fast SGD converges on records that a mount shuffles: real data, sorted by
class on disk, in one container file, which a program reads from start to end
in each epoch, training in the order in which it comes (convergence_run.py).

Each order has a learning rate of its own, tuned for the objective after the
last epoch with a seed that is not measured; it decays alike for all, by
1 / epoch. `full` is `lirs` by instance; the control is the file itself,
permuted by the program. File sizes are of memory's, so blocks and windows are
scaled to the file, as the papers have files far larger than their windows:
`reimu` and `window` mix an eighth of it, a small window a fiftieth.

adult is shown as the LIRS paper shows its sets: objective against the least
there is, which LIBLINEAR finds."""
import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402
import numpy  # noqa: E402

import convergence_data  # noqa: E402
import convergence_run  # noqa: E402
import convergence_table  # noqa: E402

PYTHON = "/usr/bin/python3"
CLIENT = measure.HERE / "convergence_run.py"
TUNING_SEED = 1000
RATES = [10 ** (power / 2) for power in range(-10, 5)]
FIRST_RATE = {"adult": 9, "fashion": 10}  # places in RATES
KIB = 1024
BLOCK = {"adult": 4 * KIB, "fashion": 64 * KIB}  # of reimu
FINE_BLOCK = {"fashion": 8 * KIB}  # adult's are of the least size already
EPOCHS = {"adult": 10, "fashion": 8}
LARGE, SMALL = 8, 50  # shares of the file that are mixed
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def policies(data):
    """The options of each row but the control's, by label."""
    size = data.path.stat().st_size
    block = BLOCK[data.name]
    page = {"policy": "lirs", "lirs.unit": "page", "lirs.page": "4KiB"}
    rows = {
        "full": {"policy": "lirs"},
        "page": page,
        "page, mixed": {**page, "lirs.batch": 32},
        "reimu": {"policy": "reimu", "reimu.block": block,
                  "reimu.window": size // LARGE // block},
        "window": {"policy": "window",
                   "window.samples": data.records() // LARGE},
        "small window": {"policy": "window",
                         "window.samples": data.records() // SMALL},
        "none": {"policy": "native"},
    }
    if data.name in FINE_BLOCK:
        block = FINE_BLOCK[data.name]
        rows["reimu, fine"] = {**rows["reimu"], "reimu.block": block,
                               "reimu.window": size // LARGE // block}
    return rows


def run_client(path, data, rate, epochs, *more):
    done = subprocess.run(
        [str(word) for word in (PYTHON, CLIENT, path, data.known, rate, epochs,
                                *more)],
        check=False, text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, **ONE_THREAD})
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout)


def check_orders(label, options, orders, view):
    """A control that was shuffled, or a row that was not, would be no row."""
    distinct = len(set(orders))
    if distinct != (1 if options["policy"] == "native" else len(orders)):
        raise RuntimeError(f"{label}: {distinct} orders in {len(orders)} epochs")
    if options["policy"] != "native" and view["epoch"] != len(orders) - 1:
        raise RuntimeError(f"{label}: {len(orders)} epochs were trained, the "
                           f"mount counts {view['epoch'] + 1}")


def train(data, label, rate, epochs, seed):
    """The figures of one training run, a list of each kind."""
    if label == "control":
        figures = run_client(data.path, data, rate, epochs, "--shuffle", seed)
    else:
        options = {**data.options(), **policies(data)[label], "seed": seed,
                   "epoch.advance": "auto"}
        with measure.folder() as folder:
            with measure.Mount(data.source, pathlib.Path(folder),
                               options) as mount:
                figures = run_client(mount.path / data.file(), data, rate,
                                     epochs)
                check_orders(label, options, figures["order"], mount.view())
    measure.say(f"{data.name}: {label}, rate {rate:.4g}, seed {seed}: "
                f"objective {figures['objective'][-1]:.4f}, "
                f"right {figures['accuracy'][-1]:.4f}")
    return {key: figures[key] for key in ("objective", "accuracy")}


def tune(data, label, epochs):
    """The rate of RATES whose neighbours both end with a higher objective."""
    ends = {}

    def end(place):
        if place not in ends:
            ends[place] = train(data, label, RATES[place], epochs,
                                TUNING_SEED)["objective"][-1]
            if not numpy.isfinite(ends[place]):
                ends[place] = numpy.inf
        return ends[place]

    place = FIRST_RATE[data.name]
    while True:
        near = [at for at in (place - 1, place, place + 1)
                if 0 <= at < len(RATES)]
        best = min(near, key=end)
        if best == place:
            return RATES[place]
        place = best


def liblinear(data, path, solver):
    """The weights that LIBLINEAR finds from a file, with a bias."""
    with measure.folder() as folder:
        model = pathlib.Path(folder) / "model"
        try:
            subprocess.run(["liblinear-train", "-s", str(solver), "-c", "1",
                            "-B", "1", "-e", "1e-6", "-q", path, model],
                           check=True, stdin=subprocess.DEVNULL)
        except FileNotFoundError as error:
            raise convergence_data.MissingData(
                "liblinear-train: install Debian's liblinear-tools") from error
        head, weights = model.read_text().split("\nw\n")
    weights = numpy.array([float(word) for word in weights.split()])
    fitted = convergence_run.Model(data.features, 2, data.records())
    # A file may lack the last features; the bias is always the last weight.
    fitted.w = numpy.zeros((data.features + 1, 1))
    fitted.w[:len(weights) - 1, 0] = weights[:-1]
    fitted.w[-1, 0] = weights[-1]
    if "\nlabel -1 1" in "\n" + head:
        fitted.w = -fitted.w
    return fitted


def reference(data):
    """LIBLINEAR's least objective, and what its dual solver, which permutes
    records by itself, makes of the file and of a shuffled view of it."""
    known = data.arrays()

    def figures(path, solver):
        model = liblinear(data, path, solver)
        return (model.objective(known["train_x"], known["train_y"]),
                model.accuracy(known["test_x"], known["test_y"]))

    primal = figures(data.path, 0)
    with measure.folder() as folder:
        options = {**data.options(), "policy": "lirs", "epoch.advance": "auto"}
        with measure.Mount(data.source, pathlib.Path(folder), options) as mount:
            shuffled = figures(mount.path / data.file(), 7)
    return {"primal": primal, "sorted": figures(data.path, 7),
            "shuffled": shuffled}


def measure_set(data, labels, epochs, seeds):
    rows = []
    for label in labels:
        if label not in ("control", *policies(data)):
            continue
        rate = tune(data, label, epochs)
        # The source's order knows no seed.
        runs = [train(data, label, rate, epochs, seed)
                for seed in range(1 if label == "none" else seeds)]
        rows.append({"label": label, "rate": rate, "runs": runs,
                     "options": policies(data).get(label)})
    return {"name": data.name, "records": data.records(),
            "bytes": data.path.stat().st_size, "epochs": epochs,
            "seeds": seeds, "rows": rows,
            "reference": reference(data) if data.name == "adult" else None}


def join(parts):
    """One entry a set, of files that have some of its rows."""
    sets = {}
    for entry in sum(parts, []):
        joined = sets.setdefault(entry["name"], entry)
        if joined is not entry:
            for key in ("records", "bytes", "epochs", "seeds"):
                if joined[key] != entry[key]:
                    raise RuntimeError(f"{entry['name']}: parts differ in "
                                       f"{key}")
            joined["rows"] += entry["rows"]
    places = list(convergence_table.STYLES)
    for entry in sets.values():
        entry["rows"].sort(key=lambda row: places.index(row["label"]))
    return [sets[name] for name in EPOCHS if name in sets]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="seeds")
    parser.add_argument("--epochs", type=int,
                        help="default 10 of adult, 8 of fashion")
    parser.add_argument("--set", action="append", choices=("adult", "fashion"))
    parser.add_argument("--only", action="append", metavar="ROW")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--from", dest="saved", type=pathlib.Path,
                        metavar="FILE.json", action="append",
                        help="measure nothing; files of parts are joined")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE.svg")
    return parser.parse_args()


def measure_all(arguments):
    measure.enter()
    labels = arguments.only or list(convergence_table.STYLES)
    measured = []
    for name in arguments.set or ("adult", "fashion"):
        data = getattr(convergence_data, name)()
        measured.append(measure_set(data, labels,
                                    arguments.epochs or EPOCHS[name],
                                    arguments.rounds))
    return measured


def main():
    arguments = parse()
    if arguments.saved:
        measured = join([json.loads(path.read_text())
                         for path in arguments.saved])
    else:
        try:
            measured = measure_all(arguments)
        except (convergence_data.MissingData, RuntimeError,
                subprocess.CalledProcessError) as error:
            sys.exit(f"convergence: {error}")
    if arguments.save:
        arguments.save.write_text(json.dumps(measured))
    for each in measured:
        convergence_table.print_set(each)
    if arguments.plot:
        convergence_table.plot(measured, arguments.plot)


if __name__ == "__main__":
    main()
