# SPDX-License-Identifier: BSD-2-Clause
"""Whether KVM runs our kernels: found out by booting them, for /dev/kvm may be there and useless."""

import json
import os
import platform
import time
from pathlib import Path

from deploy.base import host
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.timeouts import LONGER, Patience
from deploy.deployment import Deployment
from deploy.deployment.planner import plan
from deploy.machine import qemu, run as boot
from topology.errors import InputError
from topology.machines.machine import Shape
from topology.units import MIB

TIME_LIMIT = 20.0  # seconds without a sign of life, for a boot that takes well under two where KVM is KVM
PATIENCE_MS = 3000  # with which the clusters watch each other: KVM's 100 ms would ask how busy this host is
ALIVE = 4.0        # seconds after which clusters whose timers do not work have given each other up
SHAPE = Shape(2, 1, 512 * MIB)  # few cores: this host may have no more, and waiting for each other takes long then
_CACHE = BUILD / "kvm.json"


def probe_kvm() -> tuple[bool, str]:
    """Whether it works and why one says so. Raises Failure when there is no image to boot yet."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False, "no /dev/kvm that this user may open"
    key = "|".join([host.cpu().model, platform.release(), platform.version(), str(qemu.version())])
    try:
        known = json.loads(_CACHE.read_text())
        if known["key"] == key:
            return bool(known["works"]), str(known["why"])
    except (OSError, ValueError, KeyError):
        pass
    works, why = _try_both()
    _remember(_CACHE, {"key": key, "works": works, "why": why})
    return works, why


def _remember(path: Path, verdict: dict[str, object]) -> None:
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(verdict) + "\n")
    except OSError:
        pass  # a tree that is not ours: it is found out again next time


def _try_both() -> tuple[bool, str]:
    try:
        seconds = _boot(qemu.KVM)
        return True, f"it booted both clusters in {seconds:.1f} s"
    except InputError as error:
        raise Failure(str(error)) from None
    except Failure as error:
        why = error.text.removesuffix(LONGER)  # this boot has no such option
    _boot(qemu.TCG_TURNS)  # an image that boots nowhere says nothing about KVM
    return False, f"the image that TCG boots does not boot under KVM ({why})"


def _boot(accel: qemu.Accel) -> float:
    """Seconds from power-on until the managers of both sockets report; they must then go on, by their timers."""
    probe = plan(Deployment(name="kvm-probe", shape=SHAPE, network=False, shutdown="never",
                            failure_timeout=PATIENCE_MS))
    with boot.boot(probe, boot.Options(accel, Patience(TIME_LIMIT), medium="kernel")) as run:
        clusters = {c.number for c in probe.cluster_map.clusters}
        run.wait_for(lambda: clusters <= {e["cluster"] for e in run.events.of("boot")}, "boot of both clusters")
        booted = time.monotonic()
        run.wait_for(lambda: time.monotonic() > booted + ALIVE, "life")
        if lost := run.events.of("cluster-lost"):
            raise Failure(f"cluster {lost[0]['cluster']} fell silent: timer interrupts do not arrive")
        return booted - run.started


def check_choice(kind: str, icount: bool) -> None:
    if kind not in ("auto", "kvm", "tcg"):
        raise InputError("--accel", f"'{kind}' is not one of auto, kvm, tcg")
    if icount and kind == "kvm":
        raise InputError("--icount", "counts instructions of the emulator only; not with --accel kvm")


def choose(kind: str, cores: int, repeatable: bool = False, icount: bool = False) -> qemu.Accel:
    """The accelerator for --accel auto|kvm|tcg. `repeatable`: where emulated, the host must not decide the result."""
    check_choice(kind, icount)
    if kind == "kvm":
        works, why = probe_kvm()
        if not works:
            raise Failure(f"KVM does not work here: {why}")
        return qemu.KVM
    if kind == "auto" and not icount and probe_kvm()[0]:
        return qemu.KVM
    return qemu.tcg_for(cores, counted=icount or (repeatable and cores > host.cpu().cores))
