# SPDX-License-Identifier: BSD-2-Clause
"""Bounds what a Redis may take of its heap, so that it refuses writes before the heap is full instead of ending."""

from collections.abc import Sequence

from topology.units import MIB

OPTION = "--maxmemory"
_FIXED = 8 * MIB  # of the stacks of its threads and what the POSIX layer has, besides a share of the rest


def maxmemory(heap: int) -> int:
    """Half of the heap, less what does not grow with it. It covers data and clients.

    The other half has what Redis counts only afterwards (a command's reply, a request that arrives), TCP's buffers,
    and blocks that are free but too small: Redis cannot move what it has stored.
    """
    return max(heap // 2 - _FIXED, heap // 8)


def limits(heap: int, args: Sequence[str]) -> list[str]:
    """Options of redis-server, to stand before the deployment's own, which then hold. None if `args` set maxmemory."""
    if OPTION in args:
        return []
    reply = heap // 16  # of one client that reads slower than it asks, and an argument of one that writes
    clients = heap // 8  # of all clients together
    return [
        *(OPTION, str(maxmemory(heap))),
        *("--maxmemory-clients", str(clients)),
        *("--client-output-buffer-limit", "normal", str(reply), "0", "0", "pubsub", str(reply), str(reply // 4), "60"),
        *("--proto-max-bulk-len", str(max(reply, MIB))),
        *("--client-query-buffer-limit", str(max(clients, MIB))),
    ]
