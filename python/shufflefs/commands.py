# SPDX-License-Identifier: Apache-2.0
"""The commands of a wheel that carries the programs: each becomes one."""
from __future__ import annotations

import os
import sys

from .programs import OWN


def shufflefs() -> None:
    _become("shufflefs")


def shufflectl() -> None:
    _become("shufflectl")


def _become(name: str) -> None:
    os.execv(os.path.join(OWN, name), [name, *sys.argv[1:]])
