# SPDX-License-Identifier: BSD-2-Clause
"""What every source file has and what none has: texts, .editorconfig, the one version."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from deploy.base.paths import BUILD, ROOT
from deploy.base.version import version
from tests.structure import tree

# ---- Checks what every source file has, and what none has. ----


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


# ---- Every file is as .editorconfig says. ----


KNOWN = {"charset", "end_of_line", "insert_final_newline", "trim_trailing_whitespace", "indent_style", "indent_size",
         "tab_width", "max_line_length"}  # fmt: skip
STILL_LONG = 121  # lines that nothing breaks well: texts that a test looks for, long literals, marks for tools
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


# ---- Skerry has one version: that of project() in meson.build. ----


def test_one_definition() -> None:
    """no source but meson.build spells the version"""
    assert re.fullmatch(r"\d+\.\d+\.\d+", version())
    spelled = rf"(?<![\d.]){re.escape(version())}(?![\d.])"
    pins = "deploy/setup/"  # versions of other software
    wrong = [str(path) for path in sources() if not path.as_posix().startswith(pins)
             and re.search(spelled, tree.read(path))]
    assert wrong == ["meson.build"]


def test_images() -> None:
    """kernels and the metrics endpoint are of this version"""
    kernels = sorted(BUILD.glob("cluster-kernel/kernel-*.elf"))
    assert kernels
    for image in kernels:
        assert f"Skerry {version()}, ".encode() in image.read_bytes(), image
    assert f'skerry_build_info{{version="{version()}"}}'.encode() in (BUILD / "apps/metrics/metrics.elf").read_bytes()


def test_command() -> None:
    """./skerry --version says it"""
    done = subprocess.run([sys.executable, "-B", "-m", "deploy.cli.main", "--version"], cwd=ROOT, capture_output=True,
                          text=True)
    assert (done.returncode, done.stdout) == (0, f"skerry {version()}\n")


def test_changelog() -> None:
    """the newest release of CHANGELOG.md is this version; headings are those of keepachangelog.com"""
    text = (ROOT / "CHANGELOG.md").read_text()
    releases = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", text, re.MULTILINE)
    assert [name for name, _ in releases if name != "Unreleased"][0] == version()
    assert [name for name, day in releases if not day] in ([], ["Unreleased"])
    kinds = set(re.findall(r"^### (.*)$", text, re.MULTILINE))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
