# SPDX-License-Identifier: Apache-2.0
"""Source trees for the tests, and what is in a tree."""
import hashlib
import os
import pathlib
import random
import stat
import struct
import zlib


def png(rng, side):
    """A valid grey PNG of random pixels; no two are alike."""
    rows = b"".join(b"\0" + rng.randbytes(side) for _ in range(side))

    def chunk(kind, data):
        body = kind + data
        return (struct.pack(">I", len(data)) + body +
                struct.pack(">I", zlib.crc32(body)))

    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 1)) + chunk(b"IEND", b""))


def class_folders(root, classes=5, per_class=30, first=0, seed=1, content=png):
    """root/c<k>/<index>.png, the index counting over the whole set."""
    rng = random.Random(seed)
    root = pathlib.Path(root)
    for k in range(classes):
        (root / f"c{k}").mkdir(parents=True)
    labels = [k for k in range(classes) for _ in range(per_class)]
    rng.shuffle(labels)
    for index, label in enumerate(labels, first):
        data = content(rng, rng.randrange(8, 40))
        (root / f"c{label}" / f"{index:06d}.png").write_bytes(data)
    return root


def train_and_val(root, classes=5, per_class=30, val=8):
    """root/train and root/val, with names that are unique over both."""
    root = pathlib.Path(root)
    class_folders(root / "train", classes, per_class)
    class_folders(root / "val", classes, val, first=classes * per_class, seed=2)
    return root


def blobs(root, classes=3, per_class=40, largest=100_000):
    """As class_folders, with files of up to `largest` random bytes."""
    def content(rng, _):
        return rng.randbytes(rng.randrange(1, largest))
    return class_folders(root, classes, per_class, content=content)


def give_to(root, user):
    """Makes the user own the tree."""
    for path in [root, *pathlib.Path(root).rglob("*")]:
        os.chown(path, user.uid, user.gid, follow_symlinks=False)


def vanish(path):
    path.unlink()


def shrink(path):
    os.truncate(path, path.stat().st_size // 2)


def grow(path):
    with open(path, "ab") as file:
        file.write(b"more" * 1000)


def replace(path):
    """By another file of the same size."""
    new = path.with_suffix(".new")
    new.write_bytes(b"x" * path.stat().st_size)
    new.rename(path)


DAMAGES = (vanish, shrink, grow, replace)


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def contents(root):
    """{relative path: digest} of the regular files."""
    root = pathlib.Path(root)
    found = {}
    for folder, _, names in os.walk(root):
        for name in names:
            path = pathlib.Path(folder, name)
            if stat.S_ISREG(path.lstat().st_mode):
                found[str(path.relative_to(root))] = digest(path.read_bytes())
    return found


def by_folder(files):
    """{folder: sorted digests} of what contents() returned."""
    folders = {}
    for path, value in files.items():
        folders.setdefault(os.path.dirname(path), []).append(value)
    return {folder: sorted(values) for folder, values in folders.items()}


def listing(folder):
    """Names in the order in which readdir gives them."""
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def moved(one, other):
    """How many names show another content in `other` than in `one`."""
    assert one.keys() == other.keys()
    return sum(one[name] != other[name] for name in one)
