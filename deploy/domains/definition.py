# SPDX-License-Identifier: BSD-2-Clause
"""A machine of a deployment as a domain's XML: what it is, its one disc, serial ports, network, shared memory, our
record."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import PurePosixPath

from deploy.domains.machines import Machines
from deploy.domains.record import Record, fingerprint
from deploy.domains.shared import shared_name
from deploy.domains.storage import EVENTS
from deploy.machine.qemu import user_network
from topology import drivers
from topology.machines.libvirt_domain import machine_elements
from topology.maps.clustermap import ClusterMap
from topology.units import MIB

QEMU = "http://libvirt.org/schemas/domain/qemu/1.0"
MAC = "52:54:00:53:4b:01"
NIC_SLOT = "0x10"  # libvirt gives its own devices places from 1 on, and 0x1f

ElementTree.register_namespace("qemu", QEMU)

Element = ElementTree.Element


def define(machines: Machines, record: Record, folder: PurePosixPath, uefi: bool = False) -> str:
    """The whole domain of one machine, that of the record."""
    number = record.machine
    emulated = record.accel != "kvm"
    root = ElementTree.Element("domain", type="qemu" if emulated else "kvm")
    ElementTree.SubElement(root, "name").text = record.domain
    ElementTree.SubElement(root, "title").text = f"Skerry: {record.name}" + (f", cluster {number}"
                                                                             if record.machines > 1 else "")
    ElementTree.SubElement(root, "metadata").append(record.element())
    devices = None
    pinned = machines.clusters_of(number) if machines.pinned else None
    shares = any(machines.shared(number))
    for element in machine_elements(machines.each[number], pinned, locked=emulated and shares):
        if element.tag == "os" and uefi:
            _uefi(element)
        if element.tag == "devices":
            devices = element
            continue
        root.append(element)
    for event in ("on_poweroff", "on_reboot", "on_crash"):
        ElementTree.SubElement(root, event).text = "destroy"
    root.append(_devices(machines, record, folder, devices))
    root.append(_beyond_libvirt(record, machines.cluster_map))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _uefi(system: Element) -> None:
    """Nobody has signed our loader."""
    system.set("firmware", "efi")
    firmware = ElementTree.SubElement(system, "firmware")
    for feature in ("enrolled-keys", "secure-boot"):
        ElementTree.SubElement(firmware, "feature", enabled="no", name=feature)


def _devices(machines: Machines, record: Record, folder: PurePosixPath, more: Element | None) -> Element:
    """The network and what the managers report are machine 0's."""
    devices = ElementTree.Element("devices")
    disc = ElementTree.SubElement(devices, "disk", type="file", device="cdrom")
    ElementTree.SubElement(disc, "driver", name="qemu", type="raw")
    ElementTree.SubElement(disc, "source", file=str(folder / record.image))
    ElementTree.SubElement(disc, "target", dev="sda", bus="sata")
    ElementTree.SubElement(disc, "readonly")
    ElementTree.SubElement(disc, "boot", order="1")
    ElementTree.SubElement(devices, "controller", type="usb", model="none")
    if record.bridge and record.machine == 0:
        port = ElementTree.SubElement(devices, "interface", type="bridge")
        ElementTree.SubElement(port, "mac", address=_bridge_mac(record.name))
        ElementTree.SubElement(port, "source", bridge=record.bridge)
        ElementTree.SubElement(port, "model", type=drivers.of_map(machines.cluster_map.applications).libvirt)
        ElementTree.SubElement(port, "rom", enabled="no")
    _console(devices, folder / record.console)
    if record.machine == 0:
        events = ElementTree.SubElement(devices, "serial", type="file")
        ElementTree.SubElement(events, "source", path=str(folder / EVENTS), append="off")
        ElementTree.SubElement(events, "target", port="1")
    ElementTree.SubElement(devices, "memballoon", model="none")
    for channel, slot, size in machines.shared(record.machine):
        _shared(devices, shared_name(record.name, channel), slot, size)
    devices.extend(more if more is not None else [])
    return devices


def _bridge_mac(name: str) -> str:
    """libvirt's own prefix, and another station for each deployment on the bridge."""
    return "52:54:00:" + ":".join(re.findall("..", fingerprint(name)[:6]))


def _console(devices: Element, log: PurePosixPath) -> None:
    """A terminal to attach to, and all of its output in a file for later readers."""
    serial = ElementTree.SubElement(devices, "serial", type="pty")
    ElementTree.SubElement(serial, "log", file=str(log), append="off")
    ElementTree.SubElement(serial, "target", port="0")


def _shared(devices: Element, name: str, slot: int, size: int) -> None:
    memory = ElementTree.SubElement(devices, "shmem", name=name)
    ElementTree.SubElement(memory, "model", type="ivshmem-plain")
    ElementTree.SubElement(memory, "size", unit="M").text = str(size // MIB)
    ElementTree.SubElement(memory, "address", type="pci", domain="0", bus="0", slot=f"{slot:#x}", function="0")


def _beyond_libvirt(record: Record, cluster_map: ClusterMap) -> Element:
    """Returns the arguments for which libvirt has no elements: an exit status of the machine's own, and forwarded
    ports."""
    words = ["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"]
    if record.machine == 0 and not record.bridge:
        words += ["-netdev", f"user,id=skerry,{user_network(cluster_map.network, record.forwards, record.outside)}"]
        card = drivers.of_map(cluster_map.applications)
        words += ["-device", card.device(f"netdev=skerry,mac={MAC},romfile=,bus=pcie.0,addr={NIC_SLOT}")]
    commandline = ElementTree.Element(f"{{{QEMU}}}commandline")
    for word in words:
        ElementTree.SubElement(commandline, f"{{{QEMU}}}arg", value=word)
    return commandline
