#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""training_run.py ROOT VALIDATION.pt EPOCHS SEED [--sorted]: trains a small
network with a stock ImageFolder and DataLoader over ROOT, and prints the share
of VALIDATION (images and labels, as a tensor each) that it gets right.

training_run.py --validation FOLDER VALIDATION.pt writes those.

The seed rules the first weights and the loader's order; the rate is fixed."""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

BATCH, WORKERS, RATE, MOMENTUM = 64, 2, 0.02, 0.9
TRANSFORM = transforms.Compose([
    transforms.Grayscale(), transforms.ToTensor(),
    transforms.Normalize((0.286,), (0.353,))])


def write_validation(folder, path):
    data = datasets.ImageFolder(folder, TRANSFORM)
    images, labels = next(iter(DataLoader(data, len(data))))
    torch.save((images, labels), path)


def network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2, padding=2), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
        nn.Linear(16 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 10))


def train(root, epochs, seed, shuffle):
    torch.manual_seed(seed)
    model = network()
    optimiser = torch.optim.SGD(model.parameters(), RATE, momentum=MOMENTUM)
    data = datasets.ImageFolder(root, TRANSFORM)
    loader = DataLoader(data, BATCH, shuffle=shuffle, num_workers=WORKERS,
                        generator=torch.Generator().manual_seed(seed))
    for _ in range(epochs):
        for images, labels in loader:
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(images), labels).backward()
            optimiser.step()
    return model


def main():
    torch.set_num_threads(1)
    if sys.argv[1] == "--validation":
        write_validation(*sys.argv[2:4])
        return
    root, validation, epochs, seed, *more = sys.argv[1:]
    model = train(root, int(epochs), int(seed), "--sorted" not in more)
    images, labels = torch.load(validation)
    with torch.no_grad():
        right = model(images).argmax(1) == labels
    print(right.float().mean().item())


if __name__ == "__main__":
    main()
