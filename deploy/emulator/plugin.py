# SPDX-License-Identifier: BSD-2-Clause
"""Plugins of the emulator (emulator/) that are built for each version of its interface."""

from pathlib import Path

from deploy.base.errors import Failure
from deploy.machine import qemu
from deploy.setup import needs
from deploy.setup.build import require


def plugin(name: str) -> Path:
    """Its place in the build folder, for the QEMU that is here; it is made if the command did not say that it needs
    it."""
    fitting = [number for number, (first, end) in needs.INTERFACES.items() if first <= qemu.version() < end]
    if not fitting:
        version = ".".join(map(str, qemu.version()))
        raise Failure(f"there is no plugin '{name}' for QEMU {version}; for Debian 12's 7.2 there is, and for 9.2 and "
                      f"later")
    require(needs.plugin(name))
    return Path(f"emulator/{name}-{fitting[0]}.so")


def arguments(path: Path, options: dict[str, str]) -> tuple[str, str]:
    """The emulator's arguments that load it."""
    words = [str(path), *(f"{name}={value}" for name, value in options.items())]
    return "-plugin", ",".join(word.replace(",", ",,") for word in words)
