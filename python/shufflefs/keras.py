# SPDX-License-Identifier: Apache-2.0
"""A callback for Keras. Importing this module imports Keras."""
from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence, Union

import keras

from .callbacks import Refreshable, Steps
from .control import Mount, Path


class ShufflefsKerasCallback(keras.callbacks.Callback):  # type: ignore[misc]
    """The mount shows epoch n while model.fit runs its epoch n.

    mount     what shufflefs.mount() or attach() returned, or a path
    feedback  the name in `logs` of a loss to report to the policy met
    refresh   datasets that list their names again in each epoch

    Raises ShufflefsError if the epoch cannot change.
    """

    def __init__(self, mount: Union[Mount, Path],
                 feedback: Optional[str] = None,
                 refresh: Sequence[Refreshable] = ()) -> None:
        super().__init__()
        self._steps = Steps(mount, feedback, refresh)

    def on_epoch_begin(self, epoch: int,
                       logs: Optional[Mapping[str, Any]] = None) -> None:
        """Also for the first epoch, which initial_epoch may have chosen."""
        if self._steps.mount.epoch != epoch:
            self._steps.go_to(epoch)
            self._steps.refresh()

    def on_epoch_end(self, epoch: int,
                     logs: Optional[Mapping[str, Any]] = None) -> None:
        """Reports the loss, and begins the next epoch."""
        self._steps.report(logs or {})
        self._steps.go_to(epoch + 1)
        self._steps.refresh()
