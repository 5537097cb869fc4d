#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Distributed data parallel over one ranked mount per node.

  shufflefs -o policy=lirs,layout=ranked,epoch.advance=manual DATA MNT
  torchrun --nproc_per_node 2 examples/ddp.py MNT [--epochs 2]

Debian 12's torchrun ends with an AttributeError in to_map. It starts with
--redirects 1 --tee 1, which copies the output to files, too.

The view is shuffled: the sampler only deals its names to the ranks. Each node
has a mount of its own, which its first rank moves.
"""
import argparse
import os

import torch
from torch import distributed as dist, nn
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import transforms

import shufflefs

SIDE = 28  # pixels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    local_rank = int(os.environ["LOCAL_RANK"])
    device = f"cuda:{local_rank}" if torch.cuda.is_available() else "cpu"
    if device != "cpu":
        torch.cuda.set_device(device)
    os.environ.setdefault("USE_LIBUV", "0")  # Debian 13's torch lacks it
    dist.init_process_group("gloo" if device == "cpu" else "nccl")
    view = shufflefs.attach(args.root)
    transform = transforms.Compose([transforms.Resize((SIDE, SIDE)),
                                    transforms.ToTensor()])
    data = shufflefs.RankedFolder(view, transform, shufflefs.load_image)
    model = nn.parallel.DistributedDataParallel(nn.Sequential(
        nn.Flatten(), nn.Linear(3 * SIDE * SIDE, len(data.classes))).to(device))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    # drop_last: all ranks get equally many samples.
    loader = DataLoader(data, 32, num_workers=2, sampler=DistributedSampler(
        data, shuffle=False, drop_last=True))
    for epoch in range(args.epochs):
        dist.barrier()  # nobody reads
        if local_rank == 0:
            view.set_epoch(epoch)
        dist.barrier()
        data.refresh()
        for images, labels in loader:
            optimiser.zero_grad()
            shown = model(images.to(device))
            loss = nn.functional.cross_entropy(shown, labels.to(device))
            loss.backward()
            optimiser.step()
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {len(data)} samples, last loss {loss:.3f}",
                  flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
