#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Lightning over a private mount, with checkpoints that keep the epoch.

  lightning_example.py DATA [--epochs 2] [--checkpoint FILE]

DATA has class folders of pictures. With --checkpoint an earlier training goes
on, at the same epoch of the mount. Ranks on one node: mount before the job,
and give every rank shufflefs.attach(MNT) instead.
"""
import argparse

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import transforms

import shufflefs
from shufflefs.lightning import ShufflefsCallback

SIDE = 28  # pixels


class Linear(lightning.LightningModule):
    def __init__(self, classes):
        super().__init__()
        self.model = nn.Sequential(nn.Flatten(),
                                   nn.Linear(3 * SIDE * SIDE, classes))

    def training_step(self, batch, _):
        images, labels = batch
        loss = nn.functional.cross_entropy(self.model(images), labels)
        self.log("loss", loss, on_step=False, on_epoch=True, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--checkpoint")
    args = parser.parse_args()
    with shufflefs.mount(args.data, policy="lirs", layout="ranked") as view:
        data = shufflefs.RankedFolder(
            view, loader=shufflefs.load_image, transform=transforms.Compose([
                transforms.Resize((SIDE, SIDE)), transforms.ToTensor()]))
        trainer = lightning.Trainer(
            max_epochs=args.epochs,
            callbacks=[ShufflefsCallback(view, refresh=[data])])
        trainer.fit(Linear(len(data.classes)),
                    DataLoader(data, 32, shuffle=False, num_workers=2),
                    ckpt_path=args.checkpoint)


if __name__ == "__main__":
    main()
