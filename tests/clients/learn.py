#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Train over several seeds with the samples in a given order.

  learn.py shuffled|sorted|ranked SOURCE MOUNT [--seeds N]

shuffled: SOURCE/train by a stock loader with shuffle=True. sorted: the same
with shuffle=False, class after class. ranked: MOUNT is a ranked view of
SOURCE/train, read with shuffle=False and moved on by its control file. Prints
the accuracies on SOURCE/val as JSON.
"""
import argparse
import json
import os
import pathlib
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

MODULE = pathlib.Path(__file__).resolve().parents[2] / "python"
sys.path.insert(0, str(MODULE))
import shufflefs  # noqa: E402

EPOCHS = 4
TRANSFORM = transforms.Compose([
    transforms.Grayscale(), transforms.ToTensor(),
    transforms.Normalize((0.286,), (0.353,))])


def begin(mount, seed):
    """Epoch 0 of another seed."""
    with open(os.path.join(mount, ".shufflefs/control"), "w") as control:
        control.write(f"seed = {seed}\nepoch = 0\n")


def passes(args, seed, classes):
    """A loader for each epoch."""
    if args.order != "ranked":
        stock = datasets.ImageFolder(f"{args.source}/train", TRANSFORM)
        for _ in range(EPOCHS):
            yield DataLoader(stock, 32, shuffle=args.order == "shuffled")
        return
    begin(args.mount, seed)
    view = shufflefs.attach(args.mount)
    for _ in range(EPOCHS):
        data = shufflefs.RankedFolder(view, TRANSFORM, shufflefs.load_image,
                                      classes)
        yield DataLoader(data, 32)
        view.next_epoch()


def train(args, seed, images, labels, classes):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(),
                          nn.Linear(64, 10))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    for loader in passes(args, seed, classes):
        for batch, expected in loader:
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(batch), expected).backward()
            optimiser.step()
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("order", choices=["shuffled", "sorted", "ranked"])
    parser.add_argument("source")
    parser.add_argument("mount")
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    torch.set_num_threads(1)
    val = datasets.ImageFolder(f"{args.source}/val", TRANSFORM)
    images, labels = next(iter(DataLoader(val, len(val))))
    print(json.dumps([round(train(args, seed, images, labels, val.classes), 4)
                      for seed in range(args.seeds)]))


main()
