# SPDX-License-Identifier: Apache-2.0
"""The version, which is that of the programs."""
__version__ = "0.2.0"
