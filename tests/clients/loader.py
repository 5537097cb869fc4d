#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A training job of stock samplers and DataLoaders that goes on when told to.

  loader.py ROOT [--seed N] [--keep]

Prints its process id; then answers each line of its standard input, a JSON
object, with a line of JSON, and ends with its input:

  {"begin": {"path": "train", "sampler": "random", "epoch": 3, …}}
      begins an epoch over the class folders below ROOT/path; one that is under
      way is broken off. Answers with how many samples there are.
  {"read": N}
      takes N samples or a few more, batch by batch (null: all that are left),
      and answers with [name, digest, class] of each; where it could not be
      read with the errno instead of the digest.

Files are asked for again in every epoch: what was read is dropped from the
kernel's memory, but for --keep.
"""
import argparse
import functools
import hashlib
import itertools
import json
import os
import random
import sys

import torch
from torch.utils.data import (DataLoader, Dataset, RandomSampler, Sampler,
                              SequentialSampler, WeightedRandomSampler)
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets

BATCH = 16


def read(path, keep=False):
    """The digest of a file, or the errno of what went wrong."""
    try:
        with open(path, "rb") as file:
            data = file.read()
            if not keep:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    except OSError as error:
        return error.errno
    return hashlib.sha256(data).hexdigest()[:16]


class Named(Dataset):
    """A stock ImageFolder whose items also tell their name."""

    def __init__(self, root, path, keep):
        self.inner = datasets.ImageFolder(
            os.path.join(root, path),
            loader=functools.partial(read, keep=keep))
        self.root = root

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, index):
        digest, label = self.inner[index]
        name = os.path.relpath(self.inner.samples[index][0], self.root)
        return name, digest, self.inner.classes[label]


class Walk(Sampler):
    """An order of nobody else's: some steps on, some steps back."""

    def __init__(self, data):
        self.count, self.rng = len(data), random.Random(7)

    def __iter__(self):
        at = 0
        for _ in range(self.count):
            at = (at + self.rng.randint(-20, 23)) % self.count
            yield at

    def __len__(self):
        return self.count


class Resumed(Sampler):
    """The order of another one from some place on."""

    def __init__(self, inner, skip):
        self.inner, self.skip = inner, skip

    def __iter__(self):
        return itertools.islice(self.inner, self.skip, None)

    def __len__(self):
        return len(self.inner) - self.skip


def weighted(data):
    """As for classes of unequal sizes: drawn with replacement."""
    weights = [1 + index % 5 for index in range(len(data))]
    return WeightedRandomSampler(weights, len(data))


SAMPLERS = {
    "distributed": lambda data: DistributedSampler(data, 1, 0),
    "random": RandomSampler,
    "sorted": SequentialSampler,
    "walk": Walk,
    "weighted": weighted,
}


class Job:
    def __init__(self, root, keep):
        self.root, self.keep = root, keep
        self.samplers, self.batches = {}, iter(())

    def stateful(self, path, workers, persistent):
        """torchdata's loader draws all epochs from one generator."""
        if (path, workers, persistent) not in self.samplers:
            from torchdata.stateful_dataloader import StatefulDataLoader
            self.samplers[path, workers, persistent] = StatefulDataLoader(
                Named(self.root, path, self.keep), BATCH, shuffle=True,
                num_workers=workers, persistent_workers=persistent,
                collate_fn=list)
        loader = self.samplers[path, workers, persistent]
        self.batches = iter(loader)
        return len(loader.dataset)

    def begin(self, path, sampler, epoch=None, workers=2, skip=0,
              persistent=False):
        """`epoch` is for set_epoch; None: the job forgets to call it."""
        self.batches = iter(())
        if sampler == "stateful":
            return self.stateful(path, workers, persistent)
        if (path, sampler) not in self.samplers:
            data = Named(self.root, path, self.keep)
            self.samplers[path, sampler] = data, SAMPLERS[sampler](data)
        data, order = self.samplers[path, sampler]
        if sampler == "distributed" and epoch is not None:
            order.set_epoch(epoch)
        loader = DataLoader(data, BATCH, num_workers=workers,
                            sampler=Resumed(order, skip) if skip else order,
                            collate_fn=list)
        self.batches = iter(loader)
        return len(data)

    def read(self, samples):
        batches = samples and -(-samples // BATCH)
        return [item for batch in itertools.islice(self.batches, batches)
                for item in batch]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    print(json.dumps(os.getpid()), flush=True)
    job = Job(args.root, args.keep)
    for line in sys.stdin:
        command = json.loads(line)
        answer = (job.begin(**command["begin"]) if "begin" in command
                  else job.read(command["read"]))
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
