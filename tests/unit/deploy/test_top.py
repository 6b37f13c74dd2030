# SPDX-License-Identifier: BSD-2-Clause
"""skerry top: rates of two looks, what fits a terminal, keys, plain output; of a made-up machine."""

import json
import os
import pty
import select
import signal
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.cli.main import main
from deploy.live.lockstat.record import LOCK, WORDS, Record
from deploy.live.lockstat.snapshot import COUNTERS, Core, Snapshot
from deploy.live.top import source
from deploy.live.top.instances import Served
from deploy.live.top.sample import Sample, between
from deploy.live.top.source import Ended, Look, ended
from deploy.live.top.terminal import decode, press
from deploy.live.top.view import COLUMNS, HELP, INTERVALS, VIEWS, State, plain, screen
from deploy.machine.events import Event
from tests.unit.deploy.synthetic import run_folder_of
from topology.errors import InputError

HZ = 1_000_000_000


def snapshot(cluster: int, cores: int, second: float, kernel: str = "clh+stat") -> Snapshot:
    """Each core idles for 3/4 of the time; of its 1000 entries a second 1 in 10 met the lock taken."""
    entries = int(1000 * second) if kernel.endswith("+stat") else 0
    wall = int(second * HZ)
    counters = dict.fromkeys(COUNTERS, 0) | {
        "idle": wall * 3 // 4, "entries": entries, "lock_acquisitions": entries, "lock_conflicts": entries // 10,
        "switches": entries // 2,
    }  # fmt: skip
    rows = tuple(Core(cluster, kernel, float(HZ), cluster * cores + i, i, wall, counters) for i in range(cores))
    words = [0] * WORDS
    words[4], words[8] = entries * cores, entries // 2 * cores
    words[LOCK : LOCK + 3] = [1, entries * cores, entries // 10 * cores]
    return Snapshot(cluster, kernel, float(HZ), rows, Record.from_words(words))


def serving(app: str, cluster: int, cpu: int) -> Event:
    return Event("serving", {"event": "serving", "app": app, "cluster": cluster, "cpu": cpu})


def look(second: float, clusters: int = 2, cores: int = 2, kernel: str = "clh+stat",
         events: tuple[Event, ...] = ()) -> Look:
    there = tuple(snapshot(i, cores, second, kernel) for i in range(clusters))
    served = {"redis@1": Served(int(500 * second), second)}
    return Look(second, there, (serving("redis@1", 0, 1), *events), served)


def sample(clusters: int = 2, cores: int = 2, kernel: str = "clh+stat", events: tuple[Event, ...] = ()) -> Sample:
    return between(look(10, clusters, cores, kernel), look(12, clusters, cores, kernel, events))


def test_rates() -> None:
    """of cores, clusters, locks, instances and the whole"""
    made = sample()
    assert (made.seconds, made.uptime, made.uncounted) == (2, 12, False)
    core = made.cores[1]
    assert (core.cluster, core.cpu) == (0, 1)
    assert core.rates.to_json() == pytest.approx({
        "cpu_utilisation": 0.25, "kernel_entries_per_s": 1000, "switches_per_s": 500, "lock_conflict_ratio": 0.1,
        "fallback_ratio": None, "redis_ops_per_s": 500,
    })  # fmt: skip
    assert made.cores[0].rates.redis is None
    assert made.clusters[0].rates.entries == 2000 and made.clusters[0].rates.redis == 500
    assert made.clusters[1].rates.redis is None and not made.clusters[1].lost
    assert (made.whole.entries, made.whole.utilisation, made.whole.redis) == (4000, 0.25, 500)
    assert made.whole.conflict_ratio == pytest.approx(0.1)
    assert [(k.cluster, k.name, k.acquisitions, k.conflicts) for k in made.locks] == [(0, "kernel", 2000, 200),
        (1, "kernel", 2000, 200)]


def test_fallbacks() -> None:
    """of transactions the share of entries that took the lock"""

    def rtm(second: int) -> Look:
        entries = 1000 * second
        words = [0] * WORDS
        words[4], words[16:19] = entries, [entries, entries * 3 // 4, entries // 4]
        counters = dict.fromkeys(COUNTERS, 0) | {"entries": entries, "lock_acquisitions": entries // 4,
                                                 "commits": entries * 3 // 4}
        core = Core(0, "rtm+stat", float(HZ), 0, 0, second * HZ, counters)
        return Look(second, (Snapshot(0, core.kernel, float(HZ), (core,), Record.from_words(words)),))

    made = between(rtm(1), rtm(3))
    assert made.clusters[0].rates.fallback_ratio == made.cores[
        0].rates.fallback_ratio == made.whole.fallback_ratio == 0.25


def test_unknown() -> None:
    """a plain kernel's rates are unknown, and so are those of a cluster that started again or came new"""
    made = sample(kernel="clh")
    assert made.uncounted and made.clusters[0].rates.utilisation == 0.25
    assert made.clusters[0].rates.entries is None and made.whole.conflict_ratio is None and made.locks == ()
    again = between(look(10), look(3))
    assert all(row.rates.entries is None and row.rates.utilisation is None for row in again.clusters)
    assert again.whole.redis is None and again.whole.utilisation is None
    more = between(look(10, clusters=1), look(12, clusters=2))
    assert [row.rates.entries for row in more.clusters] == [2000, None]
    silent = between(look(10), replace(look(12), served={}))
    assert silent.instances == (("redis@1", None),)


@pytest.mark.parametrize(("idling", "expected"), [(True, 0.0), (False, 1.0)])
def test_standstill(idling: bool, expected: float) -> None:
    """where nothing was counted no clock moved, and a core did all the time what it does now"""
    one = snapshot(0, 1, 5)
    still = replace(one, cores=(replace(one.cores[0], idling=idling),))
    made = between(Look(5, (still,)), Look(6, (still,)))
    assert made.cores[0].rates.utilisation == expected and made.cores[0].rates.entries == 0


def fits(lines: list[str], width: int, height: int) -> bool:
    return len(lines) <= height and all(len(line) <= width and line.isascii() and line.isprintable() for line in lines)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(("clusters", "cores"), [(1, 1), (2, 4), (4, 16), (64, 1)])
def test_80x24(clusters: int, cores: int, view: str) -> None:
    """in 80 columns and 24 lines nothing is wider, nothing is more, and no column is cut off"""
    lost = Event("cluster-lost", {"event": "cluster-lost", "cluster": 0,
                                  "why": "a kernel panic \x1b[2J " + "long " * 30})
    made = sample(clusters, cores, kernel="ticket+stat", events=(lost,))
    for state in (State(view=view), State(view=view, paused=True, interval=60, scroll=7), State(view=view, help=True)):
        lines = screen("a-name-that-goes-on-" * 5, True, made, state, 80, 24)
        assert fits(lines, 80, 24) and len(lines) == 24 and "q quit" in lines[-1]
        if not state.help:
            titles = lines[3].replace("*", " ").split("  ")
            assert all(any(c.title in title for title in titles) for c in COLUMNS[view]), lines[3]
            assert all(len(line) == len(lines[4]) for line in lines[4:23] if line and view != "redis")
    for width, height in ((1, 1), (10, 3), (30, 5), (79, 7), (200, 80)):
        assert fits(screen("name", False, made, State(view=view), width, height), width, height)
        assert fits(screen("name", False, None, State(view=view, help=True), width, height), width, height)


def test_scrolls() -> None:
    """every core of 64 can be seen, and the last line says which are"""
    made, seen, state = sample(4, 16), set(), State()
    for _ in range(4):
        lines = screen("name", False, made, state, 80, 24)
        seen |= {int(line.split()[0]) for line in lines[4:23] if line}
        state = press(state, "page-down", 64, 19)
    assert seen == set(range(64))
    assert screen("name", False, made, state, 80, 24)[-1].endswith("46-64/64")
    assert press(press(state, "home", 64, 19), "up", 64, 19).scroll == 0
    assert screen("name", False, made, replace(state, scroll=1000), 80, 60)[-1].endswith("10-64/64")


def test_small() -> None:
    """40x10: what an instance does is seen, and all keys are told of by scrolling"""
    lines = screen("name", False, sample(), State(view="redis"), 40, 10)
    assert lines[3:5] == ["instance*   redis/s", "redis@1         500"]
    state = State(help=True)
    lines_seen = []
    for _ in HELP:
        lines_seen.append(screen("name", False, sample(), state, 80, 6)[4])
        state = press(state, "down", len(HELP), 1)
    assert lines_seen == list(HELP)


def test_keys() -> None:
    """what a terminal sends, and what it does"""
    assert decode("q\x1b[A\x1bOB\x1b[6~\tj \x1b[99;5Zé") == ["q", "up", "down", "page-down", "v", "down", "p",
                                                             "\x1b[99;5Z", "é"]
    state = State()
    assert [press(state, key, 4, 19).view for key in "1234"] == list(VIEWS)
    assert press(state, "v", 4, 19).view == "locks" and press(state, "x", 4, 19) == press(state, "é", 4, 19) == state
    assert press(state, "p", 4, 19).paused and not press(press(state, "p", 4, 19), "p", 4, 19).paused
    assert press(state, "+", 4, 19).interval == 2 and press(state, "-", 4, 19).interval == 0.5
    assert press(State(interval=INTERVALS[-1]), "+", 4, 19).interval == INTERVALS[-1]
    assert press(State(interval=0.1), "-", 4, 19).interval == 0.1
    assert press(state, "down", 4, 19).scroll == 0, "all rows are seen"


def first_cells(made: Sample, state: State) -> list[str]:
    return [line.split()[0] for line in screen("name", False, made, state, 80, 24)[4:23] if line]


def test_order() -> None:
    """numbers of cores rise, rates fall, r turns both round, and the unknown stays last"""
    made = sample()
    busy = replace(made.cores[2], rates=replace(made.cores[2].rates, utilisation=0.9))
    unknown = replace(made.cores[0], rates=replace(made.cores[0].rates, utilisation=None))
    made = replace(made, cores=(unknown, made.cores[1], busy, made.cores[3]))
    state = State()
    assert first_cells(made, state) == ["0", "1", "2", "3"]
    assert first_cells(made, press(state, "r", 4, 19)) == ["3", "2", "1", "0"]
    by_use = press(press(state, "s", 4, 19), "s", 4, 19)
    assert first_cells(made, by_use)[0] == "2" and first_cells(made, by_use)[-1] == "0"
    assert first_cells(made, press(by_use, "r", 4, 19))[-2:] == ["2", "0"]


def test_trouble() -> None:
    """lost clusters and killed programs are on the screen, in words"""
    fault = Event("fault", {"event": "fault", "app": "redis@1", "cause": "page fault"})
    lost = Event("cluster-lost", {"event": "cluster-lost", "cluster": 1, "why": "it panicked"})
    made = sample(events=(fault, lost))
    assert screen("name", False, made, State(), 80, 24)[2] == "! 2: cluster 1 is lost: it panicked"
    assert [row.lost for row in made.clusters] == [False, True]
    assert made.cores[0].rates.utilisation == 0.25 and made.cores[2].rates.utilisation is None, "what is parked is not busy"
    assert made.whole.entries == 2000
    back = sample(events=(lost, Event("boot", {"event": "boot", "cluster": 1})))
    assert [row.lost for row in back.clusters] == [False, False]
    assert source.serving((serving("redis@1", 0, 1), serving("redis@3", 1, 3), lost)) == {"redis@1": (0, 1)}
    assert source.serving((serving("redis@1", 0, 1), fault)) == {}
    assert "! redis@1 was killed: page fault" in plain("name", False, made)
    assert "statistics = true" in screen("name", False, sample(kernel="clh"), State(), 80, 24)[2]


def test_why_it_ended() -> None:
    """done well, failed, or ended by somebody"""
    done = (Event("done", {"status": 0}),)
    failed = (Event("done", {"status": 1, "why": "an application was killed"}),)
    assert ended(done, "").well and "ended well" in str(ended(done, ""))
    assert not ended(failed, "").well and "an application was killed" in str(ended(failed, ""))
    kept = ended(done, "it is gone", len(done))
    assert kept.well and str(kept) == "it is gone"
    kept = ended(failed, "it is gone", len(failed))
    assert not kept.well and str(kept) == "it is gone; before that, an application was killed"
    crashed = ended((Event("exit", {"app": "a@1", "status": 3}),), "it is gone")
    assert not crashed.well and str(crashed) == "it is gone; before that, a@1 ended with status 3"
    assert ended((), "somebody ended it").well and str(ended((), "somebody ended it")) == "somebody ended it"


class MadeUp:
    """A machine of which a second passes with each look; it ends after `looks`."""

    name = "made-up"
    emulated = False

    def __init__(self, looks: int = 1 << 30) -> None:
        self.looks = looks
        self.second = 10

    def look(self) -> Look:
        if self.looks == 0:
            raise Ended("its power failed", False)
        self.looks -= 1
        self.second += 1
        return look(self.second)


def use(monkeypatch: pytest.MonkeyPatch, machine: MadeUp) -> None:
    @contextmanager
    def local(what: str | None) -> Iterator[MadeUp]:
        yield machine

    monkeypatch.setattr(source, "local", local)
    monkeypatch.setattr("deploy.base.process.heed_signals", lambda: None)


def test_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """one sample as plain tables"""
    use(monkeypatch, MadeUp())
    assert main(["top", "--once", "--interval", "0.1"]) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0] == "made-up  up 00:00:12  clusters 2, cores 4, clh+stat"
    assert "\x1b" not in printed and "*" not in printed
    rows = [line.split() for line in printed.splitlines()]
    assert ["1", "0", "25.0%", "1,000", "500", "10.0%", "-", "500"] in rows
    assert ["redis@1", "500"] in rows


def test_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """samples as results, in a file or alone on standard output; those before the end are not lost"""
    use(monkeypatch, MadeUp())
    assert main(["top", "-n", "2", "-i", "0.1", "--json", "-"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [(one["sample"], one["cluster"], one["lock"]) for one in data["results"]] == [(0, 0, "clh"), (0, 1, "clh"),
        (1, 0, "clh"), (1, 1, "clh")]
    assert data["results"][0]["metrics"]["kernel_entries_per_s"] == 2000
    assert [core["core"] for core in data["results"][1]["per_core"]] == [2, 3]
    use(monkeypatch, MadeUp(looks=3))
    assert main(["top", "-n", "9", "-i", "0.1", "--json", str(tmp_path / "top.json")]) == 1
    assert capsys.readouterr().err == "skerry: its power failed\n"
    assert len(json.loads((tmp_path / "top.json").read_text())["results"]) == 4


@pytest.mark.parametrize("words", [["--interval", "0"], ["--interval", "nan"], ["--count", "0"],
                                   ["--once", "--count", "2"]])
def test_bad_options(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """an option that makes no sense is named"""
    assert main(["top", *words]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and words[-2].removeprefix("--once") in lines[0]


def test_no_machine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """no machine is one line, and failure"""
    monkeypatch.setattr("deploy.live.lockstat.live.running", lambda: [])
    assert main(["top"]) == 1
    assert capsys.readouterr().err == "skerry: no machine runs here; skerry run DEPLOYMENT --keep starts one\n"


def in_terminal(machine: MadeUp, act: Callable[[int, int], None]) -> tuple[int, str, bool]:
    """Exit status, what was drawn, and whether the terminal is what it was; `act` gets its file and the process."""
    us, them = pty.openpty()
    before = termios.tcgetattr(them)
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            for file in (0, 1, 2):
                os.dup2(them, file)
            os.environ["TERM"] = "xterm"
            import sys

            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")
            from deploy.live.top import terminal, watch

            status = 9
            try:
                with terminal.opened() as display:
                    watch.Watch(machine, display, 0.1, None).run()
                status = 0
            except Ended:
                status = 1
            except KeyboardInterrupt:
                status = 2
        finally:
            os._exit(status)
    drawn = b""
    try:
        deadline = time.monotonic() + 300  # the limit of the test is of given time, and shorter
        while b"made-up  up" not in drawn and time.monotonic() < deadline:
            if select.select([us], [], [], 0.2)[0]:
                drawn += os.read(us, 65536)
        act(us, child)
        while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
            if select.select([us], [], [], 0.05)[0]:
                drawn += os.read(us, 65536)
        assert done[0] == child, "it ends"
        while select.select([us], [], [], 0)[0]:
            drawn += os.read(us, 65536)
        return os.waitstatus_to_exitcode(done[1]), drawn.decode(), termios.tcgetattr(them) == before
    finally:
        try:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass  # as it should be
        os.close(us)
        os.close(them)


@pytest.mark.parametrize(("looks", "act", "expected"), [
                             (1 << 30, lambda file, process: os.write(file, b"1q"), 0),
                             (1 << 30, lambda file, process: os.kill(process, signal.SIGINT), 2),
                             (6, lambda file, process: None, 1),
                         ], ids=["q", "Ctrl-C", "the machine's end"])
def test_terminal_restored(looks: int, act: Callable[[int, int], None], expected: int) -> None:
    """on a real terminal, whatever ends it"""
    status, drawn, restored = in_terminal(MadeUp(looks), act)
    assert status == expected
    assert restored and drawn.endswith("\x1b[?25h\x1b[?1049l")


def test_which_of_several(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """machines are told apart by what runs there"""
    for pid, name in ((os.getpid(), "ycsb"), (os.getppid(), None)):
        folder = run_folder_of(tmp_path, pid)
        if name:
            (folder / "instances.json").write_text(json.dumps({"name": name, "instances": []}))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(InputError,
                       match=f"several machines run: .*{os.getpid()} \\(ycsb\\)") as caught, source.local(None):
        pass
    assert f"{os.getppid()}" in str(caught.value)


def test_bad_run() -> None:
    """a process that runs no machine is named"""
    from deploy.live.lockstat import live

    with pytest.raises(InputError, match="no machine runs here for process 1"):
        live.find("1", "top")
