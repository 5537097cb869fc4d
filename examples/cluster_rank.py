#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A rank of a job on several nodes, as PyTorch has it.

  torchrun … cluster_rank.py ROOT [--epochs 4] [--batch 32] [--workers 2]
                             [--progress]

Stock ImageFolder, DistributedSampler and DataLoader over ROOT; nothing knows of
shufflefs. Files are read whole and not decoded, so reading is what takes time.
After each batch the ranks add up what they have read, as those of a training
add up gradients. Prints a line of JSON when it is ready, and one an epoch. With
--progress it also prints one after each batch."""
import argparse
import json
import os
import time

import torch
from torch import distributed
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets


def read_whole(path):
    """Its length, and the number that it begins with."""
    with open(path, "rb") as file:
        data = file.read()
    return len(data), int.from_bytes(data[:4], "little")


def collate(samples):
    return (sum(size for (size, _), _ in samples),
            [first for (_, first), _ in samples])


def epoch_of(loader, progress):
    """Bytes that all ranks read, and what this rank's files begin with."""
    total, firsts = 0, []
    for size, read in loader:
        firsts += read
        together = torch.tensor([size])
        distributed.all_reduce(together)
        total += int(together)
        if progress:
            print(json.dumps({"ended": time.monotonic()}), flush=True)
    return total, firsts


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--progress", action="store_true")
    arguments = parser.parse_args()
    os.environ.setdefault("USE_LIBUV", "0")  # Debian 13's torch lacks it
    distributed.init_process_group("gloo")
    data = datasets.ImageFolder(arguments.root, loader=read_whole)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, arguments.batch, sampler=sampler,
                        num_workers=arguments.workers, collate_fn=collate)
    print(json.dumps({"samples": len(data)}), flush=True)
    for epoch in range(arguments.epochs):
        distributed.barrier()
        sampler.set_epoch(epoch)
        begin = time.monotonic()
        total, firsts = epoch_of(loader, arguments.progress)
        print(json.dumps({"epoch": epoch, "bytes": total,
                          "seconds": time.monotonic() - begin,
                          "firsts": firsts}), flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
