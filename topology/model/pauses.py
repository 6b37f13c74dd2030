# SPDX-License-Identifier: BSD-2-Clause
"""One that serves several, which pause (M/D/1//N): each pauses for an exponential time, then waits for its turn, and
all are served one after the other, for equal times. A core serves its clients so, and a lock the cores whose clients
pause, since what these run between entries is as uneven as the pauses."""

from math import comb, exp

_MOST = 300.0  # exponents beyond give one that is never idle


def idle(busy: float, pause: float, clients: int) -> float:
    """Returns the mean time before a service in which there is nobody to serve.

    `busy`: how long a service takes; `pause`: the mean of a client's; in one unit. Takács, Introduction to the
    Theory of Queues, 1962, chapter 5: the machine repairman with any service.
    """
    if not pause or clients * busy / pause > _MOST:
        return 0.0
    term, total = 1.0, 0.0
    for k in range(clients):
        term *= exp(k * busy / pause) - 1 if k else 1.0
        total += comb(clients - 1, k) * term
    return pause / (clients * total)
