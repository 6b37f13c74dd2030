# SPDX-License-Identifier: BSD-2-Clause
"""Measured throughput over cores, and the queueing model that is fitted to it."""

from collections.abc import Sequence

from deploy.report import figures
from deploy.report.group import Value
from deploy.report.load import Source
from deploy.report.sections import Cell, Figure, Section, Table
from topology.errors import InputError
from topology.model import fit as fitting, measured
from topology.model.fit import Fit, Parameter
from topology.model.measured import Curve

MOST_CURVES = 6


def is_measured(source: Source) -> bool:
    return any(not e.model and e.metrics.get(measured.METRIC) is not None for e in source.document.results)


def check(sources: Sequence[Source]) -> None:
    """Refuses throughput that no machine has."""
    try:
        _curves([source for source in sources if is_measured(source)])
    except InputError as error:
        raise InputError(error.culprit, f"{error.problem}: its throughput cannot be fitted") from None


def _curves(sources: Sequence[Source]) -> list[Curve]:
    """Returns the curves, with all points of repeats in one."""
    curves: dict[tuple[object, ...], Curve] = {}
    for source in sources:
        for curve in measured.read(source.path):
            key = (curve.lock, curve.nominal_delay, curve.kind)
            if key in curves:
                curves[key].points += curve.points
            else:
                curves[key] = curve
    return list(curves.values())


def section(sources: Sequence[Source]) -> Section:
    """A figure for each host and way of measuring."""
    made = Section("model", "Model against measurement")
    kinds: dict[tuple[object, ...], list[Source]] = {}
    for source in filter(is_measured, sources):
        kinds.setdefault(source.setting, []).append(source)
    for number, of in enumerate(kinds.values()):
        curves = _curves(of)
        if skipped := [fitting.why_not(curve).replace("`", "") for curve in curves if not fitting.can_fit(curve)]:
            made.words.append(f"Not fitted: {'; '.join(skipped)}.")
        fits = [fitting.fit(curve) for curve in curves if fitting.can_fit(curve)]
        made.figures += [_figure(f"{number}-{place}", some, of) for place, some in enumerate(_readable(fits))]
    if made.figures:
        made.words.append(
            "Service and delay are the machine-repairman model's (for ticket locks Boyd-Wickizer's), fitted by least "
            "squares to the points; beyond the dotted line the model speaks alone."
        )
    return made


def _readable(fits: Sequence[Fit]) -> list[Sequence[Fit]]:
    """Figures of few curves: all in one, else one for each lock, else some delays at a time."""
    if len(fits) <= MOST_CURVES:
        return [fits] if fits else []
    by_lock = [[fit for fit in fits if fit.curve.lock == lock]
               for lock in dict.fromkeys(fit.curve.lock for fit in fits)]
    return [some[i : i + MOST_CURVES] for some in by_lock for i in range(0, len(some), MOST_CURVES)]


def _figure(number: str, fits: Sequence[Fit], of: Sequence[Source]) -> Figure:
    locks = ", ".join(dict.fromkeys(fit.curve.lock for fit in fits))
    emulated = "".join(f", {kind}" for kind in dict.fromkeys(fit.curve.kind for fit in fits) if kind)
    title = f"Throughput over cores: {locks} ({of[0].document.command}{emulated})"
    rows = [(fit.curve.name, [_cell(fit.service), _cell(fit.delay), _number(fit.r_squared), _number(fit.worst)])
            for fit in fits]
    table = Table("What was fitted", ["service, cycles", "delay, cycles", "R²", "largest deviation"], rows)
    runs = f"{len(of)} files" if len(of) > 1 else "one file"
    caption = f"Points from {runs}; whiskers are one standard deviation where there are repeats."
    commands = list(dict.fromkeys(source.command for source in of))
    return Figure(title, figures.fits(f"model-{number}", title, fits), caption, commands, table)


def _cell(parameter: Parameter) -> Cell:
    return Cell(Value((parameter.value,)), ",.1f")


def _number(value: float) -> Cell | None:
    return Cell(Value((value,)), ".4f") if value == value else None
