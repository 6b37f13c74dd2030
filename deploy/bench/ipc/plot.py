# SPDX-License-Identifier: BSD-2-Clause
"""Figure 3: one-way IPC under each lock."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from deploy.bench.ipc import reference
from deploy.bench.ipc.measure import ONE_WAY, Measured
from deploy.results.figure import publish, subplots

_PARTS = (("call", "Call", "#1b6ca8"), ("reply_recv", "ReplyRecv", "#d97925"), (ONE_WAY, "mean", "#5a9e4b"))


def plot_ipc(measured: Sequence[Measured], mode: str, output: Path) -> None:
    first = measured[0]
    figure, axes = subplots(figsize=(3.0 + 1.6 * len(measured), 4.4))
    width = 0.26
    for number, (name, label, colour) in enumerate(_PARTS):
        places = [x + (number - 1) * width for x in range(len(measured))]
        heights = [one.spread[name].median for one in measured]
        bars = axes.bar(places, heights, width, label=label, color=colour)
        base = first.spread[name].median
        axes.bar_label(bars, [f"{h:,g}\n×{h / base:.2f}" if base > 0 else f"{h:,g}" for h in heights], size=7)
    names = []
    for one in measured:
        paper = reference.FIGURE_RATIOS.get(one.lock)
        names.append(f"{one.lock}\n(paper: ×{paper:.2f})" if paper else one.title)
    axes.set_xticks(range(len(measured)), names)
    axes.set_ylabel(f"kernel {first.unit}, one way")
    axes.margins(y=0.15)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    note = "Elphinstone et al., Figure 3 (there in cycles of a real machine)"
    # counted ones are exact
    emulated = "emulated: compare ratios only\n" if first.emulated and first.unit != "instructions" else ""
    wrapped = textwrap.fill(mode, width=int(22 * figure.get_figwidth()))
    publish(figure, output, "One-way IPC without words, one core", f"{note}\n{emulated}{wrapped}", 0.12, 0.97)
