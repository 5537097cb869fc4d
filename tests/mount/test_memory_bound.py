# SPDX-License-Identifier: Apache-2.0
"""`memory` bounds what the whole daemon holds, whatever its views do."""
import concurrent.futures
import itertools
import os
import random
import re

import containers
import harness
import trees

MEMORY = 264 << 20
BESIDE = 64 << 20  # bytes that the daemon may take besides
PER_FILE = 128     # bytes of its tables, per file
VIEW_BYTES = 40 << 20  # of each view: more than its share of the memory
FILES = {"brand": 3, "met": 1, "static": 1}   # views of each policy
RECORDS = {"lirs": 1, "reimu": 1, "window": 1}
BOTH = "both"  # the path of a view of files and containers
LARGER_THAN_MEMORY = 1 << 42


def write_files(folder, seed):
    def content(rng, _):
        return rng.randbytes(rng.randrange(1, 200_000))
    trees.class_folders(folder, classes=4, per_class=VIEW_BYTES // 400_000,
                        seed=seed, content=content)


def write_records(folder, seed):
    """Two files of lines of many lengths."""
    rng = random.Random(seed)
    folder.mkdir()
    for part in range(2):
        with open(folder / f"{part}.svm", "wb") as file:
            for number in itertools.count():
                if file.tell() >= VIEW_BYTES // 2:
                    break
                text = rng.randbytes(rng.randrange(1, 600)).hex()
                file.write(b"%d %s\n" % (number, text.encode()))


def write_both(folder, seed):
    """Files, and containers beside them. What has this size is worth it to be
    read ahead; nobody reads the file that has it."""
    write_files(folder, seed)
    rng = random.Random(seed)
    (folder / "shards").mkdir()
    for part in range(2):
        records = (rng.randbytes(rng.randrange(1, 600))
                   for _ in range(VIEW_BYTES // 1200))
        (folder / "shards" / f"{part}.tfrecord").write_bytes(
            containers.tfrecord(records))
    (folder / "val").mkdir()
    with open(folder / "val" / "large.jpg", "wb") as file:
        os.truncate(file.fileno(), LARGER_THAN_MEMORY)


def resident_most(pid):
    """The most bytes that the process ever had in memory."""
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1]) << 10


def names_of(root, seed):
    names = sorted(path for path in root.rglob("*") if path.is_file()
                   and not {".shufflefs", "val"} & set(path.parts))
    if root.name != BOTH:  # there in the order that is read ahead
        random.Random(seed).shuffle(names)
    return names


def read_all(root, seed):
    return sum(len(path.read_bytes()) for path in names_of(root, seed))


def read_some(root, seed):
    """Begins to read, and stops: what is prefetched now has no reader."""
    for path in names_of(root, seed)[:8]:
        with open(path, "rb") as file:
            file.read(1 << 20)


def views_config(folder, tier):
    """Nine views: [(path, policy)], and the configuration that has them."""
    views = [(f"{policy}{i}", policy)
             for policy, count in {**FILES, **RECORDS}.items()
             for i in range(count)] + [(BOTH, "lirs")]
    text = (f'memory = "{MEMORY >> 20}MiB"\nepoch.advance = "manual"\n'
            f'substitute = "directory"\nrecord.as = "*.svm:lines"\n'
            f'tier.path = "{tier}"\ntier.capacity = "{VIEW_BYTES}"\n'
            'reimu.block = "64KiB"\nreimu.window = "4"\n')
    for path, policy in views:
        text += f'[[view]]\npath = "{path}"\npolicy = "{policy}"\n'
    config = folder / "views.toml"
    config.write_text(text)
    return views, config


# [S-3.10n] `memory` bounds all views of a mount together.
# Nine views of all kinds are read at the same time, and two of them change
# their policy and come back.
def test_memory_bounds_the_whole_daemon(mounts, folder, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_DEVICE", "nas")
    source, tier = folder / "source", folder / "tier"
    source.mkdir()
    tier.mkdir()
    views, config = views_config(folder, tier)
    for seed, (path, policy) in enumerate(views):
        write = write_files if policy in FILES else write_records
        if path == BOTH:
            write = write_both
        write(source / path, seed)
    sizes = {path: read_all(source / path, 0) for path, _ in views}
    mount = mounts(source, {}, arguments=["--config", config])
    names = {view["path"]: view["name"] for view in mount.status()["views"]}

    def control(path, text):
        to = mount.control_dir / "view" / names[path] / "control"
        assert mount.write_control(text, to) is None

    held = 0
    with concurrent.futures.ThreadPoolExecutor(len(views)) as pool:
        for epoch, other in enumerate([None, "lirs", None]):
            for done in [pool.submit(read_some, mount.path / path, epoch)
                         for path, _ in views]:
                done.result()
            held = max(held, sum(view["pool_bytes"] or 0
                                 for view in mount.status()["views"]))
            passes = {path: pool.submit(read_all, mount.path / path, epoch)
                      for path, _ in views}
            for path, done in passes.items():
                if dict(views)[path] != "met":  # repeats samples
                    assert done.result() == sizes[path], (path, epoch)
                done.result()
            for path, policy in views:
                switched = path in ("brand0", "brand1")
                control(path, f'policy = "{other or policy}"\nepoch = "next"\n'
                        if switched else 'epoch = "next"\n')
    [both] = [view for view in mount.status()["views"] if view["path"] == BOTH]
    assert "orders that are known" in both["supply"]
    assert "records of containers" in both["supply"]
    assert both["hits"] > 0
    files = sum(1 for path in source.rglob("*") if path.is_file())
    most = resident_most(mount.process.pid)
    print(f"resident {most >> 20} MiB, in pools {held >> 20} MiB")
    assert held > MEMORY / 4, "there was no load"
    assert most <= MEMORY + BESIDE + PER_FILE * files, most


# [S-3.10n] `memory` bounds all views of a mount together.
# A view that is not read lends its share, and gets it back when it is read.
def test_an_idle_view_lends_its_memory(mounts, folder):
    source = folder / "source"
    source.mkdir()
    for seed, name in enumerate(["day", "night"]):
        write_files(source / name, seed)
    sizes = {name: read_all(source / name, 0) for name in ["day", "night"]}
    config = folder / "views.toml"
    config.write_text(
        'memory = "32MiB"\nepoch.advance = "manual"\n'
        'substitute = "directory"\npolicy = "brand"\n'
        '[[view]]\npath = "day"\n[[view]]\npath = "night"\n')
    mount = mounts(source, {}, arguments=["--config", config])

    def memory(name):
        [view] = [view for view in mount.status()["views"]
                  if view["path"] == name]
        assert view["memory_limit"] == 30 << 20
        assert view["memory_guaranteed"] == 15 << 20
        return view["pool_bytes"]

    read_some(mount.path / "day", 0)
    harness.eventually(lambda: memory("day") > 20 << 20)
    read_some(mount.path / "night", 0)

    def night_has_its_share():
        read_some(mount.path / "night", 1)
        return memory("night") > 11 << 20
    harness.eventually(night_has_its_share)
    assert memory("day") + memory("night") <= 30 << 20
    for name, size in sizes.items():
        assert read_all(mount.path / name, 3) == size
