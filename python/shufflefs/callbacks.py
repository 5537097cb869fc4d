# SPDX-License-Identifier: Apache-2.0
"""What the callbacks for Lightning and Keras have in common."""
from __future__ import annotations

import logging
import math
from typing import Any, Mapping, Optional, Protocol, Sequence, Union

from .control import Mount, Path, attach
from .errors import ShufflefsError

_log = logging.getLogger("shufflefs")


class Refreshable(Protocol):
    """A dataset that lists its names again, such as RankedFolder."""

    def refresh(self) -> None:
        """Lists the names of the current epoch."""


class Steps:
    """Keeps the mount in the epoch of the framework, and reports the loss."""

    def __init__(self, mount: Union[Mount, Path], feedback: Optional[str],
                 refresh: Sequence[Refreshable]) -> None:
        self.mount = mount if isinstance(mount, Mount) else attach(mount)
        self._feedback = feedback
        self._refresh = refresh
        self._complained = False

    def go_to(self, epoch: int) -> None:
        """Begins the epoch unless it is the current one already."""
        if self.mount.epoch != epoch:
            self.mount.set_epoch(epoch)

    def refresh(self) -> None:
        """Lets the datasets list their names again."""
        for dataset in self._refresh:
            dataset.refresh()

    def report(self, metrics: Mapping[str, Any]) -> None:
        """Reports the loss, if that is asked for.

        What cannot be reported is logged once. It must not end a training.
        """
        if self._feedback is None:
            return
        try:
            loss = float(metrics[self._feedback])
        except (KeyError, TypeError, ValueError):
            self._complain(f"there is no number {self._feedback!r} among the "
                           f"metrics: {', '.join(map(str, metrics))}")
            return
        if not math.isfinite(loss):
            return
        try:
            self.mount.feedback(loss)
        except ShufflefsError as error:
            self._complain(str(error))

    def _complain(self, why: str) -> None:
        if not self._complained:
            _log.warning("the loss is not reported: %s", why)
        self._complained = True
