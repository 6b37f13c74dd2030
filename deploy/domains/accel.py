# SPDX-License-Identifier: BSD-2-Clause
"""KVM or the emulator, on the host of a connection."""

from deploy.base.errors import Failure
from deploy.domains.connection import Connection
from deploy.machine import kvm, qemu


def choose(host: Connection, kind: str, cores: int) -> qemu.Accel:
    """Chooses for --accel auto|kvm|tcg. On this host KVM must boot our kernels; elsewhere libvirt's word must do, or
    without it the user's."""
    if not host.is_open and not host.is_local:
        return qemu.KVM if kind == "kvm" else qemu.tcg_for(cores)
    if kind != "tcg" and not _offers_kvm(host):
        if kind == "kvm":
            raise Failure(f"{host.uri}: libvirt has no KVM there")
        kind = "tcg"
    if host.is_local:
        return kvm.choose(kind, cores)
    return qemu.tcg_for(cores) if kind == "tcg" else qemu.KVM


def _offers_kvm(host: Connection) -> bool:
    if not host.is_open:
        return True
    try:
        host.raw.getDomainCapabilities(None, "x86_64", "q35", "kvm")
    except host.lib.libvirtError:
        return False
    return True
