#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""imagefolder_epoch.py ROUNDS WORKERS ROOT...: epochs of a stock ImageFolder
and DataLoader over each ROOT in turn, decoding its images; prints a line of
images a second of each ROOT a round, and before it a line of the seconds that
making each ImageFolder took."""
import sys
import time

import torch
from torchvision import datasets, transforms


def make(root):
    start = time.perf_counter()
    data = datasets.ImageFolder(root, transforms.ToTensor())
    return data, time.perf_counter() - start


def images_a_second(data, workers, seed):
    generator = torch.Generator().manual_seed(seed)
    loader = torch.utils.data.DataLoader(data, batch_size=128, shuffle=True,
                                         num_workers=workers,
                                         generator=generator)
    start = time.perf_counter()
    seen = sum(len(labels) for _, labels in loader)
    seconds = time.perf_counter() - start
    assert seen == len(data), (seen, len(data))
    return seen / seconds


def main():
    rounds, workers = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)
    made = [make(root) for root in sys.argv[3:]]
    print(*(seconds for _, seconds in made))
    for seed in range(rounds):
        print(*(images_a_second(data, workers, seed) for data, _ in made),
              flush=True)


if __name__ == "__main__":
    main()
