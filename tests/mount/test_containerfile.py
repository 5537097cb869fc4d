# SPDX-License-Identifier: Apache-2.0
"""examples/container/Containerfile, as far as no container is needed: what it
copies is enough to configure, and what it installs is what the programs load."""
import os
import platform
import re
import shutil
import subprocess

import pytest

import harness

ROOT = harness.EXAMPLES.parent
FILE = harness.EXAMPLES / "container" / "Containerfile"
# Of debian:12-slim itself: apt needs them.
IMAGE_HAS = {"libc6", "libgcc-s1", "libstdc++6"}


def stages():
    """The lines of each by its name; the last one's is "final"."""
    text = re.sub(r"\\\n", " ", FILE.read_text())
    found = {}
    for stage in re.split(r"^FROM ", text, flags=re.M)[1:]:
        lines_of = stage.splitlines()
        name = re.search(r" AS (\w+)$", lines_of[0])
        found[name[1] if name else "final"] = lines_of
    return found


def lines(stage, word):
    return [line.split()[1:] for line in stage if line.startswith(word + " ")]


def packages(program):
    """Debian packages of the libraries that it loads."""
    libraries = re.findall(r"=> (/\S+)", harness.run(["ldd", program]).stdout)
    real = {os.path.realpath(library) for library in libraries}
    # A package may call /usr/lib /lib. To search for patterns takes long.
    paths = {path for library in libraries
             for path in (library, library.removeprefix("/usr"), f"/usr{library}")}
    owners = harness.run(["dpkg", "-S", *paths], check=False)
    found = [line.split(": ") for line in owners.stdout.splitlines()]
    return {owner.split(":")[0] for owner, path in found
            if os.path.realpath(path) in real}


def comparable(names):
    """Elsewhere than on the image's Debian, libraries have other versions."""
    if platform.freedesktop_os_release().get("VERSION_CODENAME") == "bookworm":
        return names
    return {re.sub(r"[0-9][0-9.t-]*$", "", name) for name in names}


def installed(stage):
    """The libraries that a stage installs."""
    install, = (words for words in lines(stage, "RUN") if "apt-get" in words)
    return {word for word in install if re.match("lib|zlib", word)}


def test_the_image_has_what_the_programs_load():
    loaded = packages(harness.shufflefs()) | packages(harness.shufflectl())
    assert IMAGE_HAS <= loaded
    assert any(name.startswith("libfuse3-") for name in loaded)
    assert comparable(installed(stages()["alone"])) == comparable(
        loaded - IMAGE_HAS)


@pytest.mark.parametrize("module", harness.peers_modules())
def test_the_image_for_peers_has_what_the_module_loads(module):
    named = installed(stages()["alone"]) | installed(stages()["peers"])
    loaded = packages(module) - IMAGE_HAS
    assert any(name.startswith("libgrpc++") for name in loaded)
    assert comparable(loaded) <= comparable(named)
    assert comparable(installed(stages()["peers"])) <= comparable(loaded)


def test_the_image_without_peers_is_the_default():
    named = stages()
    assert list(named)[-1] == "final"
    assert named["final"][0].split()[0] == named["peers"][0].split()[0]
    assert named["final"][0].split()[0] == "alone"


def test_what_is_copied_is_enough_to_configure(folder):
    build, final = stages()["build"], stages()["alone"]
    for *sources, target in lines(build, "COPY"):
        for source in sources:
            place = folder / target
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, place, dirs_exist_ok=True)
            else:
                place.parent.mkdir(exist_ok=True)
                shutil.copy(ROOT / source, place)
    configure, make, install = [" ".join(words) for words in lines(build, "RUN")
                                if words[0] == "cmake"]
    subprocess.run(configure.split(), cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    rules = "".join(path.read_text() for path in
                    (folder / "build").rglob("cmake_install.cmake"))
    assert {"--target", "shufflefs", "shufflectl",
            "shufflefs_peers_module"} <= set(make.split())
    for program in ("shufflefs", "shufflectl"):
        assert f"bin/{program}" in install + rules
        assert any(f"/bin/{program}" in words for copied in lines(final, "COPY")
                   for words in copied)
