# SPDX-License-Identifier: BSD-2-Clause
"""`skerry granularity`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from deploy.base.choices import argument, option
from deploy.base.errors import Failure
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.cli.options import LocalRun
from deploy.live import ledger
from deploy.live.granularity import Granularity, check, order
from deploy.live.target import local_machine
from deploy.machine.events import Event

PATIENCE = 20.0  # seconds: ticks of a manager are 50 ms of the machine's time


def granularity(
    chosen: Annotated[Granularity, argument("GRANULARITY", "coarse: one lock; fine: one for each object.")],
    what: LocalRun = None,
    cluster: Annotated[int | None, option("--cluster N", "Cluster to change (default: each with a dynamic kernel).",
                                          0)] = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Change the locks of kernels while they run.

    Kernels of the regime `dynamic` start coarse, with one lock. Fine, they have a lock for each object. The command
    waits until no core is left in an entry that began before the change.
    QEMU's debugger stops the machine for some milliseconds for each cluster.
    """
    output = Output(quiet, json)
    with local_machine(what, "granularity") as target:
        boots = check(target.events(), cluster)
        number = ledger.GRANULARITY.unused(target.events(), target.read)
        results, asked = [], len(target.events())
        for boot in boots:
            order(target.write(int(boot["cluster"])), boot, chosen.value, number)

        def answered(one: int) -> Event | None:
            return ledger.GRANULARITY.answered(target.events()[asked:], number, cluster=one)

        for one in (int(boot["cluster"]) for boot in boots):
            answer = target.wait(partial(answered, one), PATIENCE)
            if not answer:
                raise Failure(f"cluster {one} has not become {chosen.value} within {PATIENCE:g} s")
            if answer["error"]:
                raise Failure(f"cluster {one}: its kernel refuses to become {chosen.value}: error {answer['error']}")
            output.line(f"Cluster {one} is {chosen.value}.")
            results.append({"cluster": one, "granularity": chosen.value})
        output.results({"skerry": version(), "command": "granularity", "results": results})
