# SPDX-License-Identifier: BSD-2-Clause
"""Modelled machines, and their calibration."""

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.bench.scale.measure import MOST_CORES, Point, Request, case, machine, ranges_of
from deploy.bench.validate import calibrate
from deploy.bench.validate.calibrate import Cache, Calibration, Figure, Places
from deploy.cli.commands.bench.scale import _request, _sizes
from deploy.cli.main import main
from deploy.cli.options import PlanOptions, load_plan
from deploy.compare import runs as sweep
from deploy.compare.prices import LEVEL
from deploy.emulator import machine_file, run
from deploy.emulator.machine_file import ASSUMED, LINE_PRICES, MACHINES, load, names, price_names
from deploy.load.case import cases
from deploy.load.comparison import Comparison
from deploy.machine.qemu import Accel
from topology import headers
from topology.errors import InputError
from topology.machines.qemu import q35_memory
from topology.machines.survey import Processor, Survey
from topology.model import ranges
from topology.units import GIB

# ---- Machine files of modelled machines, and what their figures carry beside them ----

XEON = MACHINES / "xeon-e5-2683v3.toml"


def test_every_machine() -> None:
    """modelled machine: every file of emulator/machines can be read, and each of its prices has a source"""
    assert "xeon-e5-2683v3" in names()
    for name in names():
        machine_read = load(name)
        assert set(machine_read.prices) == set(price_names())
        assert 1 <= machine_read.cores <= machine_file.MOST_CORES
        assert f"{len(machine_read.assumed)} of {len(machine_read.prices)} prices assumed" in machine_read.header


def test_limit() -> None:
    """modelled machine: it has as many cores at most as a map, and as a list of cores"""
    assert machine_file.MOST_CORES == headers.constant(headers.LIBRARY / "map_limits.h", "MAP_MAX_CPUS")
    assert machine_file.MOST_CORES == ranges.MOST_CORES


@pytest.mark.parametrize("name, last, x2apic, buffer", [
    ("xeon-e5-2683v3", 29, False, False), ("epyc-7402", 62, False, False), ("epyc-9654", 223, False, True),
    ("xeon-6990e", 863, True, True)])
def test_many_cores(name: str, last: int, x2apic: bool, buffer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """modelled machine: cores have x2APIC where ids are above xAPIC's, and QEMU's buffer of code grows with them"""
    monkeypatch.setattr(run, "check_version", lambda: None)
    machine_read = load(name)
    accel, cpu = (run.mode(machine_read).arguments[place] for place in (2, 4))
    assert machine_read.last_apic == last
    assert (cpu == "max", accel == "tcg,thread=multi,tb-size=2047") == (x2apic, buffer)


def test_paper() -> None:
    """modelled machine: the papers' Xeon has Table 1's latencies, less the 4 cycles of an L1 hit"""
    prices = {name: price.cycles + 4 for name, price in load("xeon-e5-2683v3").prices.items()}
    assert [prices[name] for name in ("l2", "l3", "l3_machine")] == [12, 44, 163]
    assert [prices[name] for name in ("transfer_cluster", "transfer_machine")] == [115, 218]
    assert [prices[name] for name in ("dram_near", "dram_far")] == [185, 265]


def test_plugin_text() -> None:
    """modelled machine: the plugin gets every price, line costs times a factor, and nodes around the hole below 4
    GiB"""
    xeon = load("xeon-e5-2683v3")
    text = dict(line.rsplit(" ", 1) for line in xeon.plugin_text(q35_memory([7 * GIB, 7 * GIB]), 2.0).splitlines())
    for name, price in xeon.prices.items():
        assert float(text[name]) == pytest.approx(price.cycles * (2 if name in LINE_PRICES else 1))
    assert (text["khz"], text["cores"], text["clusters"], text["sockets"]) == ("2000000", "28", "2", "2")
    assert [(key, value) for key, value in text.items() if key.startswith("node")] == [
        ("node 0x0", "0"), ("node 0x100000000", "0"), ("node 0x240000000", "1"),
    ]


def test_shape() -> None:
    """modelled machine: cores of one socket are emulated alone, those of several with all sockets whole"""
    xeon = load("xeon-e5-2683v3")
    assert (xeon.shape(8, GIB).sockets, xeon.shape(8, GIB).cores) == (1, 8)
    assert (xeon.shape(16, GIB).sockets, xeon.shape(16, GIB).cores) == (2, 14)
    with pytest.raises(InputError, match="--cores: 29 cores; 2 x 14 Xeon"):
        xeon.shape(29, GIB)
    target = machine(case(Request("clh", [4, 28], [500.0], 10, modelled=xeon)), emulated=True)
    assert len(target.machine.cores) == 28


def test_shared_caches() -> None:
    """modelled machine: an EPYC is emulated with its L3s, whole ones, as the plugin counts the cores of each"""
    epyc = load("epyc-7402")
    whole, some = epyc.shape(48, GIB), epyc.shape(8, GIB)
    assert (whole.sockets, whole.cores, whole.caches) == (2, 24, 8)
    assert (some.sockets, some.cores, some.caches) == (1, 9, 3)
    assert (epyc.shape(2, GIB).cores, epyc.shape(2, GIB).caches) == (2, 1)
    assert epyc.exactly(9, GIB) == some
    for wrong in (8, 25):
        with pytest.raises(InputError, match=f"--cores: {wrong} cores; of 2 x 24 EPYC 7402 run up to 3, an L3's, or "
                           f"whole L3s of a socket, or all 48"):
            epyc.exactly(wrong, GIB)
    target = machine(case(Request("clh", [48], [500.0], 10, "per-l3", modelled=epyc)), emulated=True)
    assert [len(cluster.cpus) for cluster in target.cluster_map.clusters] == 16 * [3]
    assert [core.l3 for core in target.machine.cores] == [number // 3 for number in range(48)]


def test_sources() -> None:
    """modelled machine: lines that move farther cost more, whatever the source"""
    for name in names():
        cycles = {price: value.cycles for price, value in load(name).prices.items()}
        for kind in ("transfer", "upgrade"):
            near, socket, far = (cycles[f"{kind}_{place}"] for place in ("cluster", "socket", "machine"))
            assert near <= socket < far
        assert cycles["l2"] < cycles["l3"] < cycles["dram_near"] < cycles["dram_far"]
        assert cycles["l3"] < cycles["transfer_cluster"]


IPI = next(line for line in XEON.read_text().splitlines() if line.startswith("ipi = "))
BROKEN = [
    ("cycles = 214, ", "", "price.transfer_machine.cycles: is missing"),
    ("transfer_machine =", "transfer_mashine =", "price.transfer_mashine: is no price"),
    (IPI, "", "price.ipi: is missing"),
    (IPI, "ipi = 1500", "price.ipi: is 1500, not a table"),
    ("ipi = { cycles = 1500", "ipi = { cycles = -1", "price.ipi.cycles: is -1"),
    ("ipi = { cycles = 1500", "ipi = { cycles = nan", "price.ipi.cycles: is nan"),
    ("ipi = { cycles = 1500", "ipi = { cycles = true", "price.ipi.cycles: is True"),
    *((IPI, f'ipi = {{ cycles = 1500, source = "{source}" }}', says) for source, says in (
        ("", "price.ipi.source: is ''"), ("fitted", "fitted: must say"),
        *((other, "price.ipi.source: is ")
          for other in ("Assumed", " assumed", "assumed.", "Fitted", "?", "a\\nb", "a\\u001b[31mb")),
        ("assumed", "price.ipi.high: is missing"),
    )),
    *((IPI, f'ipi = {{ cycles = 1500, source = "{source}", {interval} }}', says) for source in ("assumed", "a book")
      for interval, says in (
        ('low = 1501, high = 3000, why = "r"',
         "price.ipi.low: the interval from 1501 to 3000 does not contain its 1500 cycles"),
        ('low = 750, high = 1499, why = "r"', "price.ipi.high: the interval from 750 to 1499 does not contain"),
        ('low = 750, high = nan, why = "r"', "price.ipi.high: is nan, not a number"),
        ('low = -1, high = 3000, why = "r"', "price.ipi.low: is -1, not a number"),
        ('low = 750, why = "r"', "price.ipi.high: is missing"), ('low = 750, high = 3000', "price.ipi.why: is missing"),
        ('low = 750, high = 3000, why = ""', "price.ipi.why: is ''"),
        ('low = 750, high = 3000, why = "assumed"', "price.ipi.why: is 'assumed', not the reason"),
        ('low = 750, high = 3000, why = "r", most = 1', "price.ipi.most: is not one of"),
    )),
    ("cpi_kernel = \"the lock", "cpi_kernel = \"assumed\" # ", "fitted: must say"),
    ("sockets = 2", "sockets = 0", "sockets: is 0"),
    ("sockets = 2", "sockets = 74", "sockets: 1036 cores in all"),
    ("sockets = 2", "colour = 2", "colour: is not one of"),
    ("inclusive = true, ", "", "l3.inclusive: is missing"),
    ("inclusive = true", "inclusive = 1", "l3.inclusive: is 1, not true or false"),
    ("cpi_kernel = \"the lock", "cpi_user = \"the lock", "fitted: must say"),
    ("[price]", "[planted]\nhold = 30\n[price]", "planted.less: is missing"),
    ("[price]", "[planted]\nhold = -1\nless = 10\n[price]", "planted.hold: is -1, not a number from 0"),
    ("[price]", "[planted]\nhold = 30\nless = 91\n[price]", "planted.less: is 91, not a whole number from 0 to 90"),
    ("[price]", "[price", "Expected"),
    ("value = 2.0", "value = " + 5000 * "9", "too many digits"),
    ("value = 2.0", "value = " + 20000 * "[", "nested too deeply"),
    ("[price]", "[price]\n#" + (1 << 20) * "x", "more than 1 MiB"),
    ("name = \"2 x 14", "name = \"2 x\\n14", "name: is '2 x\\n14"),
    # The plugin refuses these, too, after everything is built and booted: the last at double line costs only
    ("value = 2.0", "value = 0", "ghz.value: is 0, not a number from 0.1 to 10"),
    ("value = 2.0", "value = 11", "ghz.value: is 11"),
    ("l1i = { sets = 64", "l1i = { sets = 0", "l1i.sets: is 0, not a whole number from 1 to 1,048,576"),
    ("l1 = { sets = 64", "l1 = { sets = 0", "l1.sets: is 0, not a whole number from 1 to 1,048,576"),
    ("ways = 20", "ways = 65", "l3.ways: is 65"),
    ("value = 42", "value = 0", "store_buffer.value: is 0"),
    ("value = 42", "value = 257", "store_buffer.value: is 257"),
    ("value = 42", "value = 4.0", "store_buffer.value: is 4.0, not a whole"),
    ("transfer_machine = { cycles = 214", "transfer_machine = { cycles = 900_000_000",
     "price.transfer_machine.cycles: is 900000000"),
    ("low = 0.25, high = 1.5", "low = 0, high = 1.5", "price.cpi_user.low: is 0, not a number from 0.1"),
    # With it a core that runs in a loop would have no time
    ("cpi_user = { cycles = 1,", "cpi_user = { cycles = 0,", "price.cpi_user.cycles: is 0, not a number from 0.1"),
]


@pytest.mark.parametrize("before,after,says", BROKEN)
def test_broken(tmp_path: Path, before: str, after: str, says: str) -> None:
    """modelled machine: a broken file is refused in one line that names the key"""
    text = XEON.read_text()
    assert text.count(before) == 1
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(before, after))
    with pytest.raises(InputError, match=re.escape(says)) as error:
        load(str(path))
    assert str(path) in str(error.value)


def test_planted(tmp_path: Path) -> None:
    """modelled machine: what a file plants reaches the plugin, the header and each result; no machine's file plants"""
    path, plain = tmp_path / "mine.toml", load("xeon-e5-2683v3")
    path.write_text(XEON.read_text().replace("[price]", "[planted]\nhold = 30\nless = 10\n[price]"))
    planted = load(str(path))
    lines = set(planted.plugin_text([]).splitlines())
    assert lines - set(plain.plugin_text([]).splitlines()) == {"planted_hold 30", "planted_less 10"}
    assert "PLANTED: 30 cycles more in each hold and 10 % fewer instructions of programs" in planted.header
    assert planted.to_json()["planted"] == {"hold_cycles": 30.0, "less_percent": 10}
    for machine_read in map(load, names()):
        assert "planted" not in str((machine_read.plugin_text([]), machine_read.header, machine_read.to_json())).lower()


def test_names() -> None:
    """modelled machine: a name that is none, and a file that is not there, are said"""
    with pytest.raises(InputError, match="is none of .*xeon-e5-2683v3"):
        load("xeon")
    with pytest.raises(InputError, match="nowhere.toml: no such file"):
        load("nowhere.toml")


NAMED = ["--machine", "xeon-e5-2683v3"]
REDIS = "deploy/deployments/redis.toml"
MAP = "tests/unit/topology/good.dts"


@pytest.mark.parametrize("words,says", [
    *((["bench", kind, "--quick"], "--quick: is for a modelled machine") for kind in ("scale", "redis", "mach")),
    (["bench", "scale", "--machine", "xeon"], "--machine xeon: is none of"),
    (["bench", "scale", *NAMED, "--icount"], "--icount: is not for a modelled machine"),
    (["bench", "scale", *NAMED, "--sockets", "2"], "--sockets: is not for a modelled machine"),
    (["bench", "scale", *NAMED, "--cores", "40"], "--cores: 40 cores"),
    (["bench", "scale", *NAMED, "--native"], "--machine: chooses a machine"),
    (["bench", "ipc", *NAMED, "--native"], "--native: is not for a modelled machine"),
    (["bench", "ipc", *NAMED, "--icount"], "--icount: is not for a modelled machine"),
    (["bench", "lock", *NAMED],
     "--machine xeon-e5-2683v3: is not for bench lock, which measures this machine's own cores"),
    (["bench", "mach", *NAMED, "--accel", "tcg"], "--accel: is not for a modelled machine"),
    (["bench", "mach", *NAMED, "--cores", "16"],
     "--cores: 16 cores; of 2 x 14 Xeon E5-2683 v3 run up to 14, a socket, or all 28"),
    (["bench", "redis", *NAMED, "--cores", "2,16"], "--cores: 16 cores; of 2 x 14 Xeon"),
    (["bench", "redis", *NAMED, "--cores", "29"], "--cores: 29 cores; 2 x 14 Xeon"),
    (["bench", "redis", *NAMED, "--baseline", "linux"], "--baseline: is not for a modelled machine"),
    (["bench", "redis", *NAMED, "--pong"], "--pong: is not for a modelled machine"),
    (["bench", "redis", *NAMED, "--icount"], "--icount: is not for a modelled machine"),
    (["compare", "--server", "memcached"], "--server: 'memcached' is not one of redis, valkey"),
    (["profile", "--server", "valky"], "--server: 'valky' is not one of redis, valkey"),
    (["profile", "--server", "valkey", "--outside"], "--server: cannot be combined with --outside"),
    (["compare", *NAMED, "--suite", "--server", "valkey"], "--server"),
    (["compare", *NAMED, "--map", "--server", "valkey"], "not with --server"),
    (["run", REDIS, *NAMED, "--cores", "2"], "--cores: is not for a modelled machine"),
    (["run", REDIS, *NAMED, "--topology", "live"], "--topology: is not for a modelled machine"),
    (["run", REDIS, *NAMED, "--gdb"], "--gdb: is not for a modelled machine"),
    (["run", REDIS, *NAMED, "--uefi"], "--uefi: is not for a modelled machine"),
    (["run", REDIS, *NAMED, "--accel", "kvm"], "--accel: is not for a modelled machine"),
    (["run", MAP, *NAMED],
     "--machine: tests/unit/topology/good.dts is a cluster map, which says what machine it is for"),
])
def test_commands(capsys: pytest.CaptureFixture[str], words: list[str], says: str) -> None:
    """modelled machine: every command refuses what does not go together before it builds anything"""
    assert main(words) == 2
    assert says in capsys.readouterr().err


def test_run_machine() -> None:
    """modelled machine: `run` takes the whole of it, whatever machine the deployment names"""
    target = load_plan(PlanOptions(Path(REDIS)), machine="xeon-e5-2683v3")
    assert len(target.machine.cores) == 28
    assert len(target.cluster_map.clusters) == 2


def test_range() -> None:
    """modelled machine: a point's range is the least and the most under its line costs"""
    def point(factor: float, time: int) -> Point:
        return Point("clh", "spanning", 1, 2, 500.0, time, "modelled", [{"rounds": 500}], True, 0, factor)

    assert ranges_of([point(1.0, 1000)]) == {}
    assert ranges_of([point(0.5, 500), point(1.0, 1000), point(2.0, 4000)]) == {("clh", "spanning", 2, 500.0): (0.25,
        2.0)}
    assert ASSUMED in {price.source for price in load("xeon-e5-2683v3").prices.values()}


@pytest.mark.parametrize("shape", [(1, 1, 1024), (4, 1, 256), (16, 2, 32)])
def test_largest(shape: tuple[int, int, int]) -> None:
    """modelled machine: bench scale measures one of 1,024 cores up to what a kernel takes, where no --cores says
    more"""
    sockets, clusters, cores = shape
    sizes = _sizes(replace(load("xeon-e5-2683v3"), sockets=sockets, clusters_per_socket=clusters,
                           cores_per_cluster=cores), 1)
    assert sizes[-1] == MOST_CORES
    assert _request(Request("clh", sizes, [500.0], 10)).cores == sizes


def test_alone() -> None:
    """modelled machine: a layout without another is not run at other prices, for it has no ratio; --quick leaves them
    out"""
    two = Comparison(shape=load("xeon-e5-2683v3").shape(4, GIB), modelled=load("xeon-e5-2683v3"))
    low, high = (price.at(LEVEL * sign) for price in [two.modelled.prices["cpi_user"]] for sign in (-1, 1))
    for job, quick, priced in ((replace(two, layouts=["spanning"]), False, []), (two, True, []),
                               (two, False, 6 * [low] + 6 * [high])):
        called = sweep.calls(cases(job), Accel("tcg", (), ""), quick).values()
        counted = [call.arguments[0] for call in called if call.function is sweep.run_once]
        timed = [case for call in called if call.function is sweep.run_each for case in call.arguments[1].values()]
        assert [(case.layout, case.counting) for case in counted] == [(layout, True) for layout in job.layouts]
        assert all(case.job.modelled == two.modelled for case in timed)
        assert [case.layout for case in timed if not case.job.priced] == list(job.layouts)
        for layout in job.layouts:
            assert sorted(case.job.priced.prices["cpi_user"].cycles for case in timed
                          if case.job.priced and case.layout == layout) == pytest.approx(priced)


# ---- A machine file of this host: what becomes of measurements, without trusting the host's time ----

ALONE = {
    "cpi": 0.5, "l1": 4.0, "l2": 14.0, "l3": 42.0, "dram": 200.0, "nothing": 5.0, "atomic": 25.0, "fence": 40.0,
    "pause": 45.0,
    "rdtsc": 29.0, "divide": 15.0, "copy_64": 37.0, "xsave_pair": 205.0, "system_call": 245.0,
    "segment_base_pair": 25.0,
}
MOVED = {"read": 106.0, "write": 130.0, "upgrade": 110.0, "read_own": 6.0, "write_own": 20.0}
CACHES = {"l1": Cache(64, 8), "l1i": Cache(64, 8), "l2": Cache(1024, 16), "l3": Cache(4096, 16)}
NEAR = {"cluster": (0, 1)}


def figures(medians: dict[str, float], times: float = 1.0) -> dict[str, Figure]:
    return {name: Figure(times * value, times * value - 1, times * value + 1, 300) for name, value in medians.items()}


def calibration(pair: dict[str, tuple[int, int]] = NEAR, places: tuple[int, int, int] = (1, 1, 2)) -> Calibration:
    moved = {place: figures(MOVED, times) for times, place in zip((1.0, 2.0, 4.0), ("cluster", "socket", "machine"))
             if place in pair}
    return Calibration(Places(*places, pair), CACHES, 2.5, figures(ALONE), moved)


def test_prices() -> None:
    """calibrate: a price is what was measured less what the loop around it takes, and says when and how often"""
    prices = calibrate.prices(calibration())
    assert set(prices) == set(price_names())
    cycles = {name: value for name, (value, _) in prices.items()}
    assert (cycles["l2"], cycles["dram_near"]) == (10, 196)
    assert cycles["l3"] == 2 * 42 - 14 - 4  # of twice L2's size the half is in L2
    assert (cycles["transfer_cluster"], cycles["upgrade_cluster"], cycles["atomic"]) == (100, 90, 19.5)
    assert (cycles["fence"], cycles["repeat"], cycles["xsave"], cycles["syscall"]) == (35, 0.5, 100, 120)
    assert prices["transfer_cluster"][1].startswith("measured 20") and "median of 300" in prices["transfer_cluster"][1]
    assert prices["cr3"][1] == prices["ipi"][1] == "assumed"
    assert prices["transfer_machine"] == (100, "not used: one socket")


def test_hand_over() -> None:
    """calibrate: a hand-over that is quicker than an upgrade and a transfer one after the other overlaps them; alone,
    each costs what it did"""
    assert calibrate.prices(calibration())["overlap_cluster"] == (0.0, "assumed")  # not measured
    for whole, overlap in ((150.0, 40.0), (80.0, 110.0), (250.0, 0.0)):
        known = calibration()
        known.moved["cluster"]["hand_over"] = Figure(whole, whole - 1, whole + 1, 300)  # type: ignore[index]
        prices = calibrate.prices(known)
        assert (prices["upgrade_cluster"][0], prices["transfer_cluster"][0], prices["overlap_cluster"][0]) == (90, 100,
            overlap)
        assert f"a flag handed over ({whole:.1f})" in prices["overlap_cluster"][1]
        assert prices["overlap_machine"] == (overlap, "not used: one socket")


def test_distances() -> None:
    """calibrate: cores that are farther apart are measured as such"""
    prices = calibrate.prices(calibration({"cluster": (0, 1), "socket": (0, 4), "machine": (0, 8)}, (2, 2, 4)))
    assert [prices[f"transfer_{place}"][0] for place in ("cluster", "socket", "machine")] == [100, 200, 400]
    assert prices["dram_far"][1] == "assumed"
    lone = calibrate.prices(calibration({"machine": (0, 1)}, (2, 1, 1)))  # one core in each socket
    assert lone["transfer_cluster"][1] == "not used: one core for each L3"
    assert lone["transfer_cluster"][0] == lone["transfer_machine"][0]


def test_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """calibrate: what it writes is a machine file, whatever the processor is called"""
    monkeypatch.setattr(calibrate.host, "cpu", lambda: type("Cpu", (), {"model": 'A "quoted\\" CPU'})())
    path = tmp_path / "mine.toml"
    path.write_text(calibrate.machine_file(calibration()))
    machine = load(str(path))
    assert machine.name == 'A "quoted\\" CPU, 2 cores of this host'
    assert (machine.cores, machine.ghz, machine.caches["l2"]) == (2, 2.5, (1024, 16))
    assert "cr3" in machine.assumed and "transfer_cluster" not in machine.assumed


def test_noise() -> None:
    """calibrate: figures whose samples are far apart are named"""
    known = calibration()
    assert "read (cluster)" not in known.noisy
    known.moved["cluster"]["read"] = Figure(100, 80, 120, 300)  # type: ignore[index]
    assert "read (cluster)" in known.noisy


def survey(*processors: tuple[int, int, int]) -> Survey:
    return Survey("test", [Processor(number, socket, number, l3, socket) for number, socket, l3 in processors])


def test_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """calibrate: pairs of cores in one L3, in two of a socket, in two sockets; one that may not be used is left out"""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
    monkeypatch.setattr(calibrate, "survey_live", lambda: survey(*((n, n // 4, n // 2) for n in range(9))))
    where = calibrate.places()
    assert (where.sockets, where.clusters, where.cores) == (2, 2, 2)
    assert where.pair == {"cluster": (0, 1), "socket": (0, 2), "machine": (0, 4)}
    monkeypatch.setattr(calibrate, "survey_live", lambda: survey((0, 0, 0), (1, 0, 0), (2, 0, 1)))
    with pytest.raises(Failure, match="do not all have as many cores"):
        calibrate.places()


def test_one_core(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """calibrate: one core is refused in one line, before anything is built"""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    monkeypatch.setattr(calibrate, "survey_live", lambda: survey((0, 0, 0), (1, 0, 0)))
    assert main(["bench", "calibrate"]) == 1
    assert "needs two cores that a line can move between" in capsys.readouterr().err


@pytest.mark.parametrize("path,says", [("mine.json", "is no .toml file"), ("/nowhere/mine.toml", "no such folder")])
def test_output(capsys: pytest.CaptureFixture[str], path: str, says: str) -> None:
    """calibrate: a place for the file that cannot be is refused first"""
    assert main(["bench", "calibrate", "-o", path]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_here(tmp_path: Path) -> None:
    """calibrate: on this machine every figure is there, and the file can be used"""
    measured = calibrate.measure(runs=1)
    path = tmp_path / "here.toml"
    path.write_text(calibrate.machine_file(measured))
    machine = load(str(path))
    assert machine.cores >= 2
    assert all(price.cycles >= 0 for price in machine.prices.values())
    assert machine.prices["transfer_cluster"].cycles > 0 or machine.cores_per_cluster == 1
