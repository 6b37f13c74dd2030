# SPDX-License-Identifier: BSD-2-Clause
"""Results: documents and metrics."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from functools import partialmethod
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console

from deploy.base import export, host
from deploy.base.errors import Failure
from deploy.base.paths import BUILD, RESULTS
from deploy.base.terminal import Output, places
from deploy.compare import tables as render
from deploy.compare.plot import plot
from deploy.compare.tables import layout_table
from deploy.deployment import Deployment, Load, Redis
from deploy.deployment.engines import ENGINES, Engine
from deploy.deployment.planner import Plan, plan
from deploy.live.lockstat.snapshot import Core
from deploy.machine import qemu
from deploy.machine.events import BAD_LINE, EventStream, parse_line
from deploy.report import sections
from deploy.report.load import Entry
from deploy.results import result as results
from deploy.results.counting import Counting, with_counts
from deploy.results.result import document, evaluate, host_description
from deploy.results.ycsb import percentile
from tests.ports import reserved_port

from .synthetic import EMULATED, HZ, good_run, snapshot, stream

# ----  ----

OPERATIONS = 1000


@pytest.fixture(params=["per-socket", "spanning"])
def what(request: pytest.FixtureRequest) -> Plan:
    return plan(
        Deployment(layout=request.param, statistics=True, redis=Redis(), load=Load(clients=2, operations=OPERATIONS))
    )


def test_figures_of_a_good_run(what: Plan) -> None:
    result = evaluate(what, stream(*good_run(what, seconds=2.0)), EMULATED)
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


@pytest.mark.parametrize("name,title", [("redis", "Redis"), ("valkey", "Valkey")])
def test_server_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, title: str) -> None:
    """results, tables and the sentences name the server and the version that the build has compiled"""
    header = tmp_path / ENGINES[name].work / "src/version.h"
    header.parent.mkdir(parents=True)
    header.write_text(f'#define {name.upper()}_VERSION "8.1.1"\n#define REDIS_VERSION "8.1.1"\n')
    assert ENGINES[name].version(tmp_path) == "8.1.1" and ENGINES[name].version(tmp_path / "none") is None
    monkeypatch.setattr(Engine, "version", partialmethod(Engine.version, tmp_path))
    what = plan(Deployment(statistics=True, redis=Redis(server=name), load=Load(clients=2, operations=OPERATIONS)))
    result = evaluate(what, stream(*good_run(what, seconds=2.0)), EMULATED)
    entry = result.to_json()
    assert result.problems == [] and (entry["server"], entry["server_version"]) == (name, "8.1.1")
    assert f"{title} 8.1.1" in str(layout_table(result).title)


def test_rate_is_of_each_client_alone(what: Plan) -> None:
    """neither the wait for the last to begin nor for the slowest to end counts as time of all; both are reported"""
    events = good_run(what, seconds=2.0)
    late, slow = [event["data"] for event in events if event["event"] == "result"
                  and event["data"]["event"] == "ycsb"][:2]
    late["start_ns"] += HZ
    slow["end_ns"] += 2 * HZ
    result = evaluate(what, stream(*events), EMULATED)
    assert result.problems == []
    assert result.metrics["ops_per_s"] == pytest.approx(OPERATIONS * (4 / 2.0 + 1 / 1.0 + 1 / 4.0))
    assert (result.metrics["start_spread_us"], result.metrics["end_spread_us"]) == (1e6, 2e6)


def windowed(what: Plan, starts: list[float], each: list[float]) -> list[dict[str, Any]]:
    """A run of clients that warm up: when each starts, seconds, and how long each of its operations takes."""
    events = good_run(what)
    clients = [event for event in events if event["event"] == "result" and event["data"]["event"] == "ycsb"]
    for event, start, taken in zip(clients, starts, each, strict=True):
        ends = [1e6 * taken * (n + 1) for n in range(OPERATIONS)]
        event["data"] |= {"start_ns": int(HZ * start), "end_ns": int(HZ * (start + taken * OPERATIONS)), "warm": 5,
                          "ends_parts": 2}
        for part, numbers in ((1, ends[:3]), (2, ends[3:])):
            events.insert(events.index(event), event | {"data": {"event": "ends", "part": part, "us": numbers}})
    return events


def test_rate_is_of_the_common_window(what: Plan) -> None:
    """clients that warm up are measured while all of them are, from the last start to the first end, whoever is slow"""
    warm = replace(what, load=replace(what.load, warm=5))  # type: ignore[type-var]
    starts, each = [1.0, 1.5, 1.0, 1.0, 1.0, 1.0], [0.1, 0.1, 0.2, 0.1, 0.1, 0.1]
    result = evaluate(warm, stream(*windowed(warm, starts, each)), EMULATED)
    assert result.problems == []
    assert result.metrics["ops_per_s"] == pytest.approx(5 / 0.1 + 1 / 0.2)
    assert result.metrics["window_us"] == pytest.approx(1e6 * (OPERATIONS * 0.1 - 0.5))
    assert sum(core["ops_per_s"] for core in result.per_core) == pytest.approx(result.metrics["ops_per_s"])


@pytest.mark.parametrize("change, problem", [
    ({"warm": 4}, "behind 5 that warm up"), ({"start_ns": 200 * HZ, "end_ns": 201 * HZ}, "at no time"),
    ({"ends_parts": 0}, "of 0 parts of its list of ends 2 arrived"),
])
def test_no_window(what: Plan, change: dict[str, int], problem: str) -> None:
    """clients that do not say when operations ended, or were never measured at the same time, are a problem"""
    warm = replace(what, load=replace(what.load, warm=5))  # type: ignore[type-var]
    events = windowed(warm, [1.0] * 6, [0.1] * 6)
    client = next(event for event in events if event["event"] == "result" and event["data"]["event"] == "ycsb")
    client["data"] |= change
    try:
        assert problem in "; ".join(evaluate(warm, stream(*events), EMULATED).problems)
    except Failure as failure:
        assert problem in str(failure)


def test_counters_of_two_lives_are_not_subtracted(what: Plan) -> None:
    """a cluster that was started again within the interval costs its counts, whether they ran backwards or have grown
    since"""
    for scale in (0, 50):
        events = good_run(what, seconds=2.0)
        last = what.cluster_map.clusters[-1]
        for number, event in enumerate(events):
            if event["event"] == "stats" and event["cluster"] == last.number and event["when"] == "barrier-2":
                events[number] = snapshot(last.number, last.cpus, "barrier-2", 3 * HZ, scale)
                for core in events[number]["cores"]:
                    core["started"] = 2 * HZ
        result = evaluate(what, stream(*events), EMULATED)
        assert result.problems == [] and result.started_again == last.cpus == result.to_json()["started_again"]
        assert result.metrics["ops_per_s"] == pytest.approx(6 * OPERATIONS / 2.0)
        assert result.metrics["cpu_utilisation"] is None and result.metrics["kernel_entries_per_s"] is None
        assert [core["core"] for core in result.per_core] == [0, 1, 2, 3]
        assert {core["core"] for core in result.per_core if core["cpu_utilisation"] is None} == set(last.cpus)
        assert sum(core["ops_per_s"] for core in result.per_core) == pytest.approx(result.metrics["ops_per_s"])
        console = Console(file=io.StringIO(), width=120)
        console.print(layout_table(result))
        assert f"cores {last.cpus[0]}-{last.cpus[-1]} was started again meanwhile" in console.file.getvalue()  # type: ignore[attr-defined]


def test_snapshots_of_two_lives_have_no_difference() -> None:
    cores = Core.of_event(stream(snapshot(1, [2], "a", HZ, 1)).events[0])
    later = replace(cores[0], started=1)
    with pytest.raises(Failure, match="cluster 1 was started again in between: what its core 0 counted before is lost"):
        later.since(cores[0])


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
    "a run takes no time": (change("ycsb", lambda d: d.update(end_ns=d["start_ns"])), "its operations took 0 ns"),
    "a client fails": (change("exit", lambda d: d.update(status=1)), "ended with status 1"),
    "a client does not report": (drop("ycsb"), "no result"),
    "a program faults": (lambda e: e.append({"event": "fault", "app": "redis@2", "cause": "page fault"}), "page fault"),
    "a cluster is lost": (lambda e: e.append({"event": "cluster-lost", "cluster": 1, "why": "it hangs"}),
                          "cluster 1 is lost: it hangs"),
    "Redis ends": (lambda e: e.append({"event": "exit", "app": "redis@2", "status": 0}), "ended before its clients"),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_bad_run_is_not_believed(what: Plan, name: str) -> None:
    events = good_run(what)
    breaks, expected = BREAKS[name]
    breaks(events)
    assert any(expected in problem for problem in evaluate(what, stream(*events), EMULATED).problems)


IMPOSSIBLE: dict[str, Callable[[dict[str, Any]], None]] = {
    "ran backwards": lambda s: s["cores"][0].update(entries=0),
    "idle for longer": lambda s: s["cores"][0].update(idle=10**12),
    "more lock conflicts than acquisitions": lambda s: s["cores"][0].update(lock_conflicts=10**6),
    "never entered": lambda s: s["cores"][0].update(entries=1000),
}


def test_core_that_idles_all_the_time_enters_no_kernel(what: Plan) -> None:
    events = good_run(what)
    first, last = (next(e for e in events if e.get("when") == when)["cores"][0] for when in ("barrier-1", "barrier-2"))
    last.update({name: value for name, value in first.items() if name not in ("tsc", "idle")})
    last["idle"] = first["idle"] + last["tsc"] - first["tsc"]
    assert not any("never entered" in problem for problem in evaluate(what, stream(*events), EMULATED).problems)


@pytest.mark.parametrize("expected", IMPOSSIBLE)
def test_counters_that_cannot_be_true_are_found(what: Plan, expected: str) -> None:
    events = good_run(what)
    last = next(e for e in events if e.get("when") == "barrier-2")
    IMPOSSIBLE[expected](last)
    assert any(expected in problem for problem in evaluate(what, stream(*events), EMULATED).problems)


@pytest.mark.parametrize("kind", ["stats", "histogram"])
def test_a_run_with_something_missing_fails(what: Plan, kind: str) -> None:
    events = good_run(what)
    drop(kind)(events)
    with pytest.raises(Failure):
        evaluate(what, stream(*events), EMULATED)


@pytest.mark.parametrize("kind", ["ycsb", "histogram"])
def test_a_result_that_comes_twice_fails(what: Plan, kind: str) -> None:
    events = good_run(what)
    events.append(next(e for e in events if e.get("data", {}).get("event") == kind))
    with pytest.raises(Failure, match="twice"):
        evaluate(what, stream(*events), EMULATED)


def test_memory_counts_each_instance_once(what: Plan) -> None:
    assert what.load
    events = good_run(what)
    results = [e["data"] for e in events if e.get("data", {}).get("event") == "ycsb"]
    servers = sorted({r["server"] for r in results})
    assert len(results) == 6 and len(servers) == 3
    for result in results[::2]:  # of one instance's two clients
        result["memory"]["resident"] = (50 + 10 * servers.index(result["server"])) << 20
    metrics = evaluate(what, stream(*events), EMULATED).metrics
    assert metrics["memory_per_instance"] == 60 << 20
    assert metrics["memory_reserved"] == Redis().heap and metrics["memory_committed"] == Redis().heap // 2
    assert "60.0" in render._text("memory_per_instance", metrics["memory_per_instance"])
    results[0]["memory"]["resident"] = 0
    with pytest.raises(Failure, match="how much memory"):
        evaluate(what, stream(*events), EMULATED)


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
def test_what_is_no_event_is_said_to_be_none(line: str) -> None:
    event = parse_line(line)
    assert event.kind == BAD_LINE and event["line"] == line and event["reason"]


@pytest.mark.parametrize("data", ["{x}", "{" * 5000, "9" * 5000, "nul"])
def test_one_bad_line_ends_no_reading(what: Plan, data: str) -> None:
    """and the run fails, naming the program"""
    events = EventStream()
    bad = '{"event":"result","app":"ycsb@7","cluster":1,"cpu":1,"data":' + data + "}\n"
    events.feed(b'{"event":"boot","cluster":0}\n' + bad.encode() + b'{"event":"done"}\n')
    assert [event.kind for event in events.events] == ["boot", BAD_LINE, "done"]
    assert events.of(BAD_LINE)[0]["app"] == "ycsb@7"
    events = stream(*good_run(what))
    events.feed(bad.encode())
    assert any(problem.startswith("bad-line: ycsb@7") for problem in evaluate(what, events, EMULATED).problems)


def both() -> list[Any]:
    found = []
    for layout in ("per-socket", "spanning"):
        made = plan(Deployment(layout=layout, statistics=True, redis=Redis(), load=Load(2, operations=OPERATIONS)))
        found.append(evaluate(made, stream(*good_run(made, 1.0 if layout == "per-socket" else 2.0)), EMULATED))
    return found


def test_tables_and_ratio() -> None:
    first, second = both()
    assert render.ratios(first, second)["ops_per_s"] == pytest.approx(2.0)
    console = Console(width=160, record=True, file=open("/dev/null", "w"))
    console.print(render.layout_table(first), render.comparison_table(first, second))
    text = console.export_text()
    assert re.search(r"per-socket: 2 kernels, lock clh, Redis( [0-9.]+)?, YCSB C  \(emulated\)", text)
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


def test_counts_stand_beside_times_of_plain_kernels(what: Plan) -> None:
    plain_plan = plan(Deployment(layout=what.layout, redis=Redis(), load=Load(clients=2, operations=OPERATIONS)))
    plain = evaluate(plain_plan, stream(*good_run(plain_plan, seconds=1.0)), EMULATED)
    counting = evaluate(what, stream(*good_run(what, seconds=2.0)), EMULATED)  # half as fast
    both = with_counts(plain, counting)
    assert both.metrics["ops_per_s"] == plain.metrics["ops_per_s"] == pytest.approx(2 * counting.metrics["ops_per_s"])
    assert both.metrics["p99_us"] == plain.metrics["p99_us"]
    assert both.metrics["kernel_entries_per_op"] == counting.metrics["kernel_entries_per_op"] > 0
    assert both.metrics["kernel_entries_per_s"] == pytest.approx(2 * counting.metrics["kernel_entries_per_s"])
    assert both.metrics["lock_conflict_ratio"] == counting.metrics["lock_conflict_ratio"] > 0
    assert both.per_core[1]["cpu_utilisation"] == plain.per_core[1]["cpu_utilisation"]
    assert both.per_core[1]["kernel_entries_per_s"] == pytest.approx(2 * counting.per_core[1]["kernel_entries_per_s"])
    told = both.to_json()["counting"]
    assert told["kernel"] == "clh+stat" and told["operations"] == 6 * OPERATIONS
    assert "kernel_entries_per_op" in told["metrics"] and "ops_per_s" not in told["metrics"]
    assert [c["kernel"] for c in both.to_json()["machine"]["clusters"]] == ["clh"] * both.clusters
    for table in (render.layout_table(both), render.comparison_table(both, both)):
        console = Console(width=150, file=io.StringIO())
        console.print(table)
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert " *" in text and "operations/s *" not in text
        assert "* of a run beside it of 6,000 operations, on kernels that count (clh+stat)" in " ".join(text.split())
    assert "counting" not in plain.to_json()
    entry = Entry.model_validate(both.to_json())
    groups: Any = [SimpleNamespace(entries=[entry])]
    assert "Counted in a run of 6,000 operations beside each timed one" in sections._counted("lock_conflict_ratio",
        groups)
    assert sections._counted("ops_per_s", groups) == ""


def test_counts_that_are_not_known(what: Plan) -> None:
    """what the counting run could not count, as its cluster was started again, is not known of the result; the rest
    is"""
    plain = evaluate(what, stream(*good_run(what, seconds=1.0)), EMULATED)
    counting = evaluate(what, stream(*good_run(what, seconds=2.0)), EMULATED)
    nothing = {"kernel_entries_per_s": None, "kernel_entries_per_op": None, "lock_conflict_ratio": None}
    core = counting.per_core[1] | {name: None for name in nothing if name in counting.per_core[1]}
    both = with_counts(plain, replace(counting, metrics=counting.metrics | nothing,
                                      per_core=[counting.per_core[0], core, *counting.per_core[2:]]))
    assert both.metrics["kernel_entries_per_s"] is None and both.per_core[1]["kernel_entries_per_s"] is None
    assert both.metrics["ops_per_s"] == plain.metrics["ops_per_s"] and both.per_core[0]["kernel_entries_per_s"] > 0
    assert "kernel entries/s" in " ".join(printed(render.comparison_table(both, both)).split())


def printed(*tables: Any, width: int = 150) -> str:
    console = Console(width=width, file=io.StringIO())
    console.print(*tables)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_80_columns() -> None:
    """tables of a comparison fit a terminal of 80 columns: no figure is cut off"""
    first, second = both()
    counted = replace(first, counting=Counting("clh+stat", 600))
    for core in counted.per_core:
        core |= {"ops_per_s": 340_000.0, "p99_us": 1234.5, "kernel_entries_per_s": 987_654.0,
                 "lock_mean_wait_cycles": 1555.9}
    bounds = {"ops_per_s": (1.9, 2.0)}
    for table in (render.layout_table(counted), render.comparison_table(counted, second, bounds)):
        text = printed(table, width=80)
        assert "…" not in text and max(map(len, text.splitlines())) <= 80, text


def test_notes() -> None:
    """a table explains the marks that it has, and no others"""
    first, second = (replace(result, counting=Counting("clh+stat", 600)).with_metrics(
        {"instructions_per_op_by.kernel": 3000.0}) for result in both())
    for table in (render.layout_table(first), render.comparison_table(first, second)):
        text = printed(table)
        noted = [line.lstrip()[0] for line in text.splitlines() if line.lstrip()[:2] in ("* ", "+ ")]
        rows = [line for line in text.splitlines() if line.lstrip()[:2] not in ("* ", "+ ")]
        assert noted == [mark for mark in "*+" if any(f" {mark}" in row for row in rows)], text


def test_parts() -> None:
    """instructions by part stand below their sum, where they were counted beside a machine that has none of its own"""
    first, second = both()
    parts = ("application", "libc", "network", "kernel")
    first, second = (result.with_metrics({f"instructions_per_op_by.{part}": scale * 1000 for part in parts})
                     for result, scale in ((first, 1.0), (second, 2.0)))
    rows = [" ".join(line.replace("│", " ").split())
            for line in printed(render.comparison_table(first, second)).splitlines()]
    at = next(number for number, row in enumerate(rows) if row.startswith("application +"))
    assert rows[at - 1] == "instructions/operation + 4,000 8,000 0.500"
    first = first.with_metrics({"instructions_per_op": 4100.0})
    text = printed(render.comparison_table(first, second))
    assert "instructions/operation +" not in text and "4,100" in text


def test_turns(tmp_path: Path) -> None:
    """where cores take turns, what that distorts is in the file, named there, and in no table"""
    first, second = (replace(result, round_robin=True) for result in both())
    text = printed(render.layout_table(first), render.comparison_table(first, second))
    rows = [line for line in text.splitlines() if line[:1] in "┃│"]
    assert rows and not [line for line in rows if "CPU" in line or "conflicts" in line
                         or "p99" in line] and "distorts latencies, CPU utilisation" in text
    told = first.to_json()
    assert set(told["distorted"]) == set(results.DISTORTED) <= set(told["metrics"]) and "p99_us" in told["distorted"]
    assert not [name for name, _ in export.files(tmp_path / "x.json", {"results": [told]}) if name.suffix == ".hgrm"]
    assert "distorted" not in both()[0].to_json() and "CPU" in printed(render.layout_table(both()[0]))
    plot([first, second], "mode", tmp_path / "x.png")


def test_beside(tmp_path: Path) -> None:
    """beside JSON: a CSV line for each result, and latencies as HdrHistogram's tools print them"""
    first, second = both()
    Output(quiet=True, json_to=str(tmp_path / "a.json")).results(document("compare", {}, [first, second]))
    head, *lines = csv.reader((tmp_path / "a.csv").open())
    assert len(lines) == 2 and dict(zip(head, lines[1]))["layout"] == "spanning"
    assert float(dict(zip(head, lines[0]))["ops_per_s"]) == pytest.approx(first.metrics["ops_per_s"])
    text = (tmp_path / "a-per-socket-clh-c.hgrm").read_text()
    assert (tmp_path / "a-spanning-clh-c.hgrm").is_file()
    rows = [[float(word) for word in line.split()] for line in text.splitlines()[2:] if not line.startswith("#")]
    total = sum(count for _, count in first.latency_us or ())
    assert rows[0][1] == 0 and rows[-1][:3] == [20.0, 1.0, total] and len(rows) > 20
    assert [row[1] for row in rows] == sorted({row[1] for row in rows})
    for value, share, seen, *_ in rows:
        assert seen >= share * total and value == (10.0 if share <= 0.5 else 20.0)
    assert f"Total count    = {total:12d}]" in text
    assert first.metrics["p999_us"] == 20.0
    Output(quiet=True, json_to="/dev/null").results(document("compare", {}, [first]))


def test_environment() -> None:
    """a result's host says what else its times may depend on"""
    found = host.environment()
    assert {"os", "kernel", "memory_bytes", "governor", "smt", "microcode", "hypervisor", "load_1m",
            "commit"} <= set(found)
    assert found["memory_bytes"] > 1 << 20
    assert host_description(qemu.TCG_TURNS, qemu.BINARY)["environment"]["kernel"] == found["kernel"]
    assert qemu.TCG_TURNS.round_robin and qemu.TCG_COUNTED.round_robin
    assert not qemu.TCG_PARALLEL.round_robin and not qemu.KVM.round_robin


def test_places(tmp_path: Path) -> None:
    """a benchmark's plot stands beside the file of its results, or in build/results where that is none"""
    assert places("ipc", str(tmp_path / "a.json"), None) == (str(tmp_path / "a.json"), tmp_path / "a.png")
    assert places("ipc", str(tmp_path / "a.json"), tmp_path / "b.svg")[1] == tmp_path / "b.svg"
    for nowhere in ("-", "/dev/null", None):
        assert places("ipc", nowhere, None)[1].parent == RESULTS


def test_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    """a results file says what the user typed, where the launcher was called"""
    monkeypatch.setattr("sys.argv", [str(find_spec("deploy.cli.main").origin), "compare", "--quick"])  # type: ignore[union-attr]
    assert document("compare", {}, [])["arguments"] == ["compare", "--quick"]
    monkeypatch.setattr("sys.argv", ["/elsewhere/main.py", "compare"])
    assert "arguments" not in document("compare", {}, [])


# ---- What the endpoint tells of clusters that were lost, by Prometheus' own parser; over the made-up ----

HOST = BUILD / "apps/metrics/metrics-host"


def scraped() -> str:
    port = reserved_port()
    server = subprocess.Popen([HOST, "--port", str(port)])
    try:
        while server.poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                    return str(answer.read().decode())
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"the endpoint ended with status {server.returncode}")
    finally:
        server.kill()
        server.wait()


def test_losses() -> None:
    """restarts are a counter, where they are known; a loss has its reason"""
    families = {family.name: family for family in text_string_to_metric_families(scraped())}
    restarts, lost = families["skerry_cluster_restarts"], families["skerry_cluster_lost"]
    assert (restarts.type, lost.type) == ("counter", "gauge") and restarts.documentation and lost.documentation
    assert {sample.labels["cluster"]: sample.value for sample in restarts.samples} == {"0": 0, "1": 2}
    assert {(sample.labels["cluster"], sample.labels["reason"]): sample.value
            for sample in lost.samples} == {("1", "manager"): 1, ("2", "unknown"): 1}


@pytest.mark.parametrize("levels, lines", [(0, 1), (1, 5), (2, 11), (9, 13)])
def test_outline(levels: int, lines: int) -> None:
    """JSON in few lines: each member of the first levels has its own, and what is read back is the same"""
    document = {"a": [1, {"b": "é"}], "c": {"d": {}, "e": []}, "f": None}
    text = export.outline(document, levels)
    assert json.loads(text) == document and text.count("\n") + 1 == lines
