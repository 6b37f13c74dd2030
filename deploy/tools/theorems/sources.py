# SPDX-License-Identifier: BSD-2-Clause
"""Finds the theorems in the C sources: functions with an ACSL contract, as the preprocessor leaves them."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.tools.theorems import contracts, program
from deploy.tools.theorems.contracts import Contract, Definition
from deploy.tools.theorems.grammar import NotInSubset
from deploy.tools.theorems.program import Function

HERE = Path(__file__).parent
FOLDERS = ("cluster-kernel/include", "cluster-kernel/core", "cluster-kernel/lock", "cluster-kernel/arch-x86_64",
           "cluster-manager", "lib")
INCLUDES = ("cluster-kernel/include", "cluster-kernel/core", "cluster-kernel/arch-x86_64", "cluster-kernel/lock",
            "lib/include", "lib/freestanding", "lib/cluster-map", "cluster-manager/loader")
FLAGS = ("-std=gnu11", "-ffreestanding", "-fno-stack-protector", "-mgeneral-regs-only", "-w", "-D_GNU_SOURCE",
         "-DREGIME_HEADER=\"clh.h\"", "-DCOUNT_HEADER=\"count/off.h\"", "-DRTM_ATTEMPTS=1",
         "-DCHECK_HEADER=\"check/off.h\"", "-include", "check/off.h", "-include", str(HERE / "assertions.h"))
ANNOTATION = re.compile(r"(?:/\*(?!@)((?:[^*]|\*(?!/))*)\*/\s*)?/\*@((?:[^*]|\*(?!/))*)\*/\s*")
INTEGER = r"unsigned\s+(?:long\s+|char\s+)?|u?int\w*_t\s+|_?[Bb]ool\s+|int\s+|size_t\s+"
DEFINITION = re.compile(rf"^(?:static\s+|inline\s+|extern\s+)*(?:const\s+)?(?:{INTEGER})(\w+)\(([^()]*)\)\s*\{{",
                        re.MULTILINE)
CONSTANT = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b|\bsizeof ?\((?:[^()]|\([^()]*\))*\)")

CALL = re.compile(r"\b(\w+)\(")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Theorem:
    """`words`: the comment above the contract. `code`: the function without constants' names."""

    function: str
    file: str
    words: str
    annotation: str
    contract: Contract
    code: str


@dataclass(frozen=True)
class Source:
    """A file with theorems. `helpers`: its other functions of integers, by name, as text."""

    file: str
    theorems: tuple[Theorem, ...]
    functions: dict[str, Function]
    helpers: dict[str, str]
    definitions: dict[str, Definition]
    definition_texts: tuple[str, ...]


def files() -> list[Path]:
    """The C files that have a contract."""
    found = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.[ch]"))]
    return [path for path in found if "/*@" in path.read_text(errors="replace")]


def read(path: Path, changed: str | None = None) -> Source:
    """Reads a file's theorems. `changed`: a text in the place of the file's, with a fault that is planted."""
    file = str(path.relative_to(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        compiled = path
        if changed is not None:
            compiled = Path(folder) / path.name
            compiled.write_text(changed)
        text = _preprocessed(path, compiled)
        text = _resolve(text, _constants(path, compiled, _in_theorems(text), Path(folder)))
    return _source(file, text)


def _preprocessed(path: Path, compiled: Path) -> str:
    """Returns what the file itself contributes, with its comments."""
    done = _gcc(path, ["-E", "-C", str(compiled)])
    kept, own = [], False
    for line in done.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            own = marker[1] == str(compiled)
        elif own:
            kept.append(line)
    return "\n".join(kept)


def _gcc(path: Path, arguments: list[str]) -> str:
    folders = [f"-I{path.parent}", *(f"-I{ROOT / folder}" for folder in INCLUDES)]
    done = subprocess.run(["gcc", *FLAGS, *folders, *arguments], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        raise Failure(f"{path.relative_to(ROOT)}: {(done.stderr.splitlines() or ['gcc failed'])[0]}")
    return done.stdout


def _in_theorems(text: str) -> list[str]:
    """Constants that contracts, their functions and these functions' callees name."""
    functions, parts, called = _functions(text), list[str](), list[str]()
    for match in ANNOTATION.finditer(text):
        parts.append(match[2])
        function = DEFINITION.match(text, match.end())
        called += [function[1]] if function else []
    for name in called:  # which grows
        parts.append(functions[name])
        called += [other for other in CALL.findall(functions[name]) if other in functions and other not in called]
    return sorted({name for part in parts for name in CONSTANT.findall(COMMENT.sub("", part))})


def _functions(text: str) -> dict[str, str]:
    """Definitions of functions that return an integer, by name."""
    result = {}
    for match in DEFINITION.finditer(text):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        result[match[1]] = text[match.start():at]
    return result


def function_text(text: str, name: str) -> str:
    """Returns the definition of a function that returns an integer, as the text has it."""
    found = _functions(text)
    if name not in found:
        raise Failure(f"there is no function {name}() of integers")
    return found[name]


def _constants(path: Path, compiled: Path, names: list[str], folder: Path) -> dict[str, tuple[int, bool]]:
    """Asks the compiler for the values of constant expressions, and whether C needs a suffix for their types."""
    if not names:
        return {}
    rows = "".join(f"{{ (unsigned long)({name}), sizeof({name}), (__typeof__({name}))-1 < 0 }},\n" for name in names)
    unit, made, raw = folder / "constants.c", folder / "constants.o", folder / "constants"
    unit.write_text(f'#include "{compiled}"\n__attribute__((section(".theorems"), used))\n'
                    f"const unsigned long theorem_constants[][3] = {{\n{rows}}};\n")
    _gcc(path, ["-O0", "-c", str(unit), "-o", str(made)])
    subprocess.run(["objcopy", "-O", "binary", "--only-section=.theorems", made, raw], check=True)
    words = memoryview(raw.read_bytes()).cast("Q").tolist()
    values = {}
    for name, value, size, is_signed in zip(names, words[::3], words[1::3], words[2::3], strict=True):
        values[name] = (value - (1 << 64) if is_signed and value >> 63 else value, size == 8 and not is_signed)
    return values


def _resolve(text: str, values: dict[str, tuple[int, bool]]) -> str:
    def resolved(match: re.Match[str]) -> str:
        if match[0] not in values:
            return match[0]
        value, long = values[match[0]]
        return f"{value}{'ul' if long else ''}" if value >= 0 else f"({value})"

    return CONSTANT.sub(resolved, text)


def _source(file: str, text: str) -> Source:
    functions = _functions(text)
    parsed = dict(_parsed(functions))
    theorems, definitions, texts = [], dict[str, Definition](), []
    for match in ANNOTATION.finditer(text):
        annotation = re.sub(r"^\s*@", "", match[2].rstrip("@ \n\t"), flags=re.MULTILINE)
        if re.match(r"\s*(?:predicate|logic)\b", annotation):
            definitions |= contracts.parse_definitions(annotation)
            texts.append(annotation)
            continue
        function = DEFINITION.match(text, match.end())
        if not function:
            raise Failure(f"{file}: a contract stands before no function of integers: {annotation.strip()[:60]!r}")
        theorems.append(_theorem(file, function[1], match[1], annotation, functions[function[1]]))
    helpers = {name: functions[name] for name in parsed if name not in {theorem.function for theorem in theorems}}
    return Source(file, tuple(theorems), parsed, helpers, definitions, tuple(texts))


def _theorem(file: str, function: str, words: str | None, annotation: str, code: str) -> Theorem:
    try:
        contract = contracts.parse(annotation)
    except NotInSubset as error:
        raise Failure(f"{file}: contract of {function}(): {error}") from None
    plain = re.sub(r"\s*\n\s*\*? ?", " ", words or "").strip()
    return Theorem(function, file, plain, annotation, contract, code)


def _parsed(functions: dict[str, str]) -> Iterable[tuple[str, Function]]:
    for name, text in functions.items():
        try:
            yield name, program.parse(text)
        except NotInSubset:
            continue  # no function of integers: a theorem that needs it says so


def callees(source: Source, theorem: Theorem) -> list[str]:
    """Names of the file's functions that a theorem's code calls, each behind what it calls itself."""
    found: dict[str, None] = {}

    def visit(code: str) -> None:
        for name in CALL.findall(code):
            known = source.helpers.get(name) or next((t.code for t in source.theorems if t.function == name), None)
            if known and known != code and name not in found:
                visit(known)
                found[name] = None

    visit(theorem.code)
    return list(found)
