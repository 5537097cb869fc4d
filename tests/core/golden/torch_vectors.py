# SPDX-License-Identifier: Apache-2.0
"""What real PyTorch draws, as the vectors that core/sampler/search is held to.

    python3 torch_vectors.py > torch_vectors.txt
    python3 torch_vectors.py --agrees-with torch_vectors.txt   # another torch
    python3 torch_vectors.py --large                    # 2 GB, half a minute

A line is `what key=value ... | length checksum first values`. The checksum is
the sum of value * (2 * position + 1) modulo 2^64, so it tells orders apart.
All versions named in the first line gave the same vectors; --agrees-with adds
the one at hand to them or fails. --large prints the ends of a permutation as
long as those that changed between versions: too long for a unit test.

torchdata's StatefulDataLoader is of torchdata 0.11.0, from PyPI: a wheel of
pure Python, which `PYTHONPATH=torchdata-0.11.0-py3-none-any.whl` is enough for.
"""
import argparse
import contextlib
import io
import itertools

import torch
from torch.utils.data import DataLoader, RandomSampler
from torch.utils.data.distributed import DistributedSampler
from torchdata.stateful_dataloader import StatefulDataLoader

HEAD = 8
SEEDS = (0, 42, 1234, 2**32 + 42, 2**63 - 1)


def line(what, values, **arguments):
    order = torch.as_tensor(list(values) if not torch.is_tensor(values) else values,
                            dtype=torch.int64)
    weights = torch.arange(len(order), dtype=torch.int64) * 2 + 1
    checksum = int((order * weights).sum()) % 2**64
    words = " ".join(f"{key}={value}" for key, value in arguments.items())
    head = " ".join(str(int(v)) for v in order[:HEAD])
    print(f"{what} {words} | {len(order)} {checksum} {head}".rstrip())


def seeded(seed):
    return torch.Generator().manual_seed(seed)


def generators():
    for seed in SEEDS:
        g = seeded(seed)
        draws = [torch.empty((), dtype=torch.int64).random_(generator=g).item()
                 for _ in range(700)]
        line("random_", draws, seed=seed)


def permutations():
    for n in (1, 2, 3, 10, 100, 623, 1000, 65536, 1281167, 2000000):
        for seed in SEEDS[:4]:
            line("randperm", torch.randperm(n, generator=seeded(seed)), n=n, seed=seed)
    g = seeded(7)
    for nth in range(3):
        line("next_randperm", torch.randperm(1000, generator=g), n=1000, seed=7, nth=nth)


def distributed():
    rows = itertools.product((10, 300, 1000, 1281167), ((1, 0), (2, 1), (7, 3), (8, 7)),
                             ((0, 0), (42, 3)), (False, True))
    for n, (world, rank), (seed, epoch), drop_last in rows:
        shuffle = (seed, epoch) != (0, 0) or n != 300
        sampler = DistributedSampler(range(n), world, rank, shuffle, seed, drop_last)
        sampler.set_epoch(epoch)
        line("distributed", sampler, n=n, world=world, rank=rank, seed=seed,
             epoch=epoch, shuffle=int(shuffle), drop_last=int(drop_last))
    for rank in (0, 5, 1023):  # more padding than indices
        sampler = DistributedSampler(range(10), 1024, rank)
        line("distributed", sampler, n=10, world=1024, rank=rank, seed=0, epoch=0,
             shuffle=1, drop_last=0)


def random_sampler():
    for n, samples in ((100, 100), (100, 30), (100, 250), (100, 200)):
        sampler = RandomSampler(range(n), num_samples=samples, generator=seeded(42))
        line("random_sampler", sampler, n=n, samples=samples, seed=42)


class Recorder(torch.utils.data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        info = torch.utils.data.get_worker_info()
        return index, info.id if info else 0


def epochs():
    """Consecutive epochs of a loader; `before` draws of the model come first."""
    cases = ((0, 0, False, False), (42, 2, False, False), (42, 2, True, False),
             (1234, 0, False, True), (1234, 2, True, True))
    for seed, workers, persistent, own in cases:
        for before in (0, 5):
            torch.manual_seed(seed)
            g = seeded(seed) if own else None
            torch.rand(before)
            loader = DataLoader(Recorder(1000), 16, shuffle=True, num_workers=workers,
                                persistent_workers=persistent, generator=g)
            for epoch in range(3):
                order = torch.cat([indices for indices, _ in loader])
                line("epoch", order, n=1000, seed=seed, before=before, workers=workers,
                     persistent=int(persistent), own=int(own), epoch=epoch)


def stateful():
    """The same of a StatefulDataLoader: all epochs are one generator's."""
    cases = itertools.product(((0, False), (2, False), (2, True)), (False, True),
                              (0, 5))
    for (workers, persistent), own, before in cases:
        torch.manual_seed(42)
        g = seeded(1234) if own else None
        torch.rand(before)
        loader = StatefulDataLoader(Recorder(1000), 16, shuffle=True,
                                    num_workers=workers, generator=g,
                                    persistent_workers=persistent)
        for epoch in range(4):
            order = torch.cat([indices for indices, _ in loader])
            line("stateful", order, n=1000, seed=1234 if own else 42, before=before,
                 workers=workers, persistent=int(persistent), own=int(own),
                 epoch=epoch)


def dealing():
    for n, batch, workers, drop_last in ((100, 16, 3, False), (100, 16, 3, True),
                                         (100, 1, 2, False), (20, 16, 3, False)):
        loader = DataLoader(Recorder(n), batch, num_workers=workers, drop_last=drop_last)
        opened = [[] for _ in range(workers)]
        for indices, ids in loader:
            for index, worker in zip(indices.tolist(), ids.tolist()):
                opened[worker].append(index)
        for worker, order in enumerate(opened):
            line("dealt", order, n=n, batch=batch, workers=workers,
                 drop_last=int(drop_last), worker=worker)


def large():
    """The two forms of randperm: the value drawn by the last outputs."""
    n = (2**32 - 1) // 20
    for size in (n - 1, n):
        order = torch.randperm(size, generator=seeded(42), dtype=torch.int32)
        where = int((order == size - 1).nonzero())
        print(f"{torch.__version__} n={size}: first {int(order[0])}, "
              f"last {int(order[-1])}, {size - 1} stands at {where}")


def vectors():
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        for part in (generators, permutations, distributed, random_sampler, epochs,
                     stateful, dealing):
            part()
    return text.getvalue()


def agree(path):
    with open(path) as file:
        first, rest = file.read().split("\n", 1)
    if rest != vectors():
        raise SystemExit(f"torch {torch.__version__} gives other vectors")
    with open(path, "w") as file:
        file.write(f"{first}, {torch.__version__}\n{rest}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--agrees-with", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.large:
        large()
    elif arguments.agrees_with:
        agree(arguments.agrees_with)
    else:
        print(f"# torch_vectors.py by torch {torch.__version__}\n{vectors()}", end="")


if __name__ == "__main__":
    main()
