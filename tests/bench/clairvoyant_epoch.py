#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""clairvoyant_epoch.py ROOT BATCH WORKERS SEED [persistent]: a stock
ImageFolder and DataLoader over ROOT that reads files whole and decodes nothing.
SEED: what torch.manual_seed gets, or `none`: it is not called. persistent: the
workers live as long as the job.

Prints a line when the ImageFolder is made. Then each line of its input is a
pass, as JSON, and answered by a line of JSON:
  sampler  distributed, random, sequential, weighted or walk
  epoch    what set_epoch gets
  skip     the share of the batches that the sampler leaves out at the begin
  stop     the share of the batches after which the loop ends early
  detailed true: a line after each batch, too, which says when it ended by the
           monotonic clock; and the answer has what each sample begins with"""
import itertools
import json
import os
import random
import sys
import time

import torch
from torch.utils.data import (DataLoader, DistributedSampler, RandomSampler,
                              Sampler, SequentialSampler,
                              WeightedRandomSampler)
from torchvision import datasets

STRIDE = 50  # of the random walk


def read_whole(path):
    """Its length, and the number that it begins with: no two have the same."""
    with open(path, "rb") as file:
        data = file.read()
    return len(data), int.from_bytes(data[:8], "little")


class Resumed(DistributedSampler):
    """Begins where a job that was restarted had stopped."""

    skipped = 0

    def __iter__(self):
        return itertools.islice(super().__iter__(), self.skipped, None)

    def __len__(self):
        return super().__len__() - self.skipped


class RandomWalk(Sampler):
    """An order that no stock sampler has, and that is not all chance."""

    epoch = 0

    def __init__(self, data):
        self.size = len(data)

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __iter__(self):
        rng = random.Random(self.epoch)
        place = 0
        for _ in range(self.size):
            place = (place + rng.randint(-STRIDE, STRIDE)) % self.size
            yield place

    def __len__(self):
        return self.size


def weighted(data):
    weights = [1 / (1 + label % 10) for label in data.targets]
    return WeightedRandomSampler(weights, len(data))


def distributed(data):
    # As torchrun says it. Alone: all of the data.
    return Resumed(data, num_replicas=int(os.environ.get("WORLD_SIZE", 1)),
                   rank=int(os.environ.get("RANK", 0)), shuffle=True, seed=0)


SAMPLERS = {"distributed": distributed, "random": RandomSampler,
            "sequential": SequentialSampler, "weighted": weighted,
            "walk": RandomWalk}


class Job:
    def __init__(self, root, batch, workers, persistent):
        self.data = datasets.ImageFolder(root, loader=read_whole)
        self.batch, self.workers = batch, workers
        self.persistent = persistent
        self.loaders = {}  # one for all its epochs, as in a training script

    def loader(self, sampler):
        if sampler not in self.loaders:
            self.loaders[sampler] = DataLoader(
                self.data, self.batch, sampler=SAMPLERS[sampler](self.data),
                num_workers=self.workers,
                persistent_workers=self.persistent)
        return self.loaders[sampler]

    def run(self, sampler, epoch=0, skip=0.0, stop=1.0, detailed=False):
        loader = self.loader(sampler)
        if hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        if sampler == "distributed":
            loader.sampler.skipped = 0
            loader.sampler.skipped = self.batch * int(skip * len(loader))
        # One batch that is read is the least that stops early.
        firsts = [] if detailed else None
        answer = measure(loader, max(1, int(stop * len(loader))), firsts)
        return {**answer, "firsts": firsts} if detailed else answer


def measure(loader, most, firsts):
    begin = time.perf_counter()
    first, samples, size, checksum = None, 0, 0, 0
    batches = iter(loader)
    for (lengths, numbers), labels in batches:
        if first is None:
            first = time.perf_counter() - begin
        most -= 1
        samples += len(labels)
        size += int(lengths.sum())
        checksum += int(((numbers + 1) * (labels + 1) * lengths).sum())
        if firsts is not None:
            firsts += numbers.tolist()
            print(json.dumps({"ended": time.monotonic()}), flush=True)
        if most == 0 and samples < len(loader.sampler):
            break
    del batches  # which ends the workers
    return {"seconds": time.perf_counter() - begin, "first": first,
            "samples": samples, "bytes": size, "checksum": checksum}


def main():
    root, batch, workers, seed, *persistent = sys.argv[1:]
    torch.set_num_threads(1)
    if seed != "none":
        torch.manual_seed(int(seed))
    job = Job(root, int(batch), int(workers), bool(persistent))
    print(json.dumps({"files": len(job.data)}), flush=True)
    for line in sys.stdin:
        print(json.dumps(job.run(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
