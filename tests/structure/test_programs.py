# SPDX-License-Identifier: BSD-2-Clause
"""Programs of the host that tools and tests call: the set-up installs each, or every Debian has it; QEMU is started
without the network card that it would add, whose way to the host's loopback is open."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from deploy.base.paths import ROOT
from deploy.setup import packages
from tests.structure import tree

# The Debian package of each. Where it is none of packages.toml's, why it is there all the same.
PACKAGES = {
    "clang": "clang", "cpio": "cpio", "dtc": "device-tree-compiler", "gcc": "gcc-12", "grub-mkrescue": "grub-common",
    "libvirtd": "libvirt-daemon", "lstopo": "hwloc-nox", "meson": "meson", "ninja": "ninja-build", "make": "make",
    "gcc-nm": "gcc-12",
    "nm": "binutils", "ar": "binutils", "readelf": "binutils", "objdump": "binutils", "addr2line": "binutils",
    "strip": "binutils", "objcopy": "binutils", "python3": "python3-dev",
    "redis-benchmark": "redis-tools", "redis-cli": "redis-tools", "redis-server": "redis-tools",
    "redis-check-rdb": "redis-tools", "virsh": "libvirt-clients", "virt-xml-validate": "libvirt-clients",
    "xmllint": "libxml2-utils", "xorriso": "xorriso", "git": "git", "mformat": "mtools", "ip": "iproute2",
}  # fmt: skip
IN_EVERY_DEBIAN = {
    "apt-cache", "apt-get", "bash", "dash", "dpkg-deb", "dpkg-query", "env", "ldd", "mount", "prlimit", "setarch", "setpriv",
    "sh", "sleep", "tar", "tee", "true", "umount", "unshare",
}  # fmt: skip
OPTIONAL = {"sudo", "chromium", "man"}  # their callers do without, and say what would be needed
CALLS = {"subprocess.run", "subprocess.Popen", "subprocess.check_output", "process.start", "shutil.which"}


def _first(node: ast.expr) -> Iterator[str]:
    """The program of a command's expression, if that stands there in letters."""
    match node:
        case ast.Constant(value=str(word)):
            yield word
        case ast.List(elts=[first, *_]):
            yield from _first(first)
        case ast.BinOp(left=left):
            yield from _first(left)


def _called(text: str) -> Iterator[str]:
    module = ast.parse(text)
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    for scope in [module, *functions]:
        named: dict[str, list[ast.expr]] = {}
        for node in ast.walk(scope):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                named.setdefault(node.targets[0].id, []).append(node.value)
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS and node.args:
                command = node.args[0]
                for called in named.get(command.id, []) if isinstance(command, ast.Name) else [command]:
                    yield from _first(called)


def programs() -> dict[str, set[Path]]:
    """Every program that is called by name, and the files that call it."""
    users: dict[str, set[Path]] = {}
    for path in tree.with_suffix(".py"):
        if path.parts[0] in ("deploy", "tests", "topology", "apps"):
            for word in _called(tree.read(path)):
                users.setdefault(word, set()).add(path)
    for path in tree.files():
        if path.name == "meson.build":
            for word in re.findall(r"find_program\('([^']+)'", tree.read(path)):
                if not (ROOT / path.parent / word).exists():  # a script of ours
                    users.setdefault(word, set()).add(path)
    return {word: files for word, files in users.items() if re.fullmatch(r"[a-z0-9][\w.+-]*", word)}


def test_programs() -> None:
    """every program that tools and tests call is installed by the set-up, or part of every Debian"""
    installed = {name for package in packages.in_groups() for name in package.alternatives}
    called = programs()
    assert {"cpio", "strip", "xorriso", "lstopo", "redis-cli", "meson", "dtc", "clang"} <= set(called)
    wrong = []
    for program, files in sorted(called.items()):
        if program in IN_EVERY_DEBIAN | OPTIONAL:
            continue
        if PACKAGES.get(program) not in installed:
            users = ", ".join(str(path) for path in sorted(files))
            wrong.append(f"{program}, of {users}: no package of deploy/setup/packages.toml is known to have it")
    assert not wrong, "\n".join(wrong)


# ---- QEMU without a card of its own ----

PROGRAMS = ("BINARY", "qemu.BINARY", "self.binary")
WITHOUT_CARD = ("-nodefaults", "-nic")


def starts(text: str) -> list[tuple[int, bool]]:
    """The functions that make a command line of QEMU: their lines, and whether each says that there is no card of
    QEMU's own."""
    calls = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            lists = [each for each in ast.walk(node) if isinstance(each, ast.List) and each.elts
                     and ast.unparse(each.elts[0]) in PROGRAMS]
            lists = [each for each in lists if "--version" not in ast.unparse(each)]
            words = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            if lists:
                calls.append((node.lineno, not words.isdisjoint(WITHOUT_CARD)))
    return calls


def test_no_card_of_qemus_own() -> None:
    by_path = {str(path): starts((ROOT / path).read_text()) for path in tree.files() if path.suffix == ".py"}
    assert [f"{path}:{line}" for path, each in by_path.items() for line, without in each if not without] == []
    assert {path.split("/")[0] for path, each in by_path.items() if each} == {"deploy", "tests"}


def test_finds() -> None:
    assert starts("def f():\n\trun([qemu.BINARY, '-M', 'q35'])") == [(1, False)]
    assert starts("def f():\n\tm = ('-nic', 'none')\n\trun([BINARY, *m])") == [(1, True)]
    assert starts("def f():\n\trun([BINARY, '--version'])") == []
