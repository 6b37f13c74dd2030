# SPDX-License-Identifier: BSD-2-Clause
"""Lock statistics: the record's layout, arithmetic, what does not add up."""

import io
import json
import os
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from deploy.base.paths import ROOT
from deploy.base.terminal import Output
from deploy.live.lockstat import live, record, source
from deploy.live.lockstat.check import checks
from deploy.live.lockstat.record import CAUSES, CLASSES, WORDS, Record
from deploy.live.lockstat.snapshot import COUNTERS, Core, Snapshot
from deploy.live.lockstat.table import COLUMNS, tables
from deploy.machine.events import EventStream
from deploy.results import result
from tests.unit.deploy.synthetic import run_folder_of
from topology import headers
from topology.errors import InputError

PROGRAM = """
#include <stdio.h>
#include <skerry/stat.h>
int main(void)
{
	static struct core_stat s;
	for (unsigned i = 0; i < sizeof(s) / 8; i++)
		((unsigned long *)&s)[i] = i;
	printf("idle_cycles %lu\\nstarted %lu\\nidle_since %lu\\nentries %lu\\nswitches %lu\\nlatest %lu\\nsequence %lu\\n", s.idle_cycles,
	       s.started, s.idle_since, s.entries, s.switches, s.latest, s.sequence);
	printf("begun %lu\\naborted %lu\\nother %lu\\n", s.transactions.begun, s.transactions.aborted[0],
	       s.transactions.aborted[ABORT_OTHER]);
	printf("readers_max %lu\\ncauses %d\\nclasses %d\\nbuckets %d\\n", s.writers.readers_max, ABORT_CAUSES, LOCK_CLASSES,
	       STAT_BUCKETS);
	printf("acquisitions %lu\\nlast_hold %lu\\n", s.lock[LOCK_CLASS_KERNEL].acquisitions, s.lock[LOCK_CLASS_RUN_QUEUE].hold_log2[STAT_BUCKETS - 1]);
	printf("endpoint_spins_max %lu\\n", s.lock[LOCK_CLASS_ENDPOINT].spins_max);
	return 0;
}
"""


def test_layout(tmp_path: Path) -> None:
    """records are read as the kernel's header lays them out"""
    (tmp_path / "layout.c").write_text(PROGRAM)
    include = ROOT / "cluster-kernel" / "include"
    subprocess.run(["gcc", "-w", f"-I{include}", "-o", "layout", "layout.c"], cwd=tmp_path, check=True)
    printed = subprocess.run([tmp_path / "layout"], capture_output=True, text=True, check=True).stdout
    expected = {name: int(value) for name, value in (line.split() for line in printed.splitlines())}
    r = Record.from_words(range(WORDS))
    assert {
        **{name: getattr(r, name) for name in ("idle_cycles", "started", "idle_since", "entries", "switches", "latest",
                                               "sequence")},
        **{"begun": r.transactions.begun, "aborted": r.transactions.aborted[0], "other": r.transactions.aborted[-1]},
        **{"readers_max": r.writers.readers_max, "causes": len(CAUSES), "classes": len(CLASSES),
           "buckets": record.BUCKETS},
        **{"acquisitions": r.locks["kernel"].acquisitions, "last_hold": r.locks["run_queue"].hold_log2[-1]},
        **{"endpoint_spins_max": r.locks["endpoint"].spins_max},
    } == expected


WORD = {name: field.at for name, field in headers.layout(headers.KERNEL / "stat.h", "core_stat").items()}


def words(entries: int, acquisitions: int, conflicts: int = 0) -> list[int]:
    """A record of a big lock: every wait took 5 cycles and every hold 300."""
    made = [0] * WORDS
    made[4], made[WORD["layout"]] = entries, record.LAYOUT
    lock = record.LOCK
    made[lock : lock + 9] = [1, acquisitions, conflicts, 7 * conflicts, 9, 5 * acquisitions, 50, 300 * acquisitions,
                             400]
    made[lock + 9 + 2] = acquisitions
    made[lock + 9 + record.BUCKETS + 8] = acquisitions
    return made


def snapshot(regime: str, made: list[int], wall: int = 1 << 40) -> Snapshot:
    counters = dict.fromkeys(COUNTERS, 0) | {"idle": wall // 2, "entries": made[4]}
    core = Core(0, f"{regime}+stat", 1e9, 0, 0, wall, counters)
    return Snapshot(0, core.kernel, 1e9, (core,), Record.from_words(made))


def wrong(s: Snapshot) -> list[str]:
    return [check.what for check in checks(s) if not check.holds]


def test_means() -> None:
    """means, ratios and differences"""
    lock = Record.from_words(words(100, 100, 10)).locks["kernel"]
    assert (lock.conflict_ratio, lock.spins_mean, lock.wait_mean, lock.hold_mean) == (0.1, 7, 5, 300)
    between = Record.from_words(words(250, 250, 30)).since(Record.from_words(words(100, 100, 10)))
    lock = between.locks["kernel"]
    assert (between.entries, lock.acquisitions, lock.conflicts, lock.instances, lock.spins_max) == (150, 150, 20, 1, 9)
    assert list(between.active) == ["kernel"]
    negative = Record.from_words([2**64 - 3 if i == record.LOCK else 0 for i in range(WORDS)])
    assert negative.plus(Record.from_words(words(1, 1))).locks["kernel"].instances == -2


def test_adds_up() -> None:
    """what adds up passes"""
    assert wrong(snapshot("clh", words(1000, 1000, 3))) == []
    made = words(1000, 1000)
    made[5:7] = [900, 110]
    assert wrong(snapshot("clh", made)) == ["system calls and interrupts served <= entries"]


@pytest.mark.parametrize(
    ("regime", "entries", "acquisitions", "conflicts", "wall", "what"),
    [
        ("clh", 1000, 990, 0, 1 << 40, "acquisitions = entries"),
        ("mcs", 990, 1000, 0, 1 << 40, "acquisitions = entries"),
        ("clh", 100, 100, 120, 1 << 40, "kernel: conflicts <= acquisitions"),
        ("rtm", 100, 50, 0, 1 << 40, "commits + fallbacks = entries"),
        ("fine", 100, 100, 0, 1 << 40, "read acquisitions = entries"),
        ("dynamic", 100, 90, 0, 1 << 40, "entries <= acquisitions + read acquisitions"),
        ("clh", 100, 100, 0, 10_000, "cycles waiting for the kernel's lock and holding it <= wall"),
    ],
)
def test_does_not_add_up(regime: str, entries: int, acquisitions: int, conflicts: int, wall: int, what: str) -> None:
    """what does not add up is found"""
    assert what in wrong(snapshot(regime, words(entries, acquisitions, conflicts), wall))


def test_readers() -> None:
    """of a reader/writer lock both sides have a row of their own, and what writers conflicted with"""
    made = [0] * WORDS
    at = 16 + 3 + len(CAUSES)
    made[4], made[at : at + 4] = 120, [3, 5, 12, 4]
    for class_number, acquisitions in ((1, 120), (2, 30)):
        lock = at + 4 + class_number * (9 + 2 * record.BUCKETS)
        made[lock : lock + 9] = [1, acquisitions, 8, 80, 20, 9 * acquisitions, 90, 7 * acquisitions, 70]
        made[lock + 9 + 3] = made[lock + 9 + record.BUCKETS + 2] = acquisitions
    fine = snapshot("fine", made)
    assert wrong(fine) == []
    parts = [part for part in tables(fine) if not isinstance(part, str)]
    (readers,) = [part for part in parts if str(part.title).startswith("Reader/writer")]
    cells = [list(column.cells)[0] for column in readers.columns]
    assert cells == ["kernel", "30", "120", "3", "5", "4", "2.4", "90", "9", "8", "90", "9"]
    console = Console(width=80, file=io.StringIO())
    console.print(*parts)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "…" not in text and "lock class" in text and text.count("mean") >= 3, text


def event(when: str, made: list[int], kernel: str = "clh+stat") -> list[dict[str, Any]]:
    core = {"cpu": 4, "core": 0, "tsc": made[4] << 20, "started": 0} | dict.fromkeys(COUNTERS, 0)
    core |= {"idle": made[4] << 19, "entries": made[4], "lock_acquisitions": made[4]}
    return [{"event": "stats", "when": when, "cluster": 1, "kernel": kernel, "tsc_hz": 10**9, "cores": [core]},
            {"event": "locks", "when": when, "cluster": 1, "kernel": kernel,
             "words": [[i, w] for i, w in enumerate(made) if w]}]


def test_finished_run(tmp_path: Path) -> None:
    """a run's results give the whole of it, or an interval"""
    events = [*event("start", words(10, 10)), *event("barrier-1", words(100, 100)), *event("end", words(400, 400))]
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"events": events, "host": {"accel": "tcg"}}))
    lines = tmp_path / "events.jsonl"
    lines.write_text("".join(json.dumps(e) + "\n" for e in events))
    for path in (file, lines):
        read, emulated = source.read_file(path)
        assert emulated is (True if path == file else None)
        assert [s.total.entries for s in source.between(read, None, None)] == [400]
        inside = source.between(read, "barrier-1", "end")[0]
        assert (inside.cluster, inside.cores[0].cpu, inside.total.locks["kernel"].acquisitions) == (1, 4, 300)
        assert wrong(inside) == []
        assert [str(part)
                for part in tables(inside, histogram=True)][-1].startswith("Adds up: acquisitions = entries: 300 = 300")
        with pytest.raises(InputError, match="barrier-7: no such moment"):
            source.between(read, "barrier-7", None)


def test_fallbacks() -> None:
    """of transactions the share that took the lock stands beside the throughput"""
    for kernel, expected in (("rtm+stat", {"fallback_ratio": 0.25}), ("clh+stat", {})):
        counts = dict.fromkeys(COUNTERS, 1) | {"lock_acquisitions": 250, "entries": 1000, "commits": 750}
        core = Core(0, kernel, 1e9, cpu=0, core=0, wall=10**6, counters=counts)
        metrics = result._locks([core, core])
        assert {name: value for name, value in metrics.items() if "fallback" in name} == expected


@pytest.mark.parametrize("digits", [3, 6, 9, 12])
@pytest.mark.parametrize("regime", ["clh", "fine", "rtm"])
def test_width(regime: str, digits: int, capsys: pytest.CaptureFixture[str]) -> None:
    """tables that go to a file have at most a hundred columns, however large the figures, and every figure is whole"""
    made = [10**digits + number for number in range(WORDS)]
    for part in tables(snapshot(regime, made)):
        if not isinstance(part, str):
            Output().table(part, COLUMNS)
    printed = capsys.readouterr().out
    assert max(map(len, map(str.rstrip, printed.splitlines()))) <= 100
    s = snapshot(regime, made)
    shown = [lock.acquisitions for lock in s.total.active.values()] + [lock.hold_max
                                                                       for lock in s.total.active.values()]
    assert all(f" {number:,} " in printed
               for number in [*shown, s.total.transactions.begun, *s.total.transactions.aborted])


@pytest.mark.parametrize("text", ["{}", '{"events": [1]}', "no events at all", '{"event": "half'])
def test_bad_file(tmp_path: Path, text: str) -> None:
    """a file that is no run is refused by name"""
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(InputError, match="bad.json"):
        source.read_file(file)


def test_written_meanwhile() -> None:
    """a record that a core was writing when it was read from outside is read again"""
    reads = []

    def memory(cluster: int, address: int, size: int) -> bytes:
        made = [0] * WORDS
        made[WORD["sequence"]], made[0], made[WORD["layout"]] = (5, 70, record.LAYOUT) if len(reads) < 2 else (6, 40,
            record.LAYOUT)
        reads.append((cluster, address, size))
        return struct.pack(f"<{WORDS}Q", *made)

    events = EventStream()
    events.feed(b'{"event":"boot","cluster":3,"stat":4096,"cores":1,"kernel":"clh","tsc_hz":1000}\n')
    (snapshot_read,) = live.snapshots(events, memory)
    assert snapshot_read.total.idle_cycles == 40 and reads == [(3, 4096, record.SIZE)] * 3


@pytest.mark.parametrize("other", [None, "elsewhere"])
def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: str | None) -> None:
    """a machine is found in a folder that has become full, which tempfile passes over, or for which it has no other"""

    def place() -> str:
        if other is None:
            raise FileNotFoundError(2, "No usable temporary directory found")
        return str(tmp_path / other)

    monkeypatch.setattr("tempfile.gettempdir", place)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    folder = run_folder_of(tmp_path)
    assert live.running() == [folder]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to look as another user: run the tests as root")
def test_runs_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """the machines of another user, which may not be looked at, are not counted among one's own"""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for above in (tmp_path, *tmp_path.parents[:2]):
        above.chmod(0o755)
    folder = run_folder_of(tmp_path)
    assert live.running() == [folder]
    os.seteuid(65534)
    try:
        assert live.running() == []
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user: run the tests as root")
def test_folders_that_others_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a folder or a socket of another user, one that others may enter, and a link are not this user's machine"""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    made = run_folder_of(tmp_path)
    assert live.running() == [made]
    link = tmp_path / f"skerry-run-{os.getpid()}-link"
    link.symlink_to(made)
    assert live.running() == [made]
    made.chmod(0o711)
    assert live.running() == []
    made.chmod(0o700)
    os.chown(made / "qmp.sock", 65534, 65534)
    assert live.running() == []
    os.chown(made / "qmp.sock", 0, 0)
    os.chown(made, 65534, 65534)
    assert live.running() == []
    os.chown(made, 0, 0)
    (made / "qmp.sock").unlink()
    (made / "qmp.sock").touch()
    assert live.running() == []


def test_which_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """this checkout's machine is preferred; a command that changes it takes none where another one runs"""
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    other = run_folder_of(tmp_path, os.getppid(), tree="/somewhere/else")
    assert live.find(None, "top") == other
    with pytest.raises(InputError, match=rf"kill: the machine that runs is another checkout's: name one by its process "
                       rf"id, {os.getppid()} of /somewhere/else"):
        live.find(None, "kill", changes=True)
    assert live.find(str(os.getppid()), "kill", changes=True) == other
    ours = run_folder_of(tmp_path)
    assert live.find(None, "top") == ours
    with pytest.raises(InputError, match=r"kill: several machines run: .* of /somewhere/else"):
        live.find(None, "kill", changes=True)
    assert live.find(str(os.getpid()), "kill", changes=True) == ours
    (other / "qmp.sock").unlink()
    assert live.find(None, "kill", changes=True) == ours
