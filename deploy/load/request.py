# SPDX-License-Identifier: BSD-2-Clause
"""A comparison as options ask for it, checked: everything that can be wrong is found before anything is built or
booted."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from deploy.deployment import WORKLOADS, Deployment
from deploy.deployment.switches import with_switch
from deploy.load import comparison
from deploy.load.case import RedisCase, case
from deploy.load.comparison import Comparison
from topology.errors import InputError
from topology.grouping import NAMED, check_named
from topology.limits import MAX_PORTS
from topology.machines.machine import Machine, Shape
from topology.units import parse_size

CLIENTS = 2  # clients of each Redis, where they fit


def split(option: str, text: str, allowed: Collection[str] | None) -> list[str]:
    """Returns the words of a list, each once; `allowed`: what they must be of, None: names of layouts."""
    return list(dict.fromkeys(_words(option, text, allowed)))


def _words(option: str, text: str, allowed: Collection[str] | None) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not part or (allowed and part not in allowed):
            raise InputError(option, f"'{part}' is not one of {', '.join(allowed) if allowed else NAMED}")
    return parts


def layouts_of(text: str, control: bool) -> list[str]:
    """Returns each layout once; `control`: two that are the same stay two."""
    parts = _words("--layout", text, None)
    for name in parts:
        check_named(name)
    return parts if control and len(parts) == 2 else list(dict.fromkeys(parts))


def prepared(
    shape: Shape | Machine, layout: str, workload: str, *, memory: str | None = None, switch: str | None = None,
    clients: int | None = None, **more: Any,
) -> list[RedisCase]:
    """The cases that these options ask for. `shape`: the machine, but for its memory. `clients`: None is as many as
    fit, CLIENTS at most."""
    size = parse_size(memory, "--memory") if memory else None
    most, layouts = clients or CLIENTS, layouts_of(layout, control=more.get("modelled") is not None)
    job = comparison.with_common_switch(Comparison(
        shape=comparison.with_room(shape, size, more["records"], most),
        layouts=layouts,
        workloads=split("--workload", workload.lower(), WORKLOADS),
        switch=with_switch(Deployment(), switch).switch,
        clients=most,
        **more,
    ))  # fmt: skip
    if clients is None:
        job = replace(job, clients=max(1, min(CLIENTS, fitting_clients(job))))
    return checked(job)


def fitting_clients(job: Comparison) -> int:
    """Returns the clients of each Redis that the network's ports allow at most; 0: not even one."""
    return max(0, (MAX_PORTS - _other_ports(job)) // comparison.servers(job) - 1)


def _other_ports(job: Comparison) -> int:
    """Lower switches, and the network card."""
    return comparison.lower_switches(job) + 1


def checked(job: Comparison) -> list[RedisCase]:
    """The cases of a job that fits its machine; InputError otherwise."""
    servers, others = comparison.servers(job), _other_ports(job)
    if servers * (1 + job.clients) + others > MAX_PORTS:
        fitting = fitting_clients(job)
        what = (
            f"{servers} instances with {job.clients} each need {servers * (1 + job.clients) + others} network ports of "
            f"{MAX_PORTS}"
        )
        if fitting:
            raise InputError("--clients", f"{what}; --clients {fitting} fits")
        cores = (MAX_PORTS - others) // 2 + comparison.lower_switches(job) + 1
        raise InputError("--machine" if job.modelled else "--cores",
                         f"{what}; a machine of {cores} cores in all fits, with --clients 1")
    made: list[RedisCase] = []
    for layout, workload in comparison.steps(job):
        again = (layout, workload) in [one.key for one in made]
        try:
            made.append(case(job, layout, workload, again=again))
        except InputError as error:
            if error.at != ("clusters", "lock"):
                raise
            raise InputError(f"--lock {job.lock}", f"{layout}: {error.culprit}: {error.problem}") from None
    return made
