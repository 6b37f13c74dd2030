# SPDX-License-Identifier: BSD-2-Clause
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from deploy import render
from deploy.deployment import Deployment, Load, Redis
from deploy.errors import Failure
from deploy.events import EventStream, parse_line
from deploy.expand import Plan, plan
from deploy.plot import plot
from deploy.results import evaluate
from deploy.ycsb import percentile

from .synthetic import good_run, stream

OPERATIONS = 1000


@pytest.fixture(params=["per-socket", "spanning"])
def what(request: pytest.FixtureRequest) -> Plan:
    return plan(
        Deployment(layout=request.param, statistics=True, redis=Redis(), load=Load(clients=2, operations=OPERATIONS))
    )


def test_figures_of_a_good_run(what: Plan) -> None:
    result = evaluate(what, stream(*good_run(what, seconds=2.0)), emulated=True)
    assert result.problems == []
    assert result.metrics["ops_per_s"] == pytest.approx(6 * OPERATIONS / 2.0)
    assert result.metrics["operations"] == 6 * OPERATIONS
    assert (result.metrics["p50_us"], result.metrics["p99_us"]) == (10.0, 20.0)
    assert result.metrics["cpu_utilisation"] == pytest.approx(0.5)
    assert result.metrics["kernel_entries_per_s"] == pytest.approx(4 * 2000 / 2.0)
    assert result.metrics["lock_conflict_ratio"] == pytest.approx(0.01)
    assert [core["ops_per_s"] for core in result.per_core] == [0.0] + [pytest.approx(2 * OPERATIONS / 2.0)] * 3
    assert sum(core["ops_per_s"] for core in result.per_core) == pytest.approx(result.metrics["ops_per_s"])
    assert result.to_json()["emulated"] is True
    assert result.latency_us == [(10.0, 3 * OPERATIONS), (20.0, 3 * OPERATIONS)]
    machine = result.to_json()["machine"]
    assert sorted(cpu for cluster in machine["clusters"] for cpu in cluster["cpus"]) == [0, 1, 2, 3]
    assert [app["cpu"] for app in machine["applications"] if app["program"] == "redis-server"] == [1, 2, 3]


def change(kind: str, edit: Callable[[dict[str, Any]], None]) -> Callable[[list[dict[str, Any]]], None]:
    def apply(events: list[dict[str, Any]]) -> None:
        for event in events:
            inner = event.get("data", {}).get("event")
            if event["event"] == kind or inner == kind:
                edit(event.get("data", event))
                return
        raise AssertionError(kind)

    return apply


def drop(kind: str) -> Callable[[list[dict[str, Any]]], None]:
    def apply(events: list[dict[str, Any]]) -> None:
        for event in events:
            if event["event"] == kind or event.get("data", {}).get("event") == kind:
                events.remove(event)
                return

    return apply


BREAKS: dict[str, tuple[Callable[[list[dict[str, Any]]], None], str]] = {
    "an operation is lost": (change("ycsb", lambda d: d.update(operations=999, reads=999)), "999 of 1000 operations"),
    "an operation fails": (change("ycsb", lambda d: d.update(errors=1)), "1 operations failed"),
    "a value is wrong": (change("ycsb", lambda d: d.update(wrong=2)), "2 answers were wrong"),
    "reads do not add up": (change("ycsb", lambda d: d.update(reads=500)), "do not add up"),
    "a read-only load updates": (change("ycsb", lambda d: d.update(reads=500, updates=500)), "no updates"),
    "the histogram is short": (change("histogram", lambda d: d["pairs"].__setitem__(1, 7)), "histogram holds"),
    "a record is not written": (change("ycsb", lambda d: d["load"].update(records=4999)), "wrote 4999 of 5000"),
    "memory is not told": (change("memory", lambda d: d["per_app"].clear()), "no report of the memory"),
    "a client fails": (change("exit", lambda d: d.update(status=1)), "ended with status 1"),
    "a client does not report": (drop("ycsb"), "no result"),
    "a program faults": (lambda e: e.append({"event": "fault", "app": "redis@2", "cause": "page fault"}), "page fault"),
    "a cluster is lost": (lambda e: e.append({"event": "cluster-lost", "cluster": 1}), "cluster-lost"),
    "Redis ends": (lambda e: e.append({"event": "exit", "app": "redis@2", "status": 0}), "ended before its clients"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_bad_run_is_not_believed(what: Plan, name: str) -> None:
    events = good_run(what)
    breaks, expected = BREAKS[name]
    breaks(events)
    assert any(expected in problem for problem in evaluate(what, stream(*events), emulated=True).problems)


IMPOSSIBLE: dict[str, Callable[[dict[str, Any]], None]] = {
    "ran backwards": lambda s: s["cores"][0].update(entries=0),
    "idle for longer": lambda s: s["cores"][0].update(idle=10**12),
    "more lock conflicts than grabs": lambda s: s["cores"][0].update(lock_conflicts=10**6),
    "never entered": lambda s: s["cores"][0].update(entries=1000),
}


@pytest.mark.parametrize("expected", IMPOSSIBLE)
def test_counters_that_cannot_be_true_are_found(what: Plan, expected: str) -> None:
    events = good_run(what)
    last = next(e for e in events if e.get("when") == "barrier-2")
    IMPOSSIBLE[expected](last)
    assert any(expected in problem for problem in evaluate(what, stream(*events), emulated=True).problems)


@pytest.mark.parametrize("kind", ["stats", "histogram"])
def test_a_run_with_something_missing_fails(what: Plan, kind: str) -> None:
    events = good_run(what)
    drop(kind)(events)
    with pytest.raises(Failure):
        evaluate(what, stream(*events), emulated=True)


@pytest.mark.parametrize("kind", ["ycsb", "histogram"])
def test_a_result_that_comes_twice_fails(what: Plan, kind: str) -> None:
    events = good_run(what)
    events.append(next(e for e in events if e.get("data", {}).get("event") == kind))
    with pytest.raises(Failure, match="twice"):
        evaluate(what, stream(*events), emulated=True)


def test_memory_counts_each_instance_once(what: Plan) -> None:
    assert what.load
    events = good_run(what)
    results = [e["data"] for e in events if e.get("data", {}).get("event") == "ycsb"]
    servers = sorted({r["server"] for r in results})
    assert len(results) == 6 and len(servers) == 3
    for result in results[::2]:  # of one instance's two clients
        result["memory"]["resident"] = (50 + 10 * servers.index(result["server"])) << 20
    metrics = evaluate(what, stream(*events), emulated=True).metrics
    assert metrics["memory_per_instance"] == 60 << 20
    assert metrics["memory_reserved"] == Redis().heap
    assert "60.0" in render._text("memory_per_instance", metrics["memory_per_instance"])
    results[0]["memory"]["resident"] = 0
    with pytest.raises(Failure, match="how much memory"):
        evaluate(what, stream(*events), emulated=True)


def test_percentiles() -> None:
    histogram = [(1.0, 50), (2.0, 49), (9.0, 1)]
    assert [percentile(histogram, p) for p in (50, 50.5, 99, 99.5, 100)] == [1.0, 2.0, 2.0, 9.0, 9.0]
    assert percentile([], 50) == 0.0


def test_events_arrive_in_pieces() -> None:
    events = EventStream()
    assert events.feed(b'{"event":"bo') == []
    assert [e.kind for e in events.feed(b'ot"}\r\n{"event":"done"}\n{"ev')] == ["boot", "done"]
    with pytest.raises(Failure, match="middle of a line"):
        events.finish()


@pytest.mark.parametrize("line", ["", "Hello", "[1]", '{"no":"event"}', '{"event":7}', '{"event":"boot"'])
def test_what_is_no_event_fails(line: str) -> None:
    with pytest.raises(Failure):
        parse_line(line)


def both() -> list[Any]:
    found = []
    for layout in ("per-socket", "spanning"):
        made = plan(Deployment(layout=layout, statistics=True, redis=Redis(), load=Load(2, operations=OPERATIONS)))
        found.append(evaluate(made, stream(*good_run(made, 1.0 if layout == "per-socket" else 2.0)), emulated=True))
    return found


def test_tables_and_ratio() -> None:
    first, second = both()
    assert render.ratios(first, second)["ops_per_s"] == pytest.approx(2.0)
    console = Console(width=160, record=True, file=open("/dev/null", "w"))
    console.print(render.layout_table(first), render.comparison_table(first, second))
    text = console.export_text()
    assert "per-socket: 2 kernels, lock clh, YCSB C  (emulated)" in text
    assert "6,000" in text and "2.000" in text and "operations/s" in text
    assert render.pairs([first, second]) == [(first, second)]
    assert render.ratio_json(first, second)["emulated"] is True


def test_plot_is_a_picture(tmp_path: Path) -> None:
    plot(both(), "mode", tmp_path / "x.png")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_what_firmware_says_before_the_first_event_is_dropped(size: int) -> None:
    events = EventStream()
    data = b'\x1b[2J\x1b[01;01HBdsDxe: loading {"Boot0001"}\r{"event":"boot","cluster":0}\r\n{"event":"done"}\n'
    for start in range(0, len(data), size):
        events.feed(data[start : start + size])
    events.finish()
    assert [event.kind for event in events.events] == ["boot", "done"]


def test_linux_stands_beside_the_first_layout() -> None:
    first, second = both()
    linux = {"kernel": "6.1", "network": "loopback", "metrics": {"ops_per_s": 3000.0, "p50_us": 20.0}}
    console = Console(width=160, record=True, file=open("/dev/null", "w"))
    console.print(render.linux_table(first, linux))
    text = console.export_text()
    assert "per-socket beside Linux 6.1" in text and "2.000" in text and "0.500" in text and "loopback" in text
    assert render.pairs([first, second, second]) == [(first, second), (first, second)]
