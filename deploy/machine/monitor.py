# SPDX-License-Identifier: BSD-2-Clause
"""QEMU's monitor: what the cores were doing when a machine hangs, and an orderly end."""

import asyncio
import socket
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from qemu.qmp import QMPClient

from deploy.base.timeouts import Patience

POWER_BUTTON = "system_powerdown"
POST_MORTEM = ("info cpus", "info registers -a", "info pic")
_PATIENCE = Patience(10.0)  # on the wall: answers take milliseconds, and of a QEMU that does not answer nothing moves
_T = TypeVar("_T")
_CONT_TAKES = 0.004  # seconds until QEMU has started the machine


async def _talk(path: Path, commands: Sequence[str], core: int) -> list[str]:
    client = QMPClient("skerry")
    await client.connect(str(path))
    try:
        answers = []
        for line in commands:
            arguments = {"command-line": line, "cpu-index": core}
            answers.append(str(await client.execute("human-monitor-command", arguments)))
        return answers
    finally:
        await client.disconnect()


async def _power_on(path: Path, when: float) -> None:
    client = QMPClient("skerry")
    await client.connect(str(path))
    try:
        await asyncio.sleep(max(0.0, when - _CONT_TAKES - time.time()))
        await client.execute("cont")
    finally:
        await client.disconnect()


def _in_time(talk: Coroutine[Any, Any, _T], seconds: float | None) -> _T:
    """Runs a conversation with QEMU. Raises OSError or TimeoutError where it fails."""
    try:
        return asyncio.run(asyncio.wait_for(talk, seconds))
    except (OSError, TimeoutError):
        raise
    except Exception as error:  # the library's many ways to say that the connection broke
        raise OSError(f"monitor: {error}") from error


def power_on(path: Path, when: float = 0.0) -> None:
    """Starts a stopped machine; not before that second of the host's clock, at which its own clock was set.

    Raises OSError when QEMU does not answer.
    """
    _in_time(_power_on(path, when), None)


def is_up(path: Path) -> bool:
    """Whether QEMU greets: it does so when the machine is complete, with all that its arguments ask for."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
            return probe.recv(1) == b"{"
        except OSError:
            return False


def human(path: Path, *commands: str, core: int = 0) -> list[str]:
    """Answers to commands of the human monitor; `core` is the one that `info tlb` and the like are about.

    Raises OSError or TimeoutError when QEMU does not answer.
    """
    return _in_time(_talk(path, commands, core), _PATIENCE.on_wall())


def post_mortem(path: Path) -> str:
    """Registers of all cores, or why they cannot be had."""
    try:
        return "\n".join(f"(qemu) {c}\n{a}" for c, a in zip(POST_MORTEM, human(path, *POST_MORTEM)))
    except (OSError, TimeoutError) as error:
        return f"the monitor does not answer: {error}\n"
