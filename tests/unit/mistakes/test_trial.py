# SPDX-License-Identifier: BSD-2-Clause
"""A mistake is built and tried beside the sound objects, which stay as they are."""

import hashlib
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.tools.testing.meson_tests import MesonTest
from tests.mistakes import trial
from tests.mistakes.catalogue import Change, Mistake, Seen, sources
from tests.mistakes.graph import Graph
from tests.mistakes.mirror import BuildFailure, Mirror
from tests.mistakes.trial import Bench
from tests.mistakes.verdicts import CAUGHT, SAME, SURVIVED, UNFIT, UNREAD

FILES = {
    "lib/add.h": "enum { ONE = 1 };\nint add(int a, int b);\nint more(void);\n",
    "lib/add.c": '#include "add.h"\nint add(int a, int b) { return a + b; }\n',
    "lib/more.c": "int more(void) { return 0; }\n",
    "build/lib/more-unity0.c": "#include<ROOT/build/../lib/more.c>\n",
    "lib/text.txt": "static int two(void) { return 2; }\n",
    "test/test.c": '#include "../lib/add.h"\n#include "text.h"\nint main(int argc, char **argv) {\n'
                   "\tif (argc > 1) return argv[1][0] != 's';\n\treturn add(ONE, two()) + more() != 3;\n}\n",
    "test/while.c": "int main(void) { return 0; }\n",
}  # fmt: skip
NINJA = """rule cc
  command = cc -MD -MF $out.d $args -c $in -o $out
  deps = gcc
  depfile = $out.d
rule ar
  command = rm -f $out && ar crs $out $in
rule ld
  command = cc -o $out $in
rule copy
  command = sed s/2/1+1/ $in > $out
build lib/add.o: cc ../lib/../lib/add.c
build lib/more.o: cc lib/more-unity0.c
build lib/lib$ add.a: ar lib/add.o lib/more.o
build text.h: copy ../lib/text.txt | ../lib/text.txt || lib/add.o
build test.p/test.o: cc ROOT/test/test.c || text.h
  args = -I.
build test.p/while.o: cc ../test/while.c
build test-add: ld test.p/test.o lib/lib$ add.a
build test-while: ld test.p/while.o
build all: phony test-add test-while
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(text.replace("ROOT", str(tmp_path)))
    (tmp_path / "build" / "build.ninja").write_text(NINJA.replace("ROOT", str(tmp_path)))
    subprocess.run(["ninja", "-C", tmp_path / "build"], check=True, capture_output=True)
    return tmp_path


def hashes(tree: Path) -> dict[Path, str]:
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in tree.rglob("*")
            if path.is_file() and "mistakes" not in path.parts and path.name not in (".ninja_log", ".ninja_deps")}


def mirror(tree: Path) -> Mirror:
    (tree / "build" / "mistakes").mkdir(exist_ok=True)
    return Mirror(tree / "build" / "mistakes" / "1", Graph(tree / "build"), threading.Event(), tree, tree / "build")


@pytest.mark.parametrize("file, find, put, made", [
    ("lib/add.c", "a + b", "a - b", {"lib/add.o", "lib/lib add.a", "test-add"}),
    ("lib/add.h", "ONE = 1", "ONE = 2", {"lib/add.o", "lib/lib add.a", "test.p/test.o", "test-add"}),
    ("lib/more.c", "0", "1", {"lib/more.o", "lib/lib add.a", "test-add"}),
    ("lib/text.txt", "2", "5", {"text.h", "test.p/test.o", "test-add"}),
    ("test/test.c", "!= 3", "== 3", {"test.p/test.o", "test-add"}),
])
def test_made(tree: Path, file: str, find: str, put: str, made: set[str]) -> None:
    """what reads the file is made anew in the mirror, from a source, a header or a generated file on; the tree stays as
    it is"""
    before, one = hashes(tree), mirror(tree)
    for _ in range(2):  # a mirror serves again
        assert one.make({Path(file): FILES[file].replace(find, put)}, ["test-add"]) == made
        assert subprocess.run([one.build / "test-add"]).returncode == 1
        one.restore()
        assert subprocess.run([one.build / "test-add"]).returncode == 0
    assert hashes(tree) == before


def test_not_made(tree: Path) -> None:
    """what does not read the file is not made; what does not compile or link says so, and leaves the mirror as it
    was"""
    one = mirror(tree)
    assert one.make({Path("lib/add.c"): "int x;\n"}, ["test-while"]) == set()
    one.restore()
    for text, why in (("int add(int a, int b) { return c; }\n", "undeclared"), ("int sum;\n", "undefined"),
                      ("int add(int a, int b) { return f(a); }\n", "f")):
        with pytest.raises(BuildFailure, match=f"does not build: .*{why}"):
            one.make({Path("lib/add.c"): text}, ["test-add"])
        one.restore()
    assert one.make({}, ["test-add"]) == set() and subprocess.run([one.build / "test-add"]).returncode == 0


def test_unpickled(tree: Path) -> None:
    """a step that Meson runs in the build directory itself is refused"""
    file = tree / "build" / "build.ninja"
    file.write_text(file.read_text().replace("sed s/2/1+1/ $in > $out", "sed s/2/1+1/ $in > $out; : --unpickle"))
    with pytest.raises(BuildFailure, match=r"Meson makes text\.h in the build directory"):
        mirror(tree).make({Path("lib/text.txt"): FILES["lib/text.txt"].replace("2", "3")}, ["test-add"])


@pytest.fixture
def bench(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(trial, "sources", lambda: sources(tree))
    monkeypatch.setattr(trial, "Mirror", lambda folder, graph, stop: Mirror(folder, graph, stop, tree, tree / "build"))
    monkeypatch.setattr(trial, "SHORTEST", 2.0)
    monkeypatch.setattr(trial, "SLACK", 1)
    build = tree / "build"
    tests = {name: MesonTest(name, [str(build / f"test-{name}")], {}, str(build), 60.0) for name in ("add", "while")}
    (build / "mistakes").mkdir()
    return Bench(build / "mistakes" / "1", Graph(build), tests, {name: [f"test-{name}"] for name in tests})


def planted(file: str, find: str, put: str, *seen: Seen) -> tuple[Mistake, tuple[Seen, ...]]:
    return Mistake("area", "m", (Change(Path(file), "", find, put),), seen_by=seen), seen


def test_verdict(bench: Bench) -> None:
    """a test that fails, or hangs, has seen the mistake; one that passes has not; what does not fit or build is
    unfit"""
    add, other = Seen("add"), Seen("while")
    assert bench.attempt(*planted("lib/add.c", "a + b", "a - b", add)).verdict == CAUGHT
    assert bench.attempt(*planted("lib/add.c", "a + b", "b + a", add)).verdict == SURVIVED
    assert bench.attempt(*planted("lib/add.c", "a + b", "c", add)).verdict == UNFIT
    assert bench.attempt(*planted("lib/add.c", "a * b", "c", add)).verdict == UNFIT
    hangs = bench.attempt(*planted("test/while.c", "return 0;", "for (;;);", other))
    assert hangs.verdict == CAUGHT and "given time" in hangs.by
    unused = bench.attempt(*planted("lib/add.c", "a + b", "a - b", other))
    assert (unused.verdict, unused.by) == (UNFIT, "while: does not use lib/add.c")


class Loose(Mistake):
    """As a mutant: tests may be named that do not read the file."""

    strict = False


def test_mutant(bench: Bench) -> None:
    """of a mutant, tests that do not read the file are left out; what none sees may be the same code"""
    def attempt(file: str, find: str, put: str, *seen: Seen) -> str:
        mistake, tests = planted(file, find, put, *seen)
        return bench.attempt(Loose(mistake.area, mistake.name, mistake.changes, seen_by=tests), tests).verdict

    add, other = Seen("add"), Seen("while")
    assert attempt("lib/add.c", "a + b", "a - b", other, add) == CAUGHT
    assert attempt("lib/add.c", "a + b", "a - b", other) == UNREAD
    assert attempt("lib/add.c", "a + b", "(a) + b", other, add) == SAME
    assert attempt("test/test.c", "!= 's'", "== 's'", add) == SURVIVED


def test_explored(bench: Bench) -> None:
    """the explorer ends with 0 where it finds what it must; a test that fails without a mistake is no test of it"""
    finds = Seen("add", "s", "for ever")
    assert bench.attempt(*planted("lib/add.c", "a + b", "a - b", finds)).verdict == CAUGHT
    assert bench.attempt(*planted("test/test.c", "!= 's'", "== 's'", finds)).verdict == SURVIVED
    with pytest.raises(Failure, match="fails without a mistake"):
        bench.attempt(*planted("lib/add.c", "a + b", "a - b", replace(finds, words="x")))
