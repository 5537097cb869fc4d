# SPDX-License-Identifier: Apache-2.0
"""Real data as container files, sorted by class, for convergence.py.

adult: the LIBSVM set a1a with its test part, 32,561 records of 123 binary
features in two classes. The source archive of the Python package pyliblinear
has both files; four fifths of the records, drawn at random, train.

fashion: Fashion-MNIST of Debian's dataset-fashion-mnist, 60,000 and 10,000
records of 785 bytes: the class and 28 x 28 pixels."""
import bz2
import gzip
import hashlib
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile

import numpy

import convergence_run
import measure

PACKAGE = ("pyliblinear", "250.1")
ARCHIVE_SHA256 = \
    "bb143a79f9826fb854275f2903dd29be8d53f232f239b0a49dfcca9b60364d3f"
FIXTURES = "tests/integration/fixtures"
MEMBERS = {
    "a1a.bz2":
    "f02b5fe13ed09e23506aa04a0922e15d7a6708996f24dfe88ae094f30e916b1a",
    "a1a.t.bz2":
    "fa6749863aeb9f40c6f9982474617c2a74e30a23a5e801ff5b78b81727bbf1b5"}
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
SPLIT_SEED = 1


class MissingData(Exception):
    """Data cannot be had here; says which, and why."""


def download(folder):
    """The archive of PACKAGE, by pip, which checks what it got."""
    folder = pathlib.Path(folder)
    name, version = PACKAGE
    wanted = folder / "requirements.txt"
    wanted.write_text(f"{name}=={version} --hash=sha256:{ARCHIVE_SHA256}\n")
    python = folder / "environment/bin/python"
    for argv in ([sys.executable, "-m", "venv", folder / "environment"],
                 [python, "-m", "pip", "--disable-pip-version-check",
                  "download", "--no-deps", "--no-binary", name,
                  "--require-hashes", "-r", wanted, "-d", folder]):
        done = subprocess.run(argv, check=False, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise MissingData(
                f"the LIBSVM set a1a is missing: the source archive of {name} "
                f"{version} cannot be had from PyPI:\n"
                f"{done.stdout.strip()[-500:]}")
    return folder / f"{name}-{version}.tar.gz"


def adult_lines():
    with tempfile.TemporaryDirectory(prefix="shufflefs-bench-") as folder:
        path = download(folder)
        lines = []
        with tarfile.open(path) as archive:
            for name, known in MEMBERS.items():
                data = archive.extractfile(
                    f"{path.name[:-len('.tar.gz')]}/{FIXTURES}/{name}").read()
                if hashlib.sha256(data).hexdigest() != known:
                    raise MissingData(f"{name}: not the known content")
                lines += bz2.decompress(data).splitlines()
    random.Random(SPLIT_SEED).shuffle(lines)
    at = len(lines) * 4 // 5
    return lines[:at], lines[at:]


def fashion_records():
    parts = []
    for kind in ("train", "t10k"):
        try:
            images, labels = (
                gzip.open(FASHION / f"{kind}-{what}-ubyte.gz").read()[skip:]
                for what, skip in (("images-idx3", 16), ("labels-idx1", 8)))
        except FileNotFoundError as error:
            raise MissingData(f"{error.filename}: install Debian's "
                              "dataset-fashion-mnist") from error
        both = numpy.hstack([
            numpy.frombuffer(labels, numpy.uint8)[:, None],
            numpy.frombuffer(images, numpy.uint8).reshape(len(labels), -1)])
        parts.append([row.tobytes() for row in both])
    return parts


class Set:
    """A set as it lies in trees(): SOURCE/NAME, and what the trainer knows."""

    def __init__(self, name, kind, features, classes, make):
        self.name = name
        self.kind = kind
        self.features = features
        self.classes = classes
        self.make = make
        self.root = measure.build_once(f"convergence-{name}", self._build)
        self.source = self.root / "source"
        self.path = self.source / self.file()
        self.known = self.root / "set.npz"

    def _build(self, root):
        train, test = self.make()
        form = convergence_run.FORMATS[self.kind](self.features)
        train_x, train_y = form.arrays(train)
        test_x, test_y = form.arrays(test)
        numpy.savez(root / "set.npz", format=self.kind, features=self.features,
                    classes=self.classes, train_x=train_x, train_y=train_y,
                    test_x=test_x, test_y=test_y,
                    records=convergence_run.digest(sorted(train)))
        (root / "source").mkdir()
        ends = b"\n" if self.kind == "lines" else b""
        with open(root / "source" / self.file(), "wb") as file:
            for place in numpy.argsort(train_y, kind="stable"):
                file.write(train[place] + ends)

    def file(self):
        return "train.svm" if self.kind == "lines" else "train.bin"

    def arrays(self):
        """What the trainer has in memory, by name."""
        with numpy.load(self.known) as file:
            return dict(file)

    def records(self):
        with numpy.load(self.known) as file:
            return len(file["train_y"])

    def options(self):
        """Of a mount that shuffles its records."""
        more = ({} if self.kind == "lines" else
                {"record.bytes": convergence_run.Pixels.SIZE})
        return {"record.as": f"*{pathlib.Path(self.file()).suffix}:{self.kind}",
                **more}


def adult():
    return Set("adult", "lines", 123, 2, adult_lines)


def fashion():
    return Set("fashion", "fixed", 14 * 14, 10, fashion_records)
