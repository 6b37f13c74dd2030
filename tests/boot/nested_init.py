# SPDX-License-Identifier: BSD-2-Clause
"""The first process of a Linux guest that has KVM: lets Skerry find it and use it. nested.py starts it.

What happened goes to the second serial port, one JSON object a line.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
import termios
import threading
import time
import traceback
import tty
from pathlib import Path
from typing import Any

SYS_FINIT_MODULE = 313
SIOCSIFFLAGS, IFF_UP_AND_RUNNING = 0x8914, 0x41
REBOOT_POWER_OFF = 0x4321FEDC
PATIENCE = 150.0  # seconds: a busy host slows an emulated machine within an emulated machine down twice
SERVES = 4.0  # seconds for which instances must go on serving: peers that fall silent are given up after one

libc = ctypes.CDLL(None, use_errno=True)


def checked(what: str, status: int) -> None:
    if status:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def set_up() -> None:
    for kind, where in (("devtmpfs", b"/dev"), ("proc", b"/proc"), ("sysfs", b"/sys")):
        os.makedirs(where, exist_ok=True)
        checked(kind, libc.mount(kind.encode(), where, kind.encode(), 0, None))
    os.makedirs("/tmp", exist_ok=True)
    for name in Path("/modules/order").read_text().split():
        checked(name, libc.syscall(SYS_FINIT_MODULE, os.open(f"/modules/{name}", os.O_RDONLY), b"", 0))
    loopback_up()


def loopback_up() -> None:
    """QEMU's forwarded ports are on it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP_AND_RUNNING))


class Report:
    def __init__(self) -> None:
        self.port = os.open("/dev/ttyS1", os.O_WRONLY | os.O_NOCTTY)
        tty.setraw(self.port)

    def __call__(self, event: str, **data: Any) -> None:
        line = json.dumps({"event": event, "uptime": float(Path("/proc/uptime").read_text().split()[0]), **data})
        rest = line.encode() + b"\n"
        while rest:
            rest = rest[os.write(self.port, rest) :]
        termios.tcdrain(self.port)


def ping(address: str) -> bool:
    host, _, port = address.partition(":")
    with socket.create_connection((host, int(port)), PATIENCE) as connection:
        connection.settimeout(PATIENCE)
        connection.sendall(b"PING\r\n")
        return connection.recv(7) == b"+PONG\r\n"


def watch(report: Report) -> None:
    """Beside `run --keep`: pings each instance until SERVES seconds are over, then ends it as Ctrl-C would."""
    from deploy.machine import run as boot

    machines: list[boot.Run] = []
    enter = boot.Run.__enter__
    boot.Run.__enter__ = lambda self: (machines.append(self), enter(self))[1]  # type: ignore[method-assign]

    def follow() -> None:
        while not machines or not machines[0].events.of("serving"):
            time.sleep(0.2)
        end = time.monotonic() + SERVES
        pongs = 0
        while time.monotonic() < end:
            pongs += sum(ping(forward.address) for forward in machines[0].forwards)
            time.sleep(0.5)
        report("pong", count=pongs, instances=len(machines[0].forwards), console=machines[0].console[-2000:])
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=follow, daemon=True).start()


def main(root: str, deployment: str) -> None:
    sys.path[:0] = [root, *Path("/packages").read_text().split()]
    os.environ["PATH"] = "/usr/bin:/bin"
    set_up()
    report = Report()
    try:
        report("up", kvm=os.path.exists("/dev/kvm"))
        from deploy.cli.commands.machine import run
        from deploy.cli.main import main as skerry
        from deploy.machine import kvm

        run.ensure_built = lambda output, needed: None  # the guest has the programs, and nothing to build them with
        kvm.TIME_LIMIT = PATIENCE
        skerry(["doctor", "--quiet", "--json", "/doctor.json"])  # it finds fault with much that is not here
        report("doctor", **json.loads(Path("/doctor.json").read_text()))
        watch(report)
        how = ["--keep", "--boot", "kernel", "--timeout", "300", "--quiet", "--json", "/run.json"]
        status = skerry(["run", deployment, *how])
        report("run", status=status, **json.loads(Path("/run.json").read_text()))
    except BaseException:
        report("error", what=traceback.format_exc())
    libc.reboot(REBOOT_POWER_OFF)


main(*sys.argv[1:])
