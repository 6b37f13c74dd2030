# SPDX-License-Identifier: BSD-2-Clause
"""Checks what every source file has, and what none has."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from deploy.base.paths import ROOT
from tests.structure import tree

LONGEST = 600  # lines; of a longer file ask whether it is more than one thing
LONGEST_FUNCTION = 60  # lines between its braces; of Python, from its first statement on


LICENCE = "SPDX-License-Identifier: BSD-2-Clause"
DATA = ".corpus"  # inputs of fuzzers: bytes in base64, not text
UNMARKED = {"LICENSE"}  # the licence itself


def texts() -> list[Path]:
    """Every file that people write or read; inputs of fuzzers are neither."""
    return [path for path in tree.files() if path.suffix != DATA]


def sources() -> list[Path]:
    return [path for path in texts() if path.suffix not in (".md", ".json") and path.name != "LICENSE"]


def test_licence() -> None:
    """every file that can have a comment names its licence on top"""
    wrong = [
        str(path)
        for path in texts()
        if path.suffix != ".json" and path.as_posix() not in UNMARKED
        and LICENCE not in "".join(tree.read(path).splitlines()[:3])
    ]
    assert not wrong, "\n".join(wrong)
    assert "BSD-2-Clause" in tree.read(Path("README.md"))


def test_length() -> None:
    """no source file is too long to be read at a sitting"""
    wrong = [f"{path}: {n} lines" for path in sources() if (n := tree.read(path).count("\n")) > LONGEST]
    assert not wrong, "\n".join(wrong)


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """Each one's place, and how long it is."""
    text = tree.read(path)
    if path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{path}:{node.lineno}: {node.name}", (node.end_lineno or 0) - node.body[0].lineno + 1
        return
    begun = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line == "{":
            begun = number
        elif line == "}" and begun:
            yield f"{path}:{begun}", number - begun - 1
            begun = 0


def test_functions() -> None:
    """no function is longer than a screen"""
    lengths = [one for path in tree.with_suffix(".c", ".h", ".py") for one in functions(path)]
    wrong = [f"{where}: {lines} lines" for where, lines in lengths if lines > LONGEST_FUNCTION]
    assert len(lengths) > 3000 and not wrong, "\n".join(wrong)


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
