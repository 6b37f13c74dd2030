# SPDX-License-Identifier: BSD-2-Clause
"""`skerry top`."""

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Annotated, Any

from deploy.base import process
from deploy.base.choices import option
from deploy.base.errors import Failure
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.cli.options import LocalRun, takes
from deploy.domains.options import RunsUnder
from deploy.live.top import source, terminal
from deploy.live.top.sample import Sample
from deploy.live.top.view import plain
from deploy.live.top.watch import Watch, samples
from topology.errors import InputError

SHORTEST, LONGEST = 0.1, 3600.0  # seconds


@dataclass(frozen=True)
class TopOptions:
    what: LocalRun = None
    connect: RunsUnder = None
    once: Annotated[bool, option("--once", "One sample as plain tables.")] = False
    interval: Annotated[float, option("--interval -i S", "Seconds between samples.")] = 1.0
    count: Annotated[int | None, option("--count -n N", "End after this many samples.")] = None
    quiet: Quiet = False
    json: Json = None


@takes(TopOptions)
def top(args: TopOptions) -> None:
    """Watch a running deployment: clusters, cores, kernel entries, lock conflicts, idle time, Redis operations.

    On a terminal until q, h shows the keys. Elsewhere one sample, or --count. Counters are read from the machine's
    memory:
    watching costs it nothing but an INFO of each Redis. Other rates than utilisation and Redis's need `statistics =
    true`.
    """
    if not SHORTEST <= args.interval <= LONGEST:
        raise InputError(f"--interval {args.interval:g}", f"not between {SHORTEST:g} and {LONGEST:g} seconds")
    if args.count is not None and args.count < 1:
        raise InputError(f"--count {args.count}", "not a number from 1 on")
    if args.once and args.count not in (None, 1):
        raise InputError(f"--count {args.count}", "is not --once")
    process.heed_signals()
    output = Output(args.quiet, args.json)
    with ExitStack() as stack:
        machine: source.Source = (stack.enter_context(source.of_libvirt(args.connect, args.what)) if args.connect
                                  else stack.enter_context(source.local(args.what)))
        on_screen = terminal.is_one() and not args.once and args.json != "-"
        if on_screen:
            ended, taken = _watch(machine, args.interval, args.count, args.json is not None)
        else:
            ended, taken = _print(machine, args.interval, args.count or 1, output)
        output.results(_results(machine, taken))
    if ended and not (ended.well and (taken or on_screen)):
        raise Failure(str(ended))
    if ended:
        output.line(f"Ended: {ended}.")


Taken = tuple[source.Ended | None, list[Sample]]


def _watch(machine: source.Source, interval: float, count: int | None, keep: bool) -> Taken:
    taken: list[Sample] = []
    try:
        with terminal.opened() as display:
            watch = Watch(machine, display, interval, count)
            taken = watch.taken
            watch.run(keep=keep)
    except source.Ended as end:
        return end, taken
    except KeyboardInterrupt:
        pass
    return None, taken


def _print(machine: source.Source, interval: float, count: int, output: Output) -> Taken:
    taken: list[Sample] = []
    try:
        for sample in samples(machine, interval, count):
            if taken:
                output.line("")
            taken.append(sample)
            for line in plain(machine.name, machine.emulated, sample):
                output.line(line)
    except source.Ended as end:
        return end, taken
    except KeyboardInterrupt:
        pass
    return None, taken


def _results(machine: source.Source, taken: list[Sample]) -> dict[str, Any]:
    results = [
        {"sample": i, "emulated": machine.emulated, "system": "skerry", **result}
        for i, sample in enumerate(taken) for result in sample.to_json()
    ]  # fmt: skip
    trouble = list(taken[-1].trouble) if taken else []
    changed = list(taken[-1].changes) if taken else []
    return {"skerry": version(), "command": "top", "deployment": machine.name, "trouble": trouble, "changes": changed,
            "results": results}
