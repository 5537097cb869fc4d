#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stop in the middle of an epoch, and go on from the checkpoint.

  shufflefs -o policy=lirs,layout=ranked,epoch.advance=manual DATA MNT
  checkpoint_token.py MNT CKPT.json [--epochs 2] [--stop N]

Prints the epoch and path of each sample that it reads. --stop N ends after N
samples and writes CKPT.json: the token, and how many samples of the epoch were
read. The next call continues there, also on another mount of the same data,
and with `names[rank::world]` on another number of ranks.
"""
import argparse
import json
import os

import shufflefs


def save(path, view, position):
    """As a training would save it, with its model."""
    with open(f"{path}.new", "w") as file:
        json.dump({"token": view.token(), "position": position}, file)
    os.replace(f"{path}.new", path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("checkpoint")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--stop", type=int)
    args = parser.parse_args()
    view = shufflefs.attach(args.root)
    position = 0
    if os.path.exists(args.checkpoint):
        with open(args.checkpoint) as file:
            saved = json.load(file)
        view.restore(saved["token"])  # before the first file is opened
        position = saved["position"]
    read = 0
    for epoch in range(view.epoch, args.epochs):
        if view.epoch != epoch:
            view.set_epoch(epoch)
        data = shufflefs.RankedFolder(args.root, start=position)
        for index in range(len(data)):
            _content, _label = data[index]  # train on it
            print(epoch, data.sample(index))
            read, position = read + 1, position + 1
            if read == args.stop:
                return save(args.checkpoint, view, position)
        position = 0
    return None


if __name__ == "__main__":
    main()
