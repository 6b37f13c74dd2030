# SPDX-License-Identifier: BSD-2-Clause
"""The list of mutations (tests/long/mutations) fits the kernel as it is; how its entries are found in a source file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from tests.long.mutations import catalogue
from tests.long.mutations.anchor import AnchorError, Edit, place
from tests.long.mutations.catalogue import CatalogueError, load, problems
from tests.long.mutations.source import Source, lex
from tests.long.mutations.verdicts import FILE

MINIMUM = 60

HOSTILE = r"""/* SPDX */ #define NO
#include <stdint.h> // { \
still a comment {
#define OPEN(x) do { \
	if (x) {
  #  define A '"' /* { */ 1
static const char *const text[] = { "a // b { \" ", "/* } */", [1] = "c\
{" };
enum { LAST = '}', QUOTE = '\'' };
struct pair { struct { int a, b; } in; };
bool later(int a);
_Static_assert(sizeof(int) == 4, "{");
static __attribute__((noinline, cold)) struct pair *one(int a) /* } */
{
	// } two(
	char c = '{', d = "}//"[0]; /* if (a) */
	if (a == 1/2)
		return a-- > -1 ? 0 : 1;
#if LAST
#define BEGIN {
	a->b |= (c << 2) + f(a, g(c, d), (d));
#endif
	return f(a, (c)) + 0x1e+5 + 1.5e-3;
}
static int (*pointer)(int) = later;
struct pair aligned TO(8) = { { 1, 2 } };
INLINE bool
two(struct pair *a,
    int b) { return later(b), true; }
struct two { int a; };
"""

ASSEMBLY = """#include "offsets.h"
	.macro push_all /* cld */
	push %rax // one: two:
	.endm
entry_a:
	mov $1, %rax
1:	jmp %fs:1b
entry_b: cld
	mov $1, %rax
"""


def edited(symbol: str, find: str, put: str, text: str = HOSTILE) -> Edit:
    return place(Source(text), symbol, find, put)


def body(symbol: str, source: Source) -> str:
    unit = next(unit for unit in source.units if unit.name == symbol)
    return source.text[source.tokens[unit.start].start:source.tokens[unit.end - 1].end]


def test_anchors() -> None:
    """each mutation's pattern is found exactly once in the kernel, and its replacement changes it"""
    wrong = problems(ROOT)
    advice = "mend the entries in tests/long/mutations/list/, or take a mutation out whose code is gone"
    assert not wrong, "\n".join([*wrong, advice])


def test_number() -> None:
    """there are mutations enough, each with an effect of its own"""
    assert len(load()) >= MINIMUM


def test_lexer() -> None:
    """strings, characters, comments, continued lines, numbers and directives are told apart"""
    words = [token.text for token in lex(HOSTILE)]
    assert [w for w in words if "{" in w] == ["{", "{", "{", '"a // b { \\" "', '"c\\\n{"', "{", "{", "{", '"{"', "{", "'{'", "{", "{", "{", "{", "{"]
    assert not {"SPDX", "still", "comment"} & set(words)
    assert {"0x1e+5", "1.5e-3", "--", "->", "|=", "<<", "'\\''", '"}//"'} <= set(words)
    assert words.count("\n") == sum(token.text == "#" for token in lex(HOSTILE) if token.directive) == 7
    assert [token.text for token in lex("a'\n#b\\\n c\nd \"")] == ["a", "'", "#", "b", "c", "\n", "d", '"']
    assert "\n" not in [token.text for token in lex("a /*\n*/ #b\n")]  # the line has begun before the comment
    assert lex("") == lex(" /* a */ // b") == []


def test_units() -> None:
    """each token is in one unit; functions, tagged types and macros are found behind declarations, strings and open macros"""
    source = Source(HOSTILE)
    assert [unit.name for unit in source.units if unit.name] == ["#define NO", "#define OPEN", "#define A", "struct pair", "one", "two", "struct two"]
    assert [i for unit in source.units for i in range(unit.start, unit.end)] == list(range(len(source.tokens)))
    assert body("one", source).startswith("static __attribute__") and body("one", source).endswith("1.5e-3;\n}")
    assert ";" not in [source.words[unit.start] for unit in source.units]  # a list of values is no body
    assert body("two", source).startswith("INLINE bool\ntwo(") and body("two", source).endswith("true; }")
    assert body("#define OPEN", source).endswith("if (x) {\n")
    assert [unit.name for unit in Source("int f(int a) { return a; }\n#if }}\nint g(void) {").units] == ["f", "", "g"]  # no end


def test_assembly() -> None:
    """labels and macros name the lines up to the next; the labels of loops are not among them"""
    source = Source(ASSEMBLY, assembly=True)
    assert [unit.name for unit in source.units] == ["", "push_all", "entry_a", "entry_b"]
    assert place(source, "entry_a", "mov $1", "mov $2").text == ASSEMBLY.replace("$1, %rax\n1:", "$2 , %rax\n1:")
    with pytest.raises(AnchorError, match="found 2 times"):
        place(source, "", "mov $1", "mov $2")


def test_pattern() -> None:
    """spacing and comments do not matter, tokens do; the pattern is found once, in its unit"""
    assert lex(edited("one", "a==1 / 2", "0").text) == lex(HOSTILE.replace("(a == 1/2)", "( 0 )"))
    assert edited("one", "f(a,(c))", "0").text.count("return 0 + 0x1e+5") == 1
    for find, times in (("if (a)", 0), ("- -1", 0), ("return", 2), ("pointer", 0), ("f(a, // x", 2), ("two(", 0)):
        with pytest.raises(AnchorError, match=f"found {times} times"):
            edited("one", find, "")
    for symbol, times in (("three", 0), ("later", 0), ("pair", 0)):
        with pytest.raises(AnchorError, match=f"{symbol} is defined {times} times, not once"):
            edited(symbol, "int", "long")
    with pytest.raises(AnchorError, match="f is defined 2 times"):
        edited("f", "1", "2", "int f(void) { return 1; }\nint f(void) { return 1; }")


def test_holes() -> None:
    """`...` stands for as little as will do, with all its brackets, and can be put again"""
    assert "+ f(0);" in edited("one", "+ f(...);", "+ f(0);").text
    assert "+ f((d), a,  g(c, d) ) ;" in edited("one", "f(a, ..., (d))", "f((d), a, ...)").text
    assert "i = - -1 ;" in edited("f", "i = 0...;", "i = -...;", "void f(void) { i = 0 -1; }").text  # no token is made of two
    assert "return true,  later(b) ;" in edited("two", "return ..., true;", "return true, ...;").text
    for find, why in (("", "empty"), ("... a", "at an end"), ("a ...", "at an end"), ("a ... ... b", "twice in a row"),
                      ("(a == ... return", "found 0 times"), ("+ f(a ... c", "found 0 times"), ("g(c, d ... d", "found 0 times")):  # no bracket is left by halves
        with pytest.raises(AnchorError, match=why):
            edited("one", find, "")
    with pytest.raises(AnchorError, match=r"more \.\.\. than"):
        edited("one", "if (...)", "if (... || ...)")


def test_text() -> None:
    """no token is made of two, a directive keeps its line, and what is not replaced stays as it is"""
    for symbol, find, put in (("one", "a-- >", "a -"), ("one", "return a", "return"), ("two", "int b )", ")"), ("#define A", "1", "2"),
                              ("", "#include <stdint.h>", "#include <a.h>"), ("one", "-1", "-"), ("", "LAST =", "")):
        edit = edited(symbol, find, put)
        words = edit.source.words
        assert [t.text for t in lex(edit.text)] == words[:edit.start] + [t.text for t in lex(put)] + words[edit.end:], find


def test_digest() -> None:
    """a verdict stays fresh when comments, spacing, other units or the pattern change, and no longer when its own unit or edit does"""
    digest = edited("two", "later(b)", "0").digest
    same = ["/* new */" + HOSTILE, HOSTILE.replace("struct pair *a,\n   ", "struct\n pair *a, // what\n"), HOSTILE.replace("0x1e+5", "7"),
            "INLINE" + HOSTILE.partition("INLINE")[2]]  # moved to the top
    assert {edited("two", "later(b)", "0", text).digest for text in same} == {digest}
    assert {edited("two", "return ..., true", "return 0, true").digest, edited("", "return later(b)", "return 0").digest} == {digest}
    others = [edited("two", "later(b)", "1"), edited("two", "b), true", "0), true"), edited("two", "later(b)", "0", HOSTILE.replace("int b)", "long b)"))]
    assert len({edit.digest for edit in others} | {digest}) == 4
    assert edited("", "}; INLINE bool two(...) { return later(b)", "}; INLINE bool two(...) { return 0").digest == digest
    assert edited("", "two { int a; };", "two { int a; }; int b;").digest  # behind the last unit
    assert not edited("two", "later(b)", "later ( b )").changes and edited("two", "later(b)", "later()").changes


def test_assertions() -> None:
    """an assertion more or less leaves verdicts fresh and patterns where they are; what only looks like one does not"""
    edit = edited("one", "char c = ...; if (a == 1/2)", "if (a)")
    asserted = HOSTILE.replace("\tif (a == 1/2)", "\tkernel_assert(a && (c || d[0]));\n\tassert_held(&a->lock);\n\tif (a == 1/2)")
    asserted = asserted.replace("\tchar c", "\tassert_entered();\n\tchar c")
    assert asserted.count("assert") == HOSTILE.count("assert") + 3 and edited("one", "char c = ...; if (a == 1/2)", "if (a)", asserted).digest == edit.digest
    assert "kernel_assert(a &&" in edited("one", "return f", "return g", asserted).text  # what is not replaced stays
    for other in ("check(a);", "kernel_assert(a) + 1;", "x = kernel_assert;"):
        assert edited("one", "return f", "return g", asserted.replace("assert_entered();", other)).digest != edited("one", "return f", "return g").digest
    assert edited("#define X", "1", "2", "#define X 1 kernel_assert(a);\n").digest != edited("#define X", "1", "2", "#define X 1\n").digest


def write(folder: Path, entries: str) -> None:
    (folder / "list").mkdir(exist_ok=True)
    (folder / "list" / "area.toml").write_text(entries)


ENTRY = '[[mutation]]\nname = "{0}"\nin = "core/a.c: {1}"\nbreaks = "b"\nfind = "{2}"\nput = "{3}"\n'


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """what does not fit is named: the mutation, the file, the function, what is wrong"""
    monkeypatch.setattr(catalogue, "LIST", tmp_path / "list")
    file = tmp_path / "cluster-kernel" / "core" / "a.c"
    file.parent.mkdir(parents=True)
    file.write_text("int f(int a) { return a + a; }\n")
    cases = {("f", "b", "c"): "m: in core/a.c: f: its pattern is found 0 times, not once",
             ("f", "a", "c"): "m: in core/a.c: f: its pattern is found 3 times, not once",
             ("g", "a", "c"): "m: in core/a.c: g: g is defined 0 times, not once",
             ("f", "a + a", "a+a"): "m: changes nothing"}
    for (symbol, find, put), why in cases.items():
        write(tmp_path, ENTRY.format("m", symbol, find, put))
        assert problems(tmp_path) == [why]
    write(tmp_path, ENTRY.format("m", "f", "+", "-"))
    assert problems(tmp_path) == [] and load(tmp_path)[0].digest
    file.unlink()
    assert problems(tmp_path) == ["m: there is no cluster-kernel/core/a.c"] and not load(tmp_path)[0].digest
    file.write_text("int f(int a) { return a + a; }\n")
    for entries, why in ((ENTRY.format("m", "f", "+", "-") + ENTRY.format("n", "f", "a + a", "a - a"), "same effect: 'm', 'n'"),
                         (ENTRY.format("m", "f", "+", "-") + ENTRY.format("m", "f", "+", "*"), "same name: 'm', 'm'"),
                         (ENTRY.format("m", "f", "+", "-").replace("find", "before"), "area: m: has before, breaks"),
                         ("[[mutation", "area.toml: ")):
        write(tmp_path, entries)
        with pytest.raises(CatalogueError, match=why):
            load(tmp_path)


def test_verdicts_name_tests() -> None:
    """the test that a verdict names exists: one that is gone catches nothing"""
    hosted = {path.stem.removeprefix("test-"): set(re.findall(r'^\t\{ "([^"]+)",', path.read_text(), re.M))
              for path in (ROOT / "cluster-kernel/test").rglob("test-*.c")}
    shared = {name for path in (ROOT / "apps/ktest").glob("test-*.c") for name in re.findall(r'^TEST\([^"]*"(.*?)"\)', path.read_text(), re.M)}
    wrong = []
    for name, by in ((entry["name"], entry["by"]) for entry in json.loads(FILE.read_text())["verdicts"]):
        place = re.match(r"(?P<object>[a-z-]+), [a-z ]+: (?:(?P<case>.+?): )?(?:\.\./cluster-kernel/test/)?(?:test|check)-[a-z-]+\.c:\d+: ", by)
        known = place and (shared if place["object"] == "system calls" else hosted.get(place["object"], set()))
        if place and place["object"] != "ktest" and (not known or place["case"] and place["case"] not in known):
            wrong.append(f"{name}: {by}")
    assert len(shared) > 400 and not wrong, "\n".join([*wrong, "try these again: python -m tests.long.mutations --fresh --only NAME"])
