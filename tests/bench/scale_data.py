# SPDX-License-Identifier: Apache-2.0
"""The containers of record_scale.py, made fast: of prepared pieces that are
written again and again."""
import io
import os
import random
import tarfile

import measure

# Of tests/mount, which measure has found.
import columnar  # noqa: E402
import containers  # noqa: E402

PIECE_LINES = 100_000
LEAST, MOST = 12, 40  # bytes of a line of the file of many
FIXED_BYTES = 64
RECORD = 330          # mean bytes of a TFRecord's frame, and of a longer line
TAR_FILE = 100_000    # mean bytes of a member


def _random_lines(count, least, most, seed):
    """The bytes of so many lines, of `least` to `most` bytes each."""
    rng = random.Random(seed)
    digits = "".join(rng.choices("0123456789:. ", k=1 << 16))
    places = len(digits) - most
    return "".join(
        digits[(at := rng.randrange(places)):
               at + rng.randrange(least, most + 1) - 1] + "\n"
        for _ in range(count)).encode()


def _repeat(path, piece, size):
    """The piece as often as fits in `size`, once at least."""
    with open(path, "wb") as file:
        for _ in range(max(1, size // len(piece))):
            file.write(piece)


def write_many_lines(path, count):
    """`count` short lines; PIECE_LINES of them differ."""
    piece = _random_lines(min(count, PIECE_LINES), LEAST, MOST, 0)
    with open(path, "wb") as file:
        for _ in range(count // PIECE_LINES):
            file.write(piece)
        rest = count % PIECE_LINES
        file.write(b"".join(piece.splitlines(keepends=True)[:rest]))


def write_many_fixed(path, count):
    """Nobody reads them: a hole."""
    with open(path, "wb") as file:
        os.truncate(file.fileno(), count * FIXED_BYTES)


def write_lines(path, size):
    _repeat(path, _random_lines(12_000, RECORD // 2, RECORD * 3 // 2, 1), size)


def write_tfrecord(path, size):
    rng = random.Random(2)
    _repeat(path, containers.tfrecord(
        rng.randbytes(rng.randrange(RECORD // 2, RECORD * 3 // 2) - 16)
        for _ in range(6_000)), size)


def write_tar(path, size):
    """A shard of photographs and their classes."""
    rng = random.Random(3)
    pool = rng.randbytes(4 * TAR_FILE)
    with tarfile.open(path, "w") as archive:
        for index in range(max(1, size // TAR_FILE)):
            at = rng.randrange(2 * TAR_FILE)
            size_of = rng.randrange(TAR_FILE // 2, TAR_FILE * 3 // 2)
            photo = pool[at:at + size_of]
            for name, data in (("jpg", photo), ("cls", b"%d" % (index % 10))):
                member = tarfile.TarInfo(f"{index:08d}.{name}")
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))


WRITERS = {"lines.svm": write_lines, "instances.tfrecord": write_tfrecord,
           "shard.tar": write_tar}


# A footer takes 60 to 70 bytes a group here.
def write_parquet(path, groups):
    path.write_bytes(columnar.parquet(
        [list(range(16 * at, 16 * at + 16)) for at in range(groups)]))


def write_arrow(path, batches):
    path.write_bytes(columnar.arrow_file(
        [bytes([at % 256]) * 256 for at in range(batches)]))


def footer_bytes(path):
    """Of a Parquet or an Arrow file, with what ends the file."""
    tail = path.read_bytes()[-10:]
    if path.suffix == ".parquet":
        return int.from_bytes(tail[2:6], "little") + 8
    return int.from_bytes(tail[:4], "little") + 10


