# SPDX-License-Identifier: Apache-2.0
"""A callback for Lightning. Importing this module imports Lightning."""
from __future__ import annotations

import sys
from typing import Any, Dict, Optional, Sequence, Union

from .callbacks import Refreshable, Steps
from .control import Mount, Path

_OLD = "pytorch_lightning"
if _OLD in sys.modules and "lightning" not in sys.modules:
    from pytorch_lightning import Callback
else:
    try:
        from lightning.pytorch import Callback
    except ImportError:
        from pytorch_lightning import Callback


class ShufflefsCallback(Callback):  # type: ignore[misc]
    """The mount shows epoch n while the trainer runs its epoch n.

    mount     what shufflefs.mount() or attach() returned, or a path
    feedback  the name of a logged metric to report to the policy met
    refresh   datasets that list their names again in each epoch
    token     whether checkpoints keep the epoch and what was read of it

    The epoch changes when all ranks have ended one. A process moves the mount
    that it made itself; an existing mount is moved by the first rank of each
    node. Raises ShufflefsError if the epoch cannot change.
    """

    def __init__(self, mount: Union[Mount, Path],
                 feedback: Optional[str] = None,
                 refresh: Sequence[Refreshable] = (),
                 token: bool = True) -> None:
        super().__init__()
        self._steps = Steps(mount, feedback, refresh)
        self._keeps_token = token
        self._token: Optional[str] = None  # to be restored
        self._moves = False

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Before the first iterator: what a checkpoint says, or epoch 0."""
        self._moves = self._steps.mount.owned or trainer.local_rank == 0
        if not self._restore() and self._moves:
            self._steps.go_to(trainer.current_epoch)
        self._together(trainer)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Now the trainer, too, knows its epoch from the checkpoint."""
        self._restore()
        if self._moves:
            self._steps.go_to(trainer.current_epoch)
        trainer.strategy.barrier("shufflefs")

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """All ranks have read their part: the next epoch begins."""
        trainer.strategy.barrier("shufflefs")
        if self._moves:
            self._steps.report(trainer.callback_metrics)
            self._steps.go_to(trainer.current_epoch + 1)
        self._together(trainer)

    def state_dict(self) -> Dict[str, Any]:
        """The token, for the checkpoint."""
        if not (self._keeps_token and self._moves):
            return {}
        return {"token": self._steps.mount.token()}

    def load_state_dict(self, state_dict: Dict[str, Any]) -> None:
        """Remembers the token until training starts."""
        self._token = state_dict.get("token")

    def _restore(self) -> bool:
        token, self._token = self._token, None
        if token is None:
            return False
        if self._moves:
            self._steps.mount.restore(token)
        return True

    def _together(self, trainer: Any) -> None:
        trainer.strategy.barrier("shufflefs")
        self._steps.refresh()
