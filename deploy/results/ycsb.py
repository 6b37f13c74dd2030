# SPDX-License-Identifier: BSD-2-Clause
"""Reads the reports of the YCSB clients: counts, and latencies as a histogram in several parts (apps/ycsb/report.c)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deploy.base.errors import Failure
from deploy.deployment import Load
from deploy.machine.events import EventStream


@dataclass(frozen=True)
class Client:
    """One client's result. `histogram`: (latency in microseconds, number of operations)."""

    app: str
    cpu: int
    data: Mapping[str, Any]
    histogram: tuple[tuple[float, int], ...]

    def number(self, key: str) -> float:
        value = self.data.get(key)
        if not isinstance(value, int | float):
            raise Failure(f"{self.app}: its result has no '{key}'")
        return float(value)

    @property
    def nanoseconds(self) -> float:
        """From the first request to the last answer."""
        return self.number("end_ns") - self.number("start_ns")


def collect(events: EventStream) -> list[Client]:
    """Clients by name, each with its whole histogram."""
    summaries: dict[str, tuple[int, Mapping[str, Any]]] = {}
    parts: dict[str, dict[int, list[float]]] = {}
    for event in events.of("result"):
        app, data = event["app"], event["data"]
        if data.get("event") == "histogram":
            mine = parts.setdefault(app, {})
            if data["part"] in mine:
                raise Failure(f"{app}: part {data['part']} of its histogram came twice")
            mine[data["part"]] = data["pairs"]
        elif data.get("event") == "ycsb":
            if app in summaries:
                raise Failure(f"{app}: its result came twice")
            summaries[app] = (event["cpu"], data)
    clients = []
    for app, (cpu, data) in sorted(summaries.items()):
        mine, expected = parts.get(app, {}), data.get("histogram_parts", 0)
        if sorted(mine) != list(range(1, expected + 1)):
            raise Failure(f"{app}: of {expected} parts of its histogram {len(mine)} arrived")
        flat = [value for part in range(1, expected + 1) for value in mine[part]]
        pairs = tuple((flat[i], int(flat[i + 1])) for i in range(0, len(flat), 2))
        clients.append(Client(app, cpu, data, pairs))
    return clients


def merged(clients: Iterable[Client]) -> list[tuple[float, int]]:
    total: Counter[float] = Counter()
    for client in clients:
        for value, count in client.histogram:
            total[value] += count
    return sorted(total.items())


def percentile(histogram: Sequence[tuple[float, int]], percent: float) -> float:
    """The latency that `percent` of the operations do not exceed; 0 without operations."""
    total = sum(count for _, count in histogram)
    seen = 0
    for value, count in histogram:
        seen += count
        if seen * 100 >= total * percent:
            return value
    return 0.0


def rate(clients: Iterable[Client]) -> float:
    """Operations per second: the sum of the clients' own rates, each between its first request and its last answer.

    One interval for all clients would count the time until the last has begun, and that of the slowest alone.
    """
    return sum(1e9 * client.number("operations") / client.nanoseconds for client in clients if client.nanoseconds > 0)


def figures(clients: Sequence[Client], seconds: float) -> dict[str, float]:
    """Returns what clients measured in an interval of `seconds`. Spreads: how long after the first client the last
    began and ended."""
    histogram = merged(clients)
    operations = sum(client.number("operations") for client in clients)
    begin, end = ([client.number(key) for client in clients] or [0.0] for key in ("start_ns", "end_ns"))
    latency = sum(client.number("mean_us") * client.number("operations") for client in clients)
    return {
        "ops_per_s": rate(clients),
        "operations": operations,
        "seconds": seconds,
        "start_spread_us": (max(begin) - min(begin)) / 1e3,
        "end_spread_us": (max(end) - min(end)) / 1e3,
        "mean_us": latency / operations if operations else 0.0,
        "p50_us": percentile(histogram, 50),
        "p99_us": percentile(histogram, 99),
        "p999_us": percentile(histogram, 99.9),
        "max_us": max((client.number("max_us") for client in clients), default=0.0),
        "errors": sum(client.number("errors") + client.number("wrong") for client in clients),
    }


def resident(clients: Iterable[Client]) -> dict[str, int]:
    """Bytes of memory that each server held when its clients were done, by its address; see apps/libc/posix/proc.c."""
    sizes: dict[str, int] = {}
    for client in clients:
        server, memory = client.data.get("server"), client.data.get("memory", {}).get("resident")
        if not isinstance(server, str) or not isinstance(memory, int) or memory <= 0:
            raise Failure(f"{client.app}: its result does not say how much memory its server uses")
        sizes[server] = max(memory, sizes.get(server, 0))
    return sizes


def problems(client: Client, load: Load, first_load: int, unanswered: int = 0) -> list[str]:
    """Returns the problems of one client's counts; `first_load` is how many records it had to write.

    `unanswered`: operations whose answers were lost with the server, by a client that survives that.
    """
    number, wrong = client.number, []
    if number("errors"):
        wrong.append(f"{client.app}: {number('errors'):.0f} operations failed")
    if number("wrong"):
        wrong.append(f"{client.app}: {number('wrong'):.0f} answers were wrong")
    if number("operations") + unanswered != load.operations:
        wrong.append(f"{client.app}: did {number('operations'):.0f} of {load.operations} operations")
    parts = number("reads") + number("updates")
    if parts < number("operations") or (load.workload != "f" and parts != number("operations")):
        wrong.append(f"{client.app}: reads and updates do not add up to its operations")
    if load.workload == "c" and number("updates"):
        wrong.append(f"{client.app}: workload c has no updates")
    if number("operations") and client.nanoseconds <= 0:
        wrong.append(f"{client.app}: its operations took {client.nanoseconds:.0f} ns")
    counted = sum(count for _, count in client.histogram)
    if counted != number("operations"):
        wrong.append(f"{client.app}: its histogram holds {counted} of {number('operations'):.0f} operations")
    loaded = client.data.get("load", {}).get("records")
    if loaded != first_load:
        wrong.append(f"{client.app}: wrote {loaded} of {first_load} records")
    return wrong
