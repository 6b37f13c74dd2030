# SPDX-License-Identifier: BSD-2-Clause
"""Cases of an experiment: one boot each, with its plan, which is made once and carried to all that reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, Self, TypeVar

from deploy.deployment.planner import Plan, plan
from deploy.emulator.machine_file import ModelledMachine
from deploy.load import comparison
from deploy.load.comparison import Comparison
from deploy.setup import needs, relink
from deploy.setup.needs import Needs

Key = tuple[str, str]  # layout, workload


class Job(Protocol):
    """An experiment's request, of which each case measures a part."""

    def lock_of(self, layout: str) -> str: ...


J = TypeVar("J", bound=Job)


@dataclass(frozen=True)
class Case(Generic[J]):
    """A layout and a workload of a job. `counting`: its kernels count, which makes them slower. `again`: beside the
    same layout, as a control."""

    job: J
    layout: str
    workload: str
    plan: Plan
    counting: bool = False
    again: bool = False

    @property
    def key(self) -> Key:
        return self.layout, self.workload

    @property
    def lock(self) -> str:
        return self.job.lock_of(self.layout)

    @property
    def kernel(self) -> str:
        """Returns the name of its plain kernel."""
        return f"kernel-{self.lock}"

    def booting(self, plan: Plan) -> Self:
        """Returns the case with another plan of it: another image of its kernel."""
        return replace(self, plan=plan)

    def relinked(self, seed: int) -> Self:
        """Returns the case on its plain kernel linked anew (deploy/setup/relink.py)."""
        own = {**self.plan.own, self.kernel: relink.path_of(self.kernel, seed)}
        return replace(self, plan=replace(self.plan, own=own))


@dataclass(frozen=True)
class RedisCase(Case[Comparison]):
    """A case of Redis under YCSB."""

    @property
    def key(self) -> Key:
        return f"{self.layout}{' again' * self.again}", self.workload

    @property
    def name(self) -> str:
        return f"{self.key[0]}, workload {self.workload.upper()}"

    def counted(self) -> RedisCase:
        """The case with kernels that count, and fewer operations."""
        return self._of(comparison.counted(self.job), counting=True)

    def profiled(self, counting: bool = False) -> RedisCase:
        """The case with so few operations that a plugin can count instructions."""
        return self._of(comparison.profiled(self.job), counting)

    def _of(self, job: Comparison, counting: bool = False) -> RedisCase:
        return case(job, self.layout, self.workload, counting, self.again)

    def salted(self, salt: int) -> RedisCase:
        """The case on the image that the salt draws. The machine boots the same."""
        return replace(self, job=replace(self.job, salt=salt))

    def at_rate(self, rate: int, draw: int) -> RedisCase:
        """Returns the case with so many operations a second that arrive at each client, on the image and by the
        schedule of a draw, 1... They are the same for all layouts."""
        return self._of(replace(self.job, rate=rate, arrivals=draw, salt=draw))

    def on_part(self, share: float) -> RedisCase:
        """The case on so many times the cores. InputError if they do not fit."""
        return self._of(comparison.on_part(self.job, share))

    def on(self, machine: ModelledMachine) -> RedisCase:
        """The case at other prices from the load's begin on. It boots the same."""
        return replace(self, job=replace(self.job, priced=machine))

    def at_costs(self, factor: float) -> RedisCase:
        """The case with other costs of lines that move between cores. The machine boots the same."""
        return replace(self, job=replace(self.job, line_factor=factor))


def case(job: Comparison, layout: str, workload: str, counting: bool = False, again: bool = False) -> RedisCase:
    made = RedisCase(job, layout, workload, plan(job.deployment(layout, workload, counting)), counting, again)
    return made if job.relink is None or counting else made.relinked(job.relink)


def cases(job: Comparison) -> list[RedisCase]:
    """Returns one for each workload and layout, in that order. InputError where one cannot be planned."""
    return [case(job, layout, workload) for layout, workload in comparison.steps(job)]


def needed(every: Sequence[RedisCase]) -> Needs:
    """Images of a job's layouts, plain and counting; what counts the instructions of an operation, and what prices
    them."""
    job = every[0].job
    images = needs.of_map(every[0].plan.cluster_map)
    kernels = needs.kernels(dict.fromkeys(one.lock for one in every), statistics=True,
                            transactions=job.modelled is not None)
    return images | kernels | needs.plugin("profile") | needs.PLOTS | (needs.MODELLED
                                                                       if job.modelled else needs.NOTHING)
