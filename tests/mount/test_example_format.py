# SPDX-License-Identifier: Apache-2.0
"""A format that is added by a class and a line of the list (tests/examples)."""
import os
import random

import pytest

import harness

MAGIC = b"framed01"


def framed(messages):
    return MAGIC + b"".join(len(message).to_bytes(4, "little") + message
                            for message in messages)


def messages_of(content):
    assert content.startswith(MAGIC)
    found, at = [], len(MAGIC)
    while at < len(content):
        size = int.from_bytes(content[at:at + 4], "little")
        found.append(content[at + 4:at + 4 + size])
        at += 4 + size
    assert at == len(content)
    return found


@pytest.fixture
def source(folder, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_BIN", os.environ["SHUFFLEFS_EXAMPLE_BIN"])
    (folder / "source").mkdir()
    make = random.Random(3)
    messages = [b"%d " % number + make.randbytes(make.randrange(200))
                for number in range(5000)]
    (folder / "source/all.framed").write_bytes(framed(messages))
    (folder / "source/none.framed").write_bytes(b"something else")
    return folder / "source"


def test_the_records_of_an_added_format_are_shuffled(mounts, source):
    mount = mounts(source, {"policy": "lirs", "epoch.advance": "manual"})
    harness.eventually(lambda: mount.view()["records"]["indexed"] == 1,
                       what="the index")
    raw = (source / "all.framed").read_bytes()
    orders = set()
    for _ in range(3):
        shown = (mount.path / "all.framed").read_bytes()
        assert sorted(messages_of(shown)) == sorted(messages_of(raw))
        orders.add(shown)
        mount.next_epoch()
    assert len(orders | {raw}) == 4
    assert (mount.path / "none.framed").read_bytes() == b"something else"
    untouched = mount.view()["records"]["untouched"]
    assert "its first bytes are not those of a framed file" in str(untouched)
