# SPDX-License-Identifier: Apache-2.0
"""RankedFolder: a map-style dataset over a ranked view."""
import os
import pickle

import pytest

import harness
import shufflefs
import trees
from shufflefs import RankedFolder

RANKED = {"policy": "lirs", "layout": "ranked", "epoch.advance": "manual"}
Error = shufflefs.ShufflefsError


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source")


@pytest.fixture
def view(mounts, source):
    return shufflefs.attach(mounts(source, RANKED).path)


def order_of(view):
    """The paths of the samples, as the control directory lists them."""
    with open(f"{view.path}/.shufflefs/order") as order:
        return [line.rstrip("\n").split("\t")[2] for line in order]


def test_items_are_the_epoch_in_its_order(view, source):
    data = RankedFolder(view)
    assert data.classes == sorted(os.listdir(source))
    orders = []
    for epoch in range(3):
        view.set_epoch(epoch)
        data.refresh()
        paths = [data.sample(index) for index in range(len(data))]
        assert paths == order_of(view)
        for path, (content, label) in zip(paths, data):
            assert content == (source / path).read_bytes()
            assert data.classes[label] == path.split("/")[0]
        orders.append(paths)
    assert len({tuple(order) for order in orders}) == 3
    assert sorted(orders[0]) == sorted(orders[2]) == sorted(
        trees.contents(source))


def test_an_old_list_resolves_until_it_is_made_again(view):
    data = RankedFolder(view)
    before = [data[index] for index in range(len(data))]
    view.next_epoch()
    assert [data[index] for index in range(len(data))] == before
    data.refresh()
    assert [data[index] for index in range(len(data))] != before


def test_it_starts_where_a_checkpoint_was(view):
    whole = RankedFolder(view)
    rest = RankedFolder(view, start=100)
    assert rest.classes == whole.classes
    assert len(rest) == len(whole) - 100 and rest[0] == whole[100]
    assert RankedFolder(view, start=len(whole)).names == []
    rest.refresh()
    assert rest.names == whole.names
    rest.refresh(start=149)
    assert rest.names == whole.names[-1:]


def test_the_names_decide_and_not_the_listing(folder):
    place = folder / "plain"
    place.mkdir()
    names = [f"{rank:09d}~c{rank % 3}~x.png" for rank in range(30)]
    for name in [*reversed(names[::2]), *names[1::2], "other", "1~c9~y"]:
        (place / name).write_bytes(name.encode())
    data = RankedFolder(place)
    assert data.names == names and data.classes == ["c0", "c1", "c2"]
    assert data[4] == (names[4].encode(), 1)


def test_labels_transforms_and_loaders_of_ones_own(view):
    data = RankedFolder(view, loader=os.path.getsize, transform=str,
                        target=lambda path: path.upper())
    size, label = data[5]
    assert label == data.sample(5).upper() and label.startswith("C")
    assert int(size) == os.stat(f"{view.path}/{data.names[5]}").st_size
    assert data.classes == []
    some = RankedFolder(view, classes=["c3", "c1"])
    labels = {some.sample(index).split("/")[0]: index
              for index in range(len(some))}
    assert some[labels["c3"]][1] == 0 and some[labels["c1"]][1] == 1
    with pytest.raises(Error, match="'c0' is not in classes"):
        some[labels["c0"]]


def test_pictures(view):
    data = RankedFolder(view, loader=shufflefs.load_image)
    picture, _ = data[0]
    assert picture.mode == "RGB" and picture.size[0] == picture.size[1] >= 8


def test_a_copy_for_a_worker_reads_the_same(view):
    data = RankedFolder(view)
    copy = pickle.loads(pickle.dumps(data))
    assert [copy[index] for index in (0, -1)] == [data[0], data[-1]]


def test_fixed_epochs_need_no_ranked_mount(mounts, source, view):
    tree = shufflefs.attach(mounts(source, {
        "policy": "lirs", "epoch.advance": "manual"}).path)
    fixed = RankedFolder(tree.epoch_path(2, "ranked"))
    view.set_epoch(2)
    assert fixed.names == RankedFolder(view).names
    for root in (tree, tree.epoch_path(2), source):
        with pytest.raises(Error, match="layout=ranked"):
            RankedFolder(root)
    with pytest.raises(Error, match="absent"):
        RankedFolder(source / "absent")


def test_names_with_a_hash_have_their_label(mounts, folder):
    source = folder / "source"
    odd = ["a~b/one.png", "x" * 200 + "/" + "y" * 100 + ".png",
           "0123456789abcdef/two.png", "train/plain/three.png"]
    for path in odd:
        (source / path).parent.mkdir(parents=True)
        (source / path).write_bytes(path.encode())
    data = RankedFolder(shufflefs.attach(mounts(source, RANKED).path))
    assert data.classes == ["0123456789abcdef", "a~b", "plain", "x" * 200]
    assert {content.decode(): data.classes[label] for content, label
            in data} == {path: path.split("/")[-2] for path in odd}


@pytest.mark.parametrize("fixed", [False, True])
def test_below_path_all_names_say_where_they_are_in_the_source(mounts, folder,
                                                               fixed):
    """Names with a hash and without, and files that are in no class."""
    source = folder / "source"
    paths = ["train/cat/one.png", "train/cat/a~b.png", "train/dog/two.png",
             "train/three.png", "train/~four.png", "val/cat/five.png"]
    for path in paths:
        (source / path).parent.mkdir(parents=True, exist_ok=True)
        (source / path).write_bytes(path.encode())
    keys = {**RANKED, "path": "train", "substitute": "directory"}
    mount = mounts(source, keys)
    root = mount.path / "train"
    if fixed:
        root = shufflefs.attach(mount.path).epoch_path(0, "ranked")
    data = RankedFolder(root)
    found = [data.sample(index) for index in range(len(data))]
    assert sorted(found) == sorted(paths[:-1])
    assert data.classes == ["cat", "dog", "train"]
    for path, (content, label) in zip(found, data):
        assert content.decode() == path
        assert data.classes[label] == path.split("/")[-2]
    copy = pickle.loads(pickle.dumps(data))
    assert [copy.sample(index) for index in range(len(copy))] == found


def test_a_loader_of_torch_reads_it(view):
    """In a process of its own, as torch is large."""
    code = """
import json, sys, shufflefs
from torch.utils.data import DataLoader
data = shufflefs.RankedFolder(sys.argv[1])
paths = []
for epoch in range(2):
    loader = DataLoader(data, 16, shuffle=False, num_workers=2,
                        collate_fn=lambda batch: batch)
    read = [content for batch in loader for content, _ in batch]
    assert read == [data[index][0] for index in range(len(data))]
    paths.append([data.sample(index) for index in range(len(data))])
    shufflefs.attach(sys.argv[1]).next_epoch()
    data.refresh()
assert sorted(paths[0]) == sorted(paths[1]) and paths[0] != paths[1]
print(len(paths[0]))
"""
    done = harness.run([harness.PYTHON, "-B", "-c", code, view.path],
                       timeout=120, env={**os.environ,
                                         "PYTHONPATH": str(harness.MODULE)})
    assert done.stdout == "150\n"
