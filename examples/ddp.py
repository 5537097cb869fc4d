#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Distributed data parallel over one ranked mount per node.

  shufflefs -o policy=lirs,layout=ranked,epoch.advance=manual DATA MNT
  torchrun --nproc_per_node 2 examples/ddp.py MNT [--epochs 2] [--side 28]

The view is shuffled, so the sampler only deals its names to the ranks. Each
node has a mount of its own. The first rank of a node moves its mount.
"""
import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import transforms

import shufflefs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--side", type=int, default=28, help="pixels")
    args = parser.parse_args()
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    view = shufflefs.attach(args.root)
    data = shufflefs.RankedFolder(
        args.root, loader=shufflefs.load_image,
        transform=transforms.Compose([
            transforms.Resize((args.side, args.side)), transforms.ToTensor()]))
    model = DistributedDataParallel(nn.Sequential(
        nn.Flatten(), nn.Linear(3 * args.side**2, len(data.classes))))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    # All ranks get equally many samples: the last few wait for another epoch.
    sampler = DistributedSampler(data, shuffle=False, drop_last=True)
    loader = DataLoader(data, 32, sampler=sampler, num_workers=2)
    for epoch in range(args.epochs):
        dist.barrier()  # nobody reads
        if os.environ["LOCAL_RANK"] == "0" and view.epoch != epoch:
            view.set_epoch(epoch)
        dist.barrier()  # the epoch has begun
        data.refresh()
        for images, labels in loader:
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimiser.step()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {len(data)} samples, last loss {loss:.3f}",
                  flush=True)


if __name__ == "__main__":
    main()
