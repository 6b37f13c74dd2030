# SPDX-License-Identifier: BSD-2-Clause
"""Declarations of a public header, in its order, as libclang reads it."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from deploy.base.errors import Failure
from topology import demand

demand.module("clang", "test")
from clang.cindex import Cursor, CursorKind, Index, TokenKind, TranslationUnit, TypeKind  # noqa: E402

# Bodies are not the interface, and gcc's <stdatomic.h> is not for clang.
OPTIONS = TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD | TranslationUnit.PARSE_SKIP_FUNCTION_BODIES


@dataclass(frozen=True)
class Constant:
    name: str
    value: str
    comment: str  # as in the header, with its marks


@dataclass(frozen=True)
class Field:
    name: str
    type: str
    offset: int  # bytes
    size: int
    comment: str


@dataclass(frozen=True)
class Declaration:
    kind: str  # enum, struct, function, macro
    name: str  # empty where it has none
    comment: str
    constants: tuple[Constant, ...] = ()
    fields: tuple[Field, ...] = ()
    size: int = 0
    signature: str = ""


@dataclass
class Header:
    name: str  # as programs include it
    comment: str
    declarations: list[Declaration] = field(default_factory=list)


def _compiler_includes() -> list[str]:
    done = subprocess.run(["gcc", "-xc", "-E", "-v", "-"], input="", capture_output=True, text=True)
    listed = re.search(r"search starts here:\n(.*?)End of search", done.stderr, re.DOTALL)
    if not listed:
        raise Failure("gcc does not say where its headers are")
    paths = re.findall(r"^ (/.*)$", listed[1], re.MULTILINE)
    return [word for path in paths for word in ("-isystem", path)]


def read(path: Path, includes: list[Path]) -> Header:
    arguments = ["-x", "c", "-std=gnu11", "-fparse-all-comments", "-nostdinc", "-Wno-pragma-once-outside-header"]
    arguments += [f"-I{folder}" for folder in includes] + _compiler_includes()
    unit = Index.create().parse(str(path), args=arguments, options=OPTIONS)
    wrong = [d for d in unit.diagnostics if d.severity >= 3]
    if wrong:
        raise Failure(f"{path}: {wrong[0].spelling}")
    tokens = [t for t in unit.get_tokens(extent=unit.cursor.extent) if t.kind == TokenKind.COMMENT]
    trailing = {t.location.line: t.spelling for t in tokens}
    top = next((t.spelling for t in tokens if t.location.line == 2), "")  # below the licence
    header = Header(f"skerry/{path.name}", top)
    seen: set[int] = set()
    for cursor in sorted(_own(unit.cursor, path), key=lambda c: c.location.line):
        for declaration in _declaration(cursor, trailing):
            key = hash((declaration.kind, declaration.name, cursor.location.offset))
            if key not in seen:
                seen.add(key)
                header.declarations.append(declaration)
    return header


def _own(root: Cursor, path: Path) -> list[Cursor]:
    return [c for c in root.get_children() if c.location.file and Path(c.location.file.name) == path]


def _declaration(cursor: Cursor, trailing: dict[int, str]) -> Iterator[Declaration]:
    comment = cursor.raw_comment or ""
    name = "" if cursor.is_anonymous() or "unnamed" in cursor.spelling else cursor.spelling
    if cursor.kind == CursorKind.ENUM_DECL:
        constants = tuple(Constant(e.spelling, str(e.enum_value), e.raw_comment or "") for e in cursor.get_children())
        yield Declaration("enum", name, comment, constants=constants)
    elif cursor.kind == CursorKind.STRUCT_DECL and cursor.is_definition():
        yield Declaration("struct", name, comment, fields=tuple(_fields(cursor)), size=cursor.type.get_size())
    elif cursor.kind == CursorKind.FUNCTION_DECL:
        arguments = ", ".join(_declare(a.type.spelling, a.spelling) for a in cursor.get_arguments())
        signature = f"{_declare(cursor.result_type.spelling, cursor.spelling)}({arguments or 'void'})"
        yield Declaration("function", name, comment, signature=signature)
    elif cursor.kind == CursorKind.MACRO_DEFINITION:
        words = list(cursor.get_tokens())
        takes_arguments = (
            len(words) > 1 and words[1].spelling == "(" and words[1].extent.start.offset == words[0].extent.end.offset
        )
        if takes_arguments and any(w.kind == TokenKind.LITERAL and w.spelling.startswith('"') for w in words):
            yield Declaration("list", name, comment, constants=tuple(_rows([w.spelling for w in words])))
        elif len(words) > 1 and not takes_arguments:
            value = " ".join(w.spelling for w in words[1:] if w.kind != TokenKind.COMMENT)
            yield Declaration("macro", name, "",
                              constants=(Constant(name, value, trailing.get(cursor.location.line, "")),))


def _fields(cursor: Cursor, prefix: str = "", base: int = 0) -> Iterator[Field]:
    for child in cursor.type.get_fields():
        offset = base + child.get_field_offsetof() // 8
        record = child.type.get_declaration()
        own = "" if "(anonymous" in child.spelling else child.spelling  # of an unnamed member some versions make one up
        name = prefix + own
        if child.type.kind in (TypeKind.RECORD, TypeKind.ELABORATED) and record.is_anonymous():
            yield from _fields(record, f"{name}." if own else prefix, offset)
        else:
            yield Field(name, child.type.spelling, offset, child.type.get_size(), child.raw_comment or "")


def _rows(words: list[str]) -> Iterator[Constant]:
    """Yields the rows of a list macro, `X(1, NAME, "sentence") ...`."""
    text = " ".join(words)
    for value, name, sentence in re.findall(r'X \( (\d+) , (\w+) , "([^"]*)" \)', text):
        yield Constant(name, value, sentence)


def _declare(kind: str, name: str) -> str:
    return f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}"
