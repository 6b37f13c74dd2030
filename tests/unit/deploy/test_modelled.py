# SPDX-License-Identifier: BSD-2-Clause
"""Machine files of modelled machines, and what their figures carry beside them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.bench.scale.measure import MOST_CORES, Point, Request, machine, ranges_of
from deploy.cli.commands.bench.scale import _request, _sizes
from deploy.cli.main import main
from deploy.cli.options import load_plan
from deploy.compare import runs as sweep
from deploy.emulator.machine_file import ASSUMED, LINE_PRICES, MACHINES, load, names, price_names
from deploy.load.measure import Comparison
from deploy.machine.qemu import Accel
from topology.errors import InputError
from topology.machines.q35 import q35_memory
from topology.units import GIB

XEON = MACHINES / "xeon-e5-2683v3.toml"


def test_every_machine() -> None:
    """modelled machine: every file of emulator/machines can be read, and each of its prices has a source"""
    assert "xeon-e5-2683v3" in names()
    for name in names():
        found = load(name)
        assert set(found.prices) == set(price_names())
        assert 1 <= found.cores <= 64
        assert f"{len(found.assumed)} of {len(found.prices)} prices assumed" in found.header


def test_paper() -> None:
    """modelled machine: the papers' Xeon has Table 1's latencies, less the 4 cycles of an L1 hit"""
    prices = {name: price.cycles + 4 for name, price in load("xeon-e5-2683v3").prices.items()}
    assert [prices[name] for name in ("l2", "l3", "l3_machine")] == [12, 44, 163]
    assert [prices[name] for name in ("transfer_cluster", "transfer_machine")] == [115, 218]
    assert [prices[name] for name in ("dram_near", "dram_far")] == [185, 265]


def test_plugin_text() -> None:
    """modelled machine: the plugin gets every price, line costs times a factor, and nodes around the hole below 4 GiB"""
    found = load("xeon-e5-2683v3")
    text = dict(line.rsplit(" ", 1) for line in found.plugin_text(q35_memory([7 * GIB, 7 * GIB]), 2.0).splitlines())
    for name, price in found.prices.items():
        assert float(text[name]) == pytest.approx(price.cycles * (2 if name in LINE_PRICES else 1))
    assert (text["khz"], text["cores"], text["clusters"], text["sockets"]) == ("2000000", "28", "2", "2")
    assert [(key, value) for key, value in text.items() if key.startswith("node")] == [
        ("node 0x0", "0"), ("node 0x100000000", "0"), ("node 0x240000000", "1"),
    ]


def test_shape() -> None:
    """modelled machine: cores of one socket are emulated alone, those of several with all sockets whole"""
    found = load("xeon-e5-2683v3")
    assert (found.shape(8, GIB).sockets, found.shape(8, GIB).cores) == (1, 8)
    assert (found.shape(16, GIB).sockets, found.shape(16, GIB).cores) == (2, 14)
    with pytest.raises(InputError, match="--cores: 29 cores; 2 x 14 Xeon"):
        found.shape(29, GIB)
    target = machine(Request("clh", [4, 28], [500.0], 10, modelled=found), "instructions")
    assert len(target.machine.cores) == 28


def test_shared_caches() -> None:
    """modelled machine: an EPYC is emulated with its L3s, whole ones, as the plugin counts the cores of each"""
    found = load("epyc-7402")
    whole, some = found.shape(48, GIB), found.shape(8, GIB)
    assert (whole.sockets, whole.cores, whole.caches) == (2, 24, 8)
    assert (some.sockets, some.cores, some.caches) == (1, 9, 3)
    assert (found.shape(2, GIB).cores, found.shape(2, GIB).caches) == (2, 1)
    assert found.exactly(9, GIB) == some
    for wrong in (8, 25):
        with pytest.raises(InputError, match=f"--cores: {wrong} cores; of 2 x 24 EPYC 7402 run up to 3, an L3's, or whole L3s of a socket, or all 48"):
            found.exactly(wrong, GIB)
    target = machine(Request("clh", [48], [500.0], 10, "per-l3", modelled=found), "instructions")
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


BROKEN = [
    ("cycles = 214, ", "", "price.transfer_machine.cycles: is missing"),
    ("transfer_machine =", "transfer_mashine =", "price.transfer_mashine: is no price"),
    ('ipi = { cycles = 1500, source = "assumed" }', "", "price.ipi: is missing"),
    ('ipi = { cycles = 1500, source = "assumed" }', "ipi = 1500", "price.ipi: is 1500, not a table"),
    ('ipi = { cycles = 1500, source = "assumed" }', 'ipi = { cycles = -1, source = "assumed" }', "price.ipi.cycles: is -1"),
    ('ipi = { cycles = 1500, source = "assumed" }', 'ipi = { cycles = nan, source = "assumed" }', "price.ipi.cycles: is nan"),
    ('ipi = { cycles = 1500, source = "assumed" }', 'ipi = { cycles = true, source = "assumed" }', "price.ipi.cycles: is True"),
    ('ipi = { cycles = 1500, source = "assumed" }', 'ipi = { cycles = 1500, source = "" }', "price.ipi.source: is ''"),
    ('ipi = { cycles = 1500, source = "assumed" }', 'ipi = { cycles = 1500, source = "fitted" }', "fitted: must say"),
    *(('ipi = { cycles = 1500, source = "assumed" }', f'ipi = {{ cycles = 1500, source = "{source}" }}', "price.ipi.source: is ")
      for source in ("Assumed", " assumed", "assumed.", "Fitted", "?", "a\\nb", "a\\u001b[31mb")),
    ("cpi_kernel = \"the lock", "cpi_kernel = \"assumed\" # ", "fitted: must say"),
    ("sockets = 2", "sockets = 0", "sockets: is 0"),
    ("sockets = 2", "sockets = 64", "sockets: 896 cores in all"),
    ("sockets = 2", "colour = 2", "colour: is not one of"),
    ("inclusive = true, ", "", "l3.inclusive: is missing"),
    ("inclusive = true", "inclusive = 1", "l3.inclusive: is 1, not true or false"),
    ("cpi_kernel = \"the lock", "cpi_user = \"the lock", "fitted: must say"),
    ("[price]", "[price", "Expected"),
    ("value = 2.0", "value = " + 5000 * "9", "too many digits"),
    ("value = 2.0", "value = " + 20000 * "[", "nested too deeply"),
    ("[price]", "[price]\n#" + (1 << 20) * "x", "more than 1 MiB"),
    ("name = \"2 x 14", "name = \"2 x\\n14", "name: is '2 x\\n14"),
    # What the plugin refuses, too, after everything is built and booted: the last at double line costs only
    ("value = 2.0", "value = 0", "ghz.value: is 0, not a number from 0.1 to 10"),
    ("value = 2.0", "value = 11", "ghz.value: is 11"),
    ("l1i = { sets = 64", "l1i = { sets = 0", "l1i.sets: is 0, not a whole number from 1 to 1,048,576"),
    ("l1 = { sets = 64", "l1 = { sets = 0", "l1.sets: is 0, not a whole number from 1 to 1,048,576"),
    ("ways = 20", "ways = 65", "l3.ways: is 65"),
    ("value = 42", "value = 0", "store_buffer.value: is 0"),
    ("value = 42", "value = 257", "store_buffer.value: is 257"),
    ("value = 42", "value = 4.0", "store_buffer.value: is 4.0, not a whole"),
    ("transfer_machine = { cycles = 214", "transfer_machine = { cycles = 900_000_000", "price.transfer_machine.cycles: is 900000000"),
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


def test_names() -> None:
    """modelled machine: a name that is none, and a file that is not there, are said"""
    with pytest.raises(InputError, match="is none of .*xeon-e5-2683v3"):
        load("xeon")
    with pytest.raises(InputError, match="nowhere.toml: no such file"):
        load("nowhere.toml")


@pytest.mark.parametrize("words,says", [
    (["--machine", "xeon"], "--machine xeon: is none of"),
    (["--quick"], "--quick: is for a modelled machine"),
    (["--machine", "xeon-e5-2683v3", "--icount"], "--icount: is not for a modelled machine"),
    (["--machine", "xeon-e5-2683v3", "--sockets", "2"], "--sockets: is not for a modelled machine"),
    (["--machine", "xeon-e5-2683v3", "--cores", "40"], "--cores: 40 cores"),
    (["--machine", "xeon-e5-2683v3", "--native"], "--machine: chooses a machine"),
])
def test_command(capsys: pytest.CaptureFixture[str], words: list[str], says: str) -> None:
    """modelled machine: bench scale refuses what does not go together before it builds anything"""
    assert main(["bench", "scale", *words]) == 2
    assert says in capsys.readouterr().err


NAMED = ["--machine", "xeon-e5-2683v3"]
REDIS = "deploy/deployments/redis.toml"
MAP = "tests/unit/topology/good.dts"


@pytest.mark.parametrize("words,says", [
    (["bench", "ipc", "--native"], "--native: is not for a modelled machine"),
    (["bench", "ipc", "--icount"], "--icount: is not for a modelled machine"),
    (["bench", "lock"], "--machine xeon-e5-2683v3: is not for bench lock, which measures this machine's own cores"),
    (["bench", "mach", "--accel", "tcg"], "--accel: is not for a modelled machine"),
    (["bench", "mach", "--cores", "16"], "--cores: 16 cores; of 2 x 14 Xeon E5-2683 v3 run up to 14, a socket, or all 28"),
    (["bench", "redis", "--cores", "2,16"], "--cores: 16 cores; of 2 x 14 Xeon"),
    (["bench", "redis", "--cores", "29"], "--cores: 29 cores; 2 x 14 Xeon"),
    (["bench", "redis", "--baseline", "linux"], "--baseline: is not for a modelled machine"),
    (["bench", "redis", "--pong"], "--pong: is not for a modelled machine"),
    (["bench", "redis", "--icount"], "--icount: is not for a modelled machine"),
    (["run", REDIS, "--cores", "2"], "--cores: is not for a modelled machine"),
    (["run", REDIS, "--topology", "live"], "--topology: is not for a modelled machine"),
    (["run", REDIS, "--gdb"], "--gdb: is not for a modelled machine"),
    (["run", REDIS, "--uefi"], "--uefi: is not for a modelled machine"),
    (["run", REDIS, "--accel", "kvm"], "--accel: is not for a modelled machine"),
    (["run", MAP], "--machine: tests/unit/topology/good.dts is a cluster map, which says what machine it is for"),
])
def test_other_commands(capsys: pytest.CaptureFixture[str], words: list[str], says: str) -> None:
    """modelled machine: every other command refuses what does not go together before it builds anything"""
    assert main([*words, *NAMED]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("words", [["bench", "redis"], ["bench", "mach"]])
def test_quick_alone(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    """modelled machine: --quick is for nothing else"""
    assert main([*words, "--quick"]) == 2
    assert "--quick: is for a modelled machine" in capsys.readouterr().err


def test_run_machine() -> None:
    """modelled machine: `run` takes the whole of it, whatever machine the deployment names"""
    target = load_plan(Path(REDIS), machine="xeon-e5-2683v3")
    assert len(target.machine.cores) == 28
    assert len(target.cluster_map.clusters) == 2


def test_range() -> None:
    """modelled machine: a point's range is the least and the most under its line costs"""
    def point(factor: float, time: int) -> Point:
        return Point("clh", "spanning", 1, 2, 500.0, time, "modelled", [{"rounds": 500}], True, 0, factor)

    assert ranges_of([point(1.0, 1000)]) == {}
    assert ranges_of([point(0.5, 500), point(1.0, 1000), point(2.0, 4000)]) == {("clh", "spanning", 2, 500.0): (0.25, 2.0)}
    assert ASSUMED in {price.source for price in load("xeon-e5-2683v3").prices.values()}


@pytest.mark.parametrize("shape", [(1, 1, 64), (4, 1, 16), (16, 2, 2)])
def test_largest(shape: tuple[int, int, int]) -> None:
    """modelled machine: bench scale measures one of 64 cores up to what a kernel takes, where no --cores says more"""
    sockets, clusters, cores = shape
    sizes = _sizes(replace(load("xeon-e5-2683v3"), sockets=sockets, clusters_per_socket=clusters, cores_per_cluster=cores), 1)
    assert sizes[-1] == MOST_CORES
    assert _request(Request("clh", sizes, [500.0], 10)).cores == sizes


def test_alone() -> None:
    """modelled machine: a layout without another is not run at other line costs, for it has no ratio"""
    two = Comparison(shape=load("xeon-e5-2683v3").shape(4, GIB), modelled=load("xeon-e5-2683v3"))
    for job, quick, factors in ((replace(two, layouts=["spanning"]), False, [1.0]), (two, True, [1.0]), (two, False, [1.0, 0.5, 2.0])):
        found = sweep.calls(job, Accel("tcg", (), ""), quick)
        runs = [call.arguments for call in found if call.function is sweep.run_once]
        assert [(of.line_factor, layout, counting) for of, _, layout, _, counting in runs if not of.think] == [
            *((1.0, layout, True) for layout in job.layouts), *((factor, layout, False) for factor in factors for layout in job.layouts)
        ]
        pauses = [(of.line_factor, layout, counting) for of, _, layout, _, counting in runs if of.think]
        assert pauses == [(factor, layout, False) for factor in factors for layout in job.layouts if len(job.layouts) > 1]
