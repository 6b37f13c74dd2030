# SPDX-License-Identifier: BSD-2-Clause
"""`skerry model`: fit, predict, simulate."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from deploy.base.choices import argument, option
from deploy.base.terminal import Json, Output, Plot, Quiet, check_plot
from deploy.cli.commands.measure.model.simulate import simulate
from deploy.cli.model_options import Lock, Transfer
from deploy.cli.options import takes
from deploy.report import model_present, model_results
from deploy.report.model_present import plot_fits, plot_predictions
from topology.errors import InputError
from topology.model import fit as fitting, measured, published, ranges
from topology.model.regimes import ClosedForm

model = typer.Typer(
    help="The queueing models of one lock around one kernel (docs/models.md): fit, predict, simulate.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class PredictOptions:
    service: Annotated[float, option("--service CYCLES", "Mean time from hand-over to hand-over.")] = published.SERVICE
    delay: Annotated[str, option("--delay LIST", "Cycles between entries: 4000; 1,2; "
                                 "500..32000 doubles.")] = published.DELAYS
    cores: Annotated[str, option("--cores LIST", "Cores of one kernel: 8; 1,2,4; 1..28 is each.")] = published.CORES
    lock: Lock = "clh"
    transfer: Transfer = published.LINE_SAME_SOCKET
    bounds: Annotated[str | None, option("--bounds LOW,HIGH|none", "Service times of two sockets, to draw between "
                                         "(323,613 where the service time lies within).")] = None
    plot: Plot = None
    quiet: Quiet = False
    json: Json = None


@model.command("predict")
@takes(PredictOptions)
def predict(args: PredictOptions) -> None:
    """Throughput of n cores at one lock, by the closed forms. Without options: the curves of Elphinstone's Figure 4.

    A ticket lock's line "most at" says where it collapses; "knee" is where waiting begins to dominate.
    """
    plot = args.plot
    output = Output(args.quiet, args.json)
    check_plot(plot)
    form = ClosedForm(args.lock, ranges.positive(args.service, "--service"),
                      ranges.at_least_0(args.transfer, "--transfer"))
    sizes, pauses = ranges.cores(args.cores), ranges.delays(args.delay)
    between = _bounds(args.bounds, args.service)
    output.table(model_present.predictions(form, pauses, sizes, between))
    if plot:
        plot_predictions(form, pauses, sizes, between, plot)
        output.step(f"Plot: {plot}")
    entries = [model_results.prediction(form, d, form.steady(d, n), between) for d in pauses for n in sizes]
    output.results(model_results.document("model predict", entries))


def _bounds(text: str | None, service: float) -> tuple[float, float] | None:
    if text is not None:
        return ranges.bounds(text)
    low, high = published.BOUNDS
    return published.BOUNDS if low <= service <= high else None


@model.command("fit")
def fit(
    results: Annotated[Path, argument("RESULTS.json", "A results file of any command.")],
    metric: Annotated[str | None, option("--metric NAME", f"The throughput to fit ({measured.METRIC}).")] = None,
    ghz: Annotated[float | None, option("--ghz GHZ", "Clock, for a throughput per second.")] = None,
    max_cores: Annotated[int | None, option("--max-cores N", "Only points of at most this many cores: one socket's.",
                                            1)] = None,
    plot: Plot = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Find service and delay from measured throughput over cores, by least squares.

    Each lock and each delay of the benchmark is fitted separately: at least three different core counts
    (ticket: four). Its model holds while service does not change: leave a second socket out with --max-cores.
    """
    output = Output(quiet, json)
    check_plot(plot)
    if ghz is not None:
        ranges.positive(ghz, "--ghz")
    curves = measured.read(results, metric, ghz, max_cores)
    fitted = [fitting.fit(curve) for curve in curves if fitting.can_fit(curve)]
    skipped = [fitting.why_not(curve) for curve in curves if not fitting.can_fit(curve)]
    if not fitted:
        raise InputError(str(results), skipped[0] if skipped else f"no result has {max_cores} cores or fewer")
    output.table(model_present.fits(fitted))
    for why in skipped:
        output.line(f"Not fitted: {why}.")
    for item in fitted:
        for name, parameter in model_results.parameters(item).items():
            if parameter.is_loose:
                output.line(f"{item.curve.name}: these core counts do not determine the {name} time.")
    if plot:
        plot_fits(fitted, plot)
        output.step(f"Plot: {plot}")
    output.results(model_results.document("model fit", [model_results.fitted(item) for item in fitted]))


model.command("simulate")(simulate)
