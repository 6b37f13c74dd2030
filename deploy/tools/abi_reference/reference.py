# SPDX-License-Identifier: BSD-2-Clause
"""Headers of the reference, in its order."""

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.tools.abi_reference.headers import read
from deploy.tools.abi_reference.page import page

KERNEL = ROOT / "cluster-kernel" / "include"
LIBRARY = ROOT / "lib" / "include"
GROUPS = {
    "The kernel's interface": (KERNEL, ["syscall", "errors", "root_info", "console", "seal", "stat", "doorbell",
                                        "ledger", "cluster_control", "core_control",
                                        "memory_control", "cluster_mask", "tsc"]),
    "The loader's interface to the kernel": (KERNEL, ["boot"]),
    "The library of user-level programs": (
        LIBRARY,
        ["message", "system_call", "stubs", "process", "file_tree",
         "sample", "channel", "machine_handshake", "ring", "ledger_read", "stat_read", "stat_pack", "mark",
         "map_limits", "cluster_map"],
    ),
    "The network": (LIBRARY, ["port", "bell", "socket_port", "socket_address", "posix"]),
    "Processes that fork": (LIBRARY, ["family_area", "family_files", "family_word"]),
    "Volumes": (LIBRARY, ["file_port"]),
}
# Headers that programs of this tree share at compile time only.
NO_ABI = {LIBRARY / "skerry" / f"{name}.h"
          for name in ("error_message", "executable", "format", "list", "page_rights", "require", "span",
                       "stat_view")}
NO_ABI |= {KERNEL / "skerry" / f"{name}.h" for name in ("cpu_needs", "x86")}


def generate() -> str:
    listed = {folder / "skerry" / f"{name}.h" for folder, names in GROUPS.values() for name in names}
    there = {path for folder in (KERNEL, LIBRARY) for path in folder.glob("skerry/*.h")} - NO_ABI
    if listed != there:
        raise Failure(f"{', '.join(sorted(p.name for p in listed ^ there))}: not both a header and in the "
                      f"reference's list")
    return page({title: [read(folder / "skerry" / f"{name}.h", [KERNEL, LIBRARY]) for name in names]
                 for title, (folder, names) in GROUPS.items()})
