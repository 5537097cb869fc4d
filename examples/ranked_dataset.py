#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Read a ranked view (layout = ranked) with shuffle=False.

A ranked view is one flat directory whose sorted names are the epoch's order:
000000042~boot~017.png shows boot/017.png. So the file system shuffles, the
client reads straight on, and the label stands in the name.
"""
import os

from PIL import Image
from torch.utils.data import Dataset


class RankedDataset(Dataset):
    """The samples of a ranked view in its order; list it anew each epoch."""

    def __init__(self, root, classes, transform):
        self.root, self.transform = root, transform
        self.names = sorted(n for n in os.listdir(root) if n[:9].isdigit())
        self.labels = {name: label for label, name in enumerate(classes)}

    def __len__(self):
        return len(self.names)

    def __getitem__(self, rank):
        name = self.names[rank]
        _, *_, folder, _ = name.split("~")
        with Image.open(os.path.join(self.root, name)) as image:
            return self.transform(image), self.labels[folder]
