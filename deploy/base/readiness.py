# SPDX-License-Identifier: BSD-2-Clause
"""The first +PONG, as the host sees it through a forwarded port."""

import errno
import socket
import time

from deploy.base.errors import Failure
from deploy.base.timeouts import Clock, Patience, slowness

PATIENCE = 30.0  # seconds of given time (timeouts.py)
_FIRST_TRY = 2.0  # seconds until a connection is given up for a new one; the next has twice as long


def first_pong(address: tuple[str, int], pid: int | None = None, timeout: float = PATIENCE) -> float:
    """time.monotonic() of the first answer. Call when the machine has said that the server serves.

    Not sooner: QEMU accepts connections for a guest that is not there yet, and is slow to retry them. A machine that
    the host emulates slowly may take longer for an answer than for one try: tries become longer. `pid` is the
    emulator's, whose waiting for a processor does not count; without it a busy host waits longer.
    """
    clock, wait = Clock(lambda: [] if pid is None else [pid]), _FIRST_TRY
    most = timeout * slowness() if pid is not None else Patience(timeout).on_wall()
    while clock.look() < most:
        try:
            with socket.create_connection(address, wait) as connection:
                connection.settimeout(wait)
                connection.sendall(b"PING\r\n")
                if connection.recv(16).startswith(b"+PONG"):
                    return time.monotonic()
        except TimeoutError:
            wait *= 2
        except OSError as error:
            if error.errno == errno.ENETUNREACH:
                raise Failure(f"{address[0]} cannot be reached from this host: is its loopback interface down? (ip "
                              f"link set lo up)") from None
            time.sleep(0.02)
    raise Failure(f"no +PONG from {address[0]}:{address[1]} within {most:g} s")
