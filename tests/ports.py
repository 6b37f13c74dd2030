# SPDX-License-Identifier: BSD-2-Clause
"""TCP ports for servers that tests start, which no other test gets meanwhile."""

import socket

_held: list[socket.socket] = []  # until this process ends


def reserved_port() -> int:
    """A port of the loopback interface. It stays bound, so that nobody else is given it; a server that sets
    SO_REUSEADDR, as QEMU does, binds it too and listens there."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    _held.append(holder)
    port: int = holder.getsockname()[1]
    return port
