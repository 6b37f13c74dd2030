# SPDX-License-Identifier: BSD-2-Clause
"""Mistakes planted in the model of caches, directory, clocks and parking: each turns a test of hand-counted cycles
red."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.base.paths import ROOT

PLUGIN = ROOT / "emulator" / "modelled"
SOURCES = {"memory": ("memory.c", "cache.c", "prices.c"),
           "directory": ("memory.c", "cache.c", "prices.c"), "event-queue": ("event_queue.c",),
           "repeats": ("memory.c", "cache.c", "prices.c"), "snapshot": ("snapshot.c",), "spin": ("spin.c",),
           "prices": ("prices.c",), "locks": ("locks.c", "table.c")}
SECONDS = 120  # a mistake may make a test wait for ever


@dataclass(frozen=True)
class Mistake:
    name: str
    file: str
    old: str  # occurs once
    new: str
    test: str = "memory"


MISTAKES = (
    Mistake("a transfer is free", "memory.c", "by_distance(&m->price.transfer_cluster, far);", "0;"),
    Mistake("an upgrade is free", "memory.c", "latency = by_distance(&m->price.upgrade_cluster, far);", "latency = 0;"),
    Mistake("an upgrade is missed: sharers keep the line", "memory.c",
            "	lose_all(memory, line, number, 0, (unsigned)m->cores, core, start + latency / 2);\n", ""),
    Mistake("an upgrade costs what the nearest sharer does", "geometry.h",
            "return beyond ? SAME_SOCKET : SAME_CLUSTER;", "return SAME_CLUSTER;"),
    Mistake("an owner keeps its line", "memory.c", "		line_lose(memory, owner, number, start + latency / 2);\n", ""),
    Mistake("an owner may go on writing", "memory.c", "		cache_downgrade(&memory->core[owner].l1, number);\n", ""),
    Mistake("requests for a line do not queue", "memory.c", "start = line->busy > now ? line->busy : now, latency;",
            "start = now, latency;"),
    Mistake("an owner's line is not busy while it moves", "memory.c",
            "	line->busy = start + latency;\n	return latency;\n}\n\n/*\n * How much",
            "	return latency;\n}\n\n/*\n * How much"),
    Mistake("readers do not keep a line busy", "memory.c",
            "line->busy = start + (store ? latency : m->price.reader_gap);", "line->busy = start;"),
    Mistake("a clean line comes from the farthest L3", "geometry.h", "return in_socket ? SAME_SOCKET : OTHER_SOCKET;",
            "return OTHER_SOCKET;"),
    Mistake("far memory at the price of near", "memory.c", "return near ? m->price.dram_near : m->price.dram_far;",
            "return m->price.dram_near;"),
    Mistake("a buffer of stores without an end", "memory.c", "core->store_count == memory->machine->store_buffer",
            "false"),
    Mistake("stores overtake each other", "memory.c",
            "	if (core->stores_done < arrival)\n		core->stores_done = arrival;\n", "	core->stores_done = arrival;\n"),
    Mistake("locked instructions do not wait for stores", "memory.c", "return memory_drain(memory, core, arrival);",
            "return arrival;"),
    Mistake("what leaves an inclusive L3 stays in its cores", "memory.c",
            "	lose_all(memory, left, entry_line(victim), first, first + each, MOST_CORES, now);\n", ""),
    Mistake("a page that only the second TLB has is free", "memory.c", "return memory->machine->price.tlb_second;",
            "return 0;"),
    Mistake("a set of a TLB keeps one page", "memory.c",
            "		set[way] = set[way - 1];\n	set[0] = page;\n", "		;\n	set[0] = page;\n"),
    Mistake("code is owned", "memory.c", "alone = access != FETCH;", "alone = true;"),
    Mistake("a store to a line that others read repeats", "memory.h", "!entry_writable(first) || ", "", "repeats"),
    Mistake("a clock runs backwards", "event_queue.c", "	core->base = now;\n", "", "event-queue"),
    Mistake("a core that is woken goes on where it halted", "event_queue.c", "		core->base += when - own;\n", "",
            "event-queue"),
    Mistake("of two at one moment the greater number goes first", "event_queue.c",
            "(core < (place & (MOST_CORES - 1)))", "1", "event-queue"),
    Mistake("a core that waits goes on between two turns of its loop", "event_queue.c",
            "(when - looks + c->period - 1) / c->period * c->period", "when - looks", "event-queue"),
    Mistake("cores run past a timer", "event_queue.c", "	if (*limit > events)\n		*limit = events;\n", "",
            "event-queue"),
    Mistake("a loop that counts in a register is parked", "spin.c", "same &= now == spin->general[i];", "", "spin"),
    Mistake("a loop that counts in a vector register is parked", "spin.c",
            "spin->wide_known && !memcmp(now, spin->wide, sizeof(now));", "true;", "spin"),
    Mistake("registers are compared with those of an older turn", "spin.c", "		spin->wide_known = false;\n",
            "		;\n", "spin"),
    Mistake("a loop that counts in memory is parked", "spin.c", "&& !(did & ~SPIN_TAKEN);",
            "&& !(did & ~(SPIN_TAKEN | SPIN_STORED));", "spin"),
    Mistake("a loop that goes on by the time is parked", "spin.c", "&& !(did & ~SPIN_TAKEN);",
            "&& !(did & ~(SPIN_TAKEN | SPIN_LOOKED));", "spin"),
    Mistake("a loop with two PAUSEs is taken for two turns", "spin.c", "place == spin->place && ", "", "spin"),
    Mistake("turns that were not equal are not counted", "spin.c",
            "	if (!same && !(did & (SPIN_DISTURBED | SPIN_TAKEN)))\n		spin->wrong += skipped;\n", "", "spin"),
    Mistake("what another core did counts as a mistake", "spin.c", "(SPIN_DISTURBED | SPIN_TAKEN)", "SPIN_DISTURBED",
            "spin"),
    Mistake("a copy counts in the machine's counters", "snapshot.c",
            "			renew_counter(number);\n", "			;\n", "snapshot"),
    Mistake("a copy writes the machine's files", "snapshot.c",
            "			copy_file(number, target, is.st_size, folder);\n", "			;\n", "snapshot"),
    Mistake("a copy's threads have one storage", "snapshot.c",
            "= thread->storage;", "= stopped[0].storage;", "snapshot"),
    Mistake("cycles are planted in holds that did not begin", "locks.c", "	return core->taken != taken;\n",
            "	return core->acquisitions > 0;\n", "locks"),
    Mistake("no hold begins, for planted cycles", "locks.c", "	cores[core].taken++;\n", "", "locks"),
    Mistake("planted cycles are sixteenths", "prices.c", "price.name), scale, true }", "price.name), 1, true }",
            "prices"),
    Mistake("what is planted is charged, not taken away", "prices.h", "return price - (price *",
            "return price + (price *", "prices"),
    Mistake("a machine without a price", "prices.c", "!seen[i] && !names[i].optional", "false", "prices"),
    Mistake("sharers beyond the first word keep the line", "memory.c",
            "(i = set_next(line->sharers, i, until)) < until;",
            "(i = set_next(line->sharers, i, until)) < until && i < SET_BITS;", "directory"),
    Mistake("a range of cores has one more", "sets.h", "(1ull << (until - first)) - 1", "(2ull << (until - first)) - 1",
            "directory"),
    Mistake("a range of cores begins with its word", "sets.h", "from > first ? ~0ull << (from - first) : ~0ull",
            "~0ull", "directory"),
    Mistake("clusters lie over the last word of cores", "directory.h", "return line->sharers + memory->core_words;",
            "return line->sharers + memory->core_words - 1;", "directory"),
    Mistake("a core stops where the last core on its path does", "event_queue.c",
            "lesser(least.second, tree[at ^ 1])", "tree[at ^ 1]", "event-queue"),
    Mistake("a core that halts keeps its place", "event_queue.c", "		tree[at] = least;\n",
            "		tree[at] = lesser(tree[at], least);\n", "event-queue"),
    Mistake("a copy's threads begin anew", "snapshot.c", "SYS_rt_sigreturn", "SYS_exit", "snapshot"),
)


def turns_red(folder: Path, test: str, changed: dict[str, str]) -> bool:
    """Whether the test fails when the files are as in `changed`. The others are the sources'."""
    for path in [*PLUGIN.glob("*.[ch]"), PLUGIN / "prices.def"]:
        (folder / path.name).write_text(changed.get(path.name, path.read_text()))
    include = [f"-I{folder}", f"-I{ROOT / 'lib' / 'include'}"]
    command = ["gcc", "-std=gnu11", "-O1", "-w", *include, "-o", "test", f"test-{test}.c", *SOURCES[test], "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    try:
        return subprocess.run([folder / "test"], stderr=subprocess.PIPE, timeout=SECONDS, check=False).returncode != 0
    except subprocess.TimeoutExpired:
        return True


@pytest.mark.parametrize("test", sorted(SOURCES))
def test_as_it_is(test: str, tmp_path: Path) -> None:
    """modelled machine: without a mistake the tests of caches, directory and clocks pass"""
    assert not turns_red(tmp_path, test, {})


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_mistake(mistake: Mistake, tmp_path: Path) -> None:
    """modelled machine: a mistake that is planted in caches, directory or clocks is found"""
    text = (PLUGIN / mistake.file).read_text()
    assert text.count(mistake.old) == 1, f"{mistake.file} has this {text.count(mistake.old)} times"
    assert turns_red(tmp_path, mistake.test, {mistake.file: text.replace(mistake.old, mistake.new)})
