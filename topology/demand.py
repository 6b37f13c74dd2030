# SPDX-License-Identifier: BSD-2-Clause
"""Set-up on demand. Whoever uses this package may install what it asks for; by itself it installs nothing."""

import importlib.util
import shutil
import sys
from collections.abc import Callable


def _nothing(group: str) -> None:
    """Installs nothing; the caller reports what is missing."""


install: Callable[[str], None] = _nothing  # a group of deploy/setup/packages.toml, or of Python packages


def program(name: str, group: str) -> str:
    """The name, of a program that is there now if it can be had."""
    if shutil.which(name) is None:
        install(group)
    return name


def module(name: str, group: str) -> None:
    """Installs a Python module if it is missing, before it is imported."""
    if name not in sys.modules and importlib.util.find_spec(name) is None:
        install(group)
        importlib.invalidate_caches()
