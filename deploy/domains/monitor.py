# SPDX-License-Identifier: BSD-2-Clause
"""The monitor of the emulator behind a domain."""

from typing import Any

from deploy.base.errors import Failure
from deploy.domains.connection import explained
from deploy.domains.deployed import Deployed
from deploy.domains.member import Member
from deploy.machine import gdb_remote
from topology.errors import InputError

_HMP = 1  # VIR_DOMAIN_QEMU_MONITOR_COMMAND_HMP


def _library() -> Any:
    """Comes with libvirt-python, where that was built with the headers of libvirt's QEMU driver."""
    try:
        import libvirt_qemu
    except ImportError as error:
        raise Failure(f"libvirt's Python library has no access to QEMU's monitor: {error}") from None
    return libvirt_qemu


def human(member: Member, line: str) -> str:
    """Returns QEMU's answer to a command of its human monitor. libvirt marks the domain as tainted by it."""
    with explained(f"{member.host.uri}: {member.domain}: its monitor"):
        return str(_library().qemuMonitorCommand(member.raw, line, _HMP))


def write_word(one: Deployed, cluster: int, address: int, word: int) -> None:
    """Stores eight bytes in the memory of a cluster's domain. Only a host that is this machine has a debugger in
    reach."""
    if not one.host.is_local:
        raise InputError("--connect", f"{one.host.uri}: memory is written by QEMU's debugger, on the host itself only")
    member = one.member(cluster if one.record.machines > 1 else None)
    gdb_remote.write_word_by_port(lambda line: human(member, line), address, word)
