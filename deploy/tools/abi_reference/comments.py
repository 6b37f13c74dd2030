# SPDX-License-Identifier: BSD-2-Clause
"""A comment of C as text."""

import re
from collections.abc import Iterator

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
