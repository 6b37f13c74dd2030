# SPDX-License-Identifier: BSD-2-Clause
"""Addresses of a machine's programs in its subnet, and ports of the host that lead to them."""

from collections.abc import Sequence

from deploy.deployment.model import Deployment, Program, Subnet
from topology.errors import InputError, KeyPath
from topology.limits import MAX_PORTS
from topology.maps.clustermap import Application, Network

REDIS_FIRST, CLIENT_FIRST, LAST = 101, 151, 254  # host parts of addresses
INSIDE = -1  # in place of a host's port: there is none

Key = tuple[str, int]  # an application's name and its TCP port


def network(subnet: Subnet) -> Network:
    """Returns the subnet as the map has it."""
    return Network(netmask=str(subnet.network.netmask), gateway=str(subnet.host), mtu=subnet.mtu)


def mac(address: str) -> bytes:
    """Returns the MAC of the station with this address: two machines on one bridge have different addresses, so they
    have different stations."""
    return bytes([0x02, 0x53, *(int(part) for part in address.split("."))])


class Addresses:
    """Redis instances from .101 on, everything else from .151 on or behind the last Redis."""

    def __init__(self, subnet: Subnet, redis_count: int) -> None:
        self.network = subnet.network
        self.next_redis = REDIS_FIRST
        self.next_other = max(CLIENT_FIRST, REDIS_FIRST + redis_count)

    def redis(self) -> str:
        if self.next_redis > LAST:
            raise InputError("network", f"{self.network} has addresses for {LAST - REDIS_FIRST + 1} instances at most",
                             at=("redis",))
        self.next_redis += 1
        return str(self.network[self.next_redis - 1])

    def other(self) -> str:
        if self.next_other > LAST:
            raise InputError(
                "network",
                f"no address left in {self.network}, and the switch has {MAX_PORTS} ports: fewer instances "
                f"('instances' or "
                "'cpus' of [redis]) or clients",
                at=("redis",),
            )
        self.next_other += 1
        return str(self.network[self.next_other - 1])


def is_endpoint(application: str) -> bool:
    """Whether it is what [metrics] makes."""
    return application.startswith("metrics@")


def shown(application: str, address: str) -> str:
    """Returns where to reach it, for people and for a browser."""
    return f"http://{address}/metrics" if is_endpoint(application) else address


def forwards(deployment: Deployment, apps: Sequence[Application]) -> list[Key]:
    """Lists the ports that are served, in the order of the map."""
    return [key for key, _, _ in _served(deployment, apps)]


def host_ports(deployment: Deployment, apps: Sequence[Application]) -> dict[Key, int]:
    """The host's port for each that has a certain one, or INSIDE; any free one will do for the others."""
    if not deployment.subnet.forward:
        return dict.fromkeys(forwards(deployment, apps), INSIDE)
    ports: dict[Key, int] = {}
    owners: dict[int, str] = {}
    for key, port, at in _served(deployment, apps):
        if port is None:
            continue
        if port > 65535:
            raise InputError(_asked(at), f"{key[0]} would need port {port} of the host, and 65535 is the last", at=at)
        if port in owners:
            raise InputError(_asked(at),
                             f"port {port} of the host is {owners[port]}'s already, and would be {key[0]}'s too", at=at)
        ports[key], owners[port] = port, key[0]
    return ports


def _asked(at: KeyPath) -> str:
    return " ".join(str(part) for part in at)


def _served(deployment: Deployment, apps: Sequence[Application]) -> list[tuple[Key, int | None, KeyPath]]:
    """Each with the host's port that was asked for, and what asked."""
    served: list[tuple[Key, int | None, KeyPath]] = []
    redis, metrics = deployment.redis, deployment.metrics
    for app in apps:
        if app.origin == ("redis",) and redis:
            number = sum(at[0] == "redis" for _, _, at in served)
            first = redis.port if redis.masters else redis.host_port
            served.append(((app.name, redis.port_of(number)), None if first is None else first + number,
                           ("redis", "port" if redis.masters else "host-port")))
        if app.program == "metrics" and metrics:
            served.append(((app.name, metrics.port), metrics.host_port, ("metrics", "host-port")))
    programs: list[Program] = list(deployment.programs)
    for number, (app, program) in enumerate(zip(apps[len(apps) - len(programs) :], programs)):
        served += [((app.name, port.inside), port.outside, ("program", number, "ports")) for port in program.ports]
    return served
