# SPDX-License-Identifier: BSD-2-Clause
"""The rows of `compare --suite`: what runs, of which kind its difference is, and why it is a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from deploy.deployment import Deployment, Load, Program, Redis
from deploy.emulator.machine_file import ModelledMachine
from deploy.load import comparison
from deploy.load.comparison import LAYOUTS, UNLIMITED, heap_for, with_room
from deploy.load.programs import on_each_core
from deploy.load.request import prepared
from topology.errors import InputError
from topology.machines.machine import default_memory, emulated

STRUCTURAL, PARITY, CONTROL, CONFIGURATION = "structural", "parity", "control", "configuration"
LABELS = {
    STRUCTURAL: "follows from how many kernels there are, wherever programs are put",
    CONFIGURATION: "follows from where programs are put, or from an option; another choice removes it",
    PARITY: "nothing that the layouts differ in is used much: within 5 % of 1",
    CONTROL: "nothing differs: 1.00 within its interval, or no other row can be trusted",
}
RECORDS, OPERATIONS, WARM = 50, 30, 10  # of Redis under YCSB, as of a comparison on a modelled machine
PIPELINE, PIPELINED = 16, 4  # requests under way, and how many times the operations
SCANS = 12  # operations of workload E, of some twenty reads each: so few that no warm-up is left out
SHARDS, ASKED = 4, 2  # servers of each socket in rows hot-shard and fan-out
REQUESTS, ALL_REQUESTS = 30, 800  # of each client of apps/shards, at least; of all, where they are few
ROUNDS, USER_ROUNDS = 160, 16_000  # system calls of each core; turns of rows that make none
PAIRS = 60  # round trips of each core's pair in ping-pong
CORES = "CORES"  # in the arguments of a bare program
NEVER_ENTERS = 200  # turns of user code in row no-entry


@dataclass(frozen=True)
class On:
    """The machine and the lock of all rows."""

    machine: ModelledMachine
    lock: str

    @property
    def empty(self) -> Deployment:
        """Returns a deployment without programs."""
        shape = self.machine.shape(self.machine.cores, default_memory(self.machine.cores_per_socket))
        return Deployment(shape=shape, lock=self.lock)

    @property
    def sockets(self) -> list[list[int]]:
        """Returns the cores of each socket but its first, where manager and switch are."""
        cores: dict[int, list[int]] = {}
        for place, core in enumerate(emulated(self.empty.shape).cores):
            cores.setdefault(core.socket, []).append(place)
        if len(cores) < 2 or min(map(len, cores.values())) < 2:
            raise InputError("--suite", f"is for machines of several sockets with two cores or more each, not for "
                                        f"{self.machine.name}")
        return [places[1:] for places in cores.values()]


@dataclass(frozen=True)
class Row:
    """`metric`: the one that the row's ratio is of. `bare`: its program takes the place of each cluster's manager.
    `cables`: under one kernel, clients and servers are joined directly, which two cannot do over sockets."""

    name: str
    label: str
    why: str
    deployment: Callable[[On], Deployment]
    metric: str = "ops_per_s"
    layouts: Sequence[str] = LAYOUTS
    bare: bool = False
    cables: bool = False


# ---- Redis under YCSB ----


def ycsb(on: On, workload: str = "c", pipeline: int = 1) -> Deployment:
    """Returns a Redis on each core with its clients beside it, as `compare` has them."""
    many = PIPELINED if pipeline > 1 else 1
    operations, warm = (SCANS, 0) if workload == "e" else (OPERATIONS * many, WARM * many)
    (case,) = prepared(on.empty.shape, "spanning", workload, lock=on.lock, records=RECORDS, modelled=on.machine,
                       operations=operations, warm=warm)
    made = case.job.deployment("spanning", workload)
    return replace(made, name=f"ycsb-{workload}", load=replace(made.load, pipeline=pipeline))


def on_one_socket(on: On) -> Deployment:
    made = ycsb(on)
    assert made.redis
    return replace(made, redis=replace(made.redis, cpus=tuple(on.sockets[0])))


# ---- Several Redis, and clients that ask those of other cores ----


def shards(on: On, how: str, servers: Sequence[int], asks: Mapping[int, Sequence[int]]) -> Deployment:
    """`servers`: their cores. `asks`: by a client's core the servers that it asks, by their number from 0 on."""
    made, requests = on.empty, str(max(REQUESTS, ALL_REQUESTS // len(asks)))
    redis = Redis(heap=heap_for(1), cpus=tuple(servers), args=(*Redis.args, *UNLIMITED))
    programs = tuple(
        Program("shards", cpu=core, heap=Load.heap, network=True,
                args=(how, requests, *(str(made.subnet.network[101 + server]) for server in numbers)))
        for core, numbers in asks.items())
    shape = with_room(made.shape, None, RECORDS, comparison.Comparison.clients)
    return replace(made, name="shards", shape=shape, redis=redis, programs=programs)


def hot_shard(on: On) -> Deployment:
    servers = [core for socket in on.sockets for core in socket[:SHARDS]]
    return shards(on, "hot", servers, {core: range(len(servers)) for socket in on.sockets for core in socket})


def fan_out(on: On) -> Deployment:
    servers = [core for socket in on.sockets for core in socket[:ASKED]]
    return shards(on, "all", servers, {core: range(len(servers)) for socket in on.sockets for core in socket})


def _asks_one(on: On, asked: Callable[[int, int], tuple[int, int]]) -> Deployment:
    """Returns a Redis on each core, and a client that asks one: `asked` has its socket and place by the client's."""
    sockets = on.sockets
    servers = [core for socket in sockets for core in socket]
    asks = {}
    for number, socket in enumerate(sockets):
        for place, core in enumerate(socket):
            of, at = asked(number, place)
            of_socket = sockets[of % len(sockets)]
            asks[core] = [servers.index(of_socket[at % len(of_socket)])]
    return shards(on, "all", servers, asks)


def other_socket(on: On) -> Deployment:
    return _asks_one(on, lambda socket, place: (socket + 1, place))


def pairs_apart(on: On) -> Deployment:
    """Returns a few Redis on each socket, each with one client, on a core of the other socket."""
    sockets = on.sockets
    few = min(SHARDS, *map(len, sockets))
    servers = [core for socket in sockets for core in socket[:few]]
    clients = [core for socket in sockets[1:] + sockets[:1] for core in socket[-few:]]
    return shards(on, "all", servers, {core: [number] for number, core in enumerate(clients)})


def alone(on: On) -> Deployment:
    first, second, *_ = on.sockets
    return shards(on, "all", first[:1], {second[-1]: [0]})


def own_socket(on: On) -> Deployment:
    return _asks_one(on, lambda socket, place: (socket, place + 1))


def one_socket(on: On) -> Deployment:
    return _asks_one(on, lambda socket, place: (0, place + socket))


# ---- System calls ----


def each(on: On, words: str) -> Deployment:
    return on_each_core(words, on.empty)


def one(on: On, words: str) -> Deployment:
    """Returns the program on one core alone."""
    made = each(on, words)
    return replace(made, programs=made.programs[:1])


def bare(on: On, words: str) -> Deployment:
    """Returns a program in the place of each manager. Its argument CORES becomes the number of its cluster's cores."""
    name, *arguments = words.split()
    program = Program(name, barrier=False, args=tuple(arguments))
    return replace(on.empty, name=f"{name}-{arguments[0]}", network=False, shutdown="never", programs=(program,))


def pingpong(on: On, delay: int) -> Deployment:
    return bare(on, f"pingpong scale instructions {PAIRS * on.machine.cores} {CORES} {delay}")


def _call(name: str, why: str, kind: str | None = None, turns: int = 0, label: str = STRUCTURAL) -> Row:
    kind = kind or name
    return Row(name, label, why, partial(each, words=f"entries {kind} {ROUNDS} {turns}"), kind)


ROWS = (
    *(Row(f"ycsb-{workload}", STRUCTURAL, f"YCSB {workload.upper()}, Zipf: {why}; all cores meet at a lock",
          partial(ycsb, workload=workload))
      for workload, why in (("a", "half updates"), ("b", "5 % updates"), ("c", "reads"),
                            ("d", "reads of the latest, 5 % inserts"), ("e", "scans, 5 % inserts"),
                            ("f", "half read and write back"))),
    Row("pipeline", PARITY, f"YCSB C, {PIPELINE} requests under way: the kernel is entered seldom",
        partial(ycsb, pipeline=PIPELINE)),
    Row("idle-socket", PARITY, "YCSB C on one socket: either layout has one kernel at work, and programs do not move",
        on_one_socket),
    Row("own-socket", STRUCTURAL, "each client asks the Redis of the next core, over its socket's switch", own_socket,
        "operations"),
    Row("other-socket", CONFIGURATION, "each client asks a Redis of the other socket; the switches are full",
        other_socket, "operations"),
    Row("apart-alone", CONFIGURATION, "one client asks a Redis of the other socket; nothing else runs", alone,
        "operations"),
    Row("apart-direct", STRUCTURAL, "the same: one kernel joins the two directly, two only over switches", alone,
        "operations", cables=True),
    Row("apart-few", STRUCTURAL, "four clients of each socket: one kernel joins them directly, two only over switches",
        pairs_apart, "operations", cables=True),
    Row("one-socket", CONFIGURATION, "clients of both sockets ask the Redis of one, half of them over both switches",
        one_socket, "operations"),
    Row("hot-shard", CONFIGURATION, "three of four operations go to one Redis: its core is the bottleneck", hot_shard,
        "operations"),
    Row("fan-out", STRUCTURAL, "an operation asks servers of both sockets and ends with the last answer", fan_out,
        "operations"),
    Row("ping-pong", STRUCTURAL, "IPC in a pair on each core, 4,000 cycles between entries",
        partial(pingpong, delay=4000), "operations", bare=True),
    Row("ping-pong-rare", PARITY, "the same, 64,000 cycles between entries: no lock is waited for",
        partial(pingpong, delay=64_000), "operations", bare=True),
    Row("mach-messages", STRUCTURAL, "the Mach study's messages: a client on each core, one server in each kernel",
        partial(bare, words=f"stress messages {CORES} 40"), "operations", bare=True),
    Row("mach-memory", STRUCTURAL, "the Mach study's copy-on-write faults of each core, a pager on each",
        partial(bare, words=f"stress memory {CORES} 4 3 {CORES}"), "operations", bare=True),
    _call("call", "call and answer of two threads on each core, without pause"),
    _call("signal", "a notification of each core's own, without pause"),
    _call("map", "a page of each core's own, without pause"),
    _call("unmap", "a page of each core's own, without pause"),
    _call("retype", "a notification of each core's own untyped, without pause"),
    _call("null-all", "a call that finds nothing to do on each core: the lock alone", "null"),
    _call("signal-rare", "signals, 20,000 turns of user code between: no lock is waited for", "signal", 20_000, PARITY),
    Row("null", CONTROL, "a call that finds nothing to do on one core: no lock is waited for",
        partial(one, words=f"entries null {ROUNDS}"), "null"),
    Row("private-lock", CONTROL, "a lock of each program's own, taken in user code",
        partial(each, words=f"entries lock {USER_ROUNDS}"), "lock"),
    Row("no-entry", CONTROL, "user code on each core, no kernel entry",
        partial(each, words=f"entries none {USER_ROUNDS} {NEVER_ENTERS}"), "none"),
    Row("a-a", CONTROL, "YCSB C, spanning beside itself on other images", ycsb, layouts=("spanning", "spanning")),
)


def chosen(names: str | None) -> list[Row]:
    """Returns the rows of a list of names, all for None. InputError names one that there is not."""
    if names is None:
        return list(ROWS)
    known = {row.name: row for row in ROWS}
    asked = list(dict.fromkeys(name.strip() for name in names.split(",")))
    for name in asked:
        if name not in known:
            raise InputError("--rows", f"'{name}' is not one of {', '.join(known)}")
    return [known[name] for name in asked]
