# SPDX-License-Identifier: Apache-2.0
"""The one exception of this package."""


class ShufflefsError(Exception):
    """What failed, in the words of the daemon or of shufflectl if they spoke.

    The message says what happened and, if there is one, the next command.
    """
