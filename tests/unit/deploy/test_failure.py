# SPDX-License-Identifier: BSD-2-Clause
"""Failures: detection, survival."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from deploy.base.errors import Failure
from deploy.base.export import files
from deploy.base.timeouts import Patience
from deploy.bench.failure.cost import Cost, watching
from deploy.bench.failure.load import Load
from deploy.bench.failure.measure import FIGURES, USUAL, Job, Measured, goals, kills
from deploy.bench.failure.scene import WAYS, Fate, Kill, deployment, draw, mortal
from deploy.bench.failure.show import HEIGHT, WIDTH, Panel, bars, draw as draw_curve
from deploy.bench.failure.table import failure_table
from deploy.cli.main import main
from deploy.deployment.planner import plan
from deploy.machine import qemu
from deploy.machine.events import Event, EventStream
from deploy.profile.tally import Line, Profile
from deploy.results import survival
from tests.long import cluster_restarts

# ---- Ends of clusters under load: what is drawn, what a client finds wrong, figures and goals, the ----

CLUSTERS = [(1, 2), (2, 4)]


# --- what is drawn ---


def test_drawn() -> None:
    """a kill depends on its seed and number alone, and names what is there"""
    drawn = [draw(7, number, CLUSTERS) for number in range(1, 201)]
    assert drawn == [draw(7, number, CLUSTERS) for number in range(1, 201)] != [draw(8, number, CLUSTERS)
        for number in range(1, 201)]
    assert {kill.how for kill in drawn} == set(WAYS) and {kill.cluster for kill in drawn} == {1, 2}
    for kill in drawn:
        assert (kill.core is not None) == (kill.how in ("panic", "hang-core")) and (kill.core
            or 0) < dict(CLUSTERS)[kill.cluster]
        assert 2 <= kill.quiet <= 4


def test_mortal() -> None:
    """the first cluster, through which all report, is ended alone or not at all; one that does not start again never"""
    assert mortal(plan(deployment(3, 2)), first=True) == [(0, 2)]
    assert mortal(plan(deployment(3, 2, restart="never")), first=True) == []
    assert mortal(plan(deployment(3, 2))) == [(1, 2), (2, 2)]
    assert mortal(plan(deployment(1, 2))) == []
    assert mortal(plan(deployment(3, 2, restart="never"))) == []


def test_in_turn() -> None:
    """each way is taken as often as was asked for, one after the other"""
    drawn = list(kills(Job(["panic", "hang"], 3, 1, qemu.TCG_TURNS, Patience()), CLUSTERS))
    assert [kill.how for kill in drawn] == ["panic", "hang"] * 3 and [kill.number for kill in drawn] == [1, 2, 3, 4, 5,
        6]


# --- the client ---


class _Server:
    """Imitates as much of Redis as the client uses; what it answers can be spoilt."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes] = {}
        self.life = 1
        self.killed: list[bytes] = []
        self.silent = False
        self._clients = 0
        self._open: list[socket.socket] = []
        self._moment = threading.Lock()  # a life ends between two answers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = self._listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.append(connection)
            self._clients += 1
            threading.Thread(target=self._serve, args=(connection, self._clients, self.life), daemon=True).start()

    def _serve(self, connection: socket.socket, number: int, life: int) -> None:
        stream = connection.makefile("rwb")
        try:
            while head := stream.readline():
                words = [stream.read(int(stream.readline()[1:]) + 2)[:-2] for _ in range(int(head[1:]))]
                with self._moment:
                    if life != self.life:
                        return
                    stream.write(self._answer([words[0].upper(), *words[1:]], number))
                while self.silent:
                    time.sleep(0.01)
                stream.flush()
        except (OSError, ValueError):
            pass

    def _answer(self, words: list[bytes], number: int) -> bytes:
        if words[0] == b"GET":
            value = self.values.get(words[1])
            return b"$-1\r\n" if value is None else b"$%d\r\n%s\r\n" % (len(value), value)
        if words[0] == b"SET":
            self.values[words[1]] = words[2]
        elif words[0] == b"INFO":
            text = b"# Server\r\nrun_id:%040d\r\n" % self.life
            return b"$%d\r\n%s\r\n" % (len(text), text)
        elif words[0] == b"CLIENT":
            if words[1].upper() == b"ID":
                return b":%d\r\n" % number
            self.killed.append(words[3])
            return b":1\r\n"
        return b"+OK\r\n"

    def cut(self) -> None:
        for connection in self._open:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def restart(self, keeping: bool = False) -> None:
        with self._moment:
            self.life += 1
            self.values = self.values if keeping else {}
        self.cut()

    def close(self) -> None:
        self._listener.close()
        self.cut()


@pytest.fixture
def server() -> Iterator[_Server]:
    found = _Server()
    yield found
    found.close()


@pytest.fixture
def load(server: _Server, request: pytest.FixtureRequest) -> Iterator[Load]:
    """It gives up an answer after so long that a busy host lets it do so nowhere, unless a test wants it to."""
    found = Load("redis@1", server.address, 3, silence=getattr(request, "param", 100.0))
    found.start()
    until(lambda: found.writes > 600)
    yield found
    found.stop()
    until(lambda: not found.is_alive())


def until(condition: object) -> None:
    """The test's limit, of given time, ends a wait that is in vain."""
    while not condition():  # type: ignore[operator]
        time.sleep(0.005)


def goes_on(load: Load, writes: int = 600) -> None:
    before = load.writes
    until(lambda: load.writes > before + writes)


def test_calm(load: Load) -> None:
    """where nothing happens nothing is wrong, and every answer is counted"""
    window, told = load.window(), load.survivor()
    assert not load.wrong and window.errors == 0 and 0 < window.longest < (time.monotonic_ns() - told.start_ns) / 1e9
    assert load.lives == told.lives == 1 and not told.gaps and sum(told.counts) >= 2 * 600
    assert load.rate(told.start_ns, told.end_ns) > 0


def test_connection_lost(server: _Server, load: Load) -> None:
    """a connection that breaks in one life of the server: an error and a gap, and the old connection is closed there"""
    load.window()
    server.cut()
    until(lambda: server.killed)
    goes_on(load)
    assert load.window().errors >= 1 and load.lives == 1 and not load.wrong
    assert len(load.survivor().gaps) == 1 and server.killed[0] == b"1"


@pytest.mark.parametrize("load", [0.5], indirect=True)
def test_silence(server: _Server, load: Load) -> None:
    """a server that does not answer: what is waited for counts while it is, and as unanswered"""
    load.window()
    server.silent = True
    until(lambda: load.window().longest > 0.2)
    until(lambda: load.window().errors)
    server.silent = False
    goes_on(load)
    told = load.survivor()
    assert told.reads + told.updates >= 1 and told.gaps and not load.wrong
    assert any(end - start > 0.5e9 for start, end in told.gaps)


def test_new_life(server: _Server, load: Load) -> None:
    """a server that starts again is empty: nothing is wrong, and what it has lost is counted"""
    server.restart()
    until(lambda: load.lives == 2)
    goes_on(load)
    assert not load.wrong and load.survivor().forgotten > 100


def test_former_life(server: _Server, load: Load) -> None:
    """a value of a former life is found"""
    server.restart(keeping=True)
    until(lambda: load.wrong)
    assert "of a former life" in load.wrong[0]


def test_lost_write(server: _Server, load: Load) -> None:
    """an acknowledged write that is gone is found"""
    server.values.clear()
    until(lambda: load.wrong)
    assert "None is none of" in load.wrong[0]


def test_back_in_time(server: _Server, load: Load) -> None:
    """a value that goes back in time is found, and so is one that nobody wrote"""
    old = dict(server.values)
    goes_on(load, 1500)
    server.values |= old
    until(lambda: load.wrong)
    server.values = {key: b"x" for key in server.values}
    until(lambda: any("b'x'" in line for line in load.wrong))


# --- figures ---


def fate(how: str = "panic", number: int = 1, **changes: object) -> Fate:
    told = {"reason": "panic", "why": "its kernel panicked", "detect_ms": 600.0, "silent_ms": 0, "after_ms": 500,
            "fence_ms": 50, "load_ms": 300,
            "again_ms": 1100.0, "serving_ms": 1500.0, "pong_ms": 2000.0, "survivor_errors": 0, "survivor_requests": 100,
            "survivor_longest_ms": 90.0, "usual_longest_ms": 40.0}
    return Fate(Kill(number, 1, how, None, 2.0), **(told | changes))  # type: ignore[arg-type]


def measured(*fates: Fate) -> Measured:
    return Measured(Job(["panic", "manager"], 3, 5, qemu.TCG_TURNS, Patience()), list(fates), 60.0, 0, 2)


def test_metrics() -> None:
    """medians and worst, errors in sum; what another cluster measured is left out"""
    found = measured(fate(), fate(number=2, detect_ms=700.0, fence_ms=None, survivor_errors=2),
                     fate(number=3, detect_ms=900.0, usual_longest_ms=100.0))
    metrics = found.metrics("panic")
    assert (metrics["detect_ms"], metrics["detect_worst_ms"], metrics["kills"], metrics["survivor_errors"]) == (700,
        900, 3, 2)
    assert metrics["boot_ms"] == 450 and metrics["survivor_stall_ms"] == 50 and found.fates[2].survivor_stall_ms == 0
    assert found.values("panic", FIGURES[2]) == [50, 50]


def test_goals() -> None:
    """what silence tells may take the watchers' patience and 100 ms; what is told at once, 50 ms"""
    detect, silent = FIGURES[:2]
    assert goals(silent, "panic") == (50, 1) and goals(silent, "init", silence=600) == (700, 150)
    assert goals(detect, "panic") == (50, 1) and goals(detect, "garbage") == (50, 1)
    assert goals(detect, "hang-core") == goals(detect, "hang") == (3100, 150) and goals(detect, "manager") == (5100,
        150)
    assert goals(FIGURES[4], "manager") == (2500, 500)
    stall = next(figure for figure in FIGURES if figure.name == "survivor_stall_ms")
    assert goals(stall, "panic") == (100, 10) and goals(stall, "panic", first=True) == (3000, 1000)


def test_results(tmp_path: Path) -> None:
    """one result for each way, with each kill, and one of all; the CSV has their ways"""
    found = measured(fate(), fate("manager", 2))
    rows = found.to_json()
    assert [row["how"] for row in rows] == ["panic", "manager", "none"] and all(row["emulated"] for row in rows)
    assert {figure.name for figure in FIGURES} <= set(rows[0]["metrics"]) and rows[0]["kills"][0]["pong_ms"] == 2000
    json.dumps(rows)
    ((_, table),) = files(tmp_path / "x.json", {"results": rows})
    head, first, *_ = table.splitlines()
    assert "how" in head.split(",") and "panic" in first.split(",")


def test_table() -> None:
    """each figure stands beside its goals, and says whether it meets that of this machine"""
    console = Console(width=100, record=True, file=open("/dev/null", "w"))
    console.print(failure_table(measured(fate(), fate("manager", 2, detect_ms=5050.0, pong_ms=9000.0)),
                                Cost(1000.0, 1004.0, 0.0001)))
    lines = [line.strip("│ ") for line in console.export_text().splitlines()]
    told = [line.split() for line in lines]
    assert any("emulated" in line for line in lines[:2])
    detect = [line for line in lines if "order to report" in line]
    assert "600 ms" in detect[0] and detect[0].split()[-1] == "no" and detect[1].split()[-1] == "met"
    assert next(words for words in told if "instructions/operation" in words)[-1] == "met" and any("+0.40 %" in line
        for line in lines)


def test_first() -> None:
    """kills of the first cluster: another title, another goal for the stall, and connections that did not last are
    counted"""
    found = measured(fate(survivor_longest_ms=2000.0, survivor_connections=2, survivor_connections_lost=1),
                     fate(number=2, survivor_connections=2))
    found.job.first = True
    (row, _) = found.to_json()
    assert row["ended"] == "first" and row["goals"]["survivor_stall_ms"] == {"emulated_idle": 3000,
                                                                             "kvm_and_metal": 1000}
    assert (row["metrics"]["survivor_connections"], row["metrics"]["survivor_connections_lost"]) == (4, 1)
    console = Console(width=100, record=True, file=open("/dev/null", "w"))
    console.print(failure_table(found, None))
    lines = [line.strip("│ ") for line in console.export_text().splitlines()]
    assert lines[0].startswith("The first cluster fails: ")
    assert next(line for line in lines if line.startswith("connections elsewhere, lost")).split()[-1] == "no"
    assert next(line for line in lines if line.startswith("survivors' stall")).split()[-1] == "met"


def test_calm_minutes() -> None:
    """false alarms of the minutes without a kill stand beside those of the others"""
    found = measured(fate())
    found.job.quiet, found.alarms = 90.0, {"under load": 0, "idle": 2}
    assert found.to_json()[-1]["metrics"] == {"false_alarms": 0, "seconds": 60.0, "false_alarms_under_load": 0,
                                              "false_alarms_idle": 2, "calm_seconds": 90.0}
    console = Console(width=100, record=True, file=open("/dev/null", "w"))
    console.print(failure_table(found, None))
    lines = [line.strip("│ ") for line in console.export_text().splitlines() if "1.5 min" in line]
    assert [line.split()[-1] for line in lines] == ["met", "no"]


def test_cost() -> None:
    """the part that watching functions have, by program and name"""
    counted = Profile([Line("root", "manager", "watch_tick", 30), Line("x", "x", "watch_tick", 20),
                       Line("root", "manager", "main", 50)], 10)
    assert watching(counted, {("root", "watch_tick")}) == 0.3 and watching(Profile([], 1), set()) == 0
    assert Cost(1000.0, 1010.0, 0.0).more == pytest.approx(0.01)


# --- the curve ---


def test_bars() -> None:
    """the fullest is full, nothing is blank, a little is seen"""
    lines = bars([0, 1, 50, 100], 100, 6)
    assert len(lines) == HEIGHT and all(len(line) == 6 for line in lines)
    assert lines[-1] == " ▁██  " and lines[0] == "   █  "
    assert bars([], 0, 4) == ["    "] * HEIGHT == bars([0, 0], 0, 4)


@pytest.mark.parametrize("width", [20, 40, WIDTH])
@pytest.mark.parametrize("steps", [0, 1, 30, 500])
def test_curve(width: int, steps: int) -> None:
    """whatever there is fits, on one scale, with the time below and the last words at the end"""
    panels = [Panel("Cluster 0", [1234567.0] * steps), Panel("Cluster 1", [float(i % 7) for i in range(steps)])]
    lines = draw_curve(panels, 0.2, ["x" * 200, "told"], width)
    assert len(lines) == 2 * (1 + HEIGHT) + 1 + 2 and all(len(line) <= width for line in lines) and lines[-1] == "told"
    assert f"{steps * 0.2:.0f} s" in lines[-3]


# --- commands ---


@pytest.mark.parametrize("words,culprit", [
    (["bench", "failure", "--machine", "xeon-e5-2683v3"],
     "--machine xeon-e5-2683v3: its clock moves only as its cores do"),
    (["bench", "failure", "--machine", "pdp-11"], "pdp-11"),
    (["bench", "failure", "--how", "panic,fire"], "--how: 'fire' is not one of panic, hang,"),
    (["bench", "failure", "--sockets", "1"], "--sockets 1: one cluster"),
    (["bench", "failure", "--lock", "fire"], "--lock: 'fire' is not one of"),
    (["bench", "failure", "--cores", "1"], "--cores 1: no cluster but 1 has a Redis"),
    (["demo", "failure", "--cores", "1"], "--cores 1: no cluster but 1 has a Redis"),
    (["demo", "failure", "--cluster", "0"], "--cluster 0: is not one that starts again: 1"),
    (["demo", "failure", "--sockets", "1"], "this machine has none"),
    (["demo", "failure", "--core", "2"], "--core 2: is not one of cluster 1's, 0 to 1"),
    (["demo", "failure", "--how", "hang", "--core", "0"], "--core 0: is for --how panic and --how hang-core"),
    (["demo", "failure", "--plot", "x.txt"], "--plot x.txt"),
    (["demo", "failure", "--lock", "fire"], "--lock: 'fire' is not one of"),
])  # fmt: skip
def test_refused(words: list[str], culprit: str, capsys: pytest.CaptureFixture[str]) -> None:
    """what cannot be measured or shown is one line, before anything is built"""
    assert main(words) == 2
    said = capsys.readouterr().err
    assert culprit in said and len(said.splitlines()) == 1


def test_usual_ways() -> None:
    """what is killed by default are the ways that have a goal"""
    assert set(USUAL) < set(WAYS)


# --- the campaign ---


def test_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a campaign goes on behind its last kill, and keeps its verdict"""
    monkeypatch.setattr(cluster_restarts, "BUILD", tmp_path)
    verdicts = tmp_path / "verdicts.json"
    begun = cluster_restarts.Campaign(9, 3, 2, verdicts)
    begun.note(fate(number=1))
    begun.note(fate("hang", 2, pong_ms=7000.0))
    begun.end()
    assert "2 of 3 kills, not at its end" in str(begun)
    again = cluster_restarts.Campaign(9, 3, 2, verdicts)
    assert again.done == 2 and again.entry["worst_pong_ms"] == 7000
    again.note(fate(number=3))
    again.end()
    cluster_restarts.Campaign(10, 1, 2, verdicts).end("planted")
    kept = cluster_restarts.read(verdicts)
    assert (kept["9"]["verdict"], kept["9"]["survivor_requests"], kept["10"]["verdict"],
            kept["10"]["why"]) == ("passed", 300, "FAILED", "planted")
    assert len((tmp_path / "results" / "cluster-restarts-9.jsonl").read_text().splitlines()) == 3


def test_errors_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """one error of a survivor's client is enough"""
    monkeypatch.setattr(cluster_restarts, "BUILD", tmp_path)
    campaign = cluster_restarts.Campaign(9, 1, 2, tmp_path / "verdicts.json")
    campaign.note(fate(survivor_errors=1))
    campaign.end()
    assert campaign.entry["verdict"] == "FAILED" and "1 errors" in str(campaign)


# ---- What clients tell that survive the loss of their server, as sentences, time lines and a plot ----

SLOT = 10_000_000


def events(*data: dict[str, Any], app: str = "ycsb@1") -> EventStream:
    stream = EventStream()
    stream.events = [Event("result", {"event": "result", "app": app, "data": one}) for one in data]
    return stream


def told(**changes: Any) -> dict[str, Any]:
    survived = {"event": "survival", "gaps": 1, "longest_ns": 3 * SLOT, "reads": 2, "updates": 3, "lives": 2,
                "forgotten": 7}
    return survived | {"start_ns": 1000, "slot_ns": SLOT, "timeline_parts": 2} | changes


GAP = {"event": "gap", "start_ns": 1000 + 2 * SLOT, "end_ns": 1000 + 5 * SLOT}
PARTS = ({"event": "timeline", "part": 2, "counts": [0, 4]}, {"event": "timeline", "part": 1, "counts": [4, 4, 0, 0]})
SUMMARY = {"event": "ycsb", "server": "10.0.2.9:6379"}


def test_collect() -> None:
    """parts come in any order; clients without the option are left out"""
    (one,) = survival.collect(events(GAP, *PARTS, told(), SUMMARY))
    assert one.counts == (4, 4, 0, 0, 0, 4) and one.gaps == ((1000 + 2 * SLOT, 1000 + 5 * SLOT),)
    assert str(one) == (
        "ycsb@1: 10.0.2.9:6379 was lost once, for 0.030 s at most, started again; without an answer: 2 reads, 3 "
        "updates; "
        "7 reads found records that it had lost"
    )
    assert survival.collect(events(SUMMARY)) == []
    (calm,) = survival.collect(events(*PARTS, told(gaps=0, lives=1), SUMMARY))
    assert str(calm) == "ycsb@1: 10.0.2.9:6379 was never lost"
    (often,) = survival.collect(events(GAP, GAP, *PARTS, told(gaps=2, lives=1, forgotten=0), SUMMARY))
    assert "lost 2 times" in str(often) and "started" not in str(often) and str(often).endswith("3 updates")


def test_missing_parts() -> None:
    """what did not arrive is no shorter time line"""
    with pytest.raises(Failure, match="of 2 parts of its time line 1 arrived"):
        survival.collect(events(GAP, PARTS[0], told()))
    with pytest.raises(Failure, match="of 1 gaps 0 arrived"):
        survival.collect(events(*PARTS, told()))


def test_line() -> None:
    """a gap is as many spaces as its part of the time"""
    (one,) = survival.collect(events(GAP, *PARTS, told(), SUMMARY))
    text = survival.line(one, one.start_ns, one.end_ns)
    assert text == "█" * 20 + " " * 30 + "█" * 10
    assert survival.line(one, one.start_ns - 6 * SLOT, one.end_ns) == " " * 30 + "█" * 10 + " " * 15 + "█" * 5
    assert survival.lines([]) == []
    assert survival.lines([one])[1] == f"|{text}|"


def test_few_answers() -> None:
    """a part with an answer is never a space"""
    counts = {"event": "timeline", "part": 1, "counts": [1000, 1] + [0] * 58}
    (one,) = survival.collect(events(counts, told(gaps=0, timeline_parts=1), SUMMARY))
    assert survival.line(one, one.start_ns, one.end_ns) == "█▁" + " " * 58


def test_plot(tmp_path: Path) -> None:
    """a panel for each client, whatever the kind of file"""
    (one,) = survival.collect(events(GAP, *PARTS, told(), SUMMARY))
    for name in ("a.png", "a.svg"):
        survival.plot([one, one], tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    assert "0.03 s" in (tmp_path / "a.svg").read_text()
