#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cluster_training_run.py ROOT VALIDATION.pt EPOCHS SEED...: one rank of
DistributedDataParallel over gloo, as torchrun starts it. For each seed it trains
the network of training_run.py by stock ImageFolder, DistributedSampler and
DataLoader over ROOT. Then it prints a line of JSON: the share of VALIDATION that
is right, and for each epoch a checksum of every image that this rank read.

The seed rules the first weights and the sampler's order; the rate is fixed."""
import json
import os
import sys
import zlib

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets

from training_run import MOMENTUM, RATE, TRANSFORM, network

BATCH, WORKERS = 16, 1  # of a rank


def train(data, epochs, seed):
    """The network, and the checksums of each epoch."""
    torch.manual_seed(seed)
    model = DistributedDataParallel(network())
    optimiser = torch.optim.SGD(model.parameters(), RATE, momentum=MOMENTUM)
    sampler = DistributedSampler(data, seed=seed)
    loader = DataLoader(data, BATCH, sampler=sampler, num_workers=WORKERS)
    read = []
    for epoch in range(epochs):
        distributed.barrier()
        sampler.set_epoch(epoch)
        sums = []
        for images, labels in loader:
            sums += [zlib.crc32(image.numpy().tobytes()) for image in images]
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimiser.step()
        read.append(sums)
    return model.module, read


def main():
    root, validation, epochs, *seeds = sys.argv[1:]
    torch.set_num_threads(1)
    os.environ.setdefault("USE_LIBUV", "0")  # Debian 13's torch lacks it
    distributed.init_process_group("gloo")
    data = datasets.ImageFolder(root, TRANSFORM)
    images, labels = torch.load(validation)
    for seed in map(int, seeds):
        model, read = train(data, int(epochs), seed)
        with torch.no_grad():
            right = (model(images).argmax(1) == labels).float().mean().item()
        print(json.dumps({"seed": seed, "right": right, "read": read}),
              flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
