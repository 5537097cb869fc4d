# SPDX-License-Identifier: Apache-2.0
"""policy = met: several readers of one container while a slow tier fills."""
import collections
import os
import random
import threading

import pytest

import containers
import harness
from met import not_cached, tier

EPOCHS, REPEAT, RECORDS = 4, 2, 2048
NAME = "t.tfrecord"
PIECE = 50_000  # on no page's border


def frame(number):
    """With the frame of a TFRecord 1 KiB, so that epochs are whole mini-epochs."""
    return b"%8d" % number + random.Random(number).randbytes(1000)


@pytest.fixture
def source(folder):
    root = folder / "source"
    root.mkdir()
    (root / NAME).write_bytes(containers.tfrecord(map(frame, range(RECORDS))))
    return root


def options(tier, **more):
    """Copying takes seconds, and every descriptor that is closed is noticed."""
    return {"policy": "met", "memory": "32MiB", "open": "seen",
            "tier.path": tier, "tier.capacity": "16MiB",
            "tier.bandwidth": "1MiB", "met.epochs": EPOCHS,
            "met.repeat": REPEAT, "met.mini_epochs": 4,
            "reimu.block": "32KiB", "epoch.advance": "manual", **more}


class Reader(threading.Thread):
    """Reads [begin, end) of a file by a descriptor of its own."""

    def __init__(self, path, begin, end, together, rest):
        super().__init__()
        self.path, self.begin, self.end = path, begin, end
        self.together, self.rest = together, rest
        self.content, self.error = b"", None

    def run(self):
        try:
            with open(self.path, "rb", buffering=0) as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                self.together.wait(60 * harness.SLOWDOWN)
                self.read(file.fileno())
        except Exception as error:  # told by whoever joins
            self.error = error

    def read(self, fd):
        for count, at in enumerate(range(self.begin, self.end, PIECE), 1):
            length = min(PIECE, self.end - at)
            piece = os.pread(fd, length, at)
            assert len(piece) == length, f"{self.path} ends in {at}+{length}"
            self.content += piece
            if count % 7 == 0:
                self.rest()


def read_by_three(mount, source, rest=lambda: None):
    """The file's bytes, of which two readers at different places get a half
    each, while a third one gets a bit and closes."""
    not_cached(source)
    path = mount.path / NAME
    size = path.stat().st_size
    middle, quarter = size // 2 + 777, size // 4
    ranges = ((0, middle), (middle, size), (quarter, quarter + 3 * PIECE))
    together = threading.Barrier(len(ranges))
    readers = [Reader(path, begin, end, together, rest)
               for begin, end in ranges]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    for reader in readers:
        assert reader.error is None, reader.error
    first, second, bit = [reader.content for reader in readers]
    content = first + second
    assert len(content) == size
    assert content[quarter:][:len(bit)] == bit
    return content


def records_of(content, folder):
    (folder / "content").write_bytes(content)
    return containers.read_tfrecord(folder / "content")


# [S-7.1m] An epoch of containers follows from seed and number: it is the same
# after a restart, by path, and however the tier does.
def test_readers_at_different_places_get_the_epochs_bytes(
        mounts, source, folder, tier):
    mount = mounts(source, options(tier))
    (folder / "other").mkdir()
    other = mounts(source, options(folder / "other"))  # that one reader reads

    def rest():
        harness.eventually(lambda: mount.view()["mini_epoch"]["ready"],
                           what="the mini-epoch of the reader ahead")

    counts = collections.Counter()
    for epoch in range(EPOCHS):
        if epoch:
            mount.next_epoch()
            other.next_epoch()
        content = read_by_three(mount, source, rest)
        assert content == (other.path / NAME).read_bytes()
        counts.update(records_of(content, folder))
    assert counts == {frame(i): EPOCHS for i in range(RECORDS)}
    status = mount.view()["tier"]
    assert status["trouble"] == ""
    assert status["tier_bytes"] > 0 and status["source_bytes"] > 0


def test_every_record_once_where_all_is_being_copied(
        mounts, source, folder, tier):
    keys = options(tier, **{"tier.capacity": "64MiB"})
    del keys["met.mini_epochs"]
    mount = mounts(source, keys)
    once = collections.Counter(map(frame, range(RECORDS)))
    content = read_by_three(mount, source)
    assert content != (source / NAME).read_bytes()
    assert collections.Counter(records_of(content, folder)) == once
    harness.eventually(
        lambda: mount.view()["tier"]["staged_bytes"] >= len(content),
        what="the container in the tier")
    before = mount.view()["tier"]
    mount.next_epoch()
    content = read_by_three(mount, source)
    assert collections.Counter(records_of(content, folder)) == once
    status = mount.view()["tier"]
    assert status["source_bytes"] == before["source_bytes"]
    assert status["tier_bytes"] > before["tier_bytes"]
    assert status["trouble"] == ""
