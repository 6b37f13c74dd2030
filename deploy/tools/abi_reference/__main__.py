# SPDX-License-Identifier: BSD-2-Clause
from __future__ import annotations

import argparse
import sys

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.tools.abi_reference.headers import read
from deploy.tools.abi_reference.page import page

KERNEL = ROOT / "cluster-kernel" / "include"
LIBRARY = ROOT / "lib" / "include"
PAGE = ROOT / "docs" / "generated" / "abi.md"
GROUPS = {
    "The kernel's interface": (KERNEL, ["syscall", "errors", "root_info", "console", "stat", "doorbell", "ledger", "cluster_control", "core_control",
                                        "memory_control", "cluster_mask", "tsc"]),
    "The loader's interface to the kernel": (KERNEL, ["boot"]),
    "The library of user-level programs": (
        LIBRARY,
        ["message", "system_call", "stubs", "locality_stubs", "domain_stubs", "core_stubs", "core_set_stubs", "process", "file_tree",
         "sample", "channel", "meeting", "ring", "ledger_read", "stat_read", "stat_pack", "mark", "map_limits", "cluster_map"],
    ),
    "The network": (LIBRARY, ["port", "bell", "socket_port", "socket_address", "posix"]),
}
# What programs of this tree share at compile time only.
NO_ABI = {LIBRARY / "skerry" / f"{name}.h" for name in ("error_message", "executable", "format", "list", "page_rights", "require", "stat_view")}
NO_ABI |= {KERNEL / "skerry" / f"{name}.h" for name in ("cpu_needs", "x86")}


def generate() -> str:
    listed = {folder / "skerry" / f"{name}.h" for folder, names in GROUPS.values() for name in names}
    there = {path for folder in (KERNEL, LIBRARY) for path in folder.glob("skerry/*.h")} - NO_ABI
    if listed != there:
        raise Failure(f"{', '.join(sorted(p.name for p in listed ^ there))}: not both a header and in the reference's list")
    return page({title: [read(folder / "skerry" / f"{name}.h", [KERNEL, LIBRARY]) for name in names]
                 for title, (folder, names) in GROUPS.items()})


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m deploy.tools.abi_reference", description="Writes docs/generated/abi.md.")
    parser.add_argument("--check", action="store_true", help="only say whether docs/generated/abi.md is up to date")
    check = parser.parse_args().check
    text = generate()
    if check:
        if not PAGE.exists() or PAGE.read_text() != text:
            raise Failure("docs/generated/abi.md is out of date: build/venv/bin/python -m deploy.tools.abi_reference writes it anew")
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(f"abi_reference: {failure}", file=sys.stderr)
        sys.exit(1)
