# SPDX-License-Identifier: BSD-2-Clause
"""The first +PONG, as the host sees it through a forwarded port."""

from __future__ import annotations

import socket
import time

from deploy.errors import Failure


def first_pong(address: tuple[str, int], patience: float = 30.0) -> float:
    """time.monotonic() of the first answer. Call when the machine has said that the server serves.

    Not sooner: QEMU accepts connections for a guest that is not there yet, and is slow to retry them.
    """
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(address, 2.0) as connection:
                connection.settimeout(2.0)
                connection.sendall(b"PING\r\n")
                if connection.recv(16).startswith(b"+PONG"):
                    return time.monotonic()
        except OSError:
            time.sleep(0.02)
    raise Failure(f"no +PONG from {address[0]}:{address[1]} within {patience:g} s")
