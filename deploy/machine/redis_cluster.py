# SPDX-License-Identifier: BSD-2-Clause
"""The commands that make a Redis Cluster of a machine's instances from outside, through ports of the host."""

from collections.abc import Sequence

from deploy.deployment.engines import is_server
from deploy.deployment.planner import Plan
from deploy.machine.qemu import Forward

SLOTS = 16384
BUS = 10_000  # from an instance's port to that of its cluster bus
ENABLED = "--cluster-enabled"


def _is_enabled(args: Sequence[str]) -> bool:
    """Whether the last setting of cluster-enabled, which holds, is `yes`."""
    places = [place for place, word in enumerate(args[:-1]) if word == ENABLED]
    return bool(places) and args[places[-1] + 1].lower() == "yes"


def instances(plan: Plan, forwards: Sequence[Forward]) -> list[Forward]:
    """The ports of the host that lead to instances in cluster mode; none unless there are several."""
    reached = [forward for forward in forwards
               if forward.is_open and is_server(plan.application(forward.application))
               and _is_enabled(plan.application(forward.application).args)]
    return reached if len(reached) > 1 else []


def commands(nodes: Sequence[Forward]) -> list[str]:
    """Each announces the host's port, where clients are redirected to, and gets its slots; then they meet within the
    machine.

    `redis-cli --cluster create` would have them meet at the addresses that it was given, which are the host's.
    """
    lines = []
    for number, at in enumerate(nodes):
        first, last = number * SLOTS // len(nodes), (number + 1) * SLOTS // len(nodes) - 1
        lines += [
            f"redis-cli -p {at.host_port} config set cluster-announce-hostname 127.0.0.1 "
            f"cluster-preferred-endpoint-type hostname "
            f"cluster-announce-port {at.host_port} cluster-announce-bus-port {at.guest_port + BUS}",
            f"redis-cli -p {at.host_port} cluster addslotsrange {first} {last}",
        ]
    return [*lines, *(f"redis-cli -p {nodes[0].host_port} cluster meet {at.guest} {at.guest_port}" for at in nodes[1:])]
