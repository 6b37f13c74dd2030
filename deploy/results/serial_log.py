# SPDX-License-Identifier: BSD-2-Clause
"""A run that nobody followed: what a machine wrote on its serial port, and the image that it had booted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deploy.deployment import Load
from deploy.deployment.planner import Plan
from deploy.machine import image
from deploy.machine.console_lines import By, Line, lines
from deploy.machine.events import CANCEL, Event, EventStream
from deploy.results.result import Clock, Result, evaluate
from topology import foreign
from topology.errors import InputError
from topology.machines.parts import Machine
from topology.maps.reader import read_blob

NOTES = "plan.json"  # lies on each image
_EVENT = re.compile(r'\{"event":.*')
_UNSEALED = "what captured it removes control characters, or it is cut short, or two wrote at the same time"
# by CPUID
_HYPERVISORS = {"TCGTCGTCGTCG": "TCG", "KVMKVMKVM": "KVM", "Microsoft Hv": "Hyper-V", "VMwareVMware": "VMware",
                "XenVMMXenVMM": "Xen"}


def notes(plan: Plan) -> dict[str, bytes]:
    """Returns what an image's map does not say of its plan."""
    known = {
        "name": plan.name,
        "machine": plan.machine.name,
        "layout": plan.layout,
        "lock": plan.lock,
        "load": asdict(plan.load) if plan.load else None,
    }
    return {NOTES: json.dumps(known).encode()}


def read_plan(path: Path) -> Plan:
    """Reads the plan of an image."""
    if not path.is_file():
        raise InputError(str(path), "no such file")
    blob, text = image.read_iso(path, "map", NOTES)
    known = foreign.json(text, str(path))
    return Plan(
        name=known["name"],
        cluster_map=read_blob(blob, str(path)),
        machine=Machine(name=known["machine"], cores=(), memory=(), distances={}),
        load=Load(**known["load"]) if known["load"] else None,
        layout=known["layout"],
        lock=known["lock"],
    )


def _lines(path: Path) -> Iterator[Line]:
    """Yields the lines that their writer could finish."""
    text = foreign.read(path, foreign.LOG).decode("utf-8", "replace")
    return (line for line in lines(text) if not line.text.rstrip().endswith(CANCEL))


def read_events(path: Path) -> EventStream:
    """Reports of managers among whatever else a serial port carries; of several runs in a file, the last.

    A report that is cut short or garbled makes the whole worthless, for it may have been a result.
    """
    stream = EventStream()
    for each in _lines(path):
        line, number = each.text.strip("\r\0 "), each.number
        if each.by != By.MANAGER:
            if line.startswith('{"event":'):  # programs cannot: their lines begin with their names
                raise InputError(f"{path}:{number}", f"a report has no valid seal: {_UNSEALED}")
            if _EVENT.search(line) and not line.startswith("["):  # as managers' other lines do
                raise InputError(f"{path}:{number}",
                                 "a report begins in the middle of a line: two wrote at the same time")
            continue
        if not line.startswith('{"event":'):
            continue
        try:
            data = foreign.json(line, str(path))
        except ValueError:
            raise InputError(f"{path}:{number}", "a report is damaged: the log cannot be used") from None
        if data["event"] == "machine":
            stream = EventStream()
        stream.events.append(Event(data["event"], data))
    if not stream.of("machine"):
        raise InputError(str(path), "holds no run from its beginning: capture from power-on")
    return stream


@dataclass(frozen=True)
class Captured:
    result: Result
    cpu: str
    hypervisor: str  # empty on hardware

    @property
    def host(self) -> dict[str, Any]:
        where = f"under {self.hypervisor}" if self.hypervisor else "on hardware"
        accel = "tcg" if self.result.emulated else "kvm" if self.hypervisor == "KVM" else "hardware"
        return {"cpu": self.cpu, "cores": self.result.cores, "accel": accel,
                "mode": f"captured from a serial port, {where}"}


def evaluate_log(image_path: Path, log: Path) -> Captured:
    plan = read_plan(image_path)
    if plan.load is None:
        raise InputError(str(image_path), "its deployment has no [ycsb]: there is nothing to measure")
    events = read_events(log)
    booted = {event["cluster"]: event["cores"] for event in events.of("boot")}
    expected = {cluster.number: len(cluster.cpus) for cluster in plan.cluster_map.clusters}
    if booted != expected:
        raise InputError(str(log), f"is not of {image_path}: clusters and their cores are {booted}, not {expected}")
    done = events.of("done")
    if not done:
        raise InputError(str(log), "ends before the run does")
    machine = events.of("machine")[0]
    signature = str(machine["hypervisor"]).strip()
    hypervisor = _HYPERVISORS.get(signature, signature)
    result = evaluate(plan, events, Clock(emulated=hypervisor == "TCG"))
    return Captured(result, str(machine["cpu"]).strip(), hypervisor)
