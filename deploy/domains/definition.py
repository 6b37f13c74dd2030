# SPDX-License-Identifier: BSD-2-Clause
"""A machine of a deployment as a domain's XML: what it is, its one disc, serial ports, network, shared memory, our
record."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import PurePosixPath

from deploy.deployment import volumes
from deploy.domains.machines import Machines
from deploy.domains.record import Record, fingerprint
from deploy.domains.shared import shared_name
from deploy.domains.storage import EVENTS
from deploy.machine.qemu import user_network
from topology import drivers
from topology.machines.libvirt_domain import element, machine_elements
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
    title = f"Skerry: {record.name}" + (f", cluster {number}" if record.machines > 1 else "")
    root = element("domain", element("name", text=record.domain), element("title", text=title),
                   element("metadata", record.element()), type="qemu" if emulated else "kvm")
    devices = None
    pinned = machines.clusters_of(number) if machines.pinned else None
    shares = any(machines.shared(number))
    for part in machine_elements(machines.each[number], pinned, locked=emulated and shares):
        if part.tag == "os" and uefi:  # nobody has signed our loader
            part.set("firmware", "efi")
            part.append(element("firmware", *(element("feature", enabled="no", name=feature)
                                              for feature in ("enrolled-keys", "secure-boot"))))
        if part.tag == "devices":
            devices = part
            continue
        root.append(part)
    root.extend(element(event, text="destroy") for event in ("on_poweroff", "on_reboot", "on_crash"))
    root.append(_devices(machines, record, folder, devices))
    root.append(_beyond_libvirt(record, machines.cluster_map))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _devices(machines: Machines, record: Record, folder: PurePosixPath, more: Element | None) -> Element:
    """The network and what the managers report are machine 0's."""
    disc = element("disk", element("driver", name="qemu", type="raw"),
                   element("source", file=folder / record.image), element("target", dev="sda", bus="sata"),
                   element("readonly"), element("boot", order=1), type="file", device="cdrom")
    devices = element("devices", disc, element("controller", type="usb", model="none"))
    if record.bridge and record.machine == 0:
        devices.append(element("interface", element("mac", address=_bridge_mac(record.name)),
                               element("source", bridge=record.bridge),
                               element("model", type=drivers.of_map(machines.cluster_map.applications).libvirt),
                               element("rom", enabled="no"), type="bridge"))
    # a terminal to attach to, and all of its output in a file for later readers
    devices.append(element("serial", element("log", file=folder / record.console, append="off"),
                           element("target", port=0), type="pty"))
    if record.machine == 0:
        devices.append(element("serial", element("source", path=folder / EVENTS, append="off"),
                               element("target", port=1), type="file"))
    devices.append(element("memballoon", model="none"))
    if record.machine == 0:
        devices.extend(_volume(share, index) for index, share in enumerate(machines.shares))
    for channel, slot, size in machines.shared(record.machine):
        devices.append(_shared(shared_name(record.name, channel), slot, size))
    devices.extend(more if more is not None else [])
    return devices


def _bridge_mac(name: str) -> str:
    """libvirt's own prefix, and another station for each deployment on the bridge."""
    return "52:54:00:" + ":".join(re.findall("..", fingerprint(name)[:6]))


def _shared(name: str, slot: int, size: int) -> Element:
    return element("shmem", element("model", type="ivshmem-plain"), element("size", text=size // MIB, unit="M"),
                   element("address", type="pci", domain=0, bus=0, slot=f"{slot:#x}", function=0), name=name)


def _volume(share: volumes.Share, index: int) -> Element:
    """A folder of the host, as run gives it (volumes.qemu_arguments()): `squash` is libvirt's word for `none`."""
    parts = [element("driver", type="path"), element("source", dir=share.folder.path),
             element("target", dir=share.tag)]
    if share.folder.read_only:
        parts.append(element("readonly"))
    place = element("address", type="pci", domain=0, bus=0, slot=f"{volumes.slot(index):#x}", function=0)
    return element("filesystem", *parts, place, type="mount", accessmode="squash", multidevs="remap")


def _beyond_libvirt(record: Record, cluster_map: ClusterMap) -> Element:
    """Returns the arguments for which libvirt has no elements: an exit status of the machine's own, and forwarded
    ports."""
    words = ["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"]
    if record.machine == 0 and not record.bridge:
        words += ["-netdev", f"user,id=skerry,{user_network(cluster_map.network, record.forwards, record.outside)}"]
        card = drivers.of_map(cluster_map.applications)
        words += ["-device", card.device(f"netdev=skerry,mac={MAC},romfile=,bus=pcie.0,addr={NIC_SLOT}")]
    return element(f"{{{QEMU}}}commandline", *(element(f"{{{QEMU}}}arg", value=word) for word in words))
