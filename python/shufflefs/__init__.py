# SPDX-License-Identifier: Apache-2.0
"""Mount, control and read shuffled views of a training dataset.

  with shufflefs.mount("/data/imagenet", policy="lirs") as view:
      for epoch in range(90):
          view.set_epoch(epoch)
          train(view.path)

The module is pure Python, needs no other package, and works through the
programs shufflefs and shufflectl and the files of the control directory.
Callbacks are in shufflefs.lightning and shufflefs.keras, which import their
framework. All errors are ShufflefsError.
"""
from ._version import __version__
from .control import Mount, attach
from .errors import ShufflefsError
from .mounting import OwnedMount, mount
from .ranked import RankedFolder, load_image, read_bytes

__all__ = [
    "Mount", "OwnedMount", "RankedFolder", "ShufflefsError", "__version__",
    "attach", "load_image", "mount", "read_bytes",
]
