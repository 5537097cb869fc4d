# SPDX-License-Identifier: Apache-2.0
"""What a mount must show, naively: the source's files, kept in memory, and a
dictionary of which sample each name shows, as `order` tells it."""
import os
import pathlib
import stat

import trees


def make_source(root, rng):
    """Class folders with pairs and single files, and what never moves."""
    for label in ("c0", "c1", "c2"):
        folder = root / "train" / label
        folder.mkdir(parents=True)
        for number in rng.sample(range(1000), rng.randrange(20, 40)):
            name = f"{label}_{number}_{rng.randrange(9)}"
            size = rng.choice([1, 100, 4095, 4096, 4097, 70_000, 300_000])
            (folder / f"{name}.jpg").write_bytes(rng.randbytes(size))
            if rng.random() < 0.5:
                (folder / f"{name}.cls").write_bytes(rng.randbytes(9))
        (folder / "empty.jpg").touch()
        (folder / ".hidden").write_bytes(b"hidden")
    (root / "train" / "c0" / "link.jpg").symlink_to("../c1")
    trees.class_folders(root / "val", classes=2, per_class=5)
    (root / "README").write_text("not a sample\n")
    for number, path in enumerate(sorted(root.rglob("*"))):
        os.utime(path, ns=(0, 10**18 + number * 10**6 + 7),
                 follow_symlinks=False)


class Reference:
    """What every name must show."""

    def __init__(self, source):
        self.source = source
        self.data, self.stat, self.folders = {}, {}, {}
        for folder, folders, names in os.walk(source):
            inside = os.path.relpath(folder, source)
            self.folders[inside] = sorted([*folders, *names])
            for name in names:
                path = os.path.normpath(os.path.join(inside, name))
                info = os.lstat(os.path.join(folder, name))
                if stat.S_ISREG(info.st_mode):
                    self.stat[path] = info
                    self.data[path] = pathlib.Path(folder, name).read_bytes()
        self.samples = {path for path in self.data
                        if path.startswith("train/") and self.data[path]
                        and not os.path.basename(path).startswith(".")}
        self.shown = {}

    def group(self, path):
        """Who may stand in for each other: as SEMANTICS defines it."""
        stem = os.path.splitext(path)[0]
        kinds = [kind for kind in (".cls", ".jpg")
                 if stem + kind in self.samples]
        return os.path.dirname(path), os.path.splitext(path)[1], tuple(kinds)

    def learn(self, order):
        """A new epoch: the text of `order`. It must be a bijection."""
        rows = [line.split("\t") for line in order.splitlines()]
        self.shown = {path: path for path in self.data}
        self.shown.update((name, sample) for _, name, sample in rows)
        names = [name for _, name, _ in rows]
        assert len(set(names)) == len(names)
        assert set(names) == {sample for _, _, sample in rows} == self.samples
        for name, sample in self.shown.items():
            assert self.group(name) == self.group(sample), name
            one, other = (os.path.splitext(path)[0] for path in (name, sample))
            for kind in self.group(name)[2]:  # pairs move together
                assert self.shown[one + kind] == other + kind
