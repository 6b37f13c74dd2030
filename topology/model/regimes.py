# SPDX-License-Identifier: BSD-2-Clause
"""The model that stands for each lock regime."""

from dataclasses import dataclass

from topology import regimes
from topology.errors import InputError
from topology.model import repairman, ticket
from topology.model.closed import Steady
from topology.model.published import LINE_SAME_SOCKET

NAMES = {name: regime.model for name, regime in regimes.every().items() if regime.model}
WHY_NOT = {name: regime.no_model for name, regime in regimes.every().items() if regime.no_model}
WHY_NOT["dynamic"] = "what it does depends on the objects: measure it"


def collapses(lock: str) -> bool:
    """A hand-over takes longer the more cores wait."""
    return NAMES.get(lock) == regimes.NON_SCALABLE


@dataclass(frozen=True)
class ClosedForm:
    lock: str
    service: float
    transfer: float = LINE_SAME_SOCKET  # ticket only: one waiter's reload of the lock's cache line

    def __post_init__(self) -> None:
        check(self.lock)

    @property
    def model(self) -> str:
        return NAMES[self.lock]

    def steady(self, delay: float, cores: int) -> Steady:
        if collapses(self.lock):
            return ticket.steady(self.service, self.transfer, delay, cores)
        return repairman.steady(self.service, delay, cores)


def check(lock: str, also: tuple[str, ...] = ()) -> None:
    """Refuses regimes without a closed form; `also` are taken as well."""
    if lock in NAMES or lock in also:
        return
    known = ", ".join([*NAMES, *also])
    why = f"; {WHY_NOT[lock]}" if lock in WHY_NOT else ""
    raise InputError("--lock", f"'{lock}' is not one of {known}{why}")
