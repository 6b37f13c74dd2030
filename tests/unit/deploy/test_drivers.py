# SPDX-License-Identifier: BSD-2-Clause
"""A deployment's network driver: in the map, on QEMU's command line, in the domain, in an image for a real machine."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.deployment import parse
from deploy.deployment.planner import plan, plan_map
from deploy.domains.definition import QEMU, define
from deploy.domains.machines import arrange
from deploy.machine import qemu
from deploy.machine.image import DirectBoot
from tests.unit.deploy.test_domains_per_cluster import FOLDER, RECORD
from topology import drivers
from topology.errors import InputError
from topology.machines.machine import emulated
from topology.maps.clustermap import Application
from topology.maps.dts import write_dts

NAMES = list(drivers.every())


def made(name: str | None) -> str:
    return "[redis]\n" + (f"[network]\ndriver = '{name}'\n" if name else "")


def nic(text: str, real: bool = False) -> list[Application]:
    deployment = parse(text)
    what = plan(deployment, emulated(deployment.shape) if real else None)
    return [app for app in what.cluster_map.applications if app.role == "nic"]


@pytest.mark.parametrize("name", NAMES)
def test_map(name: str) -> None:
    """the driver is the first cluster's, with the ids of its cards; a real machine has one if the file names it"""
    (app,) = nic(made(name))
    assert (app.program, app.cpu, app.pci_ids) == (name, 0, drivers.every()[name].ids)
    assert [app.program for app in nic(made(name), real=True)] == [name]


def test_usual() -> None:
    """without the key, an emulated machine has the first driver of the list, and a real one none"""
    assert [app.program for app in nic(made(None))] == ["virtio-net"]
    assert nic(made(None), real=True) == []


def test_unknown() -> None:
    """another name is refused with those that there are"""
    with pytest.raises(InputError, match="virtio-net, e1000e") as error:
        parse(made("e1000"))
    assert "[network] driver" in str(error.value) and "'e1000e'" in str(error.value), "and the nearest"


@pytest.mark.parametrize("name", NAMES)
def test_machines(name: str, tmp_path: Path) -> None:
    """QEMU and libvirt make a card that the map's driver drives, for a map in a file, too"""
    what, driver = plan(parse(made(name))), drivers.every()[name]
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
        assert (cards, models) == ([], [driver.libvirt]) if record.bridge else cards[0].startswith(f"{driver.qemu},") and not models
