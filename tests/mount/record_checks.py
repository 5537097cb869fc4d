# SPDX-License-Identifier: Apache-2.0
"""What every reader of shuffled records must find."""
import collections
import os

import harness

MANUAL = {"epoch.advance": "manual"}


def indexed(mount):
    """The mount, when it knows all its records."""
    def done():
        records = mount.view().get("records")
        return records is None or records["indexed"] == records["containers"]

    harness.eventually(done, what="the index")
    return mount


def untouched(mount):
    """{path: why} of what looks like a container and is shown as it is."""
    return {each["path"]: each["why"]
            for each in mount.view()["records"]["untouched"]}


def files(root):
    """The paths of all files below it, sorted, relative to it."""
    return sorted(os.path.relpath(os.path.join(folder, name), root)
                  for folder, _, names in os.walk(root) for name in names)


def shuffles(mounts, source, options, read, same_size=True):
    """Holds `read` to the promises of records, over three epochs.

    read(root) gives the records below `root`, in order, with anything that is
    to stay where it is left out. Returns them as the three epochs have them.
    """
    raw = read(source)
    mount, again = (indexed(mounts(source, {**MANUAL, **options}))
                    for _ in range(2))
    seen = []
    for _ in range(3):
        shown = read(mount.path)
        assert (collections.Counter(map(repr, shown))
                == collections.Counter(map(repr, raw)))
        assert read(again.path) == shown, "the same seed repeats"
        assert shown not in [raw, *seen], "no two orders are alike"
        for name in files(source) if same_size else ():
            assert (os.stat(mount.path / name).st_size
                    == os.stat(source / name).st_size
                    == len((mount.path / name).read_bytes()))
        seen.append(shown)
        mount.next_epoch()
        again.next_epoch()
    assert untouched(mount) == {}
    return seen


def is_the_source(mount, names=None):
    """Whether the files are the source's, byte for byte, in three epochs."""
    for _ in range(3):
        for name in names or files(mount.source):
            assert ((mount.path / name).read_bytes()
                    == (mount.source / name).read_bytes()), name
        mount.next_epoch()
