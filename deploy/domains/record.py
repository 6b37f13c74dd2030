# SPDX-License-Identifier: BSD-2-Clause
"""A deployment's record in its domain's XML, in a namespace of our own, which tells our domains from others'."""

from __future__ import annotations

import hashlib
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from deploy.machine.qemu import Forward
from topology import foreign
from topology.errors import InputError

NAMESPACE = "urn:skerry:deployment:1"
PREFIX = "skerry"

ElementTree.register_namespace(PREFIX, NAMESPACE)


def deployment_name(deployment: str) -> str:
    """libvirt's name for all that is a deployment's: its only domain, its storage pool."""
    return f"skerry-{deployment}"


def fingerprint(content: bytes | str) -> str:
    return hashlib.sha256(content.encode() if isinstance(content, str) else content).hexdigest()[:16]


@dataclass(frozen=True)
class Record:
    """One domain of a deployment. `parts`: what it is made of, as short texts by name; two domains differ where these
    do."""

    name: str
    version: str  # Skerry's
    layout: str
    lock: str
    clusters: int
    cores: int
    accel: str
    storage: str  # libvirt's name for the pool with image and logs
    placement: str = ""  # on the host's processors, in words
    bridge: str | None = None
    forwards: tuple[Forward, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    machine: int = 0  # which of the deployment's: a cluster's number, where each has its own
    machines: int = 1  # 1: one for all clusters
    outside: bool = False  # whether its programs may connect to the host and its network

    @property
    def domain(self) -> str:
        return deployment_name(self.name) + self._which

    @property
    def image(self) -> str:
        """Files of the machine in the deployment's storage."""
        return f"skerry{self._which}.iso"

    @property
    def console(self) -> str:
        return f"console{self._which}.log"

    @property
    def _which(self) -> str:
        return f"-{self.machine}" if self.machines > 1 else ""

    def each(self) -> list[Record]:
        """The records of all domains of the deployment."""
        return [replace(self, machine=number) for number in range(self.machines)]

    def instances(self) -> list[dict[str, object]]:
        """Lists where each application can be reached: on the host's loopback, or on the bridge."""
        return [{"app": f.application, "address": f"{f.guest}:{f.guest_port}" if self.bridge else f.address}
                for f in self.forwards]

    def changes(self, before: Record) -> list[str]:
        """Lists what differs from an earlier record, for people."""
        changes = []
        for name in dict.fromkeys([*self.parts, *before.parts]):
            old, new = before.parts.get(name), self.parts.get(name)
            if old is None or new is None:
                changes.append(f"{name} is {'new' if old is None else 'gone'}")
            elif old != new:
                shown = f" {old} -> {new}" if max(len(old), len(new)) < 16 else ""
                changes.append(f"{name}{shown or ' changed'}")
        return changes

    def element(self) -> ElementTree.Element:
        def tag(name: str) -> str:
            return f"{{{NAMESPACE}}}{name}"

        words = {"name": self.name, "version": self.version, "layout": self.layout, "lock": self.lock}
        words |= {"clusters": str(self.clusters), "cores": str(self.cores), "accel": self.accel}
        words |= {"storage": self.storage,
                  "placement": self.placement} | ({"bridge": self.bridge} if self.bridge else {})
        words |= {"machine": str(self.machine), "machines": str(self.machines)} if self.machines > 1 else {}
        words |= {"outside": "yes"} if self.outside else {}
        root = ElementTree.Element(tag("deployment"), words)
        for f in self.forwards:
            attributes = {"application": f.application, "address": f.guest, "port": str(f.guest_port),
                          "host-port": str(f.host_port)}
            ElementTree.SubElement(root, tag("forward"), attributes)
        for name, value in self.parts.items():
            ElementTree.SubElement(root, tag("part"), name=name, value=value)
        return root


def parse(text: str) -> Record:
    """The other way round. Raises ValueError for what no Skerry wrote."""
    try:
        root = foreign.xml(text, "a deployment's record")
        words = root.attrib
        forwards = [
            Forward(f.attrib["application"], f.attrib["address"], int(f.attrib["port"]), int(f.attrib["host-port"]))
            for f in root.iterfind("{*}forward")  # libvirt hands it out without the namespace
        ]
        parts = {part.attrib["name"]: part.attrib["value"] for part in root.iterfind("{*}part")}
        return Record(
            name=words["name"], version=words["version"], layout=words["layout"], lock=words["lock"],
            clusters=int(words["clusters"]), cores=int(words["cores"]), accel=words["accel"],
            storage=words["storage"], placement=words.get("placement", ""), bridge=words.get("bridge"),
            forwards=tuple(forwards), parts=parts,
            machine=int(words.get("machine", 0)), machines=int(words.get("machines", 1)),
            outside=words.get("outside") == "yes",
        )  # fmt: skip
    except (InputError, KeyError) as error:
        raise ValueError(f"not a deployment's record: {error}") from None
