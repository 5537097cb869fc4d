# SPDX-License-Identifier: Apache-2.0
"""Container files for tests: written here, and read as their users read them."""
import io
import random
import struct
import tarfile

_TABLE = []
for _byte in range(256):
    for _ in range(8):
        _byte = _byte >> 1 ^ (0x82F63B78 if _byte & 1 else 0)
    _TABLE.append(_byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord(records):
    """The bytes of a TFRecord file."""
    frames = []
    for data in records:
        length = struct.pack("<Q", len(data))
        frames.append(length + struct.pack("<I", masked(length)) + data
                      + struct.pack("<I", masked(data)))
    return b"".join(frames)


def tfrecords_of(file):
    """What a reader with checksums gets from an open file, record by record."""
    while head := file.read(12):
        assert struct.unpack("<I", head[8:])[0] == masked(head[:8])
        data = file.read(struct.unpack("<Q", head[:8])[0])
        assert struct.unpack("<I", file.read(4))[0] == masked(data)
        yield data


def tfrecords(path):
    with open(path, "rb") as file:
        yield from tfrecords_of(file)


def read_tfrecord(path):
    return list(tfrecords(path))


def tfrecord_index(data):
    """The text that tfrecord2idx of NVIDIA DALI writes of a TFRecord file."""
    lines, at = [], 0
    while at < len(data):
        size = struct.unpack("<Q", data[at:at + 8])[0] + 16
        lines.append(f"{at} {size}\n")
        at += size
    return "".join(lines)


def read_by_index(path, index):
    """What a reader gets who goes to the places of an index, line by line."""
    records = []
    with open(path, "rb") as file, open(index) as lines:
        for line in lines:
            offset, size = map(int, line.split())
            file.seek(offset)
            frame = file.read(size)
            assert len(frame) == size
            length, checksum = struct.unpack("<QI", frame[:12])
            assert checksum == masked(frame[:8]) and length == size - 16
            assert frame[-4:] == struct.pack("<I", masked(frame[12:-4]))
            records.append(frame[12:-4])
    return records


def write_idx(path, array):
    """An idx file of unsigned bytes, as MNIST has them."""
    dims = struct.pack(f">{array.ndim}I", *array.shape)
    path.write_bytes(bytes([0, 0, 8, array.ndim]) + dims + array.tobytes())


def read_idx(path):
    """The dimensions, and the bytes of all rows."""
    content = path.read_bytes()
    assert content[:3] == b"\0\0\x08"
    end = 4 + 4 * content[3]
    return struct.unpack(f">{content[3]}I", content[4:end]), content[end:]


def lines(count, seed=0, start=0):
    """LIBSVM-like lines, class-sorted, without their ends."""
    rng = random.Random(seed)
    return [f"{i * 2 // count} 1:{start + i} 2:{rng.random():.4f}"
            + f" 7:{'1' * rng.randrange(60)}" for i in range(count)]


def write_lines(path, content, end="\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(content) + end)


def write_tar(path, samples, **options):
    """WebDataset: samples are (key, {extension: bytes})."""
    with tarfile.open(path, "w", **options) as archive:
        for key, fields in samples:
            for extension, data in fields.items():
                member = tarfile.TarInfo(f"{key}.{extension}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


def read_tar(path):
    """(name, bytes) of each regular member, in order."""
    with tarfile.open(path) as archive:
        return [(member.name, archive.extractfile(member).read())
                for member in archive if member.isreg()]
