# SPDX-License-Identifier: BSD-2-Clause
"""Redis: the benchmark, its cluster and its memory."""

from __future__ import annotations

import json
import re

import pytest
from rich.console import Console

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.bench.redis import measure as redis
from deploy.bench.redis.measure import STEP, TSC, Core, Point, Request
from deploy.bench.redis.present import instance_table, tables
from deploy.cli.main import main
from deploy.deployment import STACKS, Deployment, Load, Redis, parse
from deploy.deployment.planner import plan
from deploy.deployment.redis_memory import limits, maxmemory
from deploy.emulator.lockstep import Mark
from deploy.load.comparison import SOCKET_PORT, Comparison
from deploy.load.request import split
from deploy.machine.qemu import INSIDE, Forward
from deploy.machine.redis_cluster import SLOTS, commands, instances
from deploy.results.result import evaluate
from deploy.results.snapshots import between
from topology.errors import InputError
from topology.machines.machine import Shape
from topology.maps.dts import write_dts
from topology.maps.reader import read_dts
from topology.units import MIB

from .synthetic import EMULATED, HZ, good_run, stream

# ----  ----

REQUEST = Request(["none", "clh", "mcs"], [1, 2, 3], ["process", "inproc"], operations=100)


def point(cores: int = 3, lock: str = "clh", marks: list[Mark] | None = None) -> Point:
    """Returns a point of a machine that was never booted: 2 s, half idle, 2,000 entries of each core, 2,000 cycles
    under the lock."""
    job = REQUEST.job(lock, cores, "process")
    what = plan(job.deployment("spanning", "c"))
    events = stream(*good_run(what))
    result, counted = evaluate(what, events, EMULATED), between(events, 0)
    assert not result.problems
    if marks is not None:
        return redis._stepped(job, result, counted, marks)
    return Point("process", TSC, result, tuple(redis._by_counters(core) for core in counted))


MARKS = [
    Mark(1, 1000, 3, [500, 600, 700], [100, 100, 100]),
    Mark(2, 1_001_000, 4, [250_500, 1_000_600, 500_700], [150_100, 200_100, 100_100]),
]


def test_boots() -> None:
    found = [(case.job.stack, case.job.shape.cpus, case.lock) for case in REQUEST.cases()]
    assert len(found) == len(set(found)) == 2 * (3 + 2 + 2)
    assert not [1 for _, cores, lock in found if lock == "none" and cores > 1]


def test_cores_in_step() -> None:
    found = point(marks=MARKS)
    assert (found.clock, found.late) == (STEP, 1)
    first, second, third = found.cores
    assert [core.idle_ratio for core in found.cores] == [0.75, 0.0, 0.5]
    assert first.delay == pytest.approx(100_000 / 2000) and second.delay == pytest.approx(800_000 / 2000)
    assert found.throughput == pytest.approx(400)  # of two instances' two clients 100 each, in a million cycles
    assert found.utilisation == pytest.approx(1.75 / 3)
    assert found.normalised == pytest.approx(400 * 3 / 1.75)
    metrics = found.metrics
    assert metrics["instructions_per_op"] == pytest.approx(1_750_000 / 400)
    assert metrics["delay_core0_cycles"] == pytest.approx(50)
    assert metrics["delay_cycles"] == pytest.approx((800_000 + 400_000) / 4000)
    assert metrics["kernel_cycles_per_entry"] == pytest.approx(450_000 / 6000)
    for core, told in zip(found.cores, found.to_json()["per_core"]):
        busy = core.entries * (told["delay_cycles"] + told["kernel_cycles_per_entry"])
        assert busy == pytest.approx(told["cpu_utilisation"] * core.cycles)  # idle and busy are all of the time


def test_counters() -> None:
    found = point()
    assert all(core.cycles == 2 * HZ and core.busy == HZ and core.kernel == 2000 for core in found.cores)
    assert found.metrics["delay_cycles"] == pytest.approx((HZ - 2000) / 2000)
    assert "instructions_per_op" not in found.metrics
    assert json.loads(json.dumps(found.to_json()))["emulated"] is True


@pytest.mark.parametrize(
    "marks",
    [[], MARKS[:1], [MARKS[1], MARKS[0]], [MARKS[0], Mark(2, 1000, 0, MARKS[1].executed, MARKS[1].kernel)]],
    ids=["none", "no end", "turned round", "no time"],
)
def test_no_clock(marks: list[Mark]) -> None:
    with pytest.raises(Failure):
        point(marks=marks)


def test_one_core_has_no_others() -> None:
    found = point(cores=1, lock="none")
    assert found.cores[0].delay and "delay_cycles" not in found.metrics
    console = Console(width=160, record=True, file=None, quiet=True)
    for table in (*tables([found, point()]), instance_table([found], [{"cores": 2, "metrics": {"ops_per_s": 7.0}}])):
        console.print(table)


def test_busy_is_not_more_than_all() -> None:
    assert Core(0, 0, cycles=100, busy=110, kernel=0, entries=0).idle_ratio == 0
    assert Core(0, 0, cycles=100, busy=50, kernel=10, entries=0).delay == 0


def test_stacks_named() -> None:
    assert split("--stack", "inproc, process,inproc", STACKS) == ["inproc", "process"]
    with pytest.raises(InputError, match="'lwip' is not one of"):
        split("--stack", "lwip", STACKS)


def test_a_stack_for_each_program() -> None:
    load = Load(clients=2, operations=10)
    what = plan(Deployment(redis=Redis(heap=64 * MIB, stack="process"), load=load, layout="per-socket"))
    apps = {app.name: app for app in what.cluster_map.applications}
    users = [app for app in apps.values() if app.program in ("redis-server", "ycsb")]
    assert len({app.stack for app in users}) == len(users) == 9
    for app in users:
        assert app.stack and apps[app.stack].cpu == app.cpu and apps[app.stack].ipv4 is None and app.ipv4
    assert all("stack" in cluster.modules for cluster in what.cluster_map.clusters)
    assert read_dts(write_dts(what.cluster_map)).applications == what.cluster_map.applications


def test_room_for_socket_ports() -> None:
    """what machines are given memory for is what the header says"""
    header = (ROOT / "lib" / "include" / "skerry" / "socket_port.h").read_text()
    sockets, buffer, head = (
        int(re.search(rf"SOCKET_PORT_{name} = (\w+),", header)[1], 0) for name in ("SOCKETS", "BUFFER", "HEAD")
    )
    assert 0 <= SOCKET_PORT - (head + sockets * 2 * buffer) < 2 * MIB


@pytest.mark.parametrize(
    "option, value",
    [("--stack", "lwip"), ("--lock", "spin"), ("--cores", "0"), ("--cores", "99"), ("--workload", "z"),
     ("--baseline", "bsd")],
)
def test_refusals(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """an option that makes no sense is named in one line, before anything is built"""
    assert main(["bench", "redis", option, value]) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1 and value in said, said


# ---- The commands that `run` prints for a Redis Cluster ----

YES = ("--cluster-enabled", "yes")


def found(args: tuple[str, ...], first: int = 17001, count: int = 3) -> list[Forward]:
    what = plan(Deployment(redis=Redis(instances=count, args=args), shape=Shape(1, 5, 4 << 30)))
    forwards = []
    for number, (name, port) in enumerate(what.forwards):
        address = what.application(name).ipv4
        assert address
        forwards.append(Forward(name, address, port, first + number if first != INSIDE else INSIDE))
    return instances(what, forwards)


@pytest.mark.parametrize("args, count", [(YES, 3), ((*YES, "--cluster-enabled", "no"), 0),
                                         (("--cluster-enabled", "no", *YES), 3), ((), 0)])
def test_instances(args: tuple[str, ...], count: int) -> None:
    """only where several instances are in cluster mode, and the host reaches them"""
    assert len(found(args)) == count and not found(YES, INSIDE) and not found(YES, count=1)


@pytest.mark.parametrize("count", [2, 3, 4])
def test_commands(count: int) -> None:
    """all slots are given once; each instance announces its port of the host and its own bus; the others meet the first
    within the machine"""
    lines = commands(found(YES, count=count))
    ranges = [tuple(map(int, match)) for line in lines for match in re.findall(r"addslotsrange (\d+) (\d+)$", line)]
    assert [slot for first, last in ranges
            for slot in range(first, last + 1)] == list(range(SLOTS)) and len(ranges) == count
    assert [re.findall(r"announce-port (\d+) cluster-announce-bus-port 16379$", line)
            for line in lines[: 2 * count : 2]] == [[str(17001 + i)] for i in range(count)]
    assert lines[2 * count :] == [f"redis-cli -p 17001 cluster meet 10.0.2.{101 + i} 6379" for i in range(1, count)]


# ---- What a deployment lets a Redis take of its heap ----

def arguments(redis: Redis) -> list[str]:
    return plan(Deployment(redis=redis)).application("redis@2").args


def value(args: list[str], option: str) -> str:
    """The one that holds: the last."""
    return args[len(args) - args[::-1].index(option)]


def test_follow_from_the_heap() -> None:
    args = arguments(Redis())
    assert args[:2] == ["--port", "6379"]
    assert value(args, "--maxmemory") == str(120 * MIB)
    assert value(args, "--maxmemory-clients") == str(32 * MIB)
    assert value(args, "--proto-max-bulk-len") == str(16 * MIB)
    at = args.index("--client-output-buffer-limit")
    assert args[at + 1 : at + 9] == ["normal", str(16 * MIB), "0", "0", "pubsub", str(16 * MIB), str(4 * MIB), "60"]


@pytest.mark.parametrize("heap", [2, 16, 20, 32, 64, 256, 4096, 1 << 20])
def test_leave_room(heap: int) -> None:
    """data, a reply and an argument beyond it fit together, and no option is one that Redis refuses"""
    size = heap * MIB
    args = limits(size, ())
    assert 0 < maxmemory(size) <= size // 2
    assert maxmemory(size) + int(value(args, "--maxmemory-clients")) + 2 * (size // 16) <= size * 3 // 4
    assert int(value(args, "--proto-max-bulk-len")) >= MIB <= int(value(args, "--client-query-buffer-limit"))


def test_own_arguments_hold() -> None:
    assert value(arguments(Redis(args=("--maxmemory-clients", "0"))), "--maxmemory-clients") == "0"
    own = ("--maxmemory", "1gb", "--save", "")
    assert arguments(Redis(args=own))[2:] == list(own)


def test_a_load_must_fit() -> None:
    text = "[redis]\nheap = '64M'\n{}[ycsb]\nclients = 1\nrecords = 30000"
    with pytest.raises(InputError,
                       match="30000 records of 1000 bytes do not fit into a heap of 64M .* Redis may fill 24M"):
        parse(text.format(""))
    assert parse(text.format("args = ['--maxmemory', '0']\n")).load.records == 30000


def test_comparisons_have_no_limits() -> None:
    made = plan(Comparison(Shape(2, 2)).deployment("per-socket", "c"))
    args = made.application("redis@2").args
    assert args.count("--maxmemory") == 1 and value(args, "--maxmemory") == "0" and "--maxmemory-clients" not in args
