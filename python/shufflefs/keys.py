# SPDX-License-Identifier: Apache-2.0
"""From Python's keyword arguments to the text of -o.

Only the form is checked here. The daemon knows the keys and their values, and
refuses what is wrong in its own words.
"""
from __future__ import annotations

import os
import re
from typing import Dict, Mapping, Optional

from .errors import ShufflefsError

_KEY = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*")


def key_name(keyword: str) -> str:
    """The key that a keyword argument means: its first `_` is a dot.

    epoch_advance is epoch.advance, and epoch_double_open is
    epoch.double_open. No key without a dot has an underscore.
    """
    return keyword.replace("_", ".", 1)


def value_text(key: str, value: object) -> str:
    """A value in the form of -o. Text, numbers and paths have one."""
    if isinstance(value, bool):
        raise ShufflefsError(
            f"{key}={value}: a truth value is no value of a key; "
            "write the word that shufflefs.toml(5) names")
    if isinstance(value, (str, int, float)):
        text = str(value)
    elif isinstance(value, os.PathLike):
        path = os.fspath(value)
        text = os.fsdecode(path)
    else:
        raise ShufflefsError(
            f"{key}: {type(value).__name__} is no text, number or path")
    if "\0" in text:
        raise ShufflefsError(f"{key}: a value cannot contain a NUL character")
    return text


def merged(keys: Optional[Mapping[str, object]],
           keywords: Mapping[str, object]) -> Dict[str, str]:
    """{key: text} of both, without those that are None.

    Raises ShufflefsError if a name cannot be a key, if a value has no form in
    -o, or if one key is given twice.
    """
    texts: Dict[str, str] = {}
    named = list((keys or {}).items())
    named += [(key_name(word), value) for word, value in keywords.items()]
    for key, value in named:
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise ShufflefsError(f"{key!r}: is no key; see shufflefs --help")
        if key in texts:
            raise ShufflefsError(f"{key}: is given twice")
        if value is not None:
            texts[key] = value_text(key, value)
    return texts


def option_text(texts: Mapping[str, str]) -> str:
    r"""The argument of -o. `\,` and `\\` denote a comma and a backslash."""
    words = []
    for key, text in texts.items():
        escaped = text.replace("\\", "\\\\").replace(",", "\\,")
        words.append(f"{key}={escaped}")
    return ",".join(words)
