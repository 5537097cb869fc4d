#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Epochs of several ranks in lock step: gloo and a DistributedSampler.

  ranks.py ROOT --ranks N [--epochs 3] [--drop-last]

Prints a JSON list with an item for each epoch: what all ranks read, as
[name, digest, class].
"""
import argparse
import json
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from imagefolder import Named

BATCH = 8


def rank_main(rank, args, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store",
                            rank=rank, world_size=args.ranks)
    torch.set_num_threads(1)
    data = Named(args.root)
    sampler = DistributedSampler(data, shuffle=True, drop_last=args.drop_last)
    loader = DataLoader(data, BATCH, sampler=sampler, num_workers=1,
                        collate_fn=list)
    epochs = []
    for number in range(args.epochs):
        sampler.set_epoch(number)
        read = []
        for batch in loader:
            read += batch
            dist.all_reduce(torch.ones(1))  # as a gradient would be
        epochs.append(read)
    with open(os.path.join(folder, f"rank{rank}"), "w") as file:
        json.dump(epochs, file)
    dist.barrier()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--drop-last", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(rank_main, (args, folder), nprocs=args.ranks,
                           start_method="fork")
        ranks = [json.load(open(os.path.join(folder, f"rank{rank}")))
                 for rank in range(args.ranks)]
    print(json.dumps([sum((epochs[number] for epochs in ranks), [])
                      for number in range(args.epochs)]))


if __name__ == "__main__":
    main()
