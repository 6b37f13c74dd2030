# SPDX-License-Identifier: BSD-2-Clause
"""The endpoint for Prometheus of a machine of two clusters, through its forwarded port."""

import http.client
import random
import socket
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from prometheus_client.parser import text_string_to_metric_families

from deploy.deployment import Metrics, Port, Program
from deploy.machine.run import Run
from tests.boot import gdb
from tests.boot.machine import PATIENCE, client, machine, order, servers, with_redis
from tests.ports import reserved_port

COMMANDS = 200
BESIDE = 9200  # port of the second endpoint


@dataclass(frozen=True)
class Scrape:
    """Samples of the endpoint, as Prometheus' own parser reads them."""

    counters: frozenset[str]  # names of samples
    values: dict[tuple[str, tuple[tuple[str, str], ...]], float]

    def find(self, name: str, **labels: object) -> list[float]:
        pairs = {(key, str(value)) for key, value in labels.items()}
        return [value for (sample, has), value in self.values.items() if sample == name and pairs <= set(has)]

    def only(self, name: str, **labels: object) -> float:
        values = self.find(name, **labels)
        assert len(values) == 1, (name, labels, values)
        return values[0]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Kernels that count, Redis in both clusters, and a second endpoint that the map does not let ask."""
    second = Program("metrics", args=("--port", str(BESIDE)), network=True, barrier=False, name="beside",
                     ports=(Port(BESIDE),))
    what = with_redis(statistics=True, metrics=Metrics(), programs=(second,))
    with machine(what, gdb_port=reserved_port()) as running:
        debugger = gdb.Debugger(running.options.gdb_port)
        debugger.go_on()
        running.wait_serving()
        names = {app.name for app in running.plan.cluster_map.applications if app.program == "metrics"}
        running.wait_for(lambda: names <= {event["app"] for event in running.events.of("serving")}, "the endpoints")
        running.debugger = debugger  # type: ignore[attr-defined]
        yield running
        debugger.close()


def address(run: Run, port: int = Metrics.port) -> tuple[str, int]:
    name = "beside" if port == BESIDE else "metrics"
    return run.address(next(a.name for a in run.plan.cluster_map.applications if a.base_name == name), port)


def get(run: Run, path: str = "/metrics", method: str = "GET", port: int = Metrics.port) -> tuple[int, str, str]:
    connection = http.client.HTTPConnection(*address(run, port), timeout=PATIENCE)
    connection.request(method, path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, answer.headers["Content-Type"], text


def scrape(run: Run) -> Scrape:
    status, kind, text = get(run)
    assert status == 200 and kind == "text/plain; version=0.0.4; charset=utf-8"
    counters: set[str] = set()
    values = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation and family.type in ("counter", "gauge"), family.name
        for sample in family.samples:
            key = sample.name, tuple(sorted(sample.labels.items()))
            assert key not in values, f"{key} is told twice"
            values[key] = sample.value
            if family.type == "counter":
                counters.add(sample.name)
    return Scrape(frozenset(counters), values)


def scrape_until(run: Run, good: Callable[[Scrape], bool]) -> Scrape:
    """On a busy host an answer may come too late to be in the next scrape."""
    while not good(samples := scrape(run)):
        time.sleep(0.1)
    return samples


def all_up(run: Run) -> Callable[[Scrape], bool]:
    count = len(servers(run))
    return lambda s: s.find("skerry_cluster_up") == [1, 1] and s.find("skerry_redis_up") == [1] * count


@pytest.mark.limit(150)
def test_what_is_told(run: Run) -> None:
    """clusters, cores, locks, memory, applications and Redis are told in Prometheus' format"""
    now = scrape_until(run, all_up(run))
    for number in (0, 1):
        assert now.only("skerry_cluster_info", cluster=number, kernel="clh+stat") == 1
        assert now.only("skerry_cluster_cores", cluster=number) == 2
        free, total = (now.only(f"skerry_cluster_memory_{which}", cluster=number) for which in ("free_bytes", "bytes"))
        assert 0 < free < total <= 1 << 30
    for cpu in range(4):
        assert 0 < now.only("skerry_core_idle_seconds_total", cpu=cpu) < now.only("skerry_core_seconds_total",
            cpu=cpu) < 100_000
        entries = now.only("skerry_core_entries_total", cpu=cpu)
        served = now.only("skerry_core_syscalls_total", cpu=cpu) + now.only("skerry_core_interrupts_total", cpu=cpu)
        assert 0 < served <= entries + 1  # a core may be in its kernel while it is read
        acquisitions = now.only("skerry_lock_acquisitions_total", cpu=cpu, **{"class": "kernel"})
        assert now.only("skerry_lock_conflicts_total",
                        cpu=cpu) <= acquisitions + 1 and abs(acquisitions - entries) <= 1
        assert 0 < now.only("skerry_lock_hold_seconds_total", cpu=cpu) < now.only("skerry_core_seconds_total",
            cpu=cpu)
    for app in run.plan.cluster_map.applications:
        labels = {"application": app.name, "program": app.program, "cpu": app.cpu}
        assert now.only("skerry_application_up", **labels) == 1
        assert now.only("skerry_application_memory_bytes", **labels) >= app.heap
    for name in servers(run):
        assert now.only("skerry_redis_connected_clients", application=name) >= 1
        assert 1 << 19 < now.only("skerry_redis_memory_used_bytes", application=name) < 1 << 24


def test_counters(run: Run) -> None:
    """between two scrapes no counter falls, and Redis has counted the commands it was sent"""
    before = scrape_until(run, all_up(run))
    for name in servers(run):
        with client(run, name) as server:
            for number in range(COMMANDS):
                server.set("key", number)
    after = scrape_until(run, all_up(run))
    fallen = {key: (value, after.values.get(key)) for key, value in before.values.items()
              if key[0] in before.counters and not value <= after.values.get(key, -1)}  # fmt: skip
    assert not fallen
    for name in servers(run):
        processed = [s.only("skerry_redis_commands_processed_total", application=name) for s in (before, after)]
        assert processed[1] - processed[0] >= COMMANDS
    for cpu in range(4):  # the network is on core 0, a Redis on each other
        assert after.only("skerry_core_entries_total", cpu=cpu) > before.only("skerry_core_entries_total", cpu=cpu)


def test_without_the_right(run: Run) -> None:
    """a program whose application the map does not give `statistics` is told nothing"""
    status, _, text = get(run, port=BESIDE)
    assert status == 503 and "skerry_" not in text
    assert "the cluster map does not let it read statistics" in run.console
    assert get(run, "/", port=BESIDE)[0] == 200


def test_other_requests(run: Run) -> None:
    """what is no request for metrics is answered as HTTP has it"""
    assert "/metrics" in get(run, "/")[2]
    assert get(run, "/metrics/")[0] == 404
    assert get(run, method="DELETE")[0] == 405
    status, _, text = get(run, method="HEAD")
    assert status == 200 and not text


def test_hostile_clients(run: Run) -> None:
    """junk, half requests, connections that say nothing or do not read: errors at most, and the next scrape is good"""
    where = address(run)
    generator = random.Random(5)
    idle = [socket.create_connection(where, PATIENCE) for _ in range(18)]  # more than have a place
    for number, connection in enumerate(idle):
        if number % 3:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + b"\r\n" * (number % 3 == 2))
    for junk in (b"PING\r\n", b"\0" * 64, b"GET /metrics HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 5000):
        with socket.create_connection(where, PATIENCE) as connection:
            connection.sendall(junk)
            assert connection.recv(100).startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 431 ")), junk[:20]
    for _ in range(10):
        with socket.create_connection(where, PATIENCE) as connection:
            connection.sendall(generator.randbytes(generator.randrange(1, 5000)))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
    scrape_until(run, all_up(run))
    for connection in idle:
        connection.close()
    assert not run.events.of("fault") and not run.events.of("exit")


def test_a_silent_redis(run: Run) -> None:
    """an instance that does not answer is not up; the others' figures come all the same"""
    silent, *others = servers(run)
    with client(run, silent) as server:
        server.config_set("busy-reply-threshold", 2000)  # then it says that it is busy, and can be stopped
    order(run, silent, 'EVAL "while true do end" 0')
    samples = scrape_until(run, lambda s: s.find("skerry_redis_up", application=silent) == [0])
    assert samples.only("skerry_application_serving", application=silent) == 1
    assert not samples.find("skerry_redis_commands_processed_total", application=silent)
    for name in others:
        assert samples.only("skerry_application_up", application=name) == 1
    with client(run, silent) as server:
        assert server.script_kill()
    scrape_until(run, all_up(run))


def test_a_lost_cluster(run: Run) -> None:
    """a cluster whose kernel panicked is not up, and tells nothing; what the other tells comes"""
    run.debugger.make_kernel_fault(core=2)  # type: ignore[attr-defined]
    run.wait_for(lambda: "kernel panic: cluster 1" in run.own_console, "the panic's report")
    now = scrape_until(run, lambda s: s.find("skerry_cluster_up") != [1, 1])  # its heartbeat may not be missed yet
    assert [now.only("skerry_cluster_up", cluster=number) for number in (0, 1)] == [1, 0]
    run.wait_event("cluster-lost", cluster=1)
    now = scrape_until(run, lambda s: sorted(s.find("skerry_redis_up")) == [0, 0, 1])
    assert now.only("skerry_cluster_up", cluster=1) == 0
    assert now.find("skerry_core_seconds_total", cluster=0) and not now.find("skerry_core_seconds_total", cluster=1)
    for app in run.plan.cluster_map.applications:
        assert now.only("skerry_application_up", application=app.name) == (app.cpu < 2)
