# SPDX-License-Identifier: Apache-2.0
"""Parquet and Arrow files for tests. The Parquet files are true ones, of one
column of 64-bit numbers, and are read as its users read them: row group by row
group, as the footer lists them."""
import struct

I16, I32, I64, BINARY, LIST, STRUCT = 4, 5, 6, 8, 9, 12


def _varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def _value(kind, value):
    if kind in (I16, I32, I64):
        return _varint(value << 1)
    if kind == BINARY:
        return _varint(len(value)) + value
    if kind == STRUCT:
        return _struct(*value)
    element, values = value
    size = bytes([len(values) << 4 | element]) if len(values) < 15 else (
        bytes([0xF0 | element]) + _varint(len(values)))
    return size + b"".join(_value(element, each) for each in values)


def _struct(*fields):
    """A struct of Thrift's compact protocol: (id, type, value), ascending."""
    out, last = b"", 0
    for number, kind, value in fields:
        out += bytes([number - last << 4 | kind]) + _value(kind, value)
        last = number
    return out + b"\0"


class _Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        number = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def value(self, kind):
        if kind in (I16, I32, I64):
            number = self.varint()
            return number >> 1 ^ -(number & 1)
        if kind == BINARY:
            size = self.varint()
            self.at += size
            return self.data[self.at - size:self.at]
        if kind == STRUCT:
            return self.struct()
        assert kind == LIST, kind
        head = self.data[self.at]
        self.at += 1
        size = head >> 4 if head < 0xF0 else self.varint()
        return [self.value(head & 15) for _ in range(size)]

    def struct(self):
        fields, number = {}, 0
        while head := self.data[self.at]:
            self.at += 1
            number += head >> 4
            fields[number] = self.value(head & 15)
        self.at += 1
        return fields


def parquet(groups, ordinals=False):
    """The bytes of a file with these lists of numbers as row groups."""
    data, listed = b"PAR1", []
    for ordinal, numbers in enumerate(groups):
        size, begin = 8 * len(numbers), len(data)
        data += _struct((1, I32, 0), (2, I32, size), (3, I32, size),
                        (5, STRUCT, [(1, I32, len(numbers)), (2, I32, 0),
                                     (3, I32, 3), (4, I32, 3)]))
        data += struct.pack(f"<{len(numbers)}q", *numbers)
        stored = len(data) - begin
        column = [(1, I32, 2), (2, LIST, (I32, [0])),
                  (3, LIST, (BINARY, [b"id"])), (4, I32, 0),
                  (5, I64, len(numbers)), (6, I64, stored), (7, I64, stored),
                  (9, I64, begin)]
        group = [(1, LIST, (STRUCT, [[(2, I64, 0), (3, STRUCT, column)]])),
                 (2, I64, stored), (3, I64, len(numbers))]
        listed.append(group + ([(7, I16, ordinal)] if ordinals else []))
    footer = _struct(
        (1, I32, 1),
        (2, LIST, (STRUCT, [[(4, BINARY, b"schema"), (5, I32, 1)],
                            [(1, I32, 2), (3, I32, 0), (4, BINARY, b"id")]])),
        (3, I64, sum(map(len, groups))), (4, LIST, (STRUCT, listed)))
    return data + footer + struct.pack("<I", len(footer)) + b"PAR1"


def read_parquet(data):
    """The row groups, as a reader gets them, and their ordinals."""
    assert data[:4] == data[-4:] == b"PAR1"
    size, = struct.unpack("<I", data[-8:-4])
    groups, ordinals = [], []
    for group in _Reader(data[-8 - size:-8]).struct()[4]:
        column = group[1][0][3]
        page = _Reader(data[column[9]:column[9] + column[7]])
        header = page.struct()
        assert header[2] == len(page.data) - page.at == 8 * group[3]
        groups.append(list(struct.unpack(f"<{group[3]}q",
                                         page.data[page.at:])))
        ordinals.append(group.get(7))
    return groups, ordinals


def _message(kind, body=b""):
    """A message of Arrow IPC: kind 1 is a schema (here of no columns), 3 a
    record batch."""
    metadata = struct.pack("<I6HiIqHBxHHiI", 16, 12, 20, 16, 18, 4, 8, 12, 20,
                           len(body), 4, kind, 4, 4, 4, 0)
    return b"\xff" * 4 + struct.pack("<I", len(metadata)) + metadata + body


def arrow_stream(bodies):
    """The bytes of an IPC stream with such batches, of whole 8 bytes each."""
    return (_message(1) + b"".join(_message(3, body) for body in bodies)
            + b"\xff\xff\xff\xff\0\0\0\0")


def arrow_file(bodies):
    """The bytes of an IPC file with such batches."""
    data, blocks = b"ARROW1\0\0" + _message(1), b""
    for body in bodies:
        message = _message(3, body)
        blocks += struct.pack("<qiiq", len(data), len(message) - len(body), 0,
                              len(body))
        data += message
    footer = struct.pack("<I6H4xiIIIH2xHHi4xI4xI", 20, 12, 18, 16, 4, 8, 12, 16,
                         20, 24, 28, 4, 4, 4, 4, 0, len(bodies)) + blocks
    return data + footer + struct.pack("<I", len(footer)) + b"ARROW1"


def read_arrow_file(data):
    """The bodies, as a reader gets them."""
    size, = struct.unpack("<I", data[-10:-6])
    footer = data[-10 - size:-10]
    bodies = []
    for at in range(64, size, 24):
        offset, metadata, _, body = struct.unpack_from("<qiiq", footer, at)
        bodies.append(data[offset + metadata:offset + metadata + body])
    return bodies
