# SPDX-License-Identifier: BSD-2-Clause
"""Peters' Figure 2 and the collapse that Boyd-Wickizer et al. describe, beside the modelled machine."""

from collections.abc import Iterator

from deploy.bench.scale import measure as experiment
from deploy.bench.validate.validation import Measure, Row, against, measure
from deploy.emulator.machine_file import ModelledMachine
from topology.model import papers, published, ticket
from topology.model.papers import Between, Published

LEAST_DELAY = 1.0  # no delay at all: the program waits in turns of 16 instructions
SECTIONS = (160, 800)  # cycles; the slides do not say which they took
IN_STEP = {"program_quantum": "0"}  # programs share a lock here, and are to be as close in time as kernels


def peters_rows(machine: ModelledMachine, rounds: int, scale: Measure = measure) -> Iterator[Row]:
    """Figure 2: a pair on each core that does nothing but IPC."""
    at = {}
    for lock in ("clh", "fine", "rtm"):
        for point in scale(experiment.Request(lock, [1, 3, 4], [LEAST_DELAY], rounds, modelled=machine)):
            at[lock, point.cores] = point.throughput
    yield against("peters", "Figure 2: clh without delay, 4 cores over 3", "times", papers.PETERS_FIGURE_2_CLH,
                 at["clh", 4] / at["clh", 3], 0.1)
    yield against("peters", "Figure 2: fine without delay, 4 cores over one", "times", papers.PETERS_FIGURE_2_FINE,
                 at["fine", 4] / at["fine", 1], 0.1)
    yield against("peters", "Figure 2: rtm over fine without delay, each over its own core, 4 cores", "times",
                 papers.PETERS_FIGURE_2_RTM,
                 at["rtm", 4] / at["rtm", 1] * at["fine", 1] / at["fine", 4], 0.1)


def collapse_rows(machine: ModelledMachine, rounds: int, scale: Measure = measure) -> Iterator[Row]:
    """A ticket lock of programs, in which they are for 2 % of the time, in short sections and in longer ones.

    The slides' figure has no points in the text. Their model is evaluated (docs/models.md): within a socket for the
    reload of a line there, on the whole machine for that one and for one from the other socket.
    """
    half, most = machine.cores_per_socket, machine.cores
    for section, statement in zip(SECTIONS, (papers.SHORT_SECTIONS, papers.LONG_SECTIONS)):
        delay = round(section / papers.IN_SECTION.value) - section
        request = experiment.Request("clh", [1, half, most], [float(delay)], rounds, modelled=machine, section=section,
                                     plugin=IN_STEP)
        at = {point.cores: point.total("rounds") / point.time for point in scale(request)}
        name = f"ticket lock, sections of {section} cycles, 2 % of the time"
        yield against("collapse", f"{name}: {most} cores over {half}", "times", statement, at[most] / at[half])
        socket, quickest = (_model(section, delay, cores, published.LINE_SAME_SOCKET) for cores in (half, most))
        slowest = _model(section, delay, most, published.LINE_OTHER_SOCKET)
        yield against("collapse", f"{name}: speed-up on {half} cores", "times", socket, at[half] / at[1], 0.1)
        yield against("collapse", f"{name}: speed-up on {most} cores", "times",
                     Between(slowest.value, quickest.value, f"{slowest.source}; {quickest.source}"),
                     at[most] / at[1])
    kernel_delay = published.HOLD_ALONE / papers.IN_SECTION.value - published.HOLD_ALONE
    at_most = {
        lock: scale(experiment.Request(lock, [most], [float(round(kernel_delay))], rounds,
                                       modelled=machine))[0].throughput for lock in ("ticket", "clh")
    }
    yield against("collapse", f"kernel, 2 % of one core's time in it, {most} cores: ticket over clh", "times",
                 papers.SCALABLE_LOCKS,
                 at_most["ticket"] / at_most["clh"])


def _model(section: float, delay: float, cores: int, reload: float) -> Published:
    speedup = ticket.steady(section, reload, delay, cores).throughput / ticket.steady(section, reload, delay,
        1).throughput
    return Published(speedup, f"{papers.BOYD_WICKIZER}: their Markov model, reloads of {reload:g} cycles")
