#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What met's repeating costs a learner: accuracy on Fashion-MNIST against the
number of mini-epochs and the repeating factor, fixed or found by the loss.

A network of one hidden layer learns 20,000 images in 16 epochs, in the order of
policies/met/met_binder.h (met_order_bench): a framework that opens all names once
an epoch at random, a tier that is never waited for. Every image is shown 16
times in every row. The rate is tuned for the plain shuffle, by images that do
not train and a seed that is not measured, and is the same for all rows.

Rows that adapt are told a loss after each repetition: that of 1,000 images
that never train, or that of the repetition itself."""
import argparse
import json
import multiprocessing
import os
import pathlib
import sys

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"  # before numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import measure  # noqa: E402

import convergence_data  # noqa: E402
import met_training_run  # noqa: E402
import met_training_table  # noqa: E402

TUNING_SEED = 1000
RATES = [0.025 * 2**power for power in range(7)]
FIRST_RATE = 2  # place in RATES
MINIS, REPEATS = (4, 16, 64), (2, 4, 8, 16)
ADAPTED_MINIS, CAPS = (16, 64), (8, 16)
ADAPTING = (("score", "held out"), ("bollinger", "held out"),
            ("bollinger", "training"))
PLAIN = {"minis": None, "repeat": 1, "adapt": "off", "told": None}


def grid(quick):
    rows = [PLAIN]
    for minis in MINIS:
        rows += [{**PLAIN, "minis": minis, "repeat": repeat}
                 for repeat in REPEATS]
    for minis in ADAPTED_MINIS:
        for cap in CAPS:
            rows += [{"minis": minis, "repeat": cap, "adapt": adapt,
                      "told": told} for adapt, told in ADAPTING]
    if quick:
        rows = [row for row in rows if row["minis"] in (None, 64) and
                row["repeat"] in (1, 2, 16)]
    return rows


class Work:
    """What each process does; the data is made once in each."""

    data = None

    def __init__(self, images, epochs):
        self.images, self.epochs = images, epochs

    def __call__(self, job):
        row, rate, seed = job
        if Work.data is None:
            Work.data = met_training_run.Data(self.images)
        result = met_training_run.train(row, Work.data, self.epochs, rate, seed)
        measure.say(f"{met_training_table.name(row)}, rate {rate[0]:g}"
                    f"{' falling' if rate[1] else ''}, seed {seed}: "
                    f"right {result['right'][-1]:.4f}, "
                    f"copied {result['copies']:.2f} times")
        return result


def tune(pool, work):
    """The rate, constant or falling, whose neighbours are both worse."""
    ends = {}
    best = {}
    for falls in (False, True):
        place, low, high = FIRST_RATE, 0, len(RATES) - 1
        while True:
            near = [at for at in (place - 1, place, place + 1)
                    if low <= at <= high]
            missing = [at for at in near if (at, falls) not in ends]
            jobs = [(PLAIN, (RATES[at], falls), TUNING_SEED) for at in missing]
            for at, result in zip(missing, pool.imap(work, jobs)):
                ends[at, falls] = result["tuning"]
            better = max(near, key=lambda at: ends[at, falls])
            if better == place:
                break
            place = better
        best[falls] = place
    falls = max(best, key=lambda each: ends[best[each], each])
    return RATES[best[falls]], falls


def measure_all(arguments):
    work = Work(arguments.images, arguments.epochs)
    rows = grid(arguments.quick)
    measured = {"images": arguments.images, "epochs": arguments.epochs,
                "rows": [{**row, "runs": []} for row in rows]}
    with multiprocessing.Pool(arguments.jobs) as pool:
        rate = measured["rate"] = arguments.rate or tune(pool, work)
        for seed in range(arguments.rounds):
            jobs = [(row, rate, seed) for row in rows]
            for row, run in zip(measured["rows"], pool.imap(work, jobs)):
                row["runs"].append(run)
            if arguments.save:  # a long run may be ended
                arguments.save.write_text(json.dumps(measured))
    return measured


def rate_of(text):
    """`0.1` or `0.1 falling`."""
    words = text.split()
    return float(words[0]), words[1:] == ["falling"]


def parse():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="seeds; 5, quick: 2")
    parser.add_argument("--images", type=int, help="20000, quick: 4000")
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--jobs", type=int, default=os.cpu_count(),
                        help="trainings at a time")
    parser.add_argument("--rate", type=rate_of, metavar="'RATE [falling]'",
                        help="do not tune")
    parser.add_argument("--quick", action="store_true",
                        help="a trial: few rows, seeds and images")
    parser.add_argument("--save", type=pathlib.Path, metavar="FILE.json")
    parser.add_argument("--from", dest="saved", type=pathlib.Path,
                        metavar="FILE.json", help="train nothing")
    parser.add_argument("--plot", type=pathlib.Path, metavar="FILE.svg")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 5)
    arguments.images = arguments.images or (4000 if arguments.quick else 20000)
    return arguments


def main():
    arguments = parse()
    if arguments.saved:
        measured = json.loads(arguments.saved.read_text())
    else:
        try:
            measured = measure_all(arguments)
        except (convergence_data.MissingData, RuntimeError) as error:
            sys.exit(f"met_training: {error}")
    met_training_table.print_table(measured)
    if arguments.plot:
        met_training_table.plot(measured, arguments.plot)


if __name__ == "__main__":
    main()
