# SPDX-License-Identifier: BSD-2-Clause
"""Every file is as .editorconfig says."""

import re
from pathlib import Path

from deploy.base.paths import ROOT
from tests.structure.test_text import texts

KNOWN = {"charset", "end_of_line", "insert_final_newline", "trim_trailing_whitespace", "indent_style", "indent_size",
         "tab_width", "max_line_length"}  # fmt: skip
STILL_LONG = 130  # lines that nothing breaks well: texts that a test looks for, long literals, marks for tools
BLANKS = re.compile(r" +[^ */@]")  # where a statement begins; blanks also align what continues a line or a contract


def pattern(glob: str) -> re.Pattern[str]:
    """A section's heading as a regular expression for paths."""
    kinds = {"**": ".*", "*": "[^/]*", "{": "(?:", "}": ")", ",": "|"}
    made = "".join(kinds.get(part) or re.escape(part) for part in re.findall(r"\*\*|[*{},]|[^*{},]+", glob))
    return re.compile(made if "/" in glob else f"(?:.*/)?{made}")


def sections() -> list[tuple[re.Pattern[str], dict[str, str]]]:
    made: list[tuple[re.Pattern[str], dict[str, str]]] = []
    for line in (ROOT / ".editorconfig").read_text().splitlines():
        if heading := re.fullmatch(r"\[(.*)\]", line):
            made.append((pattern(heading[1]), {}))
        elif made and line and not line.startswith("#"):
            key, _, value = line.partition(" = ")
            assert key in KNOWN and value, line
            made[-1][1][key] = value
    return made


SECTIONS = sections()


def properties(path: Path) -> dict[str, str]:
    """Returns the properties of a file: later sections take precedence."""
    merged: dict[str, str] = {}
    for glob, values in SECTIONS:
        if glob.fullmatch(path.as_posix()):
            merged |= values
    return merged


def mistakes(data: bytes, style: dict[str, str]) -> list[str]:
    text = data.decode(style["charset"])
    wrong = ["carriage returns"] if "\r" in text else []
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        wrong.append("does not end with one newline")
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if style["trim_trailing_whitespace"] == "true" and line != line.rstrip():
            wrong.append(f"{number}: blanks at the end")
        if style["indent_style"] == "tab" and BLANKS.match(line) and before.endswith(("{", ";", "}")):
            wrong.append(f"{number}: blanks that indent")
        before = line
        if style["indent_style"] == "space" and line.startswith("\t"):
            wrong.append(f"{number}: a tab that indents")
    return wrong


def too_long(text: str, style: dict[str, str]) -> list[str]:
    limit = style.get("max_line_length", "off")
    lengths = ((number, len(line.expandtabs(int(style.get("tab_width", 8)))))
               for number, line in enumerate(text.splitlines(), 1))
    return [f"{number}: {length} columns are more than {limit}" for number, length in lengths if limit != "off"
            and length > int(limit)]


def test_editorconfig() -> None:
    """indentation, line ends, final newlines and lengths are as .editorconfig says"""
    wrong = [f"{path}: {mistake}" for path in texts()
             for mistake in mistakes((ROOT / path).read_bytes(), properties(path))]
    assert not wrong, "\n".join(wrong)


def test_line_length() -> None:
    """no line is longer than .editorconfig says, but for those that were when it said 120: their number only falls"""
    long = [f"{path}: {one}" for path in texts() for one in too_long((ROOT / path).read_text(), properties(path))]
    assert len(long) <= STILL_LONG, f"{len(long)} lines are too long, {STILL_LONG} were:\n" + "\n".join(long)


def test_sections() -> None:
    """a file gets the properties of the last section that fits"""
    assert properties(Path("cluster-kernel/core/cap.c"))["indent_style"] == "tab"
    assert properties(Path("apps/libc/meson.build"))["indent_size"] == "2"
    assert properties(Path("tests/unit/topology/test_check.py"))["max_line_length"] == "120"
    assert properties(Path("deploy/cli/main.py"))["max_line_length"] == "120"
    assert properties(Path("skerry"))["indent_style"] == "tab"


def test_mistakes() -> None:
    """each kind of deviation is seen"""
    style = properties(Path("cluster-kernel/core/cap.c"))
    for text in (b"int x; \n", b"int x;", b"int x;\n\n", b"int x;\r\n", b"{\n    x;\n"):
        assert mistakes(text, style), text
    for line in ("x" * 121, "\t" * 15 + "x"):
        assert too_long(line, style), line
    assert not too_long("x" * 120, style)
    assert mistakes(b"\tx = 1\n", properties(Path("deploy/cli/main.py")))
    assert not mistakes(b"\tint x;\n", style)


def test_clang_format() -> None:
    """.clang-format indents as .editorconfig says, and breaks lines before its limit"""
    clang = dict(line.split(": ", 1) for line in (ROOT / ".clang-format").read_text().splitlines() if ": " in line
                 and not line.startswith("#"))
    style = properties(Path("cluster-kernel/core/cap.c"))
    assert style["indent_style"] == "tab" and clang["UseTab"] == "ForContinuationAndIndentation"
    assert clang["TabWidth"] == clang["IndentWidth"] == style["tab_width"]
    assert int(clang["ColumnLimit"]) <= int(style["max_line_length"])
