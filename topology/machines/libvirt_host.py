# SPDX-License-Identifier: BSD-2-Clause
"""Machines as libvirt describes its hosts: the capabilities of a connection, or a file of them.

`virsh` asks the connection, so that nothing here needs libvirt's library: a file is read without any of it.
"""

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from urllib.parse import SplitResult, unquote, urlsplit

from topology import demand, foreign
from topology.errors import InputError
from topology.foreign import format_spans, parse_spans
from topology.machines.survey import Processor, Survey
from topology.units import KIB

TIMEOUT = 60  # seconds
_UNITS = {"KiB": KIB, "MiB": KIB**2, "GiB": KIB**3, "bytes": 1, "b": 1}


def split_uri(uri: str) -> SplitResult:
    try:
        return urlsplit(uri)
    except ValueError as error:  # a host in brackets that is no address
        raise InputError(uri, f"is not a URI: {str(error).lower()}") from None


def check_uri(uri: str) -> None:
    """Refuses a URI that makes libvirt run a program which the URI names.

    Transport `ext` runs `command`; `ssh`, `libssh` and `libssh2` run `command` here or `netcat` on the far host
    (libvirt, *Connection URIs*, remote). Names are compared as libvirt does: decoded, in any case.
    """
    parts = split_uri(uri)
    if parts.scheme.lower().partition("+")[2] == "ext":
        raise InputError(uri, "transport 'ext' runs a program of the URI's choice; use unix, ssh, tls or tcp")
    for parameter in re.split("[&;]", parts.query):
        name = unquote(parameter.partition("=")[0]).lower()
        if name in ("command", "netcat"):
            raise InputError(uri, f"parameter '{name}' is a program that would run; leave it out")


def connect(uri: str) -> Survey:
    check_uri(uri)
    try:
        done = subprocess.run(
            [demand.program("virsh", "virsh"), "--quiet", "--readonly", "--connect", uri, "capabilities"],
            capture_output=True, text=True, errors="replace", timeout=TIMEOUT, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except FileNotFoundError:
        raise InputError("virsh", "not found; install libvirt-clients") from None
    except subprocess.TimeoutExpired:
        raise InputError(uri, f"no answer within {TIMEOUT} s") from None
    if done.returncode:
        lines = [line.removeprefix("error: ") for line in done.stderr.splitlines() if line.strip()]
        raise InputError(uri, (lines or ["virsh failed"])[-1])
    return parse(done.stdout, uri)


def parse(text: str, name: str) -> Survey:
    return parse_root(foreign.xml(text, name), name)


def parse_root(root: ElementTree.Element, name: str) -> Survey:
    try:
        return _survey(root, name)
    except (ValueError, KeyError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(name, f"not a host's capabilities as libvirt writes them ({error})") from None


def _survey(root: ElementTree.Element, name: str) -> Survey:
    arch = root.findtext("host/cpu/arch")
    if root.tag != "capabilities" or arch is None:
        raise InputError(name, "not a host's capabilities as libvirt writes them")
    if arch != "x86_64":
        raise InputError(name, f"is a machine of architecture {arch}; Skerry runs on x86-64")
    caches = _caches(root)
    survey = Survey(name, caches_known=root.find("host/cache/bank") is not None, is_host=True)
    offline: set[int] = set()
    for cell in root.iterfind("host/topology/cells/cell"):
        node = int(cell.attrib["id"])
        survey.sizes[node] = _bytes(cell.find("memory"))
        for sibling in cell.iterfind("distances/sibling"):
            survey.distances[node, int(sibling.attrib["id"])] = int(sibling.attrib["value"])
        for cpu in cell.iterfind("cpus/cpu"):
            number = int(cpu.attrib["id"])
            if "socket_id" not in cpu.attrib:
                offline.add(number)
                continue
            threads = frozenset(parse_spans(cpu.attrib.get("siblings", str(number)))) | {number}
            survey.processors.append(Processor(number, cpu.attrib["socket_id"], threads, caches.get(number), node))
    if not survey.processors:
        raise InputError(name, "has no core that may be used: it says of no processor in which socket it is")
    if offline:
        survey.notes.append(f"processors left out, being offline: {format_spans(offline)}")
    return survey


def _caches(root: ElementTree.Element) -> dict[int, int]:
    """The L3 of each processor."""
    caches: dict[int, int] = {}
    for index, bank in enumerate(root.iterfind("host/cache/bank")):
        if bank.get("level") == "3":
            caches |= {number: index for number in parse_spans(bank.attrib["cpus"])}
    return caches


def _bytes(memory: ElementTree.Element | None) -> int:
    """A node without memory may have no such element."""
    return 0 if memory is None else int(memory.text or "0") * _UNITS[memory.get("unit", "KiB")]
