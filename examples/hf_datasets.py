#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face datasets, streamed from JSON Lines that shufflefs shuffles.

  hf_datasets.py DATA [--epochs 2]

DATA is a folder of .jsonl files. Streaming reads the files again in each
epoch. Without streaming=True `datasets` would copy the first epoch into an
Arrow file of its own and never see the next one. Prints how many rows each
epoch had, and its first row.
"""
import argparse
import glob
import os

import datasets

import shufflefs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    with shufflefs.mount(args.data, policy="lirs", record_as="*.jsonl:lines",
                         epoch_advance="manual") as view:
        files = sorted(glob.glob(os.path.join(view, "*.jsonl")))
        rows = datasets.load_dataset("json", data_files=files, split="train",
                                     streaming=True)
        for epoch in range(args.epochs):
            view.set_epoch(epoch)
            read = list(rows)
            print(f"epoch {epoch}: {len(read)} rows, first {read[0]}")


if __name__ == "__main__":
    main()
