# SPDX-License-Identifier: BSD-2-Clause
"""Switches and drivers of network cards; domains in XML."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.base.paths import ROOT
from deploy.cli import main as cli
from deploy.cli.commands.domains import deploy as command
from deploy.cli.options import PlanOptions, load_plan
from deploy.deployment import Deployment, Redis, parse
from deploy.deployment.planner import Plan, plan, plan_map
from deploy.domains import connection
from deploy.domains.definition import QEMU, define
from deploy.domains.machines import arrange
from deploy.load import comparison
from deploy.load.linux_guest.plan import guest_plan
from deploy.machine import qemu
from deploy.machine.image import DirectBoot
from tests.unit.deploy.test_domains import FOLDER, RECORD
from topology import drivers, foreign
from topology.errors import InputError
from topology.machines.machine import Shape, default_memory, emulated
from topology.maps.clustermap import Application
from topology.maps.dts import write_dts
from topology.maps.separate import separate

# ---- Switches and drivers of network cards. ----


# ---- Which switches a deployment gets, and which programs use which ----

REDIS = Path("deploy/deployments/redis.toml")


def made(text: str = "", sockets: int = 2, cores: int = 4, layout: str = "per-socket") -> Plan:
    return plan(parse(f"[redis]\n{text}\n[machine]\nsockets = {sockets}\ncores = {cores}\n[clusters]\nlayout = "
                      f"'{layout}'"))


def switches(what: Plan) -> dict[int, str | None]:
    return {app.cpu: app.switch for app in what.cluster_map.applications if app.role == "switch"}


@pytest.mark.parametrize("sockets, cores, layout, expected", [
    (2, 2, "per-socket", [0]), (1, 8, "spanning", [0]), (2, 3, "per-socket", [0, 3]), (2, 4, "spanning", [0, 4]),
    (2, 4, "size=2", [0]), (4, 4, "size=8", [0, 4, 8, 12]), (3, 3, "per-socket", [0, 3, 6]),
])  # fmt: skip
def test_default(sockets: int, cores: int, layout: str, expected: list[int]) -> None:
    """a switch on each of several sockets of three cores or more, where none has several clusters"""
    what = made(sockets=sockets, cores=cores, layout=layout)
    placed = switches(what)
    assert list(placed) == expected
    assert list(placed.values()) == [None] + ["switch@0"] * (len(expected) - 1)
    names = {app.cpu: app.name for app in what.cluster_map.applications if app.role == "switch"}
    of = [max(cpu for cpu in expected if cpu <= app.cpu) for app in what.cluster_map.applications if app.ipv4]
    assert [app.switch for app in what.cluster_map.applications if app.ipv4] == [names[cpu] if cpu else None
        for cpu in of]
    servers = [app.cpu for app in what.cluster_map.applications if app.program == "redis-server"]
    assert servers == [cpu for cpu in range(sockets * cores) if cpu not in expected]


def test_the_papers() -> None:
    """one network processor is what a file or the command line says, and then the file does not count"""
    assert list(switches(made("[network]\nswitch = 'one'"))) == [0]
    assert list(switches(made("[network]\nswitch = 'per-socket'", cores=2))) == [0, 2]
    assert list(switches(load_plan(PlanOptions(REDIS, sockets=2, cores=4, switch="one")))) == [0]
    assert list(switches(load_plan(PlanOptions(REDIS, sockets=2, cores=2, switch="per-socket")))) == [0, 2]


def test_only_where_somebody_is() -> None:
    """a socket without users of the network has no switch"""
    assert list(switches(plan(parse("[redis]\ncpus = [1]\n[machine]\ncores = 4")))) == [0]
    text = "[redis]\ncpus = [1]\n[machine]\ncores = 4\n[[program]]\nprogram = 'posixtest'\ncpu = 6\nnetwork = true"
    assert list(switches(plan(parse(text)))) == [0, 4]
    assert (
        not switches(plan(parse("network = false\n[machine]\ncores = 4\n[[program]]\nprogram = 'posixtest'\ncpu = 6")))
    )


def test_machines_of_their_own() -> None:
    """a domain for each cluster has one switch unless somebody says otherwise; then the channel has one port"""
    assert list(switches(load_plan(PlanOptions(REDIS, sockets=2, cores=4), apart=True))) == [0]
    what = load_plan(PlanOptions(REDIS, sockets=2, cores=4, switch="per-socket"), apart=True)
    assert list(switches(what)) == [0, 4]
    cluster_map, _ = separate(what.cluster_map, what.machine)
    assert cluster_map.ports_between(0, 1) == 1


def test_refusals(tmp_path: Path) -> None:
    """layouts and maps that it is not for"""
    with pytest.raises(InputError, match=r"deployment:\d+: \[network\] switch: is for clusters of whole sockets, and "
                       r"layout size=2"):
        made("[network]\nswitch = 'per-socket'", layout="size=2")
    with pytest.raises(InputError, match="--switch per-socket: is for clusters of whole sockets"):
        load_plan(PlanOptions(REDIS, sockets=2, cores=4, layout="size=2", switch="per-socket"))
    with pytest.raises(InputError, match="--switch: 'two' is neither one nor per-socket"):
        load_plan(PlanOptions(REDIS, switch="two"))
    with pytest.raises(InputError, match=r"deployment:2: \[network\] switch: 'two' is not one of one, per-socket"):
        parse("[network]\nswitch = 'two'\n[redis]")
    (tmp_path / "a.dts").write_text("")
    with pytest.raises(InputError, match="--switch: is not for a cluster map"):
        load_plan(PlanOptions(tmp_path / "a.dts", switch="one"))


@pytest.mark.parametrize("sockets, cores, layout, switch, hops", [
    (2, 2, "spanning", "one", 0), (2, 2, "per-socket", "one", 8 / 3), (2, 4, "per-socket", "per-socket", 0),
    (1, 4, "size=1", "one", 4),
])  # fmt: skip
def test_hops(sockets: int, cores: int, layout: str, switch: str, hops: float) -> None:
    """channels that a request and its answer go through: one to the switch and one from it, where it is another
    kernel's, and back"""
    what = made(f"[ycsb]\nclients = 2\n[network]\nswitch = '{switch}'", sockets, cores, layout)
    assert what.cluster_map.hops_per_operation() == pytest.approx(hops)


def test_comparison() -> None:
    """all layouts, and Linux, have the same kind of switch and so the same instances"""
    shape = Shape(2, 4, default_memory(4))
    for layouts, servers in ((("per-socket", "spanning"), 6), (("per-socket", "size=2"), 7)):
        job = comparison.with_common_switch(comparison.Comparison(shape, layouts))
        assert comparison.servers(job) == servers
        for layout in layouts:
            assert sum(a.program == "redis-server"
                       for a in plan(job.deployment(layout, "c")).cluster_map.applications) == servers
        assert len(guest_plan(job.deployment("spanning", "c")).ports) == servers
    assert switches(plan(Deployment(redis=Redis(), shape=Shape(2, 2)))) == {0: None}


# ---- A deployment's network driver: in the map, on QEMU's command line, in the domain, in an image for a ----

NAMES = list(drivers.every())


def made_drivers(name: str | None) -> str:
    return "[redis]\n" + (f"[network]\ndriver = '{name}'\n" if name else "")


def nic(text: str, real: bool = False) -> list[Application]:
    deployment = parse(text)
    what = plan(deployment, emulated(deployment.shape) if real else None)
    return [app for app in what.cluster_map.applications if app.role == "nic"]


@pytest.mark.parametrize("name", NAMES)
def test_map(name: str) -> None:
    """the driver is the first cluster's, with the ids of its cards; a real machine has one if the file names it"""
    (app,) = nic(made_drivers(name))
    assert (app.program, app.cpu, app.pci_ids) == (name, 0, drivers.every()[name].ids)
    assert [app.program for app in nic(made_drivers(name), real=True)] == [name]


def test_usual() -> None:
    """without the key, an emulated machine has the first driver of the list, and a real one none"""
    assert [app.program for app in nic(made_drivers(None))] == ["virtio-net"]
    assert nic(made_drivers(None), real=True) == []


def test_unknown() -> None:
    """another name is refused with those that there are"""
    with pytest.raises(InputError, match="virtio-net, e1000e") as error:
        parse(made_drivers("e1000"))
    assert "[network] driver" in str(error.value) and "'e1000e'" in str(error.value), "and the nearest"


@pytest.mark.parametrize("name", NAMES)
def test_machines(name: str, tmp_path: Path) -> None:
    """QEMU and libvirt make a card that the map's driver drives, for a map in a file, too"""
    what, driver = plan(parse(made_drivers(name))), drivers.every()[name]
    path = tmp_path / "made.dts"
    path.write_text(write_dts(what.cluster_map))
    assert drivers.of_map(plan_map(path).cluster_map.applications) == driver
    boot = DirectBoot(Path("loader"), Path("initrd"))
    for accel, options in ((qemu.tcg_for(4), ""), (qemu.tcg_for(4, counted=True), driver.counted)):
        words = qemu.Command(what.machine, accel, boot, tmp_path, driver=driver).arguments()
        (card,) = [word for word in words if "netdev=net" in word]
        assert card.startswith(f"{driver.qemu},") and card.endswith(f"romfile=,{options}" if options else "romfile=")
    for record in (RECORD, replace(RECORD, bridge="br7")):
        root = ElementTree.fromstring(define(arrange(what), record, FOLDER))
        cards = [arg.attrib["value"] for arg in root.iter(f"{{{QEMU}}}arg") if "netdev=skerry" in arg.attrib["value"]]
        models = [model.get("type") for model in root.findall("devices/interface/model")]
        assert ((cards, models) == ([], [driver.libvirt]) if record.bridge else cards[0].startswith(f"{driver.qemu},")
                and not models)


# ---- `skerry deploy --print-xml` prints domains without libvirt: without its daemon, and without its Python library.
# ----


FILE = str(ROOT / "deploy/deployments/redis.toml")


@pytest.fixture(autouse=True)
def nothing_built(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "loader").write_bytes(b"loader")
    monkeypatch.setattr(command, "ensure_built", lambda *_: None)
    monkeypatch.setattr("deploy.domains.deploy.image.contents", lambda *_, **__: {"map": b"map", "loader": b"loader"})
    monkeypatch.setattr("deploy.domains.deploy.modules.loader", lambda *_, **__: tmp_path / "loader")


class NoDaemon:
    """libvirt's library where nothing answers."""

    class libvirtError(Exception):
        def get_error_code(self) -> int:
            return NoDaemon.VIR_ERR_SYSTEM_ERROR

    VIR_ERR_NO_CONNECT, VIR_ERR_INVALID_ARG, VIR_ERR_SYSTEM_ERROR = 5, 8, 38

    @staticmethod
    def virEventRegisterDefaultImpl() -> None:
        pass

    @staticmethod
    def open(uri: str) -> Any:
        raise NoDaemon.libvirtError("Failed to connect socket to '/var/run/libvirt/libvirt-sock'")


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[str, str]:
    status = cli.main(["deploy", "--print-xml", "--accel", "tcg", *words, FILE])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    return captured.out, captured.err


@pytest.mark.parametrize("words", [(), ("--per-cluster",), ("--bridge", "virbr0"),
                                   ("--connect", "qemu+ssh://somewhere/system")], ids=" ".join)
@pytest.mark.parametrize("library", [False, True], ids=["no library", "no daemon"])
def test_without_libvirt(library: bool, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch,
                         capsys: pytest.CaptureFixture[str]) -> None:
    """the domains are printed, and one line on the error output says what is not known"""
    monkeypatch.setattr(command, "has_library", lambda: library)
    monkeypatch.setattr(connection, "library", lambda: NoDaemon)
    out, err = printed(capsys, *words)
    assert "Without the host: " in err and ("Python library is missing" in err) != library
    domains = [f"<domain{part}" for part in out.split("<domain")[1:]]
    assert (len(domains) > 1) == ("--per-cluster" in words)
    for text in domains:
        domain = foreign.xml(text, "the domain")
        assert domain.get("type") == "qemu" and domain.find("uuid") is None and domain.find("cputune") is None
        assert str(domain.findtext("name")).startswith("skerry-redis")


def test_a_wrong_uri(capsys: pytest.CaptureFixture[str]) -> None:
    """a URI that is none is refused all the same"""
    assert cli.main(["deploy", "--print-xml", "--connect", "nonsense", FILE]) == 2
    assert "is not a libvirt URI" in capsys.readouterr().err


def test_a_deployment_needs_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """without --print-xml a host that does not answer is a failure"""
    monkeypatch.setattr(connection, "library", lambda: NoDaemon)
    assert cli.main(["deploy", "--accel", "tcg", FILE]) == 1
    assert "is libvirtd running?" in capsys.readouterr().err
