# SPDX-License-Identifier: Apache-2.0
"""Every error ends with what to do: a table of provoked errors."""
import fcntl
import os

import pytest

import harness
import trees


@pytest.fixture(name="place")
def _place(folder):
    """What the words of the table name: {data}, {empty}, {val}, …"""
    trees.blobs(folder / "data")
    for name in ("empty", "mnt", "val/val/a", "foreign", "manifest", "journal",
                 "frames", "records"):
        (folder / name).mkdir(parents=True)
    (folder / "val/val/a/x.jpg").write_bytes(b"1")
    (folder / "foreign/thesis.tex").write_bytes(b"1")
    (folder / "manifest/manifest").write_bytes(b"of something else")
    (folder / "journal/manifest.part").write_bytes(b"of something else")
    (folder / "records/a.tfrecord").write_bytes(b"cut off")
    (folder / "large.toml").write_bytes(b"#" * (2 << 20))
    (folder / "file").write_bytes(b"1")
    for i in range(30):
        (folder / f"frames/frame_{i:04}.jpg").write_bytes(b"%d" % i)
    return folder


# The words, and how the error ends.
CTL = [
    (["frobnicate"], "see shufflectl --help"),
    (["check", "{gone}"], "name the directory of the dataset"),
    (["check", "{empty}"], "name the dataset's directory"),
    (["bench", "{empty}"], "name the dataset's directory"),
    (["simulate"], "e.g. shufflectl simulate lirs DATA"),
    (["simulate", "lirs", "{val}"], "name the directory of the training data"),
    (["simulate", "lirs", "--peak", "3"], "use shufflectl simulate met"),
    (["simulate", "brand", "{frames}"],
     "if labels do not go by name, add substitute=directory"),
    (["simulate", "lirs", "zebra=1", "{data}"], "see shufflefs --help=all"),
    (["index", "{data}"], "or --state DIR here and -o state=DIR there"),
    (["pack", "{gone}", "{new}"], "name the directory of the dataset"),
    (["pack", "{val}", "{new}"], "name the directory of the training data"),
    (["pack", "{frames}", "{new}"],
     "--force packs for mounts with -o substitute=directory"),
    (["pack", "{data}", "{data}/pack"], "give a directory outside"),
    (["pack", "{data}", "{gone}/pack"], "check the path"),
    (["pack", "{data}", "{file}"], "check the path"),
    (["pack", "{data}", "{foreign}"], "give an empty directory"),
    (["pack", "{data}", "{manifest}"], "give an empty directory"),
    (["pack", "{data}", "{journal}"], "give an empty directory"),
    (["pack", "--restart", "{data}", "{manifest}"], "give an empty directory"),
    (["pack", "--restart", "{data}", "{journal}"], "give an empty directory"),
    (["pack", "--align", "page", "--seed", "1", "{data}", "{new}"],
     "leave one out"),
    (["pack", "--fit", "best", "{data}", "{new}"], "add --align page"),
    (["pack", "--align", "page", "{gone}", "{new}"], "check the path"),
    (["pack", "--align", "page", "{data}", "{new}"],
     "name the directory of the TFRecord files, or one file"),
    (["pack", "--align", "page", "{records}", "{new}"],
     "get a whole copy of this TFRecord file"),
    (["pack", "--align", "page", "{records}", "{foreign}"],
     "give an empty directory"),
    (["warmup", "{gone}"], "name the directory of the dataset"),
    (["verify", "{data}"], None),  # ends with what is mounted
    (["order", "{data}"], None),
    (["token", "{data}"], None),
    (["status", "{data}"], None),
    (["umount", "{data}"], None),
    (["run", "{data}"], "shufflectl run SOURCE -- COMMAND"),
]

MOUNT = [
    (["{data}"], "see shufflefs --help"),
    (["{gone}", "{mnt}"], "name the directory of the dataset"),
    (["{data}", "{gone}"], "make the mount point: mkdir -p {gone}"),
    (["{data}", "{file}"], "name a directory to mount on"),
    (["-o", "zebra=1", "{data}", "{mnt}"], "see shufflefs --help=all"),
    (["--config", "{gone}", "{data}", "{mnt}"], "check the path"),
    (["--config", "{large.toml}", "{data}", "{mnt}"], "name a TOML file"),
    (["-o", "state={file}", "{data}", "{mnt}"], "check the path"),
    (["-o", "policy=met,state={new}", "{data}", "{mnt}"],
     "needs tier.path, a directory on a faster device"),
    (["-o", "tier.capacity=50%,state={new}", "{data}", "{mnt}"],
     "needs tier.path, the tier's directory"),
    (["-o", "tier.path={gone},tier.capacity=50%,state={new}", "{data}",
      "{mnt}"], "or make it: mkdir -p {gone}"),
    (["-o", "policy=met,substitute=directory,tier.path={gone},state={new}",
      "{data}", "{mnt}"], "or make it: mkdir -p {gone}"),
    (["-o", "memory=8,state={new}", "{data}", "{mnt}"],
     "a number without a unit counts bytes"),
]


def filled(text, folder):
    """The text with paths for the words in braces."""
    while "{" in text:
        name = text[text.index("{") + 1:text.index("}")]
        text = text.replace(f"{{{name}}}", str(folder / name))
    return text


def complaint(program, words, folder):
    """The only line that the command says."""
    done = harness.run([program, *(filled(word, folder) for word in words)],
                       check=False)
    assert done.returncode in (1, 2, 125), (words, done)
    assert done.stderr.count("\n") == 1, (words, done.stderr)
    return done.stderr.rstrip("\n")


def test_shufflectl(place):
    for words, step in CTL:
        line = complaint(harness.shufflectl(), words, place)
        if step is None:
            assert "mount" in line.split("; ", 1)[1], (words, line)
        else:
            assert line.endswith(step), (words, line)


def test_shufflefs(place):
    for words, step in MOUNT:
        line = complaint(harness.shufflefs(), words, place)
        assert line.endswith(filled(step, place)), (words, line)


def test_a_pack_that_another_run_is_writing(place):
    (place / "pack").mkdir()
    held = os.open(place / "pack", os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    line = complaint(harness.shufflectl(), ["pack", "{data}", "{pack}"], place)
    os.close(held)
    assert line.endswith("wait for it, or give another DEST")


def test_verify(mounts, place):
    """What verify needs is gone, or is of another version."""
    mount = mounts(place / "data", {"policy": "lirs"})
    verify = ["verify", str(mount.path)]
    (mount.state / "ledger").rename(mount.state / "aside")
    line = complaint(harness.shufflectl(), verify, place)
    assert line.endswith("ledger: No such file or directory; check the path")
    (mount.state / "ledger").write_bytes(b"something else, of no ledger" * 9)
    line = complaint(harness.shufflectl(), verify, place)
    assert line.endswith("name another state with -o state=DIR")
    (mount.state / "ledger").unlink()
    (mount.state / "aside").rename(mount.state / "ledger")
    catalogue = mount.state / "catalogue"
    catalogue.rename(mount.state / "aside")
    line = complaint(harness.shufflectl(), verify, place)
    assert line.endswith("wait until shufflectl status shows an epoch")
    catalogue.write_bytes(b"something else")
    line = complaint(harness.shufflectl(), verify, place)
    assert line.endswith("unmount, and mount again with the same command")


def test_verify_of_a_ledger_that_contradicts_itself(mounts, place):
    mount = mounts(place / "data", {"policy": "lirs", "open": "seen",
                                    "epoch.advance": "manual"})
    trees.contents(mount.path)
    mount.next_epoch()
    ledger = mount.state / "ledger"
    data = bytearray(ledger.read_bytes())
    data[200] ^= 0x40
    ledger.write_bytes(data)
    done = harness.run([harness.shufflectl(), "verify", mount.path],
                       check=False)
    assert done.returncode == 1 and "BROKEN" in done.stdout
    assert done.stderr.endswith("report it with the output of: shufflectl "
                                "doctor\n")
