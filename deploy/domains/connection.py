# SPDX-License-Identifier: BSD-2-Clause
"""A connection to libvirt, its errors as lines that a user can act on, and KVM or the emulator on its host."""

from __future__ import annotations

import importlib.util
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deploy.base.errors import Failure
from deploy.machine import kvm, qemu
from topology import demand
from topology.errors import InputError
from topology.machines.libvirt_host import check_uri, split_uri


def library() -> Any:
    """libvirt-python, silent: whatever it says comes as an exception too."""
    demand.module("libvirt", "libvirt")
    try:
        import libvirt
    except ImportError:
        raise Failure("libvirt's Python library is missing; ./skerry build installs it") from None
    libvirt.registerErrorHandler(lambda context, error: None, None)
    return libvirt


def has_library() -> bool:
    """Returns whether library() finds it without setting anything up."""
    return "libvirt" in sys.modules or importlib.util.find_spec("libvirt") is not None


def is_libvirts(error: BaseException | None) -> bool:
    """Also where its words are no text: then the binding fails over them.

    What a bridge helper said is quoted with bytes behind its end.
    """
    is_garbled = isinstance(error, SystemError) and isinstance(error.__cause__, UnicodeDecodeError)
    return is_garbled or isinstance(error, library().libvirtError)


def is_failed_start(error: Exception) -> bool:
    """Whether an emulator ended before it ran: libvirt gives one code for all causes, a port that is in use among them.

    One that ends while libvirt connects to its monitor is a system error: the connection is refused.
    """
    lib = library()
    codes = (lib.VIR_ERR_INTERNAL_ERROR, lib.VIR_ERR_OPERATION_FAILED, lib.VIR_ERR_SYSTEM_ERROR)
    return isinstance(error, lib.libvirtError) and error.get_error_code() in codes


def one_line(error: Exception) -> str:
    """libvirt's own words; of QEMU's output that it quotes, the last line; of a bridge helper's, the first."""
    garbled = error.__cause__
    text = garbled.object.decode("utf-8", "replace") if isinstance(garbled, UnicodeDecodeError) else str(error)
    if helper := re.search(r"--br=(\S+) .*bridge helper: stderr=(.+)", text):
        return f"bridge {helper[1]}: {helper[2]}"
    lines = ["".join(c if c.isprintable() else "?" for c in line.strip()) for line in text.splitlines() if line.strip()]
    return re.sub(r"^(.* )?\S+Z qemu-system-\S+: ", "", lines[-1]) if lines else type(error).__name__


@contextmanager
def explained(what: str) -> Iterator[None]:
    """libvirt's exceptions become one line that begins with `what`."""
    try:
        yield
    except Exception as error:
        if not is_libvirts(error):
            raise
        raise Failure(f"{what}: {one_line(error)}") from None


class Connection:
    """Use as `with Connection(uri) as host:`. Before that it knows its URI alone, which is all that a preview needs."""

    def __init__(self, uri: str) -> None:
        parts = split_uri(uri)
        if not re.fullmatch(r"[a-z][a-z0-9+.-]*", parts.scheme) or "://" not in uri:
            raise InputError("--connect", f"'{uri}' is not a libvirt URI as qemu:///system")
        if parts.scheme.partition("+")[0] != "qemu":
            raise InputError("--connect",
                             f"'{uri}': Skerry's domains are QEMU's, as qemu:///system or qemu+ssh://HOST/system")
        check_uri(uri)
        self.uri = uri
        self.lib: Any = None
        self.raw: Any = None
        self._parts = parts

    def __enter__(self) -> Connection:
        self.lib = library()
        self.lib.virEventRegisterDefaultImpl()  # for consoles; must come before the connection
        try:
            self.raw = self.lib.open(self.uri)
        except self.lib.libvirtError as error:
            code = error.get_error_code()
            if code in (self.lib.VIR_ERR_NO_CONNECT, self.lib.VIR_ERR_INVALID_ARG):
                raise InputError("--connect", f"{self.uri}: {one_line(error)}") from None
            hint = " (is libvirtd running?)" if code == self.lib.VIR_ERR_SYSTEM_ERROR and self.is_local else ""
            raise Failure(f"{self.uri}: {one_line(error)}{hint}") from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        """libvirt's exceptions that nobody explained, as when the connection breaks, become one line."""
        try:
            self.raw.close()
        except self.lib.libvirtError:
            pass  # the other side has gone already
        if isinstance(error, Exception) and is_libvirts(error):
            raise Failure(f"{self.uri}: {one_line(error)}") from None

    @property
    def is_open(self) -> bool:
        """Whether the host can be asked."""
        return self.raw is not None

    @property
    def is_local(self) -> bool:
        """Whether domains run on this machine: only here can ports be tried and KVM be booted."""
        return self.hostname in ("", "localhost", socket.gethostname())

    @property
    def hostname(self) -> str:
        """Returns the host of the URI; empty for this machine."""
        return self._parts.hostname or ""

    @property
    def is_session(self) -> bool:
        """A user's own daemon, not the host's."""
        return self._parts.path == "/session"


def choose_accel(host: Connection, kind: str, cores: int) -> qemu.Accel:
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
