#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""yardstick_rank.py KIND ROOT BATCH WORKERS STEP: one accelerator of a job, as
RANK of WORLD_SIZE, in the shape of MLPerf Storage: a stock DataLoader reads
samples whole and decodes nothing, and each batch takes STEP seconds and no
processor.

KIND is `files` (an ImageFolder under a DistributedSampler) or `records`
(TFRecord files, which ranks and workers share among them).

Prints a line when it is ready. Then each line of its input is an epoch, as
JSON: {"epoch": number}, and answered by a line of JSON. Times are of
time.monotonic, which is the same for all ranks."""
import json
import os
import pathlib
import random
import struct
import sys
import time

import torch
from torch.utils.data import (DataLoader, DistributedSampler, IterableDataset,
                              get_worker_info)
from torchvision import datasets

RANK = int(os.environ["RANK"])
WORLD_SIZE = int(os.environ["WORLD_SIZE"])
BUFFER = 1 << 20


def identity(data):
    """Its length, and the number that it begins with."""
    return len(data), int.from_bytes(data[:8], "little")


def read_whole(path):
    with open(path, "rb") as file:
        return identity(file.read())


class Records(IterableDataset):
    """All records of TFRecord files, whose order each epoch draws anew."""

    epoch = 0

    def __init__(self, root):
        self.paths = sorted(pathlib.Path(root).glob("*.tfrecord"))

    def __len__(self):
        return len(self.paths)

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        paths = list(self.paths)
        random.Random(self.epoch).shuffle(paths)
        worker = get_worker_info()
        place = RANK * worker.num_workers + worker.id
        for path in paths[place::WORLD_SIZE * worker.num_workers]:
            yield from self.read(path)

    @staticmethod
    def read(path):
        with open(path, "rb", buffering=BUFFER) as file:
            while header := file.read(12):
                length, = struct.unpack_from("<Q", header)
                yield identity(file.read(length))
                file.read(4)  # its checksum


def make(kind, root, batch, workers):
    """(data, loader, what gets the number of the epoch)."""
    if kind == "records":
        data = Records(root)
        return data, DataLoader(data, batch, num_workers=workers), data
    data = datasets.ImageFolder(root, loader=read_whole)
    sampler = DistributedSampler(data, num_replicas=WORLD_SIZE, rank=RANK,
                                 shuffle=True, seed=0)
    loader = DataLoader(data, batch, sampler=sampler, num_workers=workers)
    return data, loader, sampler


def run(loader, step):
    """An epoch. Utilisation leaves out the first step, as the rules do."""
    begin = time.monotonic()
    first = None
    steps, busy, samples, size, checksum = 0, 0.0, 0, 0, 0
    for batch in loader:
        # Of an ImageFolder, (sample, label).
        lengths, numbers = batch[0] if len(batch[0]) == 2 else batch
        steps += 1
        samples += len(lengths)
        size += int(lengths.sum())
        checksum += int(((numbers % 1000003) * lengths).sum())
        time.sleep(step)
        if first is None:
            first = time.monotonic()
        else:
            busy += step
    end = time.monotonic()
    return {"begin": begin, "end": end, "steps": steps, "samples": samples,
            "bytes": size, "checksum": checksum,
            "utilisation": busy / (end - first) if steps > 1 else None}


def main():
    kind, root, batch, workers, step = sys.argv[1:]
    torch.set_num_threads(1)
    data, loader, counted = make(kind, root, int(batch), int(workers))
    print(json.dumps({"files": len(data)}), flush=True)
    for line in sys.stdin:
        counted.set_epoch(json.loads(line)["epoch"])
        print(json.dumps(run(loader, float(step))), flush=True)


if __name__ == "__main__":
    main()
