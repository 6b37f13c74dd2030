# SPDX-License-Identifier: BSD-2-Clause
"""The switches of a deployment: one of the machine's first core, or one of each socket's."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deploy.deployment.model import ONE_SWITCH, SWITCH_OF_SOCKET, Deployment
from topology.errors import InputError
from topology.machines.machine import Machine
from topology.maps.mapmaker import divide

SMALLEST = 3  # cores of a socket from which on it has a switch of its own, unless somebody says otherwise


@dataclass(frozen=True)
class Switches:
    """Cores that have a switch, the root's first, and the one of these that each core uses."""

    cores: tuple[int, ...]
    of: tuple[int, ...]

    @staticmethod
    def one(cores: int) -> "Switches":
        return Switches((0,), (0,) * cores)


def switches(deployment: Deployment, machine: Machine) -> Switches:
    count = len(machine.cores)
    if not deployment.network or chosen(deployment, machine) == ONE_SWITCH:
        return Switches.one(count)
    first: dict[int, int] = {}
    for place, core in enumerate(machine.cores):
        first.setdefault(core.socket, place)
    return Switches(tuple(first.values()), tuple(first[core.socket] for core in machine.cores))


def chosen(deployment: Deployment, machine: Machine) -> str:
    """Returns what the deployment says, or what suits the machine and the layout."""
    divided = _is_divided(machine, deployment.layout)
    if deployment.switch is None:
        sizes = [len({c.physical for c in machine.cores if c.socket == socket}) for socket in machine.sockets]
        return SWITCH_OF_SOCKET if len(sizes) > 1 and min(sizes) >= SMALLEST and not divided else ONE_SWITCH
    if deployment.switch == SWITCH_OF_SOCKET and divided:
        raise InputError(
            f"--switch {SWITCH_OF_SOCKET}",
            f"is for clusters of whole sockets, and layout {deployment.layout} has several clusters in one",
            at=("switch",),
        )
    return deployment.switch


def same_for(deployments: Sequence[Deployment], machine: Machine) -> str:
    """Returns what suits all of them, so that they can be compared."""
    kinds = {chosen(deployment, machine) for deployment in deployments}
    return kinds.pop() if len(kinds) == 1 else ONE_SWITCH


def with_switch(deployment: Deployment, switch: str | None) -> Deployment:
    """With what the command line says."""
    if switch is None:
        return deployment
    if switch not in (ONE_SWITCH, SWITCH_OF_SOCKET):
        raise InputError("--switch", f"'{switch}' is neither {ONE_SWITCH} nor {SWITCH_OF_SOCKET}", at=("switch",))
    places = deployment.places and deployment.places.without("network", "switch")
    return replace(deployment, switch=switch, places=places)


def _is_divided(machine: Machine, layout: str) -> bool:
    """Whether a socket has cores of several clusters, which need no channel between them."""
    homes: dict[int, set[int]] = {}
    for number, members in enumerate(divide(machine, layout)):
        for place in members:
            homes.setdefault(machine.cores[place].socket, set()).add(number)
    return any(len(clusters) > 1 for clusters in homes.values())
