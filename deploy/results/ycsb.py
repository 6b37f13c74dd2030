# SPDX-License-Identifier: BSD-2-Clause
"""Reads the reports of the YCSB clients: counts, latencies as a histogram, and, of those that warm up, when each
operation ended; the last two in several parts (apps/ycsb/report.c)."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from deploy.base.errors import Failure
from deploy.deployment import Load
from deploy.machine.events import EventStream


@dataclass(frozen=True)
class Client:
    """One client's result. `histogram`: (latency in microseconds, number of operations). `ends`: of each operation,
    microseconds from the client's start. `window`: nanoseconds between which all clients were measured."""

    app: str
    cpu: int
    data: Mapping[str, Any]
    histogram: tuple[tuple[float, int], ...]
    ends: tuple[float, ...] = ()
    window: tuple[float, float] | None = None

    def number(self, key: str) -> float:
        value = self.data.get(key)
        if not isinstance(value, int | float):
            raise Failure(f"{self.app}: its result has no '{key}'")
        return float(value)

    @property
    def nanoseconds(self) -> float:
        """From the first request to the last answer."""
        return self.number("end_ns") - self.number("start_ns")

    @property
    def rate(self) -> float:
        """Operations per second: in the window, or from the first request to the last answer."""
        if self.window:
            begin, end = self.window
            return 1e9 * (self._done(end) - self._done(begin)) / (end - begin)
        return 1e9 * self.number("operations") / self.nanoseconds if self.nanoseconds > 0 else 0.0

    def _done(self, when: float) -> float:
        """Returns the operations done until then; of the one under way, the part of its time that has passed."""
        at = (when - self.number("start_ns")) / 1e3
        whole = bisect_right(self.ends, at)
        if whole == len(self.ends):
            return whole
        before = self.ends[whole - 1] if whole else 0.0
        return whole + (at - before) / (self.ends[whole] - before)


PARTS = {"histogram": ("histogram", "pairs"), "ends": ("list of ends", "us")}  # by their event: name, key of numbers


def collect(events: EventStream) -> list[Client]:
    """Clients by name, each with its whole histogram."""
    summaries: dict[str, tuple[int, Mapping[str, Any]]] = {}
    parts: dict[tuple[str, str], dict[int, list[float]]] = {}
    for event in events.of("result"):
        app, data = event["app"], event["data"]
        if (kind := data.get("event")) in PARTS:
            name, numbers = PARTS[kind]
            mine = parts.setdefault((app, kind), {})
            if data["part"] in mine:
                raise Failure(f"{app}: part {data['part']} of its {name} came twice")
            mine[data["part"]] = data[numbers]
        elif kind == "ycsb":
            if app in summaries:
                raise Failure(f"{app}: its result came twice")
            summaries[app] = (event["cpu"], data)
    clients = []
    for app, (cpu, data) in sorted(summaries.items()):
        flat, ends = (_joined(app, kind, parts.get((app, kind), {}), data.get(f"{kind}_parts", 0)) for kind in PARTS)
        pairs = tuple((flat[i], int(flat[i + 1])) for i in range(0, len(flat), 2))
        clients.append(Client(app, cpu, data, pairs, tuple(ends)))
    return _with_window(clients)


def _joined(app: str, kind: str, parts: Mapping[int, list[float]], expected: int) -> list[float]:
    if sorted(parts) != list(range(1, expected + 1)):
        raise Failure(f"{app}: of {expected} parts of its {PARTS[kind][0]} {len(parts)} arrived")
    return [value for part in range(1, expected + 1) for value in parts[part]]


def _with_window(clients: list[Client]) -> list[Client]:
    """Returns the clients with the window from the last one's start to the first one's end, if all say when their
    operations ended, and there is one."""
    if not clients or not all(client.ends for client in clients):
        return clients
    begin = max(client.number("start_ns") for client in clients)
    end = min(client.number("end_ns") for client in clients)
    return [replace(client, window=(begin, end)) for client in clients] if begin < end else clients


def merged(clients: Iterable[Client]) -> list[tuple[float, int]]:
    return pooled(client.histogram for client in clients)


def pooled(histograms: Iterable[Iterable[tuple[float, int]]]) -> list[tuple[float, int]]:
    """Returns the histogram of all operations."""
    total: Counter[float] = Counter()
    for histogram in histograms:
        for value, count in histogram:
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
    """Operations per second: the sum of the clients' own rates, each in the window in which all are measured or, of
    clients that do not warm up, between its first request and its last answer.

    One interval from the first start to the last end would count the time until the last has begun, and that of the
    slowest alone.
    """
    return sum(client.rate for client in clients)


def figures(clients: Sequence[Client], seconds: float) -> dict[str, float]:
    """Returns what clients measured in an interval of `seconds`. Spreads: how long after the first client the last
    began and ended."""
    histogram = merged(clients)
    operations = sum(client.number("operations") for client in clients)
    begin, end = ([client.number(key) for client in clients] or [0.0] for key in ("start_ns", "end_ns"))
    latency = sum(client.number("mean_us") * client.number("operations") for client in clients)
    windows = {client.window for client in clients if client.window}
    return {
        "ops_per_s": rate(clients),
        "operations": operations,
        "seconds": seconds,
        "start_spread_us": (max(begin) - min(begin)) / 1e3,
        "end_spread_us": (max(end) - min(end)) / 1e3,
        **{"window_us": (last - first) / 1e3 for first, last in windows},
        "mean_us": latency / operations if operations else 0.0,
        "p50_us": percentile(histogram, 50),
        "p99_us": percentile(histogram, 99),
        "p999_us": percentile(histogram, 99.9),
        "max_us": max((client.number("max_us") for client in clients), default=0.0),
        **_pace(clients),
        "errors": sum(client.number("errors") + client.number("wrong") for client in clients),
    }


def _pace(clients: Sequence[Client]) -> dict[str, float]:
    """Returns, of clients whose operations arrive at a rate, the rate of all, and of the arrivals' pace the share that
    was kept: the time in which the measured operations were to arrive over that in which they were answered."""
    if not any("rate" in client.data for client in clients):
        return {}
    arrivals, taken = (sum(client.number("arrivals_ns") for client in clients),
                       sum(client.nanoseconds for client in clients))
    return {"offered_ops_per_s": sum(client.number("rate") for client in clients),
            "pace_ratio": arrivals / taken if taken > 0 else 0.0}


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
    if load.warm and (client.data.get("warm") != load.warm or len(client.ends) != number("operations")):
        wrong.append(f"{client.app}: does not say when each operation ended, behind {load.warm} that warm up")
    elif load.warm and not client.window:
        wrong.append(f"{client.app}: at no time were all clients measured; give them more operations")
    counted = sum(count for _, count in client.histogram)
    if counted != number("operations"):
        wrong.append(f"{client.app}: its histogram holds {counted} of {number('operations'):.0f} operations")
    loaded = client.data.get("load", {}).get("records")
    if loaded != first_load:
        wrong.append(f"{client.app}: wrote {loaded} of {first_load} records")
    return wrong
