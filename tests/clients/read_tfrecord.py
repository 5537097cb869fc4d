# SPDX-License-Identifier: Apache-2.0
"""Read TFRecord files with the package tfrecord, without TensorFlow.

Each line of the input is a JSON list: a command and its arguments; each line
of the output is what it gave, as JSON.
"""
import hashlib
import json
import sys

import tfrecord
from tfrecord import reader


def records(path, index=None, shards=0):
    """The digest of each record's data. With an index, of one shard after the
    other."""
    parts = [(i, shards) for i in range(shards)] or [None]
    return [hashlib.sha256(data).hexdigest()[:16] for part in parts
            for data in reader.tfrecord_iterator(path, index, part)]


def write(path, count):
    """Writes records that are a tf.train.Example each."""
    writer = tfrecord.TFRecordWriter(path)
    for i in range(count):
        writer.write({"id": (i, "int"), "label": (i / 4, "float"),
                      "image": (bytes(i % 251), "byte")})
    writer.close()


def examples(path):
    """[id, label, length of the image] of each tf.train.Example."""
    loader = tfrecord.tfrecord_loader(
        path, None, {"id": "int", "label": "float", "image": "byte"})
    return [[int(each["id"][0]), float(each["label"][0]), len(each["image"])]
            for each in loader]


for line in sys.stdin:
    command, *arguments = json.loads(line)
    print(json.dumps(globals()[command](*arguments)), flush=True)
