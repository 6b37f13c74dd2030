# SPDX-License-Identifier: BSD-2-Clause
"""Counters have one definition, stat.h: what is added there is in every view, and records that are none are refused."""

import json
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.live.lockstat import record, source
from deploy.live.lockstat.record import LAYOUT, WORDS, Record
from topology import headers

COPIED = ("cluster-kernel/include", "lib", "topology", "apps/metrics")
LAYOUT_AT = headers.layout(headers.KERNEL / "stat.h", "core_stat")["layout"].at

# A record, in which each word is its place, goes the way that it goes from a manager to the primary, and is shown.
SENT = """
#include <stdio.h>
#include <skerry/stat_pack.h>
static const struct core_stat *sent(void)
{
	static struct core_stat made, came;
	static uint64_t packed[STAT_PACKED_BRIEF_MAX];
	for (unsigned i = 0; i < sizeof(made) / 8; i++)
		((uint64_t *)&made)[i] = i;
	const char *wrong = stat_unpack(&came, packed, stat_pack(packed, &made, true), true);
	return wrong ? puts(wrong), NULL : &came;
}
"""
EVENTS = """
#include <skerry/stat_view.h>
int main(void)
{
	static char bytes[30000];
	static struct core_stat sum;
	struct text line = TEXT(bytes);
	stat_add(&sum, sent());
	stat_json_core(&line, 0, 0, sent());
	text_format(&line, "\\n{\\"cluster\\":0");
	stat_json_words(&line, &sum);
	printf("%.*s}", (int)line.length, line.data);
	return 0;
}
"""
METRICS = """
#include "scrape.h"
int main(void)
{
	static struct snapshot_core core;
	struct snapshot_cluster cluster = { .about = { .up = 1, .tsc_hz = 1 }, .cores = 1, .core = &core };
	struct text text = { 0 };
	core = (struct snapshot_core){ .counted = true, .stat = *sent() };
	exposition(&text, &(struct snapshot){ .clusters = 1, .cluster = &cluster });
	printf("%.*s", (int)text.length, text.data);
	return 0;
}
"""
PYTHON = """
import json, sys
from pathlib import Path
from topology import headers
headers.ROOT = Path(sys.argv[1])
from deploy.live.lockstat.record import Record, WORDS
from deploy.live.lockstat.snapshot import COUNTERS, Core, Counted, Snapshot
from deploy.live.top.sample import between
from deploy.live.top.source import Look
record = Record.from_words(range(WORDS))
twice = record.plus(record)
earlier, later = (
    Look(at, (Snapshot(0, "clh+stat", 1e9, (Core.of_record(Counted(0, "clh+stat", 1e9), 0, 0, total, 1000),), total),)) for at, total in ((0.0, record), (1.0, twice))
)
told = {"lockstat": twice.since(record).to_json(), "top": between(earlier, later).to_json()[0], "intervals": COUNTERS}
print(json.dumps(told))
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Copies what the views are made of, with a counter more of each core, and of each class of locks."""
    for folder in COPIED:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    header = tmp_path / headers.KERNEL / "stat.h"
    text = header.read_text()
    for old, new in {
        "	stat_count reserved_line[4];": "	stat_count wakeups; /* +stat: threads that were woken "
        "*/\n	stat_count reserved_line[3];",
        "	stat_max hold_max;": "	stat_max hold_max;\n	stat_count timeouts; /* acquisitions that were given up */",
        "reserved[27]": "reserved[20]",
        "sizeof(struct lock_stat) == 520": "sizeof(struct lock_stat) == 528",
    }.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    header.write_text(text)
    return tmp_path


def run(tree: Path, *command: str | Path) -> str:
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_c(tree: Path, text: str, *sources: str) -> str:
    (tree / "program.c").write_text(SENT + text)
    folders = ("cluster-kernel/include", "lib/include", "apps/metrics", ".")
    run(tree, "gcc", "-std=gnu2x", "-Wall", "-Werror", *(f"-I{tree / folder}" for folder in folders), "program.c",
        *sources, "-o", "program")
    return run(tree, tree / "program")


@pytest.mark.limit(60)
def test_one_definition(tree: Path) -> None:
    """a counter that stat.h gets is in every view, by its name, without another edit"""
    wakeups, timeouts, lock = 12, 9, record.LOCK
    run(tree, sys.executable, "lib/stat/fields.py", "stat_fields.h")
    event, locks = run_c(tree, EVENTS, "lib/freestanding/stat_view.c", "lib/freestanding/format.c").splitlines()
    core, words = json.loads(event), dict(json.loads(locks)["words"])
    metrics = run_c(tree, METRICS, "apps/metrics/exposition.c", "apps/metrics/text.c")
    per_class = [lock + i * (record.LOCK_WORDS + 1) + timeouts for i in range(len(record.CLASSES))]
    assert core["wakeups"] == wakeups and core["lock_timeouts"] == sum(per_class[:3])
    assert words[wakeups] == wakeups and all(words[at] == at for at in per_class)
    assert f'skerry_core_wakeups_total{{cluster="0",cpu="0"}} {wakeups}\n' in metrics
    assert "# HELP skerry_core_wakeups_total Threads that were woken.\n" in metrics
    assert f'skerry_lock_timeouts_total{{cluster="0",cpu="0",class="run-queue"}} {per_class[-1]}\n' in metrics
    views = json.loads(run(ROOT, sys.executable, "-c", PYTHON, tree))
    assert (
        views["lockstat"]["wakeups"] == wakeups and views["lockstat"]["locks"]["run_queue"]["timeouts"] == per_class[-1]
    )
    assert {"wakeups", "lock_timeouts"} <= set(views["intervals"])
    assert views["top"]["counters_per_s"]["wakeups"] == wakeups
    assert views["top"]["locks"]["run_queue"]["timeouts_per_s"] == per_class[-1]


def packed_words(**changed: int) -> list[int]:
    made = [0] * WORDS
    made[LAYOUT_AT] = LAYOUT
    for name, value in changed.items():
        made[headers.layout(headers.KERNEL / "stat.h", "core_stat")[name].at] = value
    return made


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (struct.pack(f"<{WORDS}Q", *packed_words(layout=LAYOUT + (1 << 32))),
         "counters of version 2 (4096 bytes), and this skerry reads version 1"),
        (struct.pack(f"<{WORDS}Q", *packed_words(layout=LAYOUT - 8)), "counters of version 1 (4088 bytes), and"),
        (struct.pack(f"<{WORDS}Q", *packed_words(layout=0, entries=7)), "counters of version 0 (0 bytes), and"),
        (b"\0" * (8 * WORDS - 1), f"a record of {8 * WORDS - 1} bytes, not {8 * WORDS}"),
        (b"", "a record of 0 bytes, not"),
    ],
)
def test_bad_memory(data: bytes, expected: str) -> None:
    """memory that holds no record of this version is refused in a line that names its core"""
    with pytest.raises(Failure) as caught:
        Record.from_bytes(data, "cluster 1 core 2")
    assert str(caught.value).startswith(f"cluster 1 core 2: {expected}") and "\n" not in str(caught.value)


def test_not_started() -> None:
    """the page of a core that has not started is a record of nothing"""
    assert not Record.from_bytes(bytes(8 * WORDS), "").entries


OLD = [[4, 100]]  # before records had a version
GOOD = [[LAYOUT_AT, LAYOUT]]


@pytest.mark.parametrize(("words", "core", "expected"), [
                             (OLD, {}, "cluster 1 at end: counters of version 0"),
                             ([*GOOD, [WORDS, 1]], {}, f"cluster 1 at end: '[{WORDS}, 1]' is no word"),
                             ([*GOOD, [-1, 1]], {}, "is no word of a record"),
                             ([*GOOD, [4, 1 << 64]], {}, "is no word of a record"),
                             ([*GOOD, [4]], {}, "is no word of a record"),
                             ([*GOOD, [4, "x"]], {}, "is no word of a record"), ("words", {}, "is no word of a record"),
                             (GOOD, {}, "cluster 1 at end: a core's counters are not those of a run: 'cpu'"),
                             (GOOD, {"cpu": 0, "core": 0, "tsc": 1, "started": 1},
                              "cluster 1 at end: a core's counters are not those of a run: 'idle'"),
                             (GOOD, {"cpu": 0, "core": 0, "tsc": "x", "started": 1},
                              "cluster 1 at end: a core's counters are not those of a run"),
                         ])
def test_bad_events(tmp_path: Path, words: object, core: object, expected: str) -> None:
    """events whose counters are no record of this version are refused in one line"""
    head = {"when": "end", "cluster": 1, "kernel": "clh+stat"}
    events = [{"event": "stats", "tsc_hz": 1, "cores": [core], **head}, {"event": "locks", "words": words, **head}]
    (tmp_path / "events").write_text("".join(json.dumps(event) + "\n" for event in events))
    stream, _ = source.read_file(tmp_path / "events")
    with pytest.raises(Failure) as caught:
        source.between(stream, None, None)
    assert expected in str(caught.value) and "\n" not in str(caught.value)
