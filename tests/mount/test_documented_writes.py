# SPDX-License-Identifier: Apache-2.0
"""What pages tell programs to write into the control directory works.

A refusal of the daemon is an error where the program writes.
"""
import ast
import re

import pytest

import harness
import trees

ROOT = harness.EXAMPLES.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOKEN_PAGES = ["docs/frameworks.md", "fs/SEMANTICS.md"]


@pytest.fixture
def source(folder):
    return trees.class_folders(folder / "source", 2, 4)


def token_statements(page):
    """The statements of a page that read or write a token, as one program."""
    for language, code in BLOCK.findall((ROOT / page).read_text()):
        if language == "python" and ".shufflefs/token" in code:
            body = ast.parse(code).body
            return "\n".join(
                segment for segment in (ast.get_source_segment(code, each)
                                        for each in body)
                if "token" in segment)
    raise AssertionError(f"{page}: has no recipe for a token")


@pytest.mark.parametrize("page", TOKEN_PAGES)
def test_the_recipe_for_a_token_sees_a_refusal(mounts, source, page):
    mount = mounts(source, {"policy": "lirs", "epoch.advance": "manual"})
    code = token_statements(page)
    mount.write_control("epoch = 3\n")
    told = {"root": mount.path}
    exec(code, told)  # pylint: disable=exec-used
    assert told["token"] == mount.read("token")
    damaged = code.replace("write(token)", "write(token[:-9])")
    assert damaged != code
    with pytest.raises(OSError, match="Invalid argument"):
        exec(damaged, {"root": mount.path})  # pylint: disable=exec-used


def control_lines(page):
    """The block of a page that shows what to write into control."""
    text = (ROOT / page).read_text()
    if page.endswith(".1"):
        text = text.split(".It Pa control\n")[1].split(".It Pa error\n")[0]
        return text.split("-compact\n")[1].split(".Ed\n")[0]
    text = text.split("Lines for `control`")[1]
    return BLOCK.search(text)[2]


@pytest.mark.parametrize("page", ["docs/epochs.md",
                                  "mount-tools/man/shufflefs.1"])
def test_the_lines_for_control_are_accepted_as_they_stand(mounts, source, page):
    lines = control_lines(page)
    assert lines.count("\n") >= 3
    mount = mounts(source, {"policy": "native", "epoch.advance": "manual"})
    assert mount.write_control(lines) is None, mount.read("error")
    assert mount.view()["epoch"] == 1 and mount.view()["seed"] == 3
    # What only met accepts is told apart from them.
    rest = (ROOT / page).read_text().replace(lines, "")
    assert "feedback = 0.531" in rest
    assert mount.write_control("feedback = 0.531\n") is not None
