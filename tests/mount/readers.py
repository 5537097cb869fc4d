# SPDX-License-Identifier: Apache-2.0
"""Clients that Debian lacks: the Python that has them (readers.sh)."""
import json
import os
import pathlib
import subprocess

import pytest

import harness

NOT_FETCHED = 77  # as CMakeLists.txt has it


def python():
    """Its path. Without the readers the whole run ends with NOT_FETCHED."""
    folder = pathlib.Path(os.environ["SHUFFLEFS_READERS"])
    if not (folder / "installed").is_file():
        pytest.exit(f"no readers in {folder}: tests/run.sh fetches them",
                    returncode=NOT_FETCHED)
    return folder / "bin/python"


class Client:
    """A script of tests/clients that answers lines of JSON with such lines."""

    def __init__(self, name):
        self._process = subprocess.Popen(
            [python(), "-B", harness.CLIENTS / name], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, *request):
        print(json.dumps(request, default=str), file=self._process.stdin,
              flush=True)
        answer = self._process.stdout.readline()
        assert answer, f"the reader ended: {request}"
        return json.loads(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        assert self._process.wait(timeout=60) == 0
