# SPDX-License-Identifier: Apache-2.0
"""A map-style dataset over a ranked view: its sorted names are the order."""
from __future__ import annotations

import os
import re
from typing import (TYPE_CHECKING, Any, Callable, List, Optional, Sequence,
                    Tuple)

from .control import Path, absolute
from .errors import ShufflefsError

if TYPE_CHECKING:  # DataLoader asks for this type; nothing imports torch
    from torch.utils.data import Dataset

    class _Dataset(Dataset[Tuple[Any, Any]]):
        pass
else:
    _Dataset = object

_RANK = re.compile(r"\d{9}~")
_HASHED = re.compile(r"\d{9}~[0-9a-f]{16}~")
_ATTRIBUTE = "user.shufflefs.sample"


def read_bytes(path: str) -> bytes:
    """The default loader."""
    with open(path, "rb") as file:
        return file.read()


def load_image(path: str) -> Any:
    """A loader that needs Pillow: the picture in RGB, as torchvision does."""
    from PIL import Image
    with Image.open(path) as image:
        return image.convert("RGB")


class RankedFolder(_Dataset):
    """The samples of a ranked view, in the order of its epoch.

    `root` is a view with layout=ranked, or an epoch_path(n, "ranked"). With
    the key `path` the view is that directory of the mount. Read it with
    shuffle=False: the view is shuffled already. Every epoch has other names.
    So call refresh() after the epoch has advanced and before an iterator is
    made. A DataLoader with persistent workers keeps the old list.

    An item is (transform(loader(path)), label). By default the label is the
    index of the sample's folder in `classes`, which are the folders' names,
    sorted. `target` computes another label from the sample's path in the
    source, such as train/cat/manx.jpg.

    It is a dataset for torch.utils.data.DataLoader, and needs no torch.
    """

    def __init__(self, root: Path,
                 transform: Optional[Callable[[Any], Any]] = None,
                 loader: Callable[[str], Any] = read_bytes,
                 classes: Optional[Sequence[str]] = None,
                 target: Optional[Callable[[str], Any]] = None,
                 start: int = 0) -> None:
        """`start` leaves out samples that were read before a checkpoint."""
        self.root = absolute(root)
        self.transform = transform
        self.loader = loader
        self.target = target
        self.names: List[str] = []
        self.refresh()
        if classes is None and target is None:
            classes = sorted({self._folder(name) for name in self.names})
        self.classes = list(classes or [])
        self._labels = {name: label for label, name in enumerate(self.classes)}
        self.names = self.names[start:]

    def refresh(self, start: int = 0) -> None:
        """Lists the names again, without the first `start` of them.

        Raises ShufflefsError if the directory is not a ranked view.
        """
        try:
            found = os.listdir(self.root)
        except OSError as error:
            raise ShufflefsError(f"{self.root}: {error.strerror}") from error
        names = sorted(name for name in found if _RANK.match(name))
        if not names:
            raise ShufflefsError(
                f"{self.root}: has no ranked names; mount with "
                "-o layout=ranked, or use epoch_path(n, 'ranked')")
        self._above = self._path_above(names)
        self.names = names[start:]

    def sample(self, index: int) -> str:
        """The path in the source of an item."""
        return self._path_of(self.names[index])

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: int) -> Tuple[Any, Any]:
        name = self.names[index]
        data = self.loader(os.path.join(self.root, name))
        if self.transform is not None:
            data = self.transform(data)
        if self.target is not None:
            return data, self.target(self._path_of(name))
        folder = self._folder(name)
        if folder not in self._labels:
            raise ShufflefsError(
                f"{self._path_of(name)}: its folder {folder!r} is not in "
                "classes")
        return data, self._labels[folder]

    def _path_above(self, names: Sequence[str]) -> str:
        """What leads from the source to the view, such as `train/`.

        Names say where a sample is in its view. The attribute says where it is
        in the source.
        """
        for name in names:
            if not _HASHED.match(name):
                try:
                    told = self._told(name)
                except OSError:  # a copy of the view, or another file system
                    return ""
                inside = _in_view(name)
                return told[:-len(inside)] if told.endswith(inside) else ""
        return ""  # no name needs it

    def _path_of(self, name: str) -> str:
        # Names that would be too long or ambiguous carry a hash.
        if _HASHED.match(name):
            try:
                return self._told(name)
            except OSError as error:
                raise ShufflefsError(
                    f"{self.root}/{name}: {error.strerror}") from error
        return self._above + _in_view(name)

    def _told(self, name: str) -> str:
        return os.fsdecode(
            os.getxattr(os.path.join(self.root, name), _ATTRIBUTE))

    def _folder(self, name: str) -> str:
        return os.path.basename(os.path.dirname(self._path_of(name)))


def _in_view(name: str) -> str:
    """The path in the view of a name without a hash."""
    return name[10:].replace("~", "/")
