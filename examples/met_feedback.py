#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Report the loss to a mount with policy = met, which adapts by it.

  shufflefs -o policy=met,tier.path=DIR,met.epochs=20,met.adapt=score DATA MNT
  met_feedback.py MNT [--epochs 20]

Lightning and Keras have callbacks for it: ShufflefsCallback(view,
feedback="loss") and ShufflefsKerasCallback.
"""
import argparse
import math

import torch
from torch import nn

import shufflefs
from train_imagefolder import make_loader


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root")
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()
    view = shufflefs.attach(args.root)
    model = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 10))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    loader = make_loader(f"{args.root}/train", workers=2, shuffle=True)
    for epoch in range(args.epochs):
        total = 0.0
        for images, labels in loader:
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimiser.step()
            total += loss.item()
        loss = total / len(loader)
        if math.isfinite(loss):
            view.feedback(loss)
        print(f"epoch {epoch}: loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
