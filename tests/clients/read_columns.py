# SPDX-License-Identifier: Apache-2.0
"""Write and read Parquet and Arrow files with pyarrow, DuckDB and Polars.

Each line of the input is a JSON list: a command and its arguments; each line
of the output is what it gave, as JSON. Rows are [id, label, text], in order.
"""
import json
import sys

import duckdb
import polars
import pyarrow
from pyarrow import dataset, feather, ipc, parquet

# It keeps what it read of a path, for as long as that has the same size and
# time, as a shuffled file has in every epoch.
duckdb.sql("SET enable_external_file_cache = false")
ROWS = 6000
GROUP = 150


def table(count=ROWS):
    return pyarrow.table({
        "id": pyarrow.array(range(count), pyarrow.int64()),
        "label": pyarrow.array([f"class {i // 600}" for i in range(count)])
                 .dictionary_encode(),
        "text": [None if i % 7 == 0 else "t" * (i % 50) for i in range(count)]})


def stream(path):
    with ipc.new_stream(path, table().schema) as out:
        out.write_table(table(), max_chunksize=GROUP)


def file(path):
    with ipc.new_file(path, table().schema) as out:
        out.write_table(table(), max_chunksize=GROUP)


WRITERS = {
    "dictionaries": lambda path: parquet.write_table(
        table(), path, row_group_size=GROUP),
    "page indexes": lambda path: parquet.write_table(
        table(), path, row_group_size=GROUP, write_page_index=True,
        data_page_size=512, use_dictionary=False, compression="zstd"),
    "one group": lambda path: parquet.write_table(table(), path),
    "polars": lambda path: polars.from_arrow(table()).write_parquet(
        path, row_group_size=GROUP),
    # It makes no smaller row groups.
    "duckdb": lambda path: duckdb.from_arrow(table(12 * 2048)).query(
        "t", f"COPY (SELECT * FROM t) TO '{path}' (ROW_GROUP_SIZE 2048)"),
    "file": file,
    "stream": stream,
    "feather": lambda path: feather.write_feather(
        table(), path, chunksize=GROUP, compression="lz4"),
}
READERS = {
    "pyarrow": parquet.read_table,
    "pyarrow, group by group": lambda path: pyarrow.Table.from_batches(
        parquet.ParquetFile(path).iter_batches(100)),
    "pyarrow, mapped": lambda path: parquet.read_table(path, memory_map=True),
    "duckdb": lambda path: duckdb.read_parquet(path).arrow(),
    "polars": lambda path: polars.read_parquet(path).to_arrow(),
    "polars, streaming": lambda path: polars.scan_parquet(path).collect(
        engine="streaming").to_arrow(),
    "file": lambda path: ipc.open_file(path).read_all(),
    "file, mapped": lambda path: ipc.open_file(
        pyarrow.memory_map(path)).read_all(),
    "file, polars": lambda path: polars.read_ipc(
        path, memory_map=False).to_arrow(),
    "stream": lambda path: ipc.open_stream(path).read_all(),
    "stream, polars": lambda path: polars.read_ipc_stream(path).to_arrow(),
    "feather": lambda path: feather.read_table(path, memory_map=False),
}
FILTERS = {
    "pyarrow": lambda path, low, high: dataset.dataset(path).to_table(
        filter=(dataset.field("id") >= low) & (dataset.field("id") < high)),
    "duckdb": lambda path, low, high: duckdb.sql(
        f"SELECT * FROM '{path}' WHERE id >= {low} AND id < {high}").arrow(),
    "polars": lambda path, low, high: polars.scan_parquet(path).filter(
        (polars.col("id") >= low) & (polars.col("id") < high))
        .collect().to_arrow(),
}


def rows(table_read):
    columns = (table_read[name].to_pylist() for name in ("id", "label", "text"))
    return [list(row) for row in zip(*columns)]


def write(how, path):
    WRITERS[how](path)


def read(path, first, *others):
    """By the first; the others must agree."""
    shown = rows(READERS[first](path))
    for other in others:
        if rows(READERS[other](path)) != shown:
            raise ValueError(f"{path}: {other} reads other rows than {first}")
    return shown


def between(how, path, low, high):
    return rows(FILTERS[how](path, low, high))


for line in sys.stdin:
    command, *arguments = json.loads(line)
    print(json.dumps(globals()[command](*arguments)), flush=True)
