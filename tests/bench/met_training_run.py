# SPDX-License-Identifier: Apache-2.0
"""One training of met_training.py: a network of one hidden layer, by SGD in
mini-batches, over the samples in the order in which met shows them.

The seed rules the first weights and the order; rows of a seed begin alike."""
import os
import subprocess

import numpy

import convergence_data
import convergence_run

SPLIT_SEED = 1
BATCH, HIDDEN, CLASSES = 32, 128, 10
MEAN, SPREAD = 0.286, 0.353  # of Fashion-MNIST's pixels
HELD_OUT, TUNING = 1000, 10000  # records of the training part that never train


class Data:
    """Fashion-MNIST, pixels averaged 2 x 2. `images` of it train, sorted by
    class, as met_order_bench numbers them; those of `held_out` make the loss
    that is told, those of `tuning` choose the rate."""

    def __init__(self, images):
        form = convergence_run.Pixels(14 * 14)
        (x, y), self.test = map(self._arrays, (
            form.arrays(part) for part in convergence_data.fashion_records()))
        order = numpy.random.default_rng(SPLIT_SEED).permutation(len(y))
        ends = numpy.cumsum([images, HELD_OUT, TUNING])
        train, held_out, tuning, _ = numpy.split(order, ends)
        train = train[numpy.argsort(y[train], kind="stable")]
        self.train = x[train], y[train]
        self.held_out = x[held_out], y[held_out]
        self.tuning = x[tuning], y[tuning]
        self.class_sizes = numpy.bincount(y[train], minlength=CLASSES)

    @staticmethod
    def _arrays(both):
        x, y = both
        x[:, :-1] -= MEAN
        x[:, :-1] /= SPREAD
        return x, y


class Network:
    def __init__(self, inputs, seed):
        rng = numpy.random.default_rng(seed)
        self.w1 = (rng.standard_normal((inputs, HIDDEN)) *
                   numpy.sqrt(2 / inputs)).astype(numpy.float32)
        self.w2 = (rng.standard_normal((HIDDEN, CLASSES)) *
                   numpy.sqrt(1 / HIDDEN)).astype(numpy.float32)
        self.bias = numpy.zeros(CLASSES, numpy.float32)

    def _shares(self, x):
        hidden = numpy.maximum(x @ self.w1, 0)
        scores = hidden @ self.w2 + self.bias
        powers = numpy.exp(scores - scores.max(1, keepdims=True))
        return hidden, powers / powers.sum(1, keepdims=True)

    @staticmethod
    def _loss(shares, y):
        right = shares[numpy.arange(len(y)), y]
        return float(-numpy.log(numpy.maximum(right, 1e-12)).mean())

    def step(self, x, y, rate):
        """Returns the loss before the step."""
        hidden, shares = self._shares(x)
        loss = self._loss(shares, y)
        shares[numpy.arange(len(y)), y] -= 1
        shares *= rate / len(y)
        back = (shares @ self.w2.T) * (hidden > 0)
        self.w2 -= hidden.T @ shares
        self.bias -= shares.sum(0)
        self.w1 -= x.T @ back
        return loss

    def loss(self, x, y):
        return self._loss(self._shares(x)[1], y)

    def right(self, x, y):
        return float((self._shares(x)[1].argmax(1) == y).mean())


class PlainOrder:
    """A full shuffle for each epoch, by the program itself."""

    def __init__(self, count, seed):
        self.count = count
        self.rng = numpy.random.default_rng(seed)
        self.rest = numpy.empty(0, int)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        pass

    def read(self, count):
        while len(self.rest) < count:
            self.rest = numpy.concatenate(
                [self.rest, self.rng.permutation(self.count)])
        read, self.rest = numpy.split(self.rest, [count])
        return read

    def status(self):
        return 0, 0, 1, 1, 0


class MetOrder:
    """A process of met_order_bench."""

    def __init__(self, row, sizes, epochs, seed):
        self.process = subprocess.Popen(
            [str(word) for word in (
                os.environ["MET_ORDER_BIN"], "--mini-epochs", row["minis"],
                "--repeat", row["repeat"], "--epochs", epochs,
                "--adapt", row["adapt"], "--seed", seed, *sizes)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=60)

    def _say(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def read(self, count):
        self._say(f"read {count}")
        data = self.process.stdout.read(4 * count)
        if len(data) != 4 * count:
            raise RuntimeError("met_order_bench ended")
        return numpy.frombuffer(data, "<u4")

    def status(self):
        """(pass, mini-epoch of it, repetition, factor, samples copied)."""
        self._say("status")
        return tuple(map(int, self.process.stdout.readline().split()))

    def feedback(self, loss):
        self._say(f"feedback {loss}")


class Feedback:
    """Tells a loss whenever a repetition is over: `told` is `held out`, the
    loss over records that never train, or `training`, the mean loss of the
    repetition's batches before their steps."""

    def __init__(self, told, order, data, network):
        self.told, self.order = told, order
        self.data, self.network = data, network
        self.place = None
        self.losses = []

    def after_batch(self, loss):
        self.losses.append(loss)
        place = self.order.status()[:3]
        if self.place not in (None, place):
            self.order.feedback(
                self.network.loss(*self.data.held_out)
                if self.told == "held out" else numpy.mean(self.losses))
            self.losses = []
        self.place = place


def make_order(row, data, epochs, seed):
    if row["minis"] is None:
        return PlainOrder(len(data.train[1]), seed)
    return MetOrder(row, data.class_sizes, epochs, seed)


def train(row, data, epochs, rate, seed):
    """`row`: minis (None: the plain shuffle), repeat, adapt, told. `rate`:
    (first, whether it falls to zero). By epoch: share of the test set that is
    right; and what met did."""
    x, y = data.train
    network = Network(x.shape[1], seed)
    first, falls = rate
    total, done = epochs * len(y), 0
    right, seen = [], numpy.zeros(len(y), int)
    with make_order(row, data, epochs, seed) as order:
        feedback = (Feedback(row["told"], order, data, network)
                    if row["told"] else None)
        while done < total:
            count = min(BATCH, total - done, len(y) - done % len(y))
            samples = order.read(count)
            now = first * (1 - done / total) if falls else first
            loss = network.step(x[samples], y[samples], now)
            if feedback:
                feedback.after_batch(loss)
            numpy.add.at(seen, samples, 1)
            done += count
            if done % len(y) == 0:
                right.append(network.right(*data.test))
        copied = order.status()[-1]
    if seen.min() < epochs - 1 or seen.max() > epochs + 1:
        raise RuntimeError(f"samples were shown {seen.min()} to {seen.max()} "
                           f"times in {epochs} epochs")
    return {"right": right, "fewest": int(seen.min()), "most": int(seen.max()),
            "copies": copied / len(y),
            "tuning": network.right(*data.tuning)}
