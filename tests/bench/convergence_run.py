#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""convergence_run.py FILE SET.npz RATE EPOCHS [--shuffle SEED]: trains a linear
model by SGD from a file of records, in the order in which it delivers them.

Each epoch opens FILE and reads it from start to end, 1 MiB at a time: LIBSVM
lines, or records of a byte for the class and one for each pixel. --shuffle is
the control: the program permutes the records by itself.

SET.npz tells the format and has training and test set in memory: all epochs
are held to have delivered exactly the training records, and after each the
objective of LIBLINEAR is measured, 1/(2 C n) |w|^2 + mean loss with C = 1,
logistic for two classes, softmax for more, and the share of the test set that
is right. Printed as JSON."""
import hashlib
import json
import sys

import numpy

BATCH = 32
CHUNK = 1 << 20


class Lines:
    """LIBSVM lines, labels -1 and +1; like all formats it gives records as
    rows of features and a last one for the bias, and their classes."""

    def __init__(self, features):
        self.features = features
        self.known = {}  # a line is taken apart once

    def split(self, data):
        records = data.split(b"\n")
        rest = records.pop()
        return records, rest

    def arrays(self, records):
        pairs = [self.known.get(record) or self._parse(record)
                 for record in records]
        x = numpy.zeros((len(records), self.features + 1), numpy.float32)
        x[:, -1] = 1
        for row, (columns, values, _) in zip(x, pairs):
            row[columns] = values
        return x, numpy.array([label for _, _, label in pairs])

    def _parse(self, record):
        label, *words = record.split()
        pairs = [word.split(b":") for word in words]
        parsed = ([int(index) - 1 for index, _ in pairs],
                  [float(value) for _, value in pairs], int(label) > 0)
        self.known[record] = parsed
        return parsed


class Pixels:
    """Records of one size: the class, then the pixels, of which the model sees
    the mean of each 2 x 2: a quarter of the work."""

    SIDE = 28
    SIZE = 1 + SIDE * SIDE

    def __init__(self, features):
        self.features = features

    def split(self, data):
        end = len(data) // self.SIZE * self.SIZE
        return [data[at:at + self.SIZE]
                for at in range(0, end, self.SIZE)], data[end:]

    def arrays(self, records):
        both = numpy.frombuffer(b"".join(records), numpy.uint8)
        both = both.reshape(-1, self.SIZE)
        pixels = both[:, 1:].astype(numpy.float32)
        pixels = pixels.reshape(len(both), self.SIDE, self.SIDE)
        rows = pixels[:, ::2] + pixels[:, 1::2]
        x = numpy.ones((len(both), self.features + 1), numpy.float32)
        means = (rows[:, :, ::2] + rows[:, :, 1::2]) / (4 * 255)
        x[:, :-1] = means.reshape(len(both), -1)
        return x, both[:, 0].astype(int)


FORMATS = {"lines": Lines, "fixed": Pixels}


class Model:
    """Weights, a column for each class, or one if there are two."""

    def __init__(self, features, classes, records):
        self.classes = classes
        self.decay = 1.0 / records
        self.w = numpy.zeros((features + 1, classes if classes > 2 else 1),
                             numpy.float32)

    def _targets(self, y):
        if self.classes == 2:
            return y.astype(numpy.float32)[:, None]
        return numpy.eye(self.classes, dtype=numpy.float32)[y]

    def _shares(self, scores):
        if self.classes == 2:
            return 1 / (1 + numpy.exp(-scores))
        powers = numpy.exp(scores - scores.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)

    def step(self, x, y, rate):
        error = self._shares(x @ self.w) - self._targets(y)
        self.w -= rate * (x.T @ error / len(y) + self.decay * self.w)

    def objective(self, x, y):
        scores = (x @ self.w).astype(float)
        if self.classes == 2:
            loss = numpy.logaddexp(0, numpy.where(y, -1, 1) * scores[:, 0])
        else:
            top = scores.max(1)
            loss = (top + numpy.log(numpy.exp(scores - top[:, None]).sum(1)) -
                    scores[numpy.arange(len(y)), y])
        square = (self.w.astype(float) ** 2).sum()
        return float(self.decay / 2 * square + loss.mean())

    def accuracy(self, x, y):
        scores = x @ self.w
        guess = scores[:, 0] > 0 if self.classes == 2 else scores.argmax(1)
        return float((guess == y).mean())


def stream(path, form):
    """The records of a file, in batches as they come."""
    rest, waiting = b"", []
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(CHUNK):
            records, rest = form.split(rest + chunk)
            waiting += records
            whole = len(waiting) // BATCH * BATCH
            for at in range(0, whole, BATCH):
                yield waiting[at:at + BATCH]
            waiting = waiting[whole:]
    if rest:
        raise RuntimeError(f"{path}: ends within a record")
    if waiting:
        yield waiting


def permuted(path, form, rng):
    records = [record for batch in stream(path, form) for record in batch]
    order = rng.permutation(len(records))
    for at in range(0, len(order), BATCH):
        yield [records[place] for place in order[at:at + BATCH]]


def digest(records):
    return hashlib.blake2b(b"".join(records)).hexdigest()


def train(path, data, rate, epochs, shuffle):
    """Objectives, accuracies and digests of the orders, one an epoch."""
    form = FORMATS[str(data["format"])](int(data["features"]))
    model = Model(int(data["features"]), int(data["classes"]),
                  len(data["train_y"]))
    rng = None if shuffle is None else numpy.random.default_rng(shuffle)
    figures = {"objective": [], "accuracy": [], "order": []}
    for epoch in range(epochs):
        seen = []
        for batch in (stream(path, form) if rng is None else
                      permuted(path, form, rng)):
            model.step(*form.arrays(batch), rate / (1 + epoch))
            seen += batch
        if digest(sorted(seen)) != str(data["records"]):
            raise RuntimeError(f"{path}: epoch {epoch} was not every record "
                               "once")
        figures["order"].append(digest(seen))
        figures["objective"].append(
            model.objective(data["train_x"], data["train_y"]))
        figures["accuracy"].append(
            model.accuracy(data["test_x"], data["test_y"]))
    return figures


def main():
    path, data, rate, epochs, *more = sys.argv[1:]
    shuffle = int(more[1]) if more and more[0] == "--shuffle" else None
    with numpy.load(data) as file:
        data = dict(file)
    print(json.dumps(train(path, data, float(rate), int(epochs), shuffle)))


if __name__ == "__main__":
    main()
