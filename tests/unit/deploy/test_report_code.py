# SPDX-License-Identifier: BSD-2-Clause
"""The report: which results are repeats of each other, and what it leads with."""

from pathlib import Path
from typing import Any

import pytest

from deploy.report import load
from deploy.report.group import groups

from .test_report import HOST, comparison, make, write


def of_code(commit: str, images: dict[str, str]) -> dict[str, Any]:
    one = comparison(2.0, 2.5)
    return one | {"host": HOST | {"environment": {"commit": commit}}, "images": images}


@pytest.mark.parametrize(
    ("commits", "images", "repeats"),
    [
        (("a", "a"), ({"root": "1", "kernel-clh": "2"}, {"root": "1", "kernel-clh": "2"}), [2, 2]),
        (("a", "b"), ({"root": "1"}, {"root": "1"}), [1, 1, 1, 1]),
        (("a", "a+"), ({"root": "1"}, {"root": "1"}), [1, 1, 1, 1]),
        (("a", "a"), ({"root": "1"}, {"root": "3"}), [1, 1, 1, 1]),
        (("a", "a"), ({"kernel-clh": "1"}, {"kernel-clh": "3"}), [1, 1, 1, 1]),
        (("a", "a"), ({"kernel-clh+stat": "1"}, {"kernel-clh+stat": "3"}), [1, 1, 1, 1]),
        (("a", "a"), ({"kernel-mcs": "1"}, {"kernel-mcs": "3"}), [2, 2]),
        (("a+", "a+"), ({}, {}), [1, 1, 1, 1]),
    ],
)
def test_other_code_is_no_repeat(tmp_path: Path, commits: tuple[str, str], images: tuple[dict[str, str], ...],
                                 repeats: list[int]) -> None:
    """results of other commits or images are not repeats, however alike their figures are; a kernel that did not run
    does not matter"""
    files = {f"run{n}": of_code(commit, of) | {"arguments": ["compare", "--json", f"{n}.json"]}
             for n, (commit, of) in enumerate(zip(commits, images))}
    sources = load.read_all(write(tmp_path, **files))
    assert [group.repeats for group in groups(sources)] == repeats


def test_incomplete(tmp_path: Path) -> None:
    """a page of results of which a part failed says which"""
    one = comparison(2.0, 2.5) | {"incomplete": [{"part": "kernel mcs", "why": "it hung"}]}
    assert "x.json is incomplete, without kernel mcs (it hung)." in make(write(tmp_path, x=one))


def test_repeats_of_a_computation(tmp_path: Path) -> None:
    """runs that are the same in every digit have no interval: that is precision, which says nothing of accuracy"""
    files = {f"run{n}": comparison(2.0, 2.5) | {"arguments": ["compare", "--json", f"{n}.json"]} for n in range(2)}
    text = make(write(tmp_path, **files))
    assert "±" not in text and "2 runs, the same in every digit" in text


def test_no_time_of_the_host_on_a_modelled_machine(tmp_path: Path) -> None:
    """the time from power-on to +PONG is the host's: no headline, and nothing in a comparison on a modelled machine"""
    one = comparison(2.0, 2.5)
    for entry in one["results"]:
        entry["metrics"]["boot_to_pong_s"] = 3.0
    text = make(write(tmp_path, emulated=one))
    assert "power-on to first +PONG, s" in text and "the time from power-on" not in text
    for entry in one["results"]:
        entry |= {"kind": "modelled", "modelled": {"machine": "X"}}
    assert "+PONG" not in make(write(tmp_path, modelled=one))


def test_counted(tmp_path: Path) -> None:
    """where instructions were counted, they are the answer and the headline, not operations per second"""
    one = comparison(2.0, 2.5)
    for entry, count in zip(one["results"], (20_000.0, 25_000.0)):
        entry |= {"kind": "counted"}
        entry["metrics"]["instructions_per_op"] = count
    text = make(write(tmp_path, counted=one))
    assert "takes 0.800 times the instructions an operation that it takes with one kernel" in text
    assert "0.80 ×</strong> the instructions for an operation" in text and "the operations per second of" not in text
