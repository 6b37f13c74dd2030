# SPDX-License-Identifier: BSD-2-Clause
"""The picture of a comparison: readable with 28 cores, in print, and in grey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deploy.compare import plot
from deploy.results.result import DISTORTED, Result
from topology import demand

demand.module("matplotlib", "plots")
from matplotlib import colors  # noqa: E402

CORES = 28
MODELLED = {"machine": "2 x 14 Xeon E5-2683 v3"}


def result(layout: str, ops: float, modelled: bool = True, turns: bool = False) -> Result:
    cores = [{"core": core, "ops_per_s": 0.0 if core % 14 == 0 else ops / 26 * (1 + core / 1000)} for core in range(CORES)]
    metrics = {"ops_per_s": ops, "p99_us": 40.0, "lock_conflict_ratio": 0.5, "kernel_entries_per_op": 2.06, "instructions_per_op": 22_440.0}
    return Result(layout, "clh", "c", 2, CORES, True, metrics, cores, turns=turns, modelled=MODELLED if modelled else None)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures, in place of files."""
    found: list[Any] = []
    monkeypatch.setattr(plot, "save", lambda figure, output: found.append(figure))
    return found


def words(figure: Any) -> list[Any]:
    """All that is written, with where it is."""
    figure.canvas.draw()
    texts = [text for axes in figure.axes for text in (*axes.texts, axes.title, *axes.get_xticklabels(), *axes.get_yticklabels())]
    return [text for text in texts if text.get_text()]


@pytest.mark.parametrize("layouts", [("per-socket", "spanning"), ("per-socket", "homed", "spanning")])
def test_nothing_overlaps(layouts: tuple[str, ...], drawn: list[Any]) -> None:
    """no two texts of a picture of 28 cores overlap, and none has an exponent"""
    results = [result(layout, 1_273_292.0 - 100_000 * n) for n, layout in enumerate(layouts)]
    plot.plot(results, "a mode", Path("x.svg"), [{"ops_per_s": (1.16, 1.64)}] * (len(layouts) - 1))
    texts = words(drawn[0])
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    over = [(a, b) for n, (a, one) in enumerate(boxes) for b, other in boxes[n + 1 :] if one.overlaps(other)]
    assert not over, over
    assert not [text for text, _ in boxes if "e+" in text or "core 12" in text]


def test_range(drawn: list[Any]) -> None:
    """the ratio has a whisker as long as its range, and the range in words; without one there is neither"""
    both = [result("per-socket", 1_273_292.0), result("spanning", 977_591.0)]
    plot.plot(both, "a mode", Path("x.svg"), [{"ops_per_s": (1.16, 1.64)}])
    plot.plot(both, "a mode", Path("x.svg"))
    (ranged, plain) = (figure.axes[0] for figure in drawn)
    ends = [segment[:, 0] for lines in ranged.collections for segment in lines.get_segments()]
    assert [pytest.approx([1.16, 1.64])] == [list(end) for end in ends]
    assert "1.30 (1.16 to 1.64)" in [text.get_text() for text in ranged.texts] and "1.30" in [text.get_text() for text in plain.texts]


def test_grey() -> None:
    """the colours of the two layouts are far apart without colour, and a hatch tells others apart"""
    def grey(colour: str) -> float:
        return sum(share * part for share, part in zip((0.299, 0.587, 0.114), colors.to_rgb(colour)))

    assert abs(grey(plot.COLOURS[0]) - grey(plot.COLOURS[1])) > 0.4
    assert len(set(plot.HATCHES)) == len(plot.HATCHES) >= len(plot.COLOURS)


def test_what_it_is_of(drawn: list[Any]) -> None:
    """a picture of modelled figures says so, and not that they are emulated; what turns distort is on none"""
    plot.plot([result("per-socket", 2e6), result("spanning", 1e6)], "a mode", Path("x.svg"))
    plot.plot([result("per-socket", 2e4, False, True), result("spanning", 1e4, False, True)], "a mode", Path("x.svg"))
    modelled, counted = (figure._suptitle.get_text() for figure in drawn)
    assert modelled.endswith("(modelled: 2 x 14 Xeon E5-2683 v3)") and counted.endswith("(emulated)")
    titles = [axes.get_title() for axes in drawn[1].axes]
    assert "instructions" in titles and not {"p99 latency", "lock found taken"} & {*titles} and "p99_us" in DISTORTED


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_formats(suffix: str, tmp_path: Path) -> None:
    """the file's name tells the format"""
    path = tmp_path / f"x{suffix}"
    plot.plot([result("per-socket", 2e6), result("spanning", 1e6)], "a mode", path)
    assert path.read_bytes().startswith({".svg": b"<?xml", ".pdf": b"%PDF", ".png": b"\x89PNG"}[suffix])
