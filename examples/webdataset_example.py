#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""WebDataset shards that shufflefs shuffles.

  webdataset_example.py SHARDS [--epochs 2]

SHARDS is a folder of .tar files. All of them exchange samples, so the loader
needs neither .shuffle() nor a shuffle of the shards. Prints how many samples
each epoch had, and its first three keys.
"""
import argparse
import glob
import os

import webdataset

import shufflefs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("shards")
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    with shufflefs.mount(args.shards, policy="reimu", record_scope="view",
                         epoch_advance="manual") as view:
        shards = sorted(glob.glob(os.path.join(view, "*.tar")))
        for epoch in range(args.epochs):
            view.set_epoch(epoch)
            # Made anew in each epoch, so that it opens the shards again.
            data = webdataset.WebDataset(shards, shardshuffle=False)
            keys = [sample["__key__"] for sample in data]
            print(f"epoch {epoch}: {len(set(keys))} different samples of "
                  f"{len(keys)}, first {' '.join(keys[:3])}")


if __name__ == "__main__":
    main()
