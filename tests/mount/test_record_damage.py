# SPDX-License-Identifier: Apache-2.0
"""Containers that are damaged, changed, tiny, huge or of odd members: they are
right, or shown as they are with a line that says why."""
import errno
import io
import os
import random
import tarfile

import pytest

import containers
import harness
import record_checks

LIRS = {**record_checks.MANUAL, "policy": "lirs"}
RECORDS = [b"%d " % i + b"x" * (i % 250) for i in range(600)]


@pytest.fixture
def source(folder):
    (folder / "source").mkdir()
    return folder / "source"


def flip(data, at):
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]


def test_damaged_tfrecords(mounts, source):
    whole = containers.tfrecord(RECORDS)
    last = len(containers.tfrecord(RECORDS[:-1]))
    damaged = {
        "cut_in_data": (whole[:-20], f"byte {last}"),
        "cut_in_head": (whole[:last + 5], f"byte {last}"),
        "data_crc": (flip(whole, last + 14), f"byte {last}"),
        "length_crc": (flip(whole, last + 9), f"byte {last}"),
        "length": (flip(whole, last + 1), f"byte {last}"),
        "more": (whole + b"\0", f"byte {len(whole)}"),
        "zeros": (whole + bytes(4096), f"byte {len(whole)}"),
        "other": (b"something else", "first bytes"),
    }
    for name, (data, _) in damaged.items():
        (source / f"{name}.tfrecord").write_bytes(data)
    (source / "whole.tfrecord").write_bytes(whole)
    (source / "empty.tfrecord").write_bytes(b"")
    mount = record_checks.indexed(mounts(source, LIRS))
    record_checks.is_the_source(mount, [
        name for name in record_checks.files(source) if "whole" not in name])
    shown = containers.read_tfrecord(mount.path / "whole.tfrecord")
    assert shown != RECORDS and sorted(shown) == sorted(RECORDS)
    why = record_checks.untouched(mount)
    assert "empty" in why.pop("empty.tfrecord")
    assert sorted(why) == sorted(f"{name}.tfrecord" for name in damaged)
    for name, (_, said) in damaged.items():
        line = why[f"{name}.tfrecord"]
        assert said in line and "\n" not in line, (name, line)
        assert f"{name}.tfrecord: shown as it is: {line}\n" in mount.log()


@pytest.mark.parametrize("name", ["a.tfrecord", "a.tar", "rows.svm"])
def test_one_record(mounts, source, name):
    if name == "a.tar":
        containers.write_tar(source / name, [("only", {"txt": b"one"})])
    else:
        (source / name).write_bytes(containers.tfrecord([b"one"])
                                    if name == "a.tfrecord" else b"1 2:3\n")
    mount = record_checks.indexed(mounts(source, {
        **LIRS, "record.as": "*.svm:lines"}))
    record_checks.is_the_source(mount)
    records = mount.view()["records"]
    assert (records["records"], records["untouched"]) == (1, [])


@pytest.mark.parametrize("change", ["grown", "truncated", "rewritten"])
@pytest.mark.parametrize("name", ["a.tfrecord", "a.tar"])
def test_a_file_that_is_being_written(mounts, source, name, change):
    """What was catalogued is served whole, or refused: nothing is invented."""
    if name == "a.tar":
        containers.write_tar(source / name, [(f"{i}", {"txt": each})
                                             for i, each in enumerate(RECORDS)])
    else:
        (source / name).write_bytes(containers.tfrecord(RECORDS))
    (source / "b.tfrecord").write_bytes(containers.tfrecord(RECORDS))
    mount = record_checks.indexed(mounts(source, LIRS))
    before = (mount.path / name).read_bytes()
    mount.next_epoch()
    if change == "truncated":
        os.truncate(source / name, len(before) // 2)
    elif change == "grown":
        with open(source / name, "ab") as file:
            file.write(containers.tfrecord([b"one more"]))
    else:
        (source / name).write_bytes(before[::-1])
    with pytest.raises(OSError) as raised:
        (mount.path / name).read_bytes()
    assert raised.value.errno in (errno.ESTALE, errno.EIO)
    assert name in mount.log()
    shown = containers.read_tfrecord(mount.path / "b.tfrecord")
    assert sorted(shown) == sorted(RECORDS)
    # A new mount takes it as it is.
    mount.unmount()
    record_checks.indexed(mount.start())
    shown = (mount.path / name).read_bytes()
    assert sorted(shown) == sorted((source / name).read_bytes())


@pytest.mark.parametrize("policy", [
    {"policy": "lirs"}, {"policy": "reimu", "reimu.block": "64KiB"},
    {"policy": "lirs", "lirs.unit": "page"}], ids=str)
def test_a_record_that_is_larger_than_the_memory(mounts, source, policy):
    huge = random.Random(4).randbytes(40 << 20).translate(bytes(range(10)) + b"x" + bytes(range(11, 256)))
    rows = [b"%d\n" % i for i in range(500)]
    (source / "rows.svm").write_bytes(b"".join([*rows, huge, b"\n", *rows]))
    containers.write_tar(source / "a.tar", [
        *((f"{i:03}", {"txt": b"%d" % i}) for i in range(100)),
        ("big", {"bin": huge, "cls": b"1"}),
        *((f"{i:03}", {"txt": b"%d" % i}) for i in range(100, 200))])
    mount = record_checks.indexed(mounts(source, {
        **LIRS, **policy, "record.as": "*.svm:lines", "memory": "16MiB"}))
    with open(mount.path / "rows.svm", "rb") as file:
        lines = list(file)
    # No comparison that would print them.
    assert bool(sorted(lines) == sorted([*rows, huge + b"\n", *rows]))
    raw, members = (containers.read_tar(root / "a.tar")
                    for root in (source, mount.path))
    assert bool(members != raw and sorted(members) == sorted(raw))


def add(archive, name, data=b"", **attributes):
    member = tarfile.TarInfo(name)
    member.size = len(data)
    for key, value in attributes.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(data))


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT],
                         ids=["gnu", "pax"])
def test_tar_with_long_names(mounts, source, form):
    for long in ("x" * 90, "d/" * 70 + "y" * 80, "ü" * 120):
        path = source / f"{len(long)}.tar"
        with tarfile.open(path, "w", format=form) as archive:
            for i in range(200):
                add(archive, f"{long}{i:04}.txt", b"t" * i)
                add(archive, f"{long}{i:04}.cls", b"%d" % i)

    def read(root):
        members = [each for name in record_checks.files(source)
                   for each in containers.read_tar(root / name)]
        return list(zip(members[::2], members[1::2]))

    assert len(read(source)) == 600
    record_checks.shuffles(mounts, source, {"policy": "lirs"}, read)


def test_tar_with_sparse_members(mounts, source):
    """GNU tar's, in its own format and in that of POSIX."""
    loose = source.parent / "loose"
    loose.mkdir()
    for i in range(60):
        with open(loose / f"{i:03}.bin", "wb") as file:
            file.seek(100000 + i)
            file.write(b"end %d" % i)
            file.seek(300000)
            file.write(b"more")
        (loose / f"{i:03}.cls").write_text(str(i))
    for form in ("gnu", "posix"):
        harness.run(["tar", "--sparse", f"--format={form}", "--sort=name",
                     "-cf", source / f"{form}.tar", "-C", loose, "."])
        assert os.stat(source / f"{form}.tar").st_size < 1 << 20
    mount = record_checks.indexed(mounts(source, LIRS))
    why = record_checks.untouched(mount)
    for form in ("gnu.tar", "posix.tar"):
        raw = unpacked(source / form, loose.parent / f"raw-{form}")
        assert len(raw) == 120
        assert unpacked(mount.path / form, loose.parent / f"now-{form}") == raw
        same = ((mount.path / form).read_bytes()
                == (source / form).read_bytes())
        assert same == (form in why), why


def unpacked(archive, folder):
    folder.mkdir()
    harness.run(["tar", "-xf", archive, "-C", folder])
    return {name: (folder / name).read_bytes()
            for name in record_checks.files(folder)}


def test_tar_whose_members_depend_on_their_order(mounts, source):
    odd = {
        "hard_link": lambda archive: add(
            archive, "0100.lnk", type=tarfile.LNKTYPE, linkname="0001.txt"),
        "soft_link": lambda archive: add(
            archive, "0100.lnk", type=tarfile.SYMTYPE, linkname="0001.txt"),
        "fifo": lambda archive: add(archive, "0100.pipe",
                                    type=tarfile.FIFOTYPE),
        "twice": lambda archive: add(archive, "0001.cls", b"again"),
        "upwards": lambda archive: add(archive, "../0100.cls", b"out"),
    }
    for name, more in odd.items():
        with tarfile.open(source / f"{name}.tar", "w") as archive:
            for i in range(100):
                add(archive, f"{i:04}.txt", b"t" * i)
            more(archive)
    with tarfile.open(source / "global.tar", "w", format=tarfile.PAX_FORMAT,
                      pax_headers={"comment": "for all"}) as archive:
        for i in range(100):
            add(archive, f"{i:04}.txt", b"t" * i)
    whole = (source / "twice.tar").read_bytes()
    (source / "two_in_one.tar").write_bytes(whole + whole)
    mount = record_checks.indexed(mounts(source, LIRS))
    record_checks.is_the_source(mount)
    why = record_checks.untouched(mount)
    assert sorted(why) == record_checks.files(source)
    assert "link" in why["hard_link.tar"], why
    assert "global" in why["global.tar"], why
    assert "comes again" in why["twice.tar"], why
    for line in why.values():
        assert line and "\n" not in line


def test_damaged_tars(mounts, source):
    containers.write_tar(source / "whole.tar", [
        (f"{i:04}", {"txt": b"t" * i, "cls": b"1"}) for i in range(300)])
    whole = (source / "whole.tar").read_bytes()
    end = len(whole.rstrip(b"\0"))
    middle = 512 * (len(whole) // 1024)
    with tarfile.open(source / "whole.tar") as archive:
        header = [each.offset for each in archive][100]
    for name, data in (("cut", whole[:end - 1000]),
                       ("inside", whole[:middle + 100]),
                       ("header", flip(whole, header + 3)),
                       ("no_tar", b"x" * 4096), ("empty", b"")):
        (source / f"{name}.tar").write_bytes(data)
    mount = record_checks.indexed(mounts(source, LIRS))
    shown = containers.read_tar(mount.path / "whole.tar")
    assert sorted(shown) == sorted(containers.read_tar(source / "whole.tar"))
    record_checks.is_the_source(mount, [
        name for name in record_checks.files(source) if name != "whole.tar"])
    why = record_checks.untouched(mount)
    assert sorted(why) == ["cut.tar", "empty.tar", "header.tar", "inside.tar",
                           "no_tar.tar"]
    assert f"byte {header}" in why["header.tar"], why
    assert "first bytes" in why["no_tar.tar"], why
