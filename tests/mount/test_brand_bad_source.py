# SPDX-License-Identifier: Apache-2.0
"""A source that changes under a pool, in the middle of an epoch: only the
reader of what changed is told."""
import collections
import errno
import os
import random

import pytest

import harness
import trees

BRAND = {"policy": "brand", "substitute": "directory", "memory": "8MiB",
         "epoch.advance": "manual"}
POLICIES = {
    "brand": BRAND,
    "location": {**BRAND, "brand.binding": "location"},
    "static": {**BRAND, "policy": "static"},
}
REFUSED = {errno.EIO, errno.ESTALE, errno.ENOENT}
VICTIMS = 60


@pytest.fixture
def source(folder):
    """About four times the memory, so that most of it is yet to be read."""
    return trees.blobs(folder / "source", classes=3, per_class=150,
                       largest=140_000)


def shuffled_names(root):
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*.png"))
    random.Random(5).shuffle(names)
    return names


def read(mount, name):
    """The digest of what the name shows, or an errno."""
    try:
        return trees.digest((mount.path / name).read_bytes())
    except OSError as error:
        return error.errno


# [S-3.15h] Under brand and static a file that changes or fails in mid-epoch
# costs its own reader only.
@pytest.mark.parametrize("options", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("damage", trees.DAMAGES)
def test_only_readers_of_changed_files_are_told(mounts, source, options,
                                                damage):
    mount = mounts(source, options)
    names = shuffled_names(source)
    digests = {name: trees.digest((source / name).read_bytes())
               for name in names}
    half = len(names) // 2
    found = {name: read(mount, name) for name in names[:half]}
    assert set(found.values()) <= set(digests.values())

    unread = [name for name in names
              if digests[name] not in set(found.values())]
    victims = random.Random(6).sample(unread, VICTIMS)
    for name in victims:
        damage(source / name)
    found.update({name: read(mount, name) for name in names[half:]})

    # What was in memory by then is served as it was. Memory holds a quarter
    # of the samples, so most are not.
    refused = [v for v in found.values() if isinstance(v, int)]
    served = collections.Counter(v for v in found.values()
                                 if isinstance(v, str))
    assert set(refused) <= REFUSED and len(refused) >= VICTIMS / 4, found
    lost = collections.Counter(digests.values()) - served
    assert not served - collections.Counter(digests.values())
    assert lost.total() == len(refused)
    damaged = {digests[name]: name for name in victims}
    assert lost.keys() <= damaged.keys()

    # One line in the log for each, and none for the others.
    log = mount.log()
    for name in victims:
        expected = 1 if digests[name] in lost else 0
        assert log.count(name) == expected, f"{name}\n{log}"
    for name in set(names) - set(victims):
        assert name not in log

    # Whoever asks again is told again.
    for name, value in found.items():
        if isinstance(value, int):
            assert read(mount, name) == value
    view = mount.view()
    assert view["pool_bytes"] <= view["memory_limit"]

    # The next epoch has all the others, too.
    mount.next_epoch()
    again = collections.Counter(read(mount, name) for name in names)
    for name, content in digests.items():
        assert again[content] == 1 or name in victims, name
    assert again.total() == len(names)


# A mount whose pack has a wrong byte is a source that gives EIO for one file
# and looks as it always did.
@pytest.mark.parametrize("options", POLICIES.values(), ids=POLICIES)
def test_a_file_that_gives_eio(mounts, source, folder, options):
    pack = folder / "pack"
    harness.run([harness.shufflectl(), "pack", source, pack])
    chunk = sorted(pack.glob("chunk-*.pack"))[1]
    before = chunk.stat()
    data = bytearray(chunk.read_bytes())
    data[len(data) // 2] ^= 1
    chunk.write_bytes(data)
    os.utime(chunk, ns=(before.st_atime_ns, before.st_mtime_ns))
    broken = mounts(source, {**BRAND, "brand.packed": pack})

    mount = mounts(broken.path, options)
    names = shuffled_names(source)
    for epoch in range(2):
        if epoch:
            mount.next_epoch()
        found = {name: read(mount, name) for name in names}
        served = collections.Counter(v for v in found.values()
                                     if isinstance(v, str))
        failed = [name for name, v in found.items() if isinstance(v, int)]
        assert [found[name] for name in failed] == [errno.EIO]
        assert set(served.values()) == {1}
        contents = {trees.digest((source / name).read_bytes())
                    for name in names}
        assert served.keys() < contents and len(contents - served.keys()) == 1
        file = os.getxattr(mount.path / failed[0], "user.shufflefs.sample")
        assert mount.log().count(os.fsdecode(file)) == 1, mount.log()


@pytest.mark.parametrize("options", POLICIES.values(), ids=POLICIES)
def test_too_little_memory_is_refused_with_what_is_needed(mounts, source,
                                                          options):
    mount = mounts(source, {**options, "memory": "1MiB"}, start=False)
    with pytest.raises(AssertionError, match="exit"):
        mount.start()
    assert "4MiB" in mount.log() and "memory" in mount.log()


# The memory is shared among the views.
@pytest.mark.parametrize("policy", ["brand", "static"])
def test_too_little_memory_for_two_views(mounts, source, folder, policy):
    (folder / "two.toml").write_text(
        'memory = "5MiB"\nsubstitute = "directory"\n'
        f'policy = "{policy}"\n[[view]]\npath = "c0"\n'
        '[[view]]\npath = "c1"\n')
    mount = mounts(source, start=False,
                   arguments=["--config", folder / "two.toml"])
    with pytest.raises(AssertionError, match="exit 1"):
        mount.start()
    assert f"policy = {policy} needs at least 6MiB" in mount.log()
