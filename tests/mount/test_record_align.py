# SPDX-License-Identifier: Apache-2.0
"""Files whose rows belong together keep them together (record.align)."""
import numpy
import pytest

import containers
import harness

POLICIES = [
    {"policy": "lirs"},
    {"policy": "lirs", "lirs.unit": "page", "lirs.page": "4KiB",
     "lirs.batch": "3"},
    {"policy": "reimu", "reimu.block": "16KiB", "reimu.window": "4"},
    {"policy": "window", "window.samples": "500"},
]
ROWS = 6000


def name_of(options):
    return " ".join(map(str, options.values()))


def align(*files, **options):
    return {"record.align": ":".join(files), "epoch.advance": "manual",
            **options}


def untouched(mount):
    records = mount.view()["records"]
    harness.eventually(lambda: mount.view()["records"]["indexed"]
                       == mount.view()["records"]["containers"],
                       what="the index")
    records = mount.view()["records"]
    return {each["path"]: each["why"] for each in records["untouched"]}


def rows(seed=0):
    """Rows of 28 bytes that begin with their number; labels follow from it."""
    rng = numpy.random.default_rng(seed)
    images = rng.integers(0, 256, (ROWS, 28), dtype=numpy.uint8)
    images[:, 0] = numpy.arange(ROWS) & 255
    images[:, 1] = numpy.arange(ROWS) >> 8
    return images


def numbers(images):
    return images[:, 0].astype(int) + 256 * images[:, 1].astype(int)


# [S-6.2a] Files that record.align lists get one order of their records.
@pytest.mark.parametrize("policy", POLICIES, ids=name_of)
def test_images_and_labels_of_an_idx_pair_stay_together(mounts, folder, policy):
    source = folder / "source"
    source.mkdir()
    images = rows()
    labels = (numbers(images) * 7 % 251).astype(numpy.uint8)
    containers.write_idx(source / "train-images-idx3-ubyte",
                         images.reshape(ROWS, 4, 7))
    containers.write_idx(source / "train-labels-idx1-ubyte", labels)
    for name, count in (("t10k-images-idx3-ubyte", 50),
                        ("t10k-labels-idx1-ubyte", 50)):
        containers.write_idx(source / name, images[:count])
    mount = mounts(source, {**policy, **align("*-images-idx3-ubyte",
                                              "*-labels-idx1-ubyte")})
    orders = []
    for epoch in range(3):
        shown = containers.read_idx(mount.path / "train-images-idx3-ubyte")
        shown = numpy.frombuffer(shown[1], numpy.uint8).reshape(ROWS, 28)
        order = numbers(shown)
        assert (shown == images[order]).all()
        assert sorted(order) == list(range(ROWS))
        dims, told = containers.read_idx(mount.path / "train-labels-idx1-ubyte")
        assert dims == (ROWS,) and told == labels[order].tobytes()
        fixed = mount.control_dir / f"epoch/{epoch}/tree"
        assert containers.read_idx(fixed / "train-labels-idx1-ubyte")[1] == told
        orders.append(list(order))
        mount.next_epoch()
    assert len({tuple(order) for order in [*orders, range(ROWS)]}) == 4
    for name in ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"):
        assert (mount.path / name).read_bytes() == (source / name).read_bytes()
        assert "split" in untouched(mount)[name]


# [S-6.3d] Files that others may belong to row by row are shown as they are.
def test_images_keep_their_labels_without_an_align_rule(mounts, folder):
    """As docs/records.md names all idx files of MNIST."""
    source = folder / "source"
    source.mkdir()
    images = rows()
    for kind, count in (("train", ROWS), ("t10k", 1000)):
        containers.write_idx(source / f"{kind}-images-idx3-ubyte",
                             images[:count].reshape(count, 4, 7))
        containers.write_idx(source / f"{kind}-labels-idx1-ubyte",
                             (numbers(images[:count]) % 251).astype("u1"))
    mount = mounts(source, {"policy": "lirs", "epoch.advance": "manual",
                            "record.as": "*.npy:npy;*ubyte:idx"})
    why = untouched(mount)
    for kind in ("train", "t10k"):
        _, shown = containers.read_idx(mount.path / f"{kind}-images-idx3-ubyte")
        _, labels = containers.read_idx(
            mount.path / f"{kind}-labels-idx1-ubyte")
        shown = numpy.frombuffer(shown, numpy.uint8).reshape(-1, 28)
        labels = numpy.frombuffer(labels, numpy.uint8)
        assert (labels == numbers(shown) % 251).all()
    assert ("train-labels-idx1-ubyte, which has as many; list both in "
            "record.align" in why["train-images-idx3-ubyte"])


@pytest.mark.parametrize("policy", POLICIES, ids=name_of)
def test_numpy_arrays_and_lines_stay_together(mounts, folder, policy):
    source = folder / "source"
    for fold in ("a", "b"):
        (source / fold).mkdir(parents=True)
        images = rows(ord(fold))
        numpy.save(source / fold / "X.npy", images)
        numpy.save(source / fold / "y.npy", numbers(images).astype("<f8"))
        containers.write_lines(
            source / fold / "names.txt",
            [f"{n}" + "x" * (n % 40) for n in numbers(images)], end="")
    mount = mounts(source, {**policy, **align("X.npy", "y.npy", "names.txt")})
    orders = set()
    for _ in range(2):
        for fold in ("a", "b"):
            shown = numpy.load(mount.path / fold / "X.npy", mmap_mode="r")
            order = numbers(shown)
            assert (shown == rows(ord(fold))[order]).all()
            assert (numpy.load(mount.path / fold / "y.npy") == order).all()
            names = (mount.path / fold / "names.txt").read_text().split("\n")
            assert names == [f"{n}" + "x" * (n % 40) for n in order]
            orders.add(tuple(order))
        mount.next_epoch()
    assert len(orders) == 4
    assert untouched(mount) == {}


# [S-6.2b] Unless all of them can be aligned all are shown as they are.
def test_files_that_do_not_fit_are_untouched(mounts, folder):
    source = folder / "source"
    source.mkdir()
    images = rows()
    numpy.save(source / "X.npy", images)
    numpy.save(source / "y.npy", numbers(images)[:-1])
    numpy.save(source / "other.npy", images)
    containers.write_lines(source / "c.csv", ["1,2"] * 100)
    mount = mounts(source, {
        "policy": "lirs", "epoch.advance": "manual",
        "record.align": "X.npy:y.npy;other.npy:gone.npy;c.csv:d.csv"})
    for name in ("X.npy", "y.npy", "other.npy", "c.csv"):
        assert (mount.path / name).read_bytes() == (source / name).read_bytes()
    assert untouched(mount) == {
        "X.npy": "record.align: X.npy has 6000 records, y.npy has 5999",
        "y.npy": "record.align: X.npy has 6000 records, y.npy has 5999",
        "other.npy": "record.align: gone.npy: there is no such file",
        "c.csv": "record.align: d.csv: there is no such file"}


# [S-6.2c] No pass over containers begins the next epoch if some of them are
# aligned.
def test_no_pass_over_aligned_files_advances(mounts, folder):
    source = folder / "source"
    source.mkdir()
    images = rows()
    numpy.save(source / "X.npy", images)
    numpy.save(source / "y.npy", numbers(images))
    config = folder / "config.toml"
    config.write_text('policy = "reimu"\nreimu.block = "4KiB"\n'
                      'record.align = ["X.npy", "y.npy"]\n')
    mount = mounts(source, arguments=["--config", config])
    seen = set()
    for epoch in range(3):
        order = numbers(numpy.load(mount.path / "X.npy"))
        for name in ("y.npy", "y.npy", "X.npy", "y.npy"):
            shown = numpy.load(mount.path / name)
            if name == "X.npy":
                shown = numbers(shown)
            assert (shown == order).all()
        assert mount.view()["epoch"] == epoch
        seen.add(tuple(order))
        mount.next_epoch()
    assert len(seen) == 3


def test_wrong_rules_are_refused(mounts, folder):
    (folder / "source").mkdir()
    for value in ("X.npy", "a*:b", "a:a", "x?:y?"):
        mount = mounts(folder / "source", {"record.align": value}, start=False)
        done = harness.run(mount.command(), check=False)
        assert done.returncode != 0
        assert "record.align" in done.stderr, (value, done.stderr)
