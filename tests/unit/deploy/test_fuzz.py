# SPDX-License-Identifier: BSD-2-Clause
"""The fuzzer's command, without the fuzzer."""

from __future__ import annotations

import subprocess

from deploy.fuzz.minimise import kind_of, shrink, split
from deploy.fuzz.run import Limits, read_state, reason_of
from deploy.fuzz.target import KERNEL, Target
from deploy.paths import BUILD
from topology import regimes

FIRST = """\
#446\tINITED cov: 707 ft: 2398 corp: 441/125Kb exec/s: 223 rss: 190Mb
#6381\tREDUCE cov: 745 ft: 2726 corp: 768/302Kb lim: 2401 exec/s: 147 rss: 237Mb L: 85/2401 MS: 1 CustomCrossOver-
"""
SECOND = "#100\tNEW    cov: 750 ft: 2700 corp: 7/3Kb lim: 2401 exec/s: 3 rss: 237Mb L: 85/2401 MS: 1 Custom-\n"


def test_state() -> None:
    """what several fuzzers print is one state"""
    state = read_state([FIRST, SECOND, ""])
    assert (state.runs, state.per_second, state.coverage, state.features, state.corpus) == (6481, 150, 750, 2726, 768)
    assert read_state([FIRST + "stat::number_of_executed_units: 7000\n"]).runs == 7000


def test_reason() -> None:
    """the telling line is what a fuzzer is said to have found, numbers aside"""
    text = "==1== ERROR: libFuzzer: deadly signal\ncheck.c:103: kernel_check: two objects overlap (0x1000, 0xff)\n"
    assert reason_of(text) == "kernel_check: two objects overlap (0x1000, 0xff)"
    assert kind_of(reason_of(text)) == kind_of("kernel_check: two objects overlap (0x2000, 0x3)")
    assert kind_of(reason_of(text)) != kind_of("kernel_check: an object is not aligned (0x2000, 0x3)")
    assert reason_of("==1== ERROR: AddressSanitizer: heap-use-after-free on x").startswith("ERROR: AddressSanitizer")


def test_shrink() -> None:
    """an input that fails is cut down to the records that it needs"""
    header, records = split(bytes([2]) + b"".join(bytes([i]) * 12 for i in range(100)), 1, 12)
    needed = [records[3], records[50], records[97]]
    assert header == bytes([2])
    assert shrink(records, lambda some: all(record in some for record in needed)) == needed
    assert shrink(records[:1], lambda some: True) == records[:1]


def test_limits() -> None:
    """runs are shared between the jobs, time is not"""
    assert Limits(60, 1000).options(4) == ["-runs=250"]
    assert Limits(60, None).options(4) == ["-max_total_time=60"]


def test_replays() -> None:
    """the build has a program that replays what a fuzzer finds, for each regime"""
    done = subprocess.run(["ninja", "-C", str(BUILD), "-t", "targets", "all"], capture_output=True, text=True, check=True)
    targets = {line.split(":")[0] for line in done.stdout.splitlines()}
    found = {name for name in regimes.names() if Target(KERNEL, name).replay.relative_to(BUILD).as_posix() in targets}
    assert found == set(regimes.names())
