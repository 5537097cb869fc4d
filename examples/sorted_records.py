#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the order of a file's records is worth to a learner, in seconds.

  sorted_records.py write DIR         DIR/train.bin: Fashion-MNIST, sorted by class
  sorted_records.py train FILE        softmax regression that reads FILE in order

Each record is 785 bytes: the class, then 28 x 28 pixels. The reader takes them
from start to end in each epoch and does not shuffle. Needs numpy and Debian's
dataset-fashion-mnist.
"""
import argparse
import gzip
import pathlib
import time

import numpy

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
RECORD = 785
BATCH = 100
RATE = 0.1


def read_idx(kind):
    """Rows of 785 bytes of 'train' or 't10k': the class, then the pixels."""
    images = gzip.open(DATA / f"{kind}-images-idx3-ubyte.gz").read()[16:]
    labels = gzip.open(DATA / f"{kind}-labels-idx1-ubyte.gz").read()[8:]
    pixels = numpy.frombuffer(images, numpy.uint8).reshape(-1, RECORD - 1)
    return numpy.column_stack([numpy.frombuffer(labels, numpy.uint8), pixels])


def write(directory):
    rows = read_idx("train")
    directory.mkdir(parents=True, exist_ok=True)
    rows[numpy.argsort(rows[:, 0], kind="stable")].tofile(directory / "train.bin")


def inputs(rows):
    pixels = rows[:, 1:].astype(numpy.float32) / 255
    return numpy.column_stack([pixels, numpy.ones(len(rows), numpy.float32)])


def train(path, epochs):
    test = read_idx("t10k")
    test_inputs = inputs(test)
    weights = numpy.zeros((RECORD, 10), numpy.float32)
    for epoch in range(epochs):
        begin = time.monotonic()
        with open(path, "rb") as file:
            while batch := file.read(RECORD * BATCH):
                rows = numpy.frombuffer(batch, numpy.uint8).reshape(-1, RECORD)
                scores = numpy.exp(inputs(rows) @ weights)
                scores /= scores.sum(axis=1, keepdims=True)
                scores[numpy.arange(len(rows)), rows[:, 0]] -= 1
                weights -= RATE / len(rows) * inputs(rows).T @ scores
        seconds = time.monotonic() - begin
        right = numpy.mean((test_inputs @ weights).argmax(axis=1) == test[:, 0])
        print(f"epoch {epoch + 1}: accuracy {right:.3f}, {seconds:.1f} s",
              flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("write").add_argument("directory", type=pathlib.Path)
    training = commands.add_parser("train")
    training.add_argument("file", type=pathlib.Path)
    training.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    if options.command == "write":
        write(options.directory)
    else:
        train(options.file, options.epochs)


if __name__ == "__main__":
    main()
