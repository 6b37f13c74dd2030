# SPDX-License-Identifier: BSD-2-Clause
"""The kernel's test program inside the machine (apps/ktest), on every kernel and number of cores. Each
run has a few of them; tests.long.booted has all."""

import pytest

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience
from deploy.deployment.modules import REGIMES
from deploy.deployment.planner import Plan, plan
from deploy.machine import qemu
from deploy.machine.run import Run
from tests.boot.machine import deployment, machine
from topology.machines.machine import Shape, default_memory
from topology.units import GIB

MINIMUM = {1: 440, 2: 470}  # tests of a cluster of one core, and of more, at least

MSI_DEVICE = ("-device", "edu")  # it raises an interrupt at each write to a register
COUNTED = ("-fw_cfg", "name=opt/skerry/clock-counts-instructions,string=yes")  # ktest asks for it (firmware.c)
SILENCE = 60.0  # seconds of given time in which a test must come to its end: it takes one or two
LIMIT = 300.0   # of all; on an idle machine the longest takes a tenth of that
PARALLEL = ("fine", "dynamic+stat")  # kernels of two cores that run in parallel; clh does in test_gigabyte()

# The plain image of each regime, and the debug image, which counts and has assertions. test_counted() and
# test_gigabyte() boot the plain one of clh.
RUNS = [
    (1, 1, "none"),
    (2, 1, "none+debug"),
    (2, 2, "clh+debug"),
    (1, 2, "ticket"),
    (1, 2, "ticket+debug"),
    (1, 2, "mcs"),
    (1, 2, "mcs+debug"),
    (1, 2, "fine"),
    (1, 2, "fine+debug"),
    (1, 1, "dynamic"),
    (1, 2, "dynamic+debug"),
    (1, 1, "rtm"),
    (1, 2, "rtm+debug"),
]
# Every run boots these; of the others it draws a sixth. The hosted tests of all regimes are in every run.
ALWAYS = {"none", "clh+debug", "dynamic", "fine+debug"}
CAMPAIGN_RUNS = [
    (1, 1, "none+stat"),
    (1, 1, "clh"),
    (1, 1, "clh+stat"),
    (1, 4, "clh+stat"),
    (2, 2, "ticket+debug"),
    (2, 2, "mcs+debug"),
    (1, 1, "fine"),
    (1, 4, "fine+debug"),
    (1, 2, "dynamic+stat"),
    (1, 4, "dynamic+debug"),
    (1, 2, "rtm+stat"),
    (1, 4, "rtm+debug"),
]


def ktest(sockets: int, cores: int, kernel: str, memory: int = 0) -> Plan:
    """A cluster for each socket; ktest is the first task of all of them."""
    lock, _, statistics = kernel.partition("+")
    shape = Shape(sockets, cores, memory or default_memory(cores))
    more = {"restart": "on-failure"} if sockets > 1 else {}  # so that memory moves between them
    target = plan(deployment(sockets, cores, shape=shape, lock=lock, statistics=statistics == "stat", network=False,
                             **more))
    for cluster in target.cluster_map.clusters:
        cluster.root = "ktest"
        cluster.kernel = kernel
    return target


def failures(run: Run) -> list[str]:
    return [f"cluster {e['cluster']}: {e['name']}: {e['why']}" for e in run.events.of("test", ok=False)]


def check(target: Plan, least: int, accel: qemu.Accel) -> Run:
    """Boots it; every test passes, so many at least in each cluster."""
    counted = accel.icount
    with machine(target, patience=Patience(SILENCE), extra=(*MSI_DEVICE, *(COUNTED if counted else ())),
                 accel=accel) as run:
        try:
            run.wait_for(lambda: bool(run.events.of("ktest")), "the summary")
        except Failure as failure:
            done = [str(e["name"]) for e in run.events.of("test")]
            raise Failure("\n".join([f"{failure}, after '{done[-1] if done else 'nothing'}'",
                                     *failures(run)])) from None
        summary = run.events.of("ktest")[0]
        assert not failures(run), "\n".join(failures(run))
        assert summary["failed"] == 0 and summary["counted"] == counted
        assert summary["passed"] == len(run.events.of("test", ok=True))
        for cluster in target.cluster_map.clusters:
            assert len(run.events.of("test", cluster=cluster.number)) >= least
        notices = run.console.count("kernel rtm runs as clh: this processor has no RTM")  # emulators have none
        assert notices == sum(cluster.kernel.startswith("rtm") for cluster in target.cluster_map.clusters)
        run.wait_done()
    return run


def name_of(run: tuple[int, int, str]) -> str:
    clusters, cores, kernel = run
    return f"{kernel}, {clusters} clusters of {cores} cores"


@pytest.mark.limit(LIMIT)
@pytest.mark.parametrize("run", [pytest.param(run, marks=[pytest.mark.drawn] * (run[2] not in ALWAYS), id=name_of(run))
                                 for run in RUNS])
def test_ktest(run: tuple[int, int, str]) -> None:
    """every test of the kernel inside the machine passes"""
    all_pass(*run)


@pytest.mark.campaign
@pytest.mark.limit(LIMIT)
@pytest.mark.parametrize("run", CAMPAIGN_RUNS, ids=name_of)
def test_ktest_more(run: tuple[int, int, str]) -> None:
    """every test of the kernel inside the machine passes"""
    all_pass(*run)


def all_pass(clusters: int, cores: int, kernel: str) -> None:
    """In each cluster. Memory moves between clusters, where there are two."""
    # in parallel they take three times the processor time, much of it in cores that wait for one that waits itself
    parallel = clusters * cores > 1 and kernel in PARALLEL
    run = check(ktest(clusters, cores, kernel), MINIMUM[min(cores, 2)],
                qemu.tcg_for(cores) if parallel else qemu.TCG_TURNS)
    moves = [e["cluster"] for e in run.events.of("test", ok=True) if str(e["name"]).startswith("memory move: ")]
    assert set(moves) == (set(range(clusters)) if clusters > 1 else set())


def test_every_image() -> None:
    """no regime's plain image, and no debug image, is left out"""
    kernels = {kernel for _, _, kernel in RUNS} | {"clh"}
    assert kernels == {f"{regime}{suffix}" for regime in REGIMES for suffix in ("", "+debug")}


@pytest.mark.drawn
@pytest.mark.limit(LIMIT)
@pytest.mark.skipif(qemu.version() < (8, 0),
                    reason="this QEMU cannot count: bookworm-backports has a newer qemu-system-x86")
def test_counted() -> None:
    """every test passes where the clock counts instructions, and the host decides nothing"""
    check(ktest(1, 1, "clh"), MINIMUM[1], qemu.tcg_for(1, counted=True))


@pytest.mark.drawn
@pytest.mark.limit(LIMIT)
def test_gigabyte() -> None:
    """every test passes on two cores with much memory, those of frames of 1 GiB too"""
    run = check(ktest(1, 2, "clh", memory=4 * GIB), MINIMUM[2], qemu.tcg_for(2))
    assert [e for e in run.events.of("test", ok=True) if "1 GiB" in str(e["name"])]
