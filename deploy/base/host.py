# SPDX-License-Identifier: BSD-2-Clause
"""This machine, as Linux describes it."""

import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from deploy.base.paths import ROOT
from deploy.base.process import run_within


@dataclass(frozen=True)
class Cpu:
    model: str
    cores: int  # that this process may run on
    sockets: int
    flags: frozenset[str]


@cache
def cpu() -> Cpu:
    text = Path("/proc/cpuinfo").read_text()

    def values(key: str) -> list[str]:
        return re.findall(rf"^{key}\s*: *(.*)$", text, re.MULTILINE)

    return Cpu(
        model=(values("model name") or ["unknown"])[0],
        cores=len(os.sched_getaffinity(0)),
        sockets=len(set(values("physical id"))) or 1,
        flags=frozenset((values("flags") or [""])[0].split()),
    )


@cache
def memory() -> tuple[int, int]:
    """Bytes of memory: all, available."""
    fields: dict[str, str] = dict(re.findall(r"^(\w+):\s+(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE))
    return int(fields["MemTotal"]) * 1024, int(fields.get("MemAvailable", fields["MemFree"])) * 1024


@cache
def distribution() -> tuple[str, str]:
    """Code name (bookworm) and what people call it."""
    try:
        text = Path("/etc/os-release").read_text()
    except OSError:
        return "", "unknown"
    fields = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', text, re.MULTILINE))
    return fields.get("VERSION_CODENAME", ""), fields.get("PRETTY_NAME", "unknown")


def _first_line(path: str) -> str | None:
    try:
        return Path(path).read_text().strip().splitlines()[0]
    except (OSError, IndexError):
        return None


def environment() -> dict[str, Any]:
    """Returns what else a measurement on this host may depend on; a value is None where the host does not tell."""
    microcode = re.search(r"^microcode\s*: *(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "os": distribution()[1],
        "kernel": platform.release(),
        "memory_bytes": memory()[0],
        "sockets": cpu().sockets,
        "microcode": microcode[1] if microcode else None,
        "hypervisor": "hypervisor" in cpu().flags,
        "governor": _first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "smt": _first_line("/sys/devices/system/cpu/smt/control"),
        "load_1m": os.getloadavg()[0],
        "commit": commit(),
    }


@cache
def commit() -> str | None:
    """Returns the commit of this checkout at the first call, which ensure_built() makes; with + where files differ from
    it. None without git."""
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT)]
    try:
        head = subprocess.run([*command, "rev-parse", "HEAD"], capture_output=True, text=True)
        changed = subprocess.run([*command, "status", "--porcelain", "--untracked-files=no"], capture_output=True,
                                 text=True)
    except OSError:
        return None
    return head.stdout.strip() + "+" * bool(changed.stdout) if head.returncode == 0 else None


@dataclass(frozen=True)
class Transactions:
    """Outcome of a few thousand empty hardware transactions."""

    begun: int
    committed: int
    error: str | None = None


@cache
def try_transactions() -> Transactions:
    """Runs in a child, because an XBEGIN that is not there kills whoever executes it."""
    count = 10000
    done = run_within([sys.executable, "-m", "deploy.base.rtm_probe", str(count)], 30.0)
    if done.returncode:
        return Transactions(count, 0, f"the probe died with status {done.returncode}")
    return Transactions(count, int(done.stdout))
