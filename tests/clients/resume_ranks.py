#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A part of an epoch, by several ranks: from a position that a checkpoint
tells, maybe of another number of ranks, up to another one.

  resume_ranks.py ROOT --ranks N [--epoch E] [--position P] [--until Q]

Over class folders the order is that of a stock DistributedSampler, before it is
dealt to ranks; over a ranked directory that of the sorted names. Both are cut
to what lies between the positions and then dealt to the ranks, each with a
DataLoader of two workers. Prints a JSON list of [class, digest].
"""
import argparse
import json
import multiprocessing
import os

from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler

from imagefolder import Named
from loader import read

BATCH = 8


class Ranked(Dataset):
    """Files of a flat directory in the order of their names."""

    def __init__(self, root):
        self.root, self.names = root, sorted(os.listdir(root))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        return name, read(os.path.join(self.root, name)), name.split("~")[1]


class ClassFolders(Named):
    """As the client, but with the digest of the whole file."""

    def __getitem__(self, index):
        path = self.inner.samples[index][0]
        return path, read(path), os.path.basename(os.path.dirname(path))


def order_of(data, epoch):
    if isinstance(data, Ranked):
        return list(range(len(data)))
    sampler = DistributedSampler(data, num_replicas=1, rank=0, shuffle=True)
    sampler.set_epoch(epoch)
    return list(sampler)


def rank_main(rank, args):
    data = (ClassFolders if os.path.isdir(os.path.join(
        args.root, sorted(os.listdir(args.root))[0])) else Ranked)(args.root)
    part = order_of(data, args.epoch)[args.position:args.until]
    loader = DataLoader(data, BATCH, sampler=part[rank::args.ranks],
                        num_workers=2, collate_fn=list)
    return [[label, digest] for batch in loader for _, digest, label in batch]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--epoch", type=int, default=0)
    parser.add_argument("--position", type=int, default=0)
    parser.add_argument("--until", type=int)
    args = parser.parse_args()
    pipes = []
    for rank in range(args.ranks):
        here, there = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.Process(
            target=lambda rank=rank, to=there: to.send(rank_main(rank, args)))
        process.start()
        pipes.append(here)
    print(json.dumps([item for pipe in pipes for item in pipe.recv()]))


main()
