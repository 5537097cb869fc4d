# SPDX-License-Identifier: Apache-2.0
"""Read WebDataset shards with the package webdataset and torch's DataLoader.

Each line of the input is a JSON list: the shards (braces stand for several)
and the number of workers. Each line of the output is a JSON list of what the
loader gave, in order: [key, [extension, digest] …].
"""
import hashlib
import json
import sys

import torch
import webdataset

torch.set_num_threads(1)


def plain(sample):
    fields = sorted((name, hashlib.sha256(data).hexdigest()[:16])
                    for name, data in sample.items()
                    if not name.startswith("__"))
    return [sample["__key__"], *fields]


for line in sys.stdin:
    urls, workers = json.loads(line)
    dataset = webdataset.WebDataset(urls, shardshuffle=False).map(plain)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None,
                                         num_workers=workers)
    print(json.dumps(list(loader)), flush=True)
