# SPDX-License-Identifier: Apache-2.0
"""Readers to whom a pass over containers must not begin the next epoch: those
that keep positions of records, those of aligned files, and slow workers."""
import json
import multiprocessing
import random
import time

import numpy as np
import pytest

LINES = {"policy": "lirs", "record.as": "*.jsonl:lines",
         "epoch.advance": "auto"}


def write_lines(path, count, most=400):
    rng = random.Random(0)
    path.write_text("".join(
        json.dumps({"id": number, "text": "x" * rng.randrange(most)}) + "\n"
        for number in range(count)))


@pytest.fixture
def source(folder):
    (folder / "source").mkdir()
    return folder / "source"


def places(path):
    found, at = [], 0
    with open(path, "rb") as file:
        for line in file:
            found.append((at, len(line)))
            at += len(line)
    return found


def read_at(path, place):
    """The number of the record that stands there, or None."""
    with open(path, "rb") as file:
        file.seek(place[0])
        try:
            return json.loads(file.read(place[1]))["id"]
        except ValueError:
            return None


# [S-6.1j] Once a reader was seen to keep positions no pass over containers
# begins the next epoch.
def test_who_keeps_positions_stays_in_the_epoch(mounts, source):
    count = 1000
    write_lines(source / "t.jsonl", count, most=4000)
    mount = mounts(source, LINES)
    path = mount.path / "t.jsonl"
    kept = places(path)  # a whole pass
    shown = path.read_bytes()
    epoch = mount.view()["epoch"]
    assert epoch == 1, "so far nobody has kept any"
    kept = places(path)
    for seed in range(2):
        order = random.Random(seed).sample(range(count), count)
        got = [read_at(path, kept[number]) for number in order]
        assert sorted(got) == list(range(count))
    assert any("a reader seeks inside containers" in each
               for each in mount.view()["warnings"])
    stays = mount.view()["epoch"]
    assert path.read_bytes() == path.read_bytes() != shown
    assert mount.view()["epoch"] == stays
    mount.next_epoch()
    assert mount.view()["epoch"] == stays + 1


def test_who_keeps_positions_in_order_is_noticed_soon(mounts, source):
    count = 1000
    write_lines(source / "t.jsonl", count, most=2000)
    mount = mounts(source, LINES)
    path = mount.path / "t.jsonl"
    kept = places(path)
    # Its first opens cannot be told from those of who reads it whole.
    got = [read_at(path, each) for each in kept]
    assert count - len(set(got) - {None}) <= 40
    assert sorted(read_at(path, each) for each in kept) == list(range(count))


# [S-6.2c] No pass over containers begins the next epoch if some of them are
# aligned.
def test_aligned_files_stay_in_the_epoch(mounts, source):
    count = 5000
    np.save(source / "X.npy",
            np.repeat(np.arange(count)[:, None], 64, 1).astype("float32"))
    np.save(source / "y.npy", np.arange(count) % 10)
    mount = mounts(source, {"policy": "lirs", "record.align": "X.npy:y.npy",
                            "epoch.advance": "auto"})

    def rows():
        # A look at the labels first, as many programs take it.
        assert len(np.unique(np.load(mount.path / "y.npy"))) == 10
        shown = np.load(mount.path / "X.npy")
        labels = np.load(mount.path / "y.npy")
        assert (shown[:, 0].astype(int) % 10 == labels).all()
        return shown[:, 0].tolist()

    first = rows()
    assert rows() == first
    assert any("aligned containers" in each
               for each in mount.view()["warnings"])
    mount.next_epoch()
    assert rows() != first


def read_share(path, number, shown, ready, left):
    """As a worker of an IterableDataset does: reads all, keeps its share."""
    with open(path, encoding="utf-8") as file:
        for at, line in enumerate(file):
            if at % 4 == number:
                shown.put(json.loads(line)["id"])
    ready.set()
    if left is not None:
        left.wait(60)  # a worker stays until its loader ends it


# A worker that begins after others of its loader are done is of their
# pass.
def test_slow_workers_are_of_the_pass(mounts, source):
    write_lines(source / "t.jsonl", 400)
    mount = mounts(source, LINES)
    context = multiprocessing.get_context("fork")
    orders = set()
    for _ in range(3):
        shown, left = context.Queue(), context.Event()
        running, got = [], []
        for number in range(4):  # one after another, and all stay
            ready = context.Event()
            running.append(context.Process(
                target=read_share,
                args=(mount.path / "t.jsonl", number, shown, ready, left)))
            running[-1].start()
            assert ready.wait(60)
        got = [shown.get(timeout=60) for _ in range(400)]
        left.set()
        for worker in running:
            worker.join()
        assert sorted(got) == list(range(400))
        orders.add(tuple(got))
    assert len(orders) == 3
    assert mount.view()["epoch"] == 2


def read_share_late(path, number, shown, begun):
    """All begin together, and end when they are done."""
    begun.wait(60)
    time.sleep(0.2 * number)
    read_share(path, number, shown, multiprocessing.Event(), None)


def test_workers_that_end_one_by_one_are_of_the_pass(mounts, source):
    write_lines(source / "t.jsonl", 400)
    mount = mounts(source, LINES)
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        shown, begun = context.Queue(), context.Event()
        running = [context.Process(
            target=read_share_late,
            args=(mount.path / "t.jsonl", number, shown, begun))
            for number in range(4)]
        for worker in running:
            worker.start()
        time.sleep(0.05)  # /proc says when they began to the hundredth
        begun.set()
        got = [shown.get(timeout=60) for _ in range(400)]
        for worker in running:
            worker.join()
        assert sorted(got) == list(range(400))
    assert mount.view()["epoch"] == 2
