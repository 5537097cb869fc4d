#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Train a small network with stock torchvision ImageFolder and DataLoader.

  train_imagefolder.py ROOT [--epochs 2] [--workers 2] [--seed 0]

reads ROOT/train and ROOT/val. Nothing here knows about shufflefs: ROOT is a
plain directory or a mount of one.
"""
import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


def make_loader(folder, workers, shuffle):
    transform = transforms.Compose([
        transforms.Grayscale(),
        transforms.ToTensor(),
        transforms.Normalize((0.286,), (0.353,)),
    ])
    return DataLoader(datasets.ImageFolder(folder, transform), batch_size=128,
                      shuffle=shuffle, num_workers=workers)


def train(model, loader, optimiser):
    model.train()
    for images, labels in loader:
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimiser.step()


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = total = 0
    for images, labels in loader:
        right += (model(images).argmax(1) == labels).sum().item()
        total += len(labels)
    return right / total


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 128), nn.ReLU(),
                          nn.Linear(128, 10))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    train_loader = make_loader(f"{args.root}/train", args.workers, True)
    val_loader = make_loader(f"{args.root}/val", args.workers, False)
    for epoch in range(args.epochs):
        begin = time.monotonic()
        train(model, train_loader, optimiser)
        seconds = time.monotonic() - begin
        print(f"epoch {epoch}: {len(train_loader.dataset)} images in "
              f"{seconds:.1f} s, validation accuracy "
              f"{accuracy(model, val_loader):.3f}", flush=True)


if __name__ == "__main__":
    main()
