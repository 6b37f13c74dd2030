# SPDX-License-Identifier: BSD-2-Clause
"""Who may include whom: DESIGN's arrows run one way."""

from __future__ import annotations

from pathlib import Path

from tests.structure import tree

# Longest prefix names a file's component; what it may include besides its own.
KERNEL_ABI = "cluster-kernel/include"
CONSOLE = "cluster-kernel/console"  # serial port and screen, for loader and kernels
MANAGER_LIB = "cluster-manager/lib"
POSIX = "apps/libc/include"  # what code inside the POSIX layer may use: the socket layer lives there
ALLOWED = {
    KERNEL_ABI: set(),
    CONSOLE: {KERNEL_ABI},
    "cluster-kernel": {KERNEL_ABI, CONSOLE},
    "cluster-kernel/model": {KERNEL_ABI, "cluster-kernel", MANAGER_LIB, "cluster-manager/root"},  # it explores them
    MANAGER_LIB: {KERNEL_ABI},
    "cluster-manager/loader": {KERNEL_ABI, CONSOLE, MANAGER_LIB, "net"},  # it checks that a channel has room for its ports
    "cluster-manager/root": {KERNEL_ABI, MANAGER_LIB, "net"},
    "net": {KERNEL_ABI, MANAGER_LIB, POSIX},
    POSIX: {KERNEL_ABI, MANAGER_LIB},
    "apps": {KERNEL_ABI, MANAGER_LIB, POSIX, "net"},
}
# Of net/, loader and manager may see the headers that say what the ports are.
NET_SEAM = {Path("net/port.h"), Path("net/socket_port.h")}
PORT_CONTRACT = {"arch.h", "arch_inline.h", "arch_context.h", "arch_switch.h"}


def component(path: Path) -> str | None:
    fitting = [name for name in ALLOWED if path.as_posix().startswith(name + "/")]
    return max(fitting, key=len, default=None)


def sources() -> list[Path]:
    return tree.with_suffix(".c", ".h", ".S")


def test_edges() -> None:
    """includes follow the arrows between components"""
    wrong = []
    for path in sources():
        own = component(path)
        if own is None:
            continue
        for header in tree.includes(path):
            other = component(header)
            seam = own.startswith("cluster-manager/") and other == "net" and header not in NET_SEAM
            if other != own and (other is None or other not in ALLOWED[own] or seam):
                wrong.append(f"{path} includes {header}")
    assert not wrong, "\n".join(wrong)


def test_kernel_core() -> None:
    """the kernel's core includes no port header but the contract"""
    wrong = [
        f"{path} includes {header}"
        for path in sources()
        if path.as_posix().startswith("cluster-kernel/core/")
        for header in tree.includes(path)
        if header.parts[1].startswith("arch-") and header.name not in PORT_CONTRACT
    ]
    assert not wrong, "\n".join(wrong)


def test_cycles() -> None:
    """no header includes itself by way of others"""
    done: set[Path] = set()
    cycles: list[str] = []

    def visit(path: Path, trail: list[Path]) -> None:
        if path in trail:
            cycles.append(" -> ".join(str(step) for step in [*trail[trail.index(path):], path]))
        elif path not in done:
            for header in tree.includes(path):
                visit(header, [*trail, path])
            done.add(path)

    for path in tree.with_suffix(".h"):
        visit(path, [])
    assert not cycles, "\n".join(cycles)


def test_something_was_read() -> None:
    """the checks see the tree"""
    assert len(sources()) > 20
    assert tree.includes(Path("cluster-kernel/include/skerry/root_info.h")) == (Path("cluster-kernel/include/skerry/boot.h"),)
