# SPDX-License-Identifier: BSD-2-Clause
"""Options that several commands share, and what they mean together; commands that take them as one dataclass."""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from deploy import deployment as deployments
from deploy.base.choices import argument, explained, files, option, words
from deploy.deployment import Deployment, Metrics
from deploy.deployment.blame import blamed
from deploy.deployment.engines import ENGINES
from deploy.deployment.model import ONE_SWITCH, SWITCHES
from deploy.deployment.modules import REGIMES
from deploy.deployment.planner import Plan, is_map, plan, plan_map
from deploy.deployment.switches import with_switch
from deploy.emulator.machine_file import ModelledMachine as MachineFile, chosen, names as machine_names
from deploy.load.request import CLIENTS
from topology.errors import InputError
from topology.grouping import EXPLAINED, SENTENCES, is_layout_name
from topology.machines.irregular import machine_of
from topology.machines.machine import Shape, default_memory, like
from topology.machines.sources import LIVE, read_machine
from topology.maps.reader import read_file
from topology.units import GIB, parse_size


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a number of seconds")
    return value


LAYOUTS = tuple(SENTENCES)
_CLUSTERS = f"What a cluster is. {EXPLAINED}"

Accel = Annotated[str, option("--accel auto|kvm|tcg", "KVM where it works, or the emulator.",
                              autocompletion=words("auto", "kvm", "tcg"))]
Sockets = Annotated[int | None, option("--sockets N", "Sockets of the emulated machine (2).", 1)]
Cores = Annotated[int | None, option("--cores M", "Cores of each socket (2).", 1)]
Memory = Annotated[str | None, option("--memory SIZE", "Memory of each NUMA node, as 1G.")]
Topology = Annotated[str | None, option("--topology --from live|FILE|URI", "A machine like this one, like that of a "
                                        "file of hwloc's or libvirt's XML, or like a libvirt host.",
                                        shell_complete=files("live"))]
Clients = Annotated[int | None, option("--clients N", f"Clients of each Redis, on its core ({CLIENTS}; 1 on a machine "
                                       "with too many cores for 2).", 1, 16)]
From = Annotated[str | None, option("--from live|FILE|URI", "A machine: this one, a file of hwloc's XML or of a "
                                    "libvirt host's capabilities, a libvirt connection.", shell_complete=files(LIVE))]
Smt = Annotated[str | None, option("--smt on|off", "Use all threads of each core (on), or one.",
                                   autocompletion=words("on", "off"))]
Layout = Annotated[str | None, option("--layout LAYOUT", f"{_CLUSTERS}; or a map file.",
                                      autocompletion=explained(SENTENCES))]
NamedLayout = Annotated[str | None, option("--layout LAYOUT", f"{_CLUSTERS}.", autocompletion=explained(SENTENCES))]
Lock = Annotated[str | None, option("--lock REGIME", f"Lock regime of the kernels: {', '.join(REGIMES)}.",
                                    autocompletion=words(*REGIMES))]
Switch = Annotated[str | None, option("--switch one|per-socket", "One network switch, on core 0, or one on each "
                                      "socket's first core.", autocompletion=words(*SWITCHES))]
WithMetrics = Annotated[bool, option("--metrics", "Add an endpoint for Prometheus, as [metrics] in the file does.")]
Server = Annotated[str, option("--server redis|valkey", "The server under YCSB.", autocompletion=words(*ENGINES))]
Icount = Annotated[bool, option("--icount", "Count instructions: every run is the same (TCG only).")]
ModelledMachine = Annotated[str | None, option("--machine NAME|FILE.toml", "A modelled machine: one of "
                                               "emulator/machines, or a file like those.",
                                               shell_complete=files(*machine_names()))]
Quick = Annotated[bool, option("--quick", "Run a modelled machine at its own line costs only, without the range.")]
Scheduler = Annotated[str | None, option("--scheduler ADDRESS", "Run on the workers of this Dask scheduler, as "
                                         "tcp://HOST:8786.")]
Timeout = Annotated[float | None, option("--timeout S", "Seconds of the host's clock that a boot may take. Default: no "
                                         "limit while the machine makes progress.", 1.0, callback=_finite)]
Boot = Annotated[str, option("--boot iso|kernel", "GRUB's ISO, or the loader by QEMU itself.",
                             autocompletion=words("iso", "kernel"))]
Uefi = Annotated[bool, option("--uefi", "UEFI firmware in place of BIOS.")]
LocalRun = Annotated[str | None, argument("RUN", "The process id of a skerry that runs a machine; default: the running "
                                          "one.")]
RunName = Annotated[str | None, argument("RUN", "The process id of a skerry that runs a machine, or with --connect a "
                                         "deployment's name; default: the only one.")]


def threads(smt: str | None, named: bool) -> bool:
    """Whether all threads of a core are used. `named`: the command line names a machine."""
    if smt not in (None, "on", "off"):
        raise InputError("--smt", f"'{smt}' is neither on nor off")
    if smt and not named:
        raise InputError("--smt", "is for a machine whose cores have several threads, and none was named")
    return smt != "off"


@dataclass(frozen=True)
class MachineOptions:
    """A machine to be emulated, in place of the deployment's."""

    sockets: Sockets = None
    cores: Cores = None
    memory: Memory = None
    topology: Topology = None
    smt: Smt = None

    @property
    def without_memory(self) -> dict[str, object]:
        """The options that say what is emulated, with their values."""
        return {"--sockets": self.sockets, "--cores": self.cores, "--topology": self.topology, "--smt": self.smt}


def adapt(read: Deployment, machine: MachineOptions, layout: str | None = None, lock: str | None = None) -> Deployment:
    """A deployment with what the command line says instead."""
    has_threads = read.shape.threads > 1 if isinstance(read.shape, Shape) else read.shape.has_smt
    sockets, cores, topology = machine.sockets, machine.cores, machine.topology
    both = threads(machine.smt, topology is not None or (has_threads and not sockets and not cores))
    size = parse_size(machine.memory, "--memory") if machine.memory is not None else None
    if lock is not None and lock not in REGIMES:
        raise InputError("--lock", f"'{lock}' is not one of {', '.join(REGIMES)}")
    if layout is not None and not is_layout_name(layout) and is_map(Path(layout)) and not Path(layout).is_file():
        raise InputError("--layout", f"{layout}: no such file")
    if topology is not None:
        if not topology:
            raise InputError("--topology", "names no machine")
        if sockets or cores:
            raise InputError("--topology", "says sockets and cores already; not with --sockets or --cores")
        # an emulated machine has memory of its own
        read = read.on(like(read_machine(topology, both, GIB, may_connect=True), size))
    else:
        read = read.with_machine(sockets, cores, size, both)
    return read.with_clusters(layout, lock)


def _with_metrics(adapted: Deployment) -> Deployment:
    """With an endpoint for Prometheus, unless it has one."""
    if not adapted.network:
        raise InputError("--metrics", f"needs a network, and {adapted.name} has none")
    if not is_layout_name(adapted.layout):
        raise InputError("--metrics", f"is not for the cluster map {adapted.layout}, which says all that runs")
    return adapted if adapted.metrics else replace(adapted, metrics=Metrics())


@dataclass(frozen=True)
class PlanOptions:
    """A deployment, and what the command line says instead of its file."""

    path: Annotated[Path, argument("DEPLOYMENT", "A deployment file or a cluster map.")]
    sockets: Sockets = None
    cores: Cores = None
    memory: Memory = None
    topology: Topology = None
    layout: Layout = None
    lock: Lock = None
    smt: Smt = None
    metrics: WithMetrics = False
    switch: Switch = None

    @property
    def machine(self) -> MachineOptions:
        return MachineOptions(self.sockets, self.cores, self.memory, self.topology, self.smt)

    def adapted(self, read: Deployment) -> Deployment:
        return adapt(read, self.machine, self.layout, self.lock)


def load_plan(args: PlanOptions, apart: bool = False, machine: str | None = None, forms: bool = False) -> Plan:
    """A deployment file, or a cluster map, as something to boot.

    `apart`: each cluster on a machine of its own, where one switch is the default. `machine`: a modelled one, of
    commands that have that option. `forms`: the command forms the Redis Cluster of `masters`; others refuse it.
    """
    modelled = chosen(machine, False, args.machine.without_memory)
    if not is_map(args.path):
        deployment = _of_file(args, apart, modelled)
        if not forms:
            check_unformed(deployment)
        return plan(deployment)
    if modelled:
        raise InputError("--machine", f"{args.path} is a cluster map, which says what machine it is for")
    if args.layout is not None or args.lock is not None:
        raise InputError(str(args.path), "is a cluster map: it says layout and lock itself")
    for name, value in (("--metrics", args.metrics), ("--switch", args.switch)):
        if value:
            raise InputError(name, "is not for a cluster map, which says all that runs")
    if args.machine == MachineOptions():
        return plan_map(args.path)
    known = read_file(args.path)
    read = Deployment(shape=known.shape if isinstance(known.shape, Shape) else machine_of(known))
    return plan_map(args.path, args.adapted(read).shape)


def _of_file(args: PlanOptions, apart: bool, modelled: MachineFile | None) -> Deployment:
    read = deployments.read(args.path)
    if modelled:
        read = read.on(modelled.shape(modelled.cores, default_memory(modelled.cores_per_socket)))
    adapted = with_switch(args.adapted(read), args.switch)
    if args.switch is not None and not adapted.network:
        raise InputError("--switch", f"needs a network, and {adapted.name} has none")
    if args.switch is not None and not is_layout_name(adapted.layout):
        raise InputError("--switch", f"is not for the cluster map {adapted.layout}, which says all that runs")
    if apart and adapted.switch is None:
        adapted = replace(adapted, switch=ONE_SWITCH)
    return _with_metrics(adapted) if args.metrics else adapted


def check_unformed(deployment: Deployment) -> None:
    """Refuses instances that would stay without a cluster."""
    if deployment.redis and deployment.redis.masters:
        raise blamed(InputError("redis masters", "is for `run`, which forms the Redis Cluster and keeps it whole",
                                at=("redis", "masters")), deployment)


def check_server(name: str) -> str:
    """Returns the name of a server. Raises InputError for one that there is not."""
    if name not in ENGINES:
        raise InputError("--server", f"'{name}' is not one of {', '.join(ENGINES)}")
    return name


def check_boot(boot: str) -> str:
    if boot not in ("iso", "kernel"):
        raise InputError("--boot", f"'{boot}' is not one of iso, kernel")
    return boot


Options = TypeVar("Options")


def _options(kind: type) -> Iterator[inspect.Parameter]:
    """The fields of `kind` as parameters; a field that is such a dataclass itself stands for its fields."""
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(hints[field.name]):
            yield from _options(hints[field.name])
            continue
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        yield inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name],
                                default=default)


def _filled(kind: type[Options], words: dict[str, Any]) -> Options:
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{
        field.name: _filled(hints[field.name], words) if dataclasses.is_dataclass(hints[field.name])
        else words[field.name] for field in dataclasses.fields(kind)  # type: ignore[arg-type]
    })  # fmt: skip


def takes(kind: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Makes a command of a function of `kind`: typer sees its fields as parameters."""
    parameters = list(_options(kind))

    def decorate(function: Callable[[Options], None]) -> Callable[..., None]:
        @wraps(function)
        def command(**words: Any) -> None:
            function(_filled(kind, words))

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate
