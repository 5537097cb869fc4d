#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Run epochs of a stock ImageFolder and DataLoader; print what they gave.

Prints a JSON list with an item for each epoch: [name, digest, class] of each
sample, in the order in which the loader gave them. The digest is of the
decoded pixels.
"""
import argparse
import hashlib
import json
import os

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets


class Named(Dataset):
    """A stock ImageFolder whose items also tell their name."""

    def __init__(self, root, twice=False):
        self.inner = datasets.ImageFolder(root)
        self.root, self.twice = root, twice

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, index):
        image, label = self.inner[index]
        name = os.path.relpath(self.inner.samples[index][0], self.root)
        digest = hashlib.sha256(image.tobytes()).hexdigest()[:16]
        if self.twice and self.inner[index][0].tobytes() != image.tobytes():
            raise ValueError(f"{name}: two opens, two contents")
        return name, digest, self.inner.classes[label]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--persistent", action="store_true")
    parser.add_argument("--drop-last", action="store_true")
    parser.add_argument("--twice", action="store_true",
                        help="open each file twice, as some decoders do")
    parser.add_argument("--sorted", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    loader = DataLoader(Named(args.root, args.twice), batch_size=16,
                        shuffle=not args.sorted, num_workers=args.workers,
                        persistent_workers=args.persistent,
                        drop_last=args.drop_last, collate_fn=list)
    print(json.dumps([[item for batch in loader for item in batch]
                      for _ in range(args.epochs)]))


if __name__ == "__main__":
    main()
