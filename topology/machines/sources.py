# SPDX-License-Identifier: BSD-2-Clause
"""Sources of a machine: this host, a file of hwloc's or libvirt's, a libvirt connection."""

import re
from pathlib import Path

from topology import foreign
from topology.errors import InputError
from topology.machines import hwloc, libvirt_host, linux, physical_memory
from topology.machines.machine import Machine
from topology.machines.survey import Survey

LIVE = "live"


def is_uri(source: str) -> bool:
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", source) is not None


def read_machine(source: str, smt: bool = True, memory: int | None = None, *, may_connect: bool = False) -> Machine:
    """Reads `source`: live, FILE.xml or, if it `may_connect`, a libvirt URI. Without `smt`, one thread of each core.

    A connection can run programs and reach hosts: only a URI that the user has typed may make one, none from a file.

    Only of this machine are APIC ids and addresses known; the others have those of QEMU's q35 board. So has this one
    with `memory`: an emulated machine like it, with so much (in 2 MiB pages) in each node that has any.
    """
    if is_uri(source) and not may_connect:
        raise InputError(source, "a libvirt URI is taken from the command line only (--topology URI), not from a file")
    survey = _survey(source)
    if not smt:
        survey = survey.one_thread_per_core()
    if memory:
        return survey.with_memory(memory).machine()
    if source != LIVE:
        return survey.machine()
    ranges, notes = physical_memory.of_host()
    survey.notes += notes
    if ranges is not None:
        survey.sizes = {node: sum(r.size for r in ranges if r.node == node) for node in survey.sizes}
    return survey.machine(linux.apic_ids(), ranges)


def _survey(source: str) -> Survey:
    if source == LIVE:
        return hwloc.survey_live()
    if is_uri(source):
        return libvirt_host.connect(source)
    root = foreign.xml_root(Path(source))
    if root.tag == "topology":
        return hwloc.survey_file(Path(source))
    if root.tag == "capabilities":
        return libvirt_host.parse_root(root, source)
    raise InputError(source, f"is neither hwloc's XML nor a libvirt host's capabilities: it starts with <{root.tag}>")
