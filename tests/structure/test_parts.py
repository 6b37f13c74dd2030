# SPDX-License-Identifier: BSD-2-Clause
"""The host tools' parts: which may import which. All imports count, those inside functions and of types alone
included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.structure.tree import ROOT, files

# Parts of deploy/, the highest first: each may import those after it. docs/architecture.md has the same order.
ORDER = (
    "cli", "tools", "bench", "report", "compare", "profile", "load", "results", "live", "domains", "emulator",
    "machine", "setup",
    "deployment", "base",
)  # fmt: skip
ALIKE = {"domains", "emulator"}  # neither may import the other
LATE = 8  # imports of this project's modules inside functions, at most: what takes long to load, or is not there yet
MODULES = 20  # of a folder, at most


def sources(*tops: str) -> list[Path]:
    return [path for path in files() if path.suffix == ".py" and path.parts[0] in tops]


OURS = {path.with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__"): path
        for path in sources("deploy", "topology", "tests", "lib")}


def imported(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Modules of this project, and the lines of their imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                name = inner if inner in OURS else node.module
                if name in OURS:
                    yield name, node.lineno
        elif isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names if alias.name in OURS)


def part(path: Path) -> str:
    return path.parts[1] if path.parts[0] == "deploy" and len(path.parts) > 2 else path.parts[0]


def allowed(one: str, other: str) -> bool:
    if other == "tests":
        return False
    if one == other or one == "deploy" or other in ("deploy", "lib"):
        return True
    if one == "topology" or other == "topology":
        return other == "topology"
    return ORDER.index(one) < ORDER.index(other) and {one, other} != ALIKE


def test_arrows() -> None:
    """arrows between the parts of deploy run one way, topology is below them, and no tool imports a test"""
    paths = sources("deploy", "topology")
    assert {part(path) for path in paths} == {*ORDER, "deploy", "topology"}
    wrong = [f"{path}:{line} imports {name}"
             for path in paths for name, line in imported(ast.parse((ROOT / path).read_text()))
             if not allowed(part(path), part(OURS[name]))]  # fmt: skip
    assert not wrong, "\n".join(wrong)


def test_every_arrow_is_checked() -> None:
    """an import upwards is found at the top of a file, inside a function and for types alone"""
    for text in ("from deploy.cli import main", "def f():\n    from deploy.cli.main import fail",
                 "import deploy.cli.main",
                 "if TYPE_CHECKING:\n    from deploy.cli.main import fail"):
        assert [name for name, _ in imported(ast.parse(text))] == ["deploy.cli.main"]
    assert not allowed("base", "cli") and not allowed("topology", "base") and not allowed("domains", "emulator")
    assert allowed("cli", "base") and allowed("base", "topology") and not allowed("tools", "tests")


def _running(path: Path) -> ast.Module:
    """Returns the module without what is imported for types alone."""
    tree = ast.parse((ROOT / path).read_text())
    tree.body = [node for node in tree.body
                 if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test))]
    return tree


def test_circles() -> None:
    """no file imports itself by way of others"""
    arrows = {path: {OURS[name] for name, _ in imported(_running(path))} - {path}
              for path in sources("deploy", "topology")}
    left = dict(arrows)
    while leaves := [path for path, below in left.items() if not below & left.keys()]:
        for path in leaves:
            del left[path]
    assert not left, f"a circle is among {', '.join(map(str, left))}"


def test_late_imports() -> None:
    """few imports are inside functions: they hide arrows from readers"""
    late_ones = []
    for path in sources("deploy", "topology"):
        tree = ast.parse((ROOT / path).read_text())
        at_top = {name for node in tree.body for name, _ in imported(node)
                  if not isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        late = {name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                for name, _ in imported(node)}  # fmt: skip
        late_ones += [f"{path}: {name}" for name in late - at_top]
    assert len(late_ones) <= LATE, "\n".join(late_ones)


def test_commands() -> None:
    """no command imports another: what they share stands below them"""
    commands = Path("deploy/cli/commands")
    wrong = []
    for path in sources("deploy"):
        if path.is_relative_to(commands) and path.name != "__init__.py":
            others = {OURS[name] for name, _ in imported(ast.parse((ROOT / path).read_text()))} - {path}
            wrong += [f"{path} imports {other}" for other in others if other.is_relative_to(commands)
                      and other.name != "__init__.py"]
    assert not wrong, "\n".join(wrong)


def test_folders() -> None:
    """deploy has no loose module, and no folder has more modules than a reader takes in"""
    assert {path.name for path in sources("deploy") if len(path.parts) == 2} == {"__init__.py"}
    many = {str(folder): count for folder in {path.parent for path in sources("deploy", "topology")}
            if (count := sum(path.parent == folder for path in sources("deploy", "topology"))) > MODULES}
    assert not many
