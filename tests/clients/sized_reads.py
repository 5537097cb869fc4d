#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A loader whose items ask for a file's size before they open it.

  sized_reads.py ROOT --how read_file|stat [--epochs N] [--batches N]
                 [--workers N] [--seed N]

Persistent workers of a stock DataLoader(shuffle=True) read all files below
ROOT. `read_file` is torchvision's, which maps as many bytes as stat said;
`stat` is os.stat and then open and read. Prints a line of JSON an epoch:
[name, digest, torn] of each item. Torn is what shows that the file that was
opened is not the one that was sized, or null. With --batches an epoch breaks
off after so many.
"""
import argparse
import hashlib
import itertools
import json
import os
import pathlib

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision.io import read_file

BATCH = 16


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def by_read_file(path):
    """The content itself tells whether it was cut off."""
    return digest(read_file(path).numpy()), None


def by_stat(path):
    sized = os.stat(path)
    with open(path, "rb") as file:
        opened = os.fstat(file.fileno())
        data = file.read()
    torn = None
    if (sized.st_ino, sized.st_size) != (opened.st_ino, len(data)):
        torn = [sized.st_ino, sized.st_size, opened.st_ino, len(data)]
    return digest(data), torn


WAYS = {"read_file": by_read_file, "stat": by_stat}


class Files(Dataset):
    def __init__(self, root, how):
        self.root, self.read = root, WAYS[how]
        self.names = sorted(str(path.relative_to(root))
                            for path in pathlib.Path(root).glob("*/*"))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        name = self.names[index]
        try:
            return (name, *self.read(os.path.join(self.root, name)))
        except (OSError, RuntimeError) as error:
            return name, None, str(error)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--how", choices=WAYS, default="stat")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batches", type=int)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    loader = DataLoader(Files(args.root, args.how), BATCH, shuffle=True,
                        num_workers=args.workers,
                        persistent_workers=args.workers > 0, collate_fn=list)
    for _ in range(args.epochs):
        batches = itertools.islice(loader, args.batches)
        print(json.dumps([item for batch in batches for item in batch]),
              flush=True)


if __name__ == "__main__":
    main()
