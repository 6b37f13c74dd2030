# SPDX-License-Identifier: BSD-2-Clause
"""Tests how the entries of the catalogue of mistakes are read, and found in a source file."""

from pathlib import Path

import pytest

from tests.mistakes import catalogue
from tests.mistakes.anchor import AnchorError, Edit, place
from tests.mistakes.catalogue import CatalogueError, Change, Seen, load, problems
from tests.mistakes.source import Source, lex

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


def test_lexer() -> None:
    """strings, characters, comments, continued lines, numbers and directives are told apart"""
    words = [token.text for token in lex(HOSTILE)]
    assert [w for w in words if "{" in w] == ["{", "{", "{", '"a // b { \\" "', '"c\\\n{"', "{", "{", "{", '"{"', "{",
                                              "'{'", "{", "{", "{", "{", "{"]
    assert not {"SPDX", "still", "comment"} & set(words)
    assert {"0x1e+5", "1.5e-3", "--", "->", "|=", "<<", "'\\''", '"}//"'} <= set(words)
    assert words.count("\n") == sum(token.text == "#" for token in lex(HOSTILE) if token.directive) == 7
    assert [token.text for token in lex("a'\n#b\\\n c\nd \"")] == ["a", "'", "#", "b", "c", "\n", "d", '"']
    assert "\n" not in [token.text for token in lex("a /*\n*/ #b\n")]  # the line has begun before the comment
    assert lex("") == lex(" /* a */ // b") == []


def test_units() -> None:
    """each token is in one unit; functions, tagged types and macros are found behind declarations, strings and open
    macros"""
    source = Source(HOSTILE)
    assert [unit.name for unit in source.units if unit.name] == ["#define NO", "#define OPEN", "#define A",
                                                                 "struct pair", "one", "two", "struct two"]
    assert [i for unit in source.units for i in range(unit.start, unit.end)] == list(range(len(source.tokens)))
    assert body("one", source).startswith("static __attribute__") and body("one", source).endswith("1.5e-3;\n}")
    assert ";" not in [source.words[unit.start] for unit in source.units]  # a list of values is no body
    assert body("two", source).startswith("INLINE bool\ntwo(") and body("two", source).endswith("true; }")
    assert body("#define OPEN", source).endswith("if (x) {\n")
    # no end
    assert [unit.name for unit in Source("int f(int a) { return a; }\n#if }}\nint g(void) {").units] == ["f", "", "g"]


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
    # no token is made of two
    assert "i = - -1 ;" in edited("f", "i = 0...;", "i = -...;", "void f(void) { i = 0 -1; }").text
    assert "return true,  later(b) ;" in edited("two", "return ..., true;", "return true, ...;").text
    for find, why in (("", "empty"), ("... a", "at an end"), ("a ...", "at an end"), ("a ... ... b", "twice in a row"),
                      # no bracket is left by halves
                      ("(a == ... return", "found 0 times"), ("+ f(a ... c", "found 0 times"),
                      ("g(c, d ... d", "found 0 times")):
        with pytest.raises(AnchorError, match=why):
            edited("one", find, "")
    with pytest.raises(AnchorError, match=r"more \.\.\. than"):
        edited("one", "if (...)", "if (... || ...)")


def test_text() -> None:
    """no token is made of two, a directive keeps its line, and what is not replaced stays as it is"""
    for symbol, find, put in (("one", "a-- >", "a -"), ("one", "return a", "return"), ("two", "int b )", ")"),
                              ("#define A", "1", "2"),
                              ("", "#include <stdint.h>", "#include <a.h>"), ("one", "-1", "-"), ("", "LAST =", "")):
        edit = edited(symbol, find, put)
        words = edit.source.words
        assert [t.text for t in lex(edit.text)] == words[:edit.start] + [t.text
                                                                         for t in lex(put)] + words[edit.end:], find


def test_digest() -> None:
    """a verdict stays fresh when comments, spacing, other units or the pattern change, and no longer when its own unit
    or edit does"""
    digest = edited("two", "later(b)", "0").digest
    same = ["/* new */" + HOSTILE, HOSTILE.replace("struct pair *a,\n   ", "struct\n pair *a, // what\n"),
            HOSTILE.replace("0x1e+5", "7"),
            "INLINE" + HOSTILE.partition("INLINE")[2]]  # moved to the top
    assert {edited("two", "later(b)", "0", text).digest for text in same} == {digest}
    assert {edited("two", "return ..., true", "return 0, true").digest,
            edited("", "return later(b)", "return 0").digest} == {digest}
    others = [edited("two", "later(b)", "1"), edited("two", "b), true", "0), true"),
              edited("two", "later(b)", "0", HOSTILE.replace("int b)", "long b)"))]
    assert len({edit.digest for edit in others} | {digest}) == 4
    assert edited("", "}; INLINE bool two(...) { return later(b)",
                  "}; INLINE bool two(...) { return 0").digest == digest
    assert edited("", "two { int a; };", "two { int a; }; int b;").digest  # behind the last unit
    assert not edited("two", "later(b)", "later ( b )").changes and edited("two", "later(b)", "later()").changes


def test_assertions() -> None:
    """an assertion more or less leaves verdicts fresh and patterns where they are; what only looks like one does not"""
    edit = edited("one", "char c = ...; if (a == 1/2)", "if (a)")
    asserted = HOSTILE.replace("\tif (a == 1/2)",
                               "\tkernel_assert(a && (c || d[0]));\n\tassert_held(&a->lock);\n\tif (a == 1/2)")
    asserted = asserted.replace("\tchar c", "\tassert_entered();\n\tchar c")
    assert asserted.count("assert") == HOSTILE.count("assert") + 3 and edited("one", "char c = ...; if (a == 1/2)",
                                                                              "if (a)", asserted).digest == edit.digest
    assert "kernel_assert(a &&" in edited("one", "return f", "return g", asserted).text  # what is not replaced stays
    for other in ("check(a);", "kernel_assert(a) + 1;", "x = kernel_assert;"):
        assert (
            edited("one", "return f", "return g", asserted.replace("assert_entered();", other)).digest != edited("one",
                "return f", "return g").digest
        )
    assert edited("#define X", "1", "2", "#define X 1 kernel_assert(a);\n").digest != edited("#define X", "1", "2",
        "#define X 1\n").digest


FILE = Path("cluster-kernel/core/a.c")
TEXT = "int f(int a) { return a + a; }\nint g(int a) { return a - 1; }\n"
HEAD = "# SPDX\n\n[cluster-kernel/core/a.c]\nseen by first\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(catalogue, "LIST", tmp_path / "list")
    (tmp_path / "list").mkdir()
    (tmp_path / FILE).parent.mkdir(parents=True)
    (tmp_path / FILE).write_text(TEXT)
    return tmp_path


def listed(tree: Path, text: str) -> Path:
    (tree / "list" / "area.txt").write_text(text)
    return tree


def test_form(tree: Path) -> None:
    """an entry is a line with its name, and one for each change; files and tests are named once for all below them"""
    one, two, three = load(listed(tree, HEAD + """a minus | what it breaks
    f:: + => -
no a
    f:: a + a => a
    [cluster-kernel/core/a.c] g:: a - 1
        => 1
    seen by | a case | words that it says
# a comment
seen by second; third | edges --all

one
    :: 1 =>
    unseen: a reason
"""))
    assert (one.name, one.breaks, one.key, one.tests, one.unseen) == ("a minus", "what it breaks", "area: a minus",
                                                                      ["first"], "")
    assert one.changes == (Change(FILE, "f", "+", "-"),)
    assert two.changes == (Change(FILE, "f", "a + a", "a"), Change(FILE, "g", "a - 1", "1"))
    assert two.seen_by == (Seen("first", "a case", "words that it says"),)
    assert three.changes == (Change(FILE, "", "1", ""),) and three.unseen == "a reason"
    assert three.seen_by == (Seen("second"), Seen("third", "edges --all"))
    placed = two.place(catalogue.sources(tree))
    assert [t.text for t in lex(placed.texts[FILE])] == [t.text
                                                         for t
                                                         in lex("int f(int a) { return a; }\nint g(int a) { return "
                                                                "1; }\n")]
    assert placed.digest == two.digest != one.digest


def test_command() -> None:
    """a test runs with its own arguments, with others, or as the explorer's case in which a word must be found"""
    own = ["program", "--granularity", "fine", "--without", "x"]
    assert Seen("t").command(own) == Seen("t").sound(own) == own
    assert Seen("t", "edges 'a b'").command(own) == ["program", "edges", "a b"]
    assert Seen("t", "two wake", "race").command(own) == ["program", "--granularity", "fine", "two wake", "--finds",
                                                          "race"]
    assert Seen("t", "two wake", "race").sound(own) == ["program", "--granularity", "fine", "two wake"]
    assert list(map(str, (Seen("t"), Seen("t", "w"), Seen("t", "c", "f"), Seen("t", "", "f")))) == ["t", "t | w",
        "t | c | f", "t |  | f"]


def test_errors(tree: Path) -> None:
    """what does not fit is named: the mistake, the file, the function, what is wrong"""
    cases = {"f:: b => c": "m: in core/a.c: f: its pattern is found 0 times, not once",
             "f:: a => c": "m: in core/a.c: f: its pattern is found 3 times, not once",
             "h:: a => c": "m: in core/a.c: h: h is defined 0 times, not once",
             "f:: a + a => a+a": "m: changes nothing",
             "[x.c] f:: a => c": "m: there is no x.c"}
    for change, why in cases.items():
        assert problems(listed(tree, f"{HEAD}m\n    {change}\n")) == [why]
        assert not (why.endswith("once") and load(tree)[0].digest)
    assert problems(listed(tree, HEAD + "m\n    f:: + => -\n")) == [] and load(tree)[0].digest
    for text, why in (("m\n    f:: + => -\nn\n    f:: a + a => a - a\n", "same effect: 'area: m', 'area: n'"),
                      ("m\n    f:: + => -\nm\n    f:: + => *\n", "same name: 'area: m', 'area: m'"),
                      ("m\n    f: + => -\n", "area: m: 'f: [+] => -' is no change"),
                      ("m\n    f:: + -\n", "area: m: 'f:: [+] -' is no change"),
                      ("m\n", "area: m: has no change"), ("    f:: + => -\n", "belongs to no mistake")):
        with pytest.raises(CatalogueError, match=why):
            load(listed(tree, HEAD + text))
    with pytest.raises(CatalogueError, match="no test is named before"):
        load(listed(tree, "[a.c]\nm\n    f:: + => -\n    seen by | a | b\n"))
