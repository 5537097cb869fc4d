# SPDX-License-Identifier: Apache-2.0
"""The Python package without a mount: its form, and how keys become -o."""
import ast
import inspect
import os
import pathlib
import re
import sys

import pytest

import harness
import shufflefs
from shufflefs import keys, programs

ROOT = harness.EXAMPLES.parent
SOURCES = sorted((harness.MODULE / "shufflefs").glob("*.py"))


def option(mapping=None, **keywords):
    return keys.option_text(keys.merged(mapping, keywords))


def known_keys():
    """Every key that shufflefs --help=all lists."""
    text = harness.run([harness.shufflefs(), "--help=all"]).stdout
    text = text.split("\nkeys ")[1].split("\n\n")[0]
    found = re.findall(r"^  ([a-z][a-z0-9_.]*) ", text, re.MULTILINE)
    assert len(found) > 30 and "epoch.double_open" in found
    return found


def test_the_version_is_that_of_the_programs():
    project = re.search(r"project\(shufflefs VERSION ([0-9.]+)",
                        (ROOT / "CMakeLists.txt").read_text())
    assert shufflefs.__version__ == project[1]


def test_it_imports_nothing_but_the_standard_library():
    """-S leaves out all other packages, -I what the environment adds."""
    code = (f"import sys; sys.path.insert(0, {str(harness.MODULE)!r}); "
            "import shufflefs; "
            "print(sorted({m.split('.')[0] for m in sys.modules}"
            " - set(sys.stdlib_module_names) - {'__main__'}))")
    done = harness.run([harness.PYTHON, "-B", "-I", "-S", "-c", code])
    assert done.stdout == "['shufflefs']\n"


def test_its_syntax_is_that_of_python_3_9():
    assert len(SOURCES) > 5
    for source in SOURCES:
        ast.parse(source.read_text(), str(source), feature_version=(3, 9))
    assert 'requires-python = ">=3.9"' in (
        harness.MODULE / "pyproject.toml").read_text()


# What mypy sees in place of torch, which takes it minutes to read.
TORCH = """
from typing import Any, Generic, Optional, TypeVar
T = TypeVar("T", covariant=True)
class Dataset(Generic[T]):
    def __getitem__(self, index: Any) -> T: ...
class DataLoader(Generic[T]):
    def __init__(self, dataset: Dataset[T], batch_size: Optional[int] = 1,
                 shuffle: Optional[bool] = None) -> None: ...
"""
CALLER = """
from typing import Any, Tuple
from torch.utils.data import DataLoader
import shufflefs
loader: DataLoader[Tuple[Any, Any]] = DataLoader(
    shufflefs.RankedFolder("/mnt"), batch_size=2, shuffle=False)
"""


def test_its_types_are_right(folder):
    """Also those of a program that gives a RankedFolder to a DataLoader."""
    place = folder / "stubs" / "torch" / "utils"
    place.mkdir(parents=True)
    (place / "data.pyi").write_text(TORCH)
    for package in (place, place.parent):
        (package / "__init__.pyi").write_text("")
    (folder / "caller.py").write_text(CALLER)
    for stubs in ([folder / "stubs"], []):
        harness.run([harness.PYTHON, "-m", "mypy", "--python-version", "3.9",
                     "--cache-dir", folder / f"cache{len(stubs)}",
                     "--config-file", "pyproject.toml", "--no-site-packages",
                     "shufflefs", *[folder / "caller.py" for _ in stubs]],
                    cwd=harness.MODULE, timeout=120, env={
                        **os.environ, "MYPYPATH": ":".join(map(str, stubs))})
    assert (harness.MODULE / "shufflefs" / "py.typed").exists()


def test_examples_compile():
    examples = sorted(harness.EXAMPLES.glob("*.py"))
    assert len(examples) > 8
    for example in examples:
        compile(example.read_text(), str(example), "exec")


def test_every_key_has_a_keyword_and_clashes_with_no_parameter():
    parameters = set(inspect.signature(shufflefs.mount).parameters)
    for key in known_keys():
        keyword = key.replace(".", "_")
        assert keyword.isidentifier()
        assert keys.key_name(keyword) == key
        assert keyword not in parameters - {"keywords"}


def test_values_are_written_as_the_daemon_reads_them():
    assert option(policy="lirs", seed=3) == "policy=lirs,seed=3"
    assert option({"epoch.advance": "auto"}) == "epoch.advance=auto"
    assert option(epoch_double_open="1s") == "epoch.double_open=1s"
    assert option(tier_path=pathlib.Path("/a,b")) == r"tier.path=/a\,b"
    assert option(state="/a\\b\\,") == r"state=/a\\b\\\,"
    assert option(record_as="*.a:npy;*.b:lines") == (
        "record.as=*.a:npy;*.b:lines")
    assert option(policy=None, seed=0) == "seed=0"
    assert option() == ""


@pytest.mark.parametrize("mapping, keywords, words", [
    ({"seed": 1}, {"seed": 2}, "seed: is given twice"),
    ({"epoch.advance": "auto"}, {"epoch_advance": "auto"}, "given twice"),
    ({"a=b": 1}, {}, "is no key"),
    ({"a,seed": 1}, {}, "is no key"),
    ({"": 1}, {}, "is no key"),
    ({"x-other": 1}, {}, "is no key"),
    ({3: 1}, {}, "is no key"),
    ({}, {"pair": False}, "truth value"),
    ({}, {"state": "/a\0b"}, "NUL"),
    ({}, {"seed": [1, 2]}, "list is no text"),
    ({}, {"state": b"/a"}, "bytes is no text"),
])
def test_what_has_no_form_in_o_is_refused(mapping, keywords, words):
    with pytest.raises(shufflefs.ShufflefsError, match=words):
        keys.merged(mapping, keywords)


def test_programs_are_found_where_they_are_said_to_be(folder, monkeypatch):
    monkeypatch.setenv("SHUFFLEFS_BIN", "/told/shufflefs")
    assert programs.find_program("shufflefs") == "/told/shufflefs"
    monkeypatch.delenv("SHUFFLEFS_BIN")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(programs, "OWN", str(folder / "bin"))
    assert programs.find_program("shufflefs") is None
    with pytest.raises(shufflefs.ShufflefsError, match="not in PATH.*EFS_BIN"):
        shufflefs.mount(folder, folder)
    for place in (folder, folder / "bin"):  # PATH, then what is carried along
        place.mkdir(exist_ok=True)
        (place / "shufflefs").write_text("#!/bin/sh\n")
        (place / "shufflefs").chmod(0o755)
        assert programs.find_program("shufflefs") == str(place / "shufflefs")


@pytest.mark.parametrize("name", ["shufflefs", "shufflectl"])
def test_a_program_that_is_not_there_is_an_error(folder, monkeypatch, name):
    """Nothing is mounted that could not be unmounted."""
    monkeypatch.setenv(f"{name.upper()}_BIN", str(folder / "absent"))
    (folder / "mnt").mkdir()
    with pytest.raises(shufflefs.ShufflefsError, match="absent"):
        shufflefs.mount(folder, folder / "mnt")
    assert harness.mount_types(folder / "mnt") == []


PAGES = [harness.MODULE / "README.md", ROOT / "docs" / "frameworks.md",
         ROOT / "docs" / "epochs.md"]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CALL = re.compile(r"(?<![.\w])(?:shufflefs|view)\.\w+(?:\([^()]*\))?")


def test_pages_call_what_is_there():
    """Also the arguments: each call binds to its signature."""
    values = {"shufflefs": shufflefs, "view": shufflefs.Mount}
    calls = set()
    for page in PAGES:
        text = page.read_text()
        code = BLOCK.findall(text) + re.findall(r"`([^`\n]+)`", text)
        for call in CALL.findall("\n".join(code)):
            calls.add(call)
            tree = ast.parse(call, mode="eval").body
            name = tree.func if isinstance(tree, ast.Call) else tree
            if name.attr in ("lightning", "keras", "toml"):
                continue
            found = getattr(values[name.value.id], name.attr, None)
            if name.attr == "path":  # of an instance
                continue
            assert found is not None, (page, call)
            if isinstance(tree, ast.Call):
                given = [None] * len(tree.args)
                if name.value.id == "view":
                    given.insert(0, None)
                inspect.signature(found).bind(
                    *given, **{each.arg: None for each in tree.keywords})
    assert len(calls) > 12, calls


def test_what_pip_installs_is_all_of_it():
    """The package needs its marker of types, and the programs of a wheel."""
    import tomllib
    assert sys.version_info >= (3, 11)
    project = tomllib.loads((harness.MODULE / "pyproject.toml").read_text())
    assert project["project"]["dependencies"] == []
    tools = project["tool"]["setuptools"]
    assert tools["package-data"]["shufflefs"] == ["py.typed", "bin/*"]
    assert tools["packages"] == ["shufflefs"]
    assert all(source.parent.name == "shufflefs" for source in SOURCES)
    assert tools["dynamic"]["version"] == {
        "attr": "shufflefs._version.__version__"}
