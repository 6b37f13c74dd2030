# SPDX-License-Identifier: BSD-2-Clause
"""The headers as one page of markdown."""

import re
from collections.abc import Iterable, Iterator

from deploy.base.errors import Failure
from deploy.tools.abi_reference.headers import Constant, Declaration, Header

INDENTED = 4  # columns that make a line of a comment a line of a table or of code


def lines(raw: str) -> list[str]:
    """Returns the lines without the marks of the comment; several comments in a row are one."""
    kept = []
    for line in raw.splitlines():
        line = re.sub(r"^\s*/?\*+/?( |$)?", "", line, count=1) if re.match(r"\s*/?\*", line) else line
        kept.append(re.sub(r"\s*\*/\s*$", "", line.expandtabs(8)).rstrip())
    while kept and not kept[-1]:
        kept.pop()
    while kept and not kept[0]:
        kept.pop(0)
    return kept


def sentence(raw: str) -> str:
    return " ".join(line.strip() for line in lines(raw) if line.strip())


def markdown(raw: str) -> Iterator[str]:
    """Paragraphs, and as code what is indented."""
    paragraph: list[str] = []
    code: list[str] = []

    def flush() -> Iterator[str]:
        if paragraph:
            yield from (escape(" ".join(paragraph)), "")
        while code and not code[-1]:
            code.pop()
        if code:
            indent = min(len(line) - len(line.lstrip()) for line in code if line)
            yield from ("```", *(line[indent:] for line in code), "```", "")
        paragraph.clear()
        code.clear()

    for line in lines(raw):
        deep = len(line) - len(line.lstrip()) >= INDENTED
        if not line:
            if code:
                code.append("")
            else:
                yield from flush()
        elif deep:
            if paragraph:
                yield from flush()
            code.append(line)
        else:
            if code:
                yield from flush()
            paragraph.append(line.strip())
    yield from flush()


def escape(text: str) -> str:
    """Escapes for markdown; what the comment itself has in back ticks stays."""
    parts = text.split("`")
    parts[::2] = [_mark(part) for part in parts[::2]]
    return "`".join(parts)


def _mark(text: str) -> str:
    """Names that have an underscore as code, other signs of markdown as themselves."""
    words = re.split(r"(\b\w*_\w*\*?)", text)
    words[1::2] = [f"`{word}`" for word in words[1::2]]
    words[::2] = [re.sub(r"([*<>\[\]])", r"\\\1", word) for word in words[::2]]
    return "".join(words)


def cell(text: str) -> str:
    return escape(text).replace("|", "\\|")


SECTION = re.compile(r"^-+ (.*?) -+$")
# The object that an invocation is made on, by the first word of its name.
OBJECTS = {"UNTYPED": "Untyped", "CNODE": "CNode", "TCB": "TCB", "FRAME": "Frame", "PAGE_TABLE": "Page table",
           "IRQ_GET": "IRQ control", "IRQ": "IRQ handler", "IO_PORT": "I/O port", "CHANNEL": "Channel",
           "CLUSTER": "Cluster control"}


def page(groups: dict[str, list[Header]]) -> str:
    errors = {c.name for headers in groups.values() for h in headers for d in h.declarations if d.kind == "list"
              for c in d.constants}
    out = ["<!-- SPDX-License-Identifier: BSD-2-Clause -->", "# ABI reference", "",
           "Generated from the public headers (`deploy/tools/abi_reference/`); do not edit."]
    for title, headers in groups.items():
        out += ["", f"# {title}"]
        for header in headers:
            out += ["", f"## `{header.name}`", "", *markdown(header.comment)]
            for same in _runs(header.declarations):
                out += _section(same, errors)
    text = "\n".join(out).rstrip("\n") + "\n"
    return re.sub(r"\n{3,}", "\n\n", text)


def _runs(declarations: list[Declaration]) -> Iterator[list[Declaration]]:
    """Macros and functions that stand together are one table."""
    run: list[Declaration] = []
    for declaration in declarations:
        joins = run and declaration.kind == run[-1].kind and declaration.kind in ("macro", "function")
        if run and not (joins and not SECTION.match(sentence(declaration.comment))):
            yield run
            run = []
        run.append(declaration)
    if run:
        yield run


def _section(same: list[Declaration], errors: set[str]) -> Iterator[str]:
    first = same[0]
    if first.kind == "function":
        yield from _functions(same)
    elif first.kind == "macro":
        yield from _table(("constant", "value", ""), [_constant(d.constants[0]) for d in same])
    elif first.kind == "list":
        yield from ("", "### Errors")
        yield from _table(("code", "error", "meaning"),
                          [(c.value, f"`{c.name}`", cell(c.comment)) for c in first.constants])
    elif first.kind == "struct":
        yield from ("", f"### `struct {first.name}`: {first.size} bytes", "", *markdown(first.comment))
        rows = [(str(f.offset), str(f.size), f"`{f.type}`", f"`{f.name}`", cell(sentence(f.comment)))
                for f in first.fields]
        yield from _table(("offset", "size", "type", "field", ""), rows)
    elif all(c.comment == "" for c in first.constants) and any(c.name.startswith("SKERRY_") for c in first.constants):
        return  # enum skerry_error: the list macro said it all
    else:
        yield from _enum(first, errors)


def _enum(declaration: Declaration, errors: set[str]) -> Iterator[str]:
    if declaration.name:
        yield from ("", f"### `enum {declaration.name}`")
    yield from ("", *markdown(declaration.comment))
    parts = [_split(c, errors) for c in declaration.constants]
    if not any(wrong for _, wrong in parts):
        yield from _table(("constant", "value", ""), [_constant(c) for c in declaration.constants])
        return
    groups: dict[str, list[tuple[str, ...]]] = {}
    for constant, (meaning, wrong) in zip(declaration.constants, parts):
        prefix = max((p for p in OBJECTS if constant.name.startswith(p + "_")), key=len, default="")
        groups.setdefault(OBJECTS.get(prefix, ""),
                          []).append((f"`{constant.name}`", constant.value, cell(meaning), cell(wrong)))
    for title, rows in groups.items():
        if title:
            yield from ("", f"#### {title}")
        yield from _table(("name", "number", "", "errors"), rows)


def _split(constant: Constant, errors: set[str]) -> tuple[str, str]:
    """Splits a comment into its sentence and the errors that it names."""
    meaning, marked, rest = sentence(constant.comment).partition("Errors: ")
    wrong, _, after = rest.partition(". ")
    wrong = wrong.rstrip(".")
    for name in re.findall(r"\b[A-Z]{2,}(?:_[A-Z]+)*\b", re.sub(r"\([^)]*\)", "", wrong)):
        if name not in errors:
            raise Failure(f"{constant.name}: its comment names the error {name}, which errors.h does not have")
    if marked and not wrong:
        raise Failure(f"{constant.name}: its comment names no error after 'Errors:'")
    return " ".join(part for part in (meaning.strip(), after.strip()) if part), wrong


def _functions(same: list[Declaration]) -> Iterator[str]:
    heading = SECTION.match(sentence(same[0].comment))
    if heading:
        yield from ("", f"### {heading[1].capitalize()}")
    yield ""
    for function in same:
        text = sentence(function.comment)
        yield f"- `{function.signature}`" + ("" if SECTION.match(text) or not text else f"  \n  {escape(text)}")
    yield ""


def _constant(constant: Constant) -> tuple[str, str, str]:
    return f"`{constant.name}`", f"`{constant.value}`", cell(sentence(constant.comment))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield from ("", "| " + " | ".join(head) + " |", "|" + "---|" * len(head))
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""
