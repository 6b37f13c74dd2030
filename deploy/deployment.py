# SPDX-License-Identifier: BSD-2-Clause
"""Deployment files: what to run on which machine, in TOML (docs/deployment.md)."""

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from topology.errors import InputError
from topology.machine import Shape, default_memory
from topology.units import GIB, LARGE_PAGE, MIB, parse_size

EVERY_CORE = "every-core"
WORKLOADS = ("a", "b", "c", "f")
REDIS_ARGS = (
    ["--save", "", "--appendonly", "no", "--protected-mode", "no", "--bind", "0.0.0.0"]
    + ["--daemonize", "no", "--loglevel", "notice"]
)


@dataclass(frozen=True)
class Redis:
    """Instances of Redis: one on every core but the network's, or so many from the second core on."""

    instances: int | str = EVERY_CORE
    heap: int = 256 * MIB
    args: tuple[str, ...] = tuple(REDIS_ARGS)
    port: int = 6379


@dataclass(frozen=True)
class Load:
    """YCSB clients beside each Redis, on its core."""

    clients: int = 0  # of each Redis
    workload: str = "c"
    records: int = 10_000  # of each Redis
    operations: int = 10_000  # of each client
    value_size: int = 1000
    pipeline: int = 1
    heap: int = 32 * MIB


@dataclass(frozen=True)
class Program:
    """Any other program: one process on one core (its number among all cores of the machine)."""

    program: str
    cpu: int = 0
    heap: int = 16 * MIB
    args: tuple[str, ...] = ()
    network: bool = False
    barrier: bool = True  # the machine is done when it has ended
    name: str | None = None
    forward: tuple[int, ...] = ()  # its TCP ports that the host is to reach


@dataclass(frozen=True)
class Deployment:
    name: str = "deployment"
    shape: Shape = field(default_factory=Shape)
    layout: str = "per-socket"
    lock: str = "clh"
    statistics: bool = False  # the kernel image that counts
    redis: Redis | None = None
    load: Load = field(default_factory=Load)
    programs: tuple[Program, ...] = ()
    shutdown: str = "when-done"
    network: bool = True

    @property
    def kernel(self) -> str:
        return f"{self.lock}+stat" if self.statistics else self.lock

    def with_machine(self, sockets: int | None, cores: int | None, memory: int | None = None) -> "Deployment":
        """The same on another machine; memory grows with the cores unless it is named."""
        if sockets is None and cores is None and memory is None:
            return self
        sockets, cores = sockets or self.shape.sockets, cores or self.shape.cores
        if memory is None:
            memory = self.shape.memory if cores == self.shape.cores else default_memory(cores)
        return replace(self, shape=Shape(sockets, cores, memory))


class _Table:
    """One TOML table; what nobody asked for is refused, so that a misspelt key does not pass."""

    def __init__(self, source: str, name: str, values: Any) -> None:
        self.where = f"{source}: [{name}]" if name else source
        if not isinstance(values, dict):
            raise InputError(self.where, "is not a table")
        self.values = dict(values)

    def take(self, key: str, convert: Callable[[Any, str], Any], default: Any) -> Any:
        if key not in self.values:
            return default
        return convert(self.values.pop(key), f"{self.where} {key}")

    def finish(self) -> None:
        if self.values:
            raise InputError(self.where, f"unknown key '{next(iter(self.values))}'")


def _integer(low: int, high: int) -> Callable[[Any, str], int]:
    def convert(value: Any, where: str) -> int:
        if type(value) is not int or not low <= value <= high:
            raise InputError(where, f"{value!r} is not a number from {low} to {high}")
        return value

    return convert


def _boolean(value: Any, where: str) -> bool:
    if type(value) is not bool:
        raise InputError(where, f"{value!r} is neither true nor false")
    return value


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(where, f"{value!r} is not a string")
    return value


def _name(value: Any, where: str) -> str:
    """Part of the names of files and of GRUB's menu."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", _string(value, where)):
        raise InputError(where, f"{value!r} is not made of letters, digits, '.', '_' and '-'")
    return str(value)


def _choice(*choices: str) -> Callable[[Any, str], str]:
    def convert(value: Any, where: str) -> str:
        if value not in choices:
            raise InputError(where, f"{value!r} is not one of {', '.join(choices)}")
        return str(value)

    return convert


def _size(value: Any, where: str) -> int:
    size = parse_size(value if type(value) is int else _string(value, where), where)
    if size % LARGE_PAGE:
        raise InputError(where, f"{value} is not a multiple of 2 MiB")
    return size


def _strings(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InputError(where, "is not a list of strings")
    return tuple(_string(item, where) for item in value)


def _ports(value: Any, where: str) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise InputError(where, "is not a list of ports")
    return tuple(_integer(1, 65535)(item, where) for item in value)


def _instances(value: Any, where: str) -> int | str:
    return value if value == EVERY_CORE else _integer(0, 64)(value, where)


def parse(text: str, source: str = "deployment") -> Deployment:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(source, str(error)) from None
    top = _Table(source, "", content)

    machine = _Table(source, "machine", top.values.pop("machine", {}))
    cores = machine.take("cores", _integer(1, 64), 2)
    shape = Shape(
        sockets=machine.take("sockets", _integer(1, 16), 2),
        cores=cores,
        memory=machine.take("memory", _size, default_memory(cores)),
    )
    machine.finish()

    clusters = _Table(source, "clusters", top.values.pop("clusters", {}))
    layout = clusters.take("layout", _string, "per-socket")
    lock = clusters.take("lock", _string, "clh")
    statistics = clusters.take("statistics", _boolean, False)
    clusters.finish()

    redis = None
    if "redis" in top.values:
        table = _Table(source, "redis", top.values.pop("redis"))
        redis = Redis(
            instances=table.take("instances", _instances, EVERY_CORE),
            heap=table.take("heap", _size, Redis.heap),
            args=table.take("args", _strings, Redis.args),
            port=table.take("port", _integer(1, 65535), Redis.port),
        )
        table.finish()

    load = _load(_Table(source, "ycsb", top.values.pop("ycsb", {})))
    if load.clients and redis is None:
        raise InputError(f"{source}: [ycsb]", "has clients, but there is no [redis]")

    programs = top.values.pop("program", [])
    if not isinstance(programs, list):
        raise InputError(f"{source}: program", "is a table; write [[program]]")
    deployment = Deployment(
        name=top.take("name", _name, re.sub(r"[^A-Za-z0-9._-]", "-", Path(source).stem)),
        shape=shape,
        layout=layout,
        lock=lock,
        statistics=statistics,
        redis=redis,
        load=load,
        programs=tuple(_program(source, values) for values in programs),
        shutdown=top.take("shutdown", _choice("when-done", "never"), "when-done"),
        network=top.take("network", _boolean, True),
    )
    top.finish()
    if not deployment.network and (redis or any(p.network for p in deployment.programs)):
        raise InputError(source, "network = false, but something needs it")
    return deployment


def _load(table: _Table) -> Load:
    load = Load(
        clients=table.take("clients", _integer(0, 16), Load.clients),
        workload=table.take("workload", _choice(*WORKLOADS), Load.workload),
        records=table.take("records", _integer(1, 1 << 28), Load.records),
        operations=table.take("operations", _integer(1, 1 << 40), Load.operations),
        value_size=table.take("value-size", _integer(240, 64 << 20), Load.value_size),
        pipeline=table.take("pipeline", _integer(1, 1024), Load.pipeline),
        heap=table.take("heap", _size, Load.heap),
    )
    if load.value_size % 10:
        raise InputError(f"{table.where} value-size", f"{load.value_size} does not divide into 10 fields")
    table.finish()
    return load


def _program(source: str, values: Any) -> Program:
    table = _Table(source, "[program]", values)
    if "program" not in table.values:
        raise InputError(table.where, "has no 'program'")
    converters: dict[str, Callable[[Any, str], Any]] = {
        "program": _string,
        "cpu": _integer(0, 1023),
        "heap": _size,
        "args": _strings,
        "network": _boolean,
        "barrier": _boolean,
        "name": _string,
        "forward": _ports,
    }
    assert set(converters) == {f.name for f in fields(Program)}
    found = {key: table.take(key, convert, None) for key, convert in converters.items() if key in table.values}
    table.finish()
    program = Program(**found)
    if program.forward and not program.network:
        raise InputError(table.where, f"'{program.program}' forwards ports, but has no network")
    return program


def read(path: Path) -> Deployment:
    try:
        return parse(path.read_text(), str(path))
    except OSError as error:
        raise InputError(str(path), error.strerror or "cannot be read") from None
    except UnicodeDecodeError:
        raise InputError(str(path), "is not text") from None


DEFAULT = Deployment(name="redis", redis=Redis(), shape=Shape(2, 2, GIB), shutdown="never")
