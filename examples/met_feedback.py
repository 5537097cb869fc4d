#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Tell the loss to a mount with policy = met, which adapts by it.

  shufflefs -o policy=met,tier.path=DIR,met.epochs=20,met.adapt=score DATA MNT
  met_feedback.py MNT [--epochs 20]

All it takes is one line to MNT/.shufflefs/control. The callback needs neither
framework; beside it each wants its own base class:

  class Feedback(MetFeedback, lightning.Callback): pass
  lightning.Trainer(callbacks=[Feedback("MNT")])

  class Feedback(MetFeedback, keras.callbacks.Callback): pass
  model.fit(data, callbacks=[Feedback("MNT")])
"""
import argparse
import math


def tell(root, loss):
    """One loss, less being better; what is no number is not told."""
    if math.isfinite(loss):
        with open(f"{root}/.shufflefs/control", "w") as control:
            control.write(f"feedback = {float(loss)}\n")


class MetFeedback:
    """Tells the loss at the end of each epoch of training."""

    def __init__(self, root, key="loss"):
        super().__init__()
        self.root, self.key = root, key

    def on_train_epoch_end(self, trainer, module):
        """Lightning: what the module logged by self.log(key, loss)."""
        tell(self.root, float(trainer.callback_metrics[self.key]))

    def on_epoch_end(self, epoch, logs=None):
        """Keras."""
        tell(self.root, float(logs[self.key]))


def main():
    import torch
    from torch import nn
    from train_imagefolder import make_loader

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("root")
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()
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
        tell(args.root, total / len(loader))
        print(f"epoch {epoch}: loss {total / len(loader):.4f}", flush=True)


if __name__ == "__main__":
    main()
