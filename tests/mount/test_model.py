# SPDX-License-Identifier: Apache-2.0
"""Random operations on a mount, each compared with a naive reference.

SHUFFLEFS_MODEL_SEED repeats a run that failed.
"""
import errno
import itertools
import json
import mmap
import os
import pathlib
import random
import time

import pytest

import harness
import trees
from reference import Reference, make_source

STEPS = int(os.environ.get("SHUFFLEFS_MODEL_STEPS", "1500"))
MODES = {
    "manual": {"epoch.advance": "manual"},
    "seen": {"epoch.advance": "manual", "open": "seen"},
    "auto": {"epoch.advance": "auto"},
    "auto, old kernel": {"epoch.advance": "auto"},
    "observed": {"epoch.advance": "auto", "open": "observed"},
}


class Model:
    """A mount, its reference, and what is held open across epochs."""

    def __init__(self, mount, seed):
        self.mount, self.rng = mount, random.Random(seed)
        self.reference = Reference(mount.source)
        self.names = sorted(self.reference.data)
        self.held = []       # (descriptor, sample)
        self.mapped = []     # (mapping, sample)
        self.handles = []    # (descriptor of a folder, its order)
        self.numbers = {}    # sample: st_ino
        self.listings = {}   # folder: order in this epoch
        self.epochs = {}     # (policy, seed, epoch): order without carrying
        self.read = False    # a name of this epoch
        self.last = None
        self.deck = []       # names that this pass has still to open
        self.passed = None   # samples that it saw; None: it was disturbed
        self.refresh()

    def control(self, name):
        return (self.mount.control_dir / name).read_text()

    def view(self):
        return json.loads(self.control("status"))["views"][0]

    def refresh(self):
        """The epoch may be another one now."""
        self.now = self.view()
        order = self.control("order")
        self.reference.learn(order)
        self.listings, self.read = {}, False
        key = tuple(self.now[k] for k in ("policy", "seed", "epoch"))
        if not self.now["carried"] and not self.now["epoch_held"]:
            assert self.epochs.setdefault(key, order) == order, key
        if self.now["policy"] == "native":
            assert all(name == sample for name, sample
                       in self.reference.shown.items())

    @property
    def watched(self):
        return self.mount.options["epoch.advance"] == "auto"

    def name(self):
        """A name to open. A view that watches sees whole passes in random
        order, as of a loader, and each shows every sample once."""
        if not self.watched:
            return self.rng.choice(self.names)
        if not self.deck:
            if self.passed is not None:
                assert sorted(self.passed) == self.names
            turn = {os.path.splitext(name)[0]: self.rng.random()
                    for name in self.names}  # the files of a pair: together
            self.deck = sorted(self.names,
                               key=lambda name: turn[os.path.splitext(name)[0]])
            self.passed = []
        if self.passed is not None:
            self.passed.append(self.reference.shown[self.deck[-1]])
        return self.deck.pop()

    def follow(self):
        """The view advances by itself: did it, at the last open?"""
        if self.watched and self.view()["epoch"] != self.now["epoch"]:
            self.refresh()

    # Operations. Each asserts.

    def check_stat(self, info, sample):
        real = self.reference.stat[sample]
        assert info.st_size == len(self.reference.data[sample])
        assert info.st_mtime_ns == real.st_mtime_ns
        assert info.st_mode == real.st_mode & ~0o222
        assert self.numbers.setdefault(sample, info.st_ino) == info.st_ino

    def op_stat(self):
        name = self.rng.choice(self.names)
        self.check_stat(os.stat(self.mount.path / name),
                        self.reference.shown[name])

    def open(self, name):
        """Opens a name, which must show its sample whatever this open does
        to the epoch. If names are to come back to their own samples, the one
        that begins the pass does."""
        now, sample = self.now, self.reference.shown[name]
        descriptor = os.open(self.mount.path / name, os.O_RDONLY)
        self.follow()
        if self.now["policy"] == "native":
            self.passed = None  # what was opened before the switch is undone
        if self.now is not now and "native" in (now.get("next_policy"),
                                                self.now["policy"]):
            assert self.reference.shown[name] in (name, sample)
            sample = self.reference.shown[name]
            if self.passed:
                self.passed[-1] = sample
        assert self.reference.shown[name] == sample
        self.check_stat(os.fstat(descriptor), sample)
        return descriptor, sample

    def check_bytes(self, descriptor, sample):
        data = self.reference.data[sample]
        at = self.rng.randrange(len(data) + 10)
        size = self.rng.choice([1, 100, 4096, 50_000, len(data) + 1])
        assert os.pread(descriptor, size, at) == data[at:at + size], sample
        return at < len(data)

    def op_read(self):
        now = self.now
        descriptor, sample = self.open(self.name())
        if self.check_bytes(descriptor, sample) and self.now is now:
            self.read = True
        os.close(descriptor)

    def op_pass(self):
        """As many names as there are."""
        for _ in self.names:
            self.op_read()

    def op_hold(self):
        if len(self.held) < 40:
            self.held.append(self.open(self.name()))

    def op_use_held(self):
        if not self.held:
            return
        descriptor, sample = self.rng.choice(self.held)
        if self.rng.random() < 0.3:  # its pages must come back the same
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        self.check_bytes(descriptor, sample)
        self.check_stat(os.fstat(descriptor), sample)

    def op_close(self):
        if self.held:
            os.close(self.held.pop(self.rng.randrange(len(self.held)))[0])

    def op_map(self):
        descriptor, sample = self.open(self.name())
        if self.reference.data[sample] and len(self.mapped) < 20:
            self.mapped.append((mmap.mmap(descriptor, 0, prot=mmap.PROT_READ),
                                sample))
        os.close(descriptor)

    def op_use_mapping(self):
        if not self.mapped:
            return
        mapping, sample = self.rng.choice(self.mapped)
        if self.rng.random() < 0.3:
            mapping.madvise(mmap.MADV_DONTNEED)
        at = self.rng.randrange(len(mapping))
        end = at + self.rng.choice([1, 5000])
        assert mapping[at:end] == self.reference.data[sample][at:end]

    def op_list(self):
        folder = self.rng.choice(sorted(self.reference.folders))
        with os.scandir(self.mount.path / folder) as entries:
            kinds = {entry.name: entry.is_dir(follow_symlinks=False)
                     for entry in entries}
        for name, is_folder in kinds.items():
            real = self.reference.source / folder / name
            assert is_folder == (real.is_dir() and not real.is_symlink())
        self.check_order(folder, list(kinds))

    def check_order(self, folder, order):
        assert sorted(order) == self.reference.folders[folder]
        assert self.listings.setdefault(folder, order) == order
        if self.now["policy"] == "native":
            assert order == trees.listing(self.reference.source / folder)

    def op_hold_folder(self):
        if len(self.handles) == 10:
            os.close(self.handles.pop(0)[0])
        folder = self.rng.choice(sorted(self.reference.folders))
        handle = os.open(self.mount.path / folder, os.O_RDONLY)
        order = os.listdir(handle)
        self.check_order(folder, order)
        self.handles.append((handle, order))

    def op_use_folder(self):
        for handle, order in self.handles:
            assert os.listdir(handle) == order

    def op_told_sample(self):
        name = self.rng.choice(self.names)
        told = os.getxattr(self.mount.path / name, "user.shufflefs.sample")
        assert told.decode() == self.reference.shown[name]

    def op_absent(self):
        name = self.rng.choice(self.names)
        with pytest.raises(FileNotFoundError):
            os.stat(self.mount.path / f"{name}.absent")

    def op_link(self):
        link = "train/c0/link.jpg"
        assert os.readlink(self.mount.path / link) == "../c1"

    def op_refused(self):
        path = self.mount.path / self.rng.choice(self.names)
        for call in (lambda: os.truncate(path, 1), lambda: os.unlink(path),
                     lambda: os.mkdir(f"{path}.new")):
            with pytest.raises(OSError) as refusal:
                call()
            assert refusal.value.errno in {errno.EROFS, errno.EACCES}

    def op_fixed(self):
        """A name of another epoch, by path."""
        epoch = self.rng.randrange(8)
        name = self.rng.choice(sorted(self.reference.samples))
        path = self.mount.control_dir / f"epoch/{epoch}/tree" / name
        sample = os.getxattr(path, "user.shufflefs.sample").decode()
        assert self.reference.group(sample) == self.reference.group(name)
        assert path.read_bytes() == self.reference.data[sample]
        order = self.epochs.get((self.now["policy"], self.now["seed"], epoch))
        assert order is None or f"\t{name}\t{sample}\n" in order

    def op_forget(self):
        """The kernel drops names and inodes that are not in use."""
        if os.geteuid() == 0:
            pathlib.Path("/proc/sys/vm/drop_caches").write_text("2\n")

    def op_epoch(self):
        epoch = self.rng.choice(['"next"', '"next"', self.rng.randrange(8)])
        self.write(f"epoch = {epoch}\n")
        self.refresh()
        if epoch != '"next"':
            assert self.now["epoch"] == epoch

    def op_switch(self):
        text = (f'policy = "{self.rng.choice(["lirs", "window", "native"])}"\n'
                f"seed = {self.rng.randrange(3)}\n")
        if self.rng.random() < 0.5:
            self.write(text + 'epoch = "next"\n')
            self.refresh()
            return
        before, was_read = self.reference.shown, self.read
        self.write(text)
        self.refresh()
        if was_read:  # the switch waits for the boundary
            assert self.reference.shown == before
            self.read = True

    def write(self, text):
        descriptor = os.open(self.mount.control_dir / "control", os.O_WRONLY)
        assert os.write(descriptor, text.encode()) == len(text)
        self.passed = None  # the epoch may have ended in the middle of it
        if "epoch =" in text:
            # A pass of what was left would look as if it was cut, and then
            # names keep their own samples.
            self.deck = []
        os.close(descriptor)

    def step(self):
        often = [self.op_read, self.op_stat, self.op_use_held,
                 self.op_use_mapping] * 6
        seldom = [self.op_pass, self.op_forget, self.op_switch]
        seldom += [self.op_epoch] if self.watched else []
        others = [getattr(self, name) for name in dir(Model)
                  if name.startswith("op_")]
        others = [each for each in others if each not in seldom]
        operation = self.rng.choice(
            seldom if self.rng.random() < 0.02 else often + others * 2)
        self.last = operation.__name__
        operation()

    def check_held(self):
        """All that was opened in whatever epoch, to the end."""
        self.op_use_folder()
        for descriptor, sample in self.held:
            data = self.reference.data[sample]
            assert os.pread(descriptor, len(data) + 1, 0) == data
        for mapping, sample in self.mapped:
            assert mapping[:] == self.reference.data[sample]
        assert len(set(self.numbers.values())) == len(self.numbers)

    def close(self):
        for descriptor, _ in itertools.chain(self.held, self.handles):
            os.close(descriptor)
        for mapping, _ in self.mapped:
            mapping.close()


@pytest.mark.parametrize("mode", MODES)
def test_the_mount_agrees_with_the_reference(mounts, folder, mode, monkeypatch):
    if mode == "auto, old kernel":  # names are believed for no time
        monkeypatch.setenv("SHUFFLEFS_KERNEL_EPOCHS", "no")
    seed = int(os.environ.get("SHUFFLEFS_MODEL_SEED", time.time_ns() % 10**9))
    print(f"SHUFFLEFS_MODEL_SEED={seed}")
    source = folder / "source"
    make_source(source, random.Random(seed))
    mount = mounts(source, {"policy": "lirs", "substitute": "directory",
                            **MODES[mode]})
    if mode == "observed":
        harness.eventually(
            lambda: mount.status()["opens"]["seen_by"] == "reports",
            what="opens that the kernel reports")
    model = Model(mount, seed)
    done = 0
    try:
        while done < STEPS / harness.SLOWDOWN:
            model.step()
            done += 1
        model.check_held()
        # Names moved to the end: no pass looked as if a client had cut it.
        assert model.view()["substitute"] == "directory"
    finally:
        print(f"{done} steps, then {model.last}, in {model.now}")
        model.close()
    assert mount.process.poll() is None
