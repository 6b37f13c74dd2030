# SPDX-License-Identifier: BSD-2-Clause
"""What is set up only when it is needed. Whoever uses this package may say how; by itself it installs nothing."""

import importlib.util
import shutil
import sys
from collections.abc import Callable


def _nothing(group: str) -> None:
    """What lacks stays missing, and whoever calls it says so."""


install: Callable[[str], None] = _nothing  # a group of deploy/setup/packages.toml, or of Python packages


def program(name: str, group: str) -> str:
    """The name, of a program that is there now if it can be had."""
    if shutil.which(name) is None:
        install(group)
    return name


def module(name: str, group: str) -> None:
    """The same of a Python module, before it is imported."""
    if name not in sys.modules and importlib.util.find_spec(name) is None:
        install(group)
        importlib.invalidate_caches()
