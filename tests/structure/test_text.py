# SPDX-License-Identifier: BSD-2-Clause
"""What every source file has, and what none has."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

from deploy.paths import ROOT
from tests.structure import tree

LONGEST = 600  # lines; a longer file is more than one thing


def sources() -> list[Path]:
    named = {"meson.build", "meson_options.txt", "skerry", "run"}
    suffixes = {".c", ".h", ".S", ".py", ".sh", ".ld", ".toml", ".in", ".dts"}
    return [path for path in tree.files() if path.name in named or path.suffix in suffixes]


def test_licence() -> None:
    """every source file names its licence on top"""
    wrong = [str(path) for path in sources() if "SPDX-License-Identifier: BSD-2-Clause" not in "".join(tree.read(path).splitlines()[:3])]
    assert not wrong, "\n".join(wrong)


def test_length() -> None:
    """no source file is too long to be read at a sitting"""
    wrong = [f"{path}: {n} lines" for path in sources() if (n := tree.read(path).count("\n")) > LONGEST]
    assert not wrong, "\n".join(wrong)


def test_no_conditionals() -> None:
    """the kernel's core has no #if: a variant is a file that Meson chooses"""
    wrong = [
        f"{path}:{number}: {line}"
        for path in tree.files()
        if path.as_posix().startswith("cluster-kernel/core/") and path.suffix in (".c", ".h")
        for number, line in enumerate(tree.read(path).splitlines(), 1)
        if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line)
    ]
    assert not wrong, "\n".join(wrong)


def test_shell() -> None:
    """shell scripts parse"""
    scripts = [
        p for p in tree.files()
        if p.suffix in (".sh", "") and re.match(rb"#!.*/(ba)?sh\b", (ROOT / p).read_bytes()[:40])  # some are no text
    ]
    assert Path("skerry") in scripts
    wrong = []
    for path in scripts:
        shell = "bash" if "bash" in tree.read(path).splitlines()[0] else "sh"
        done = subprocess.run([shell, "-n", str(ROOT / path)], capture_output=True, text=True)
        wrong += [f"{path}: {done.stderr.strip()}"] if done.returncode else []
    assert not wrong, "\n".join(wrong)


def test_typed_python() -> None:
    """every function of the host tools says its types"""
    wrong = []
    for path in tree.with_suffix(".py"):
        if path.parts[0] not in ("deploy", "topology"):
            continue
        for node in ast.walk(ast.parse(tree.read(path))):
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            bare = [a.arg for a in arguments if a.annotation is None and a.arg not in ("self", "cls")]
            if bare or node.returns is None:
                wrong.append(f"{path}:{node.lineno}: {node.name}({', '.join(bare)}){'' if node.returns else ' -> ?'}")
    assert not wrong, "\n".join(wrong)
