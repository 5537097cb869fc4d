#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""dataloader_epoch.py ROOT EPOCHS BATCH WORKERS STEP: epochs of a stock
ImageFolder and DataLoader, decoding and augmenting as for ImageNet, with a
consumer that takes STEP seconds a batch and no processor, as an accelerator.

Prints a line of JSON an epoch: seconds in all, of waiting for batches (of which
for the first), of the consumer being busy, and images."""
import json
import sys
import time

import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

TRANSFORM = transforms.Compose([
    transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
    transforms.PILToTensor()])  # bytes: floats are made where they are used


def epoch(loader, step):
    begin = time.perf_counter()
    waited, first, images, busy = 0.0, None, 0, 0.0
    batches = iter(loader)
    while True:
        start = time.perf_counter()
        batch = next(batches, None)
        ready = time.perf_counter()
        if batch is None:
            break
        waited += ready - start
        first = ready - begin if first is None else first
        images += len(batch[1])
        time.sleep(step)
        busy += time.perf_counter() - ready
    return {"seconds": time.perf_counter() - begin, "waited": waited,
            "first": first, "busy": busy, "images": images}


def main():
    root, epochs, batch, workers, step = sys.argv[1:]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    data = datasets.ImageFolder(root, TRANSFORM)
    loader = DataLoader(data, int(batch), shuffle=True,
                        num_workers=int(workers))
    for _ in range(int(epochs)):
        print(json.dumps(epoch(loader, float(step))), flush=True)


if __name__ == "__main__":
    main()
