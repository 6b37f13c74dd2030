# SPDX-License-Identifier: BSD-2-Clause
"""Tests which mutants the operators make of a source file, and that a draw is even and repeatable."""

from collections import Counter
from pathlib import Path

from tests.mistakes import operators
from tests.mistakes.operators import Mutant
from tests.mistakes.source import Source

TEXT = """
#define LAST(x) ((x) < 3)
struct pair { int a[2]; };
static int table[2] = { 1, 2 };
static int take(struct pair *p, int old)
{
	kernel_assert(old < 1);
	_Static_assert(sizeof(int) == 4, "no operator changes this");
	/* old < 2 in a comment */
	struct pair *q = p;
	int *at = &q->a[0], x = -1;
	*at |= x;
	while (x < old && !(*at & x)) {
		if (x++ == old)
			break;
		drop(q);
	}
	return at - q->a;
}
"""
FILE = Path("a.c")


def made() -> list[tuple[str, str, str]]:
    return [(one.operator, one.old, one.edit.put) for one in operators.of(FILE, Source(TEXT))]


def test_operators() -> None:
    """each operator changes what it is for, and no assertion, comment, directive or declaration"""
    assert made() == [
        ("constant", "0", "(0 + 1)"),
        ("constant", "1", "(1 + 1)"),
        ("assignment", "* at |= x", ""),
        ("condition", "( x < old && ! ( * at & x ) )", "(!(x < old && !(*at & x)))"),
        ("relation", "<", "<="),
        ("connective", "&&", "||"),
        ("bits", "&", "|"),
        ("condition", "( x ++ == old )", "(!(x++ == old))"),
        ("relation", "==", "!="),
        ("jump", "break", "continue"),
        ("call", "drop ( q )", ""),
        ("result", "at - q -> a", "!(at - q->a)"),
        ("arithmetic", "-", "+"),
    ]


def test_texts() -> None:
    """each mutant changes the file, and says where"""
    for one in operators.of(FILE, Source(TEXT)):
        assert one.edit.changes and one.function == "take" and one.name.startswith("a.c:1")
    assert [one.name for one in operators.of(FILE, Source(TEXT)) if one.operator == "jump"] == [
        "a.c:15: take: jump: break => continue"]


def several() -> list[Mutant]:
    return [one for name in ("a.c", "b.c", "c.c") for one in operators.of(Path(name), Source(TEXT))]


def test_draw() -> None:
    """a draw takes one of each file and operator before it takes a second, and the seed decides which"""
    every = several()
    cells = {(one.file, one.operator) for one in every}
    drawn = operators.draw(every, len(cells) + 3, 1)
    assert {(one.file, one.operator) for one in drawn[:len(cells)]} == cells
    assert max(Counter((one.file, one.operator) for one in drawn).values()) == 2
    assert [one.name for one in drawn] == [one.name for one in operators.draw(several(), len(cells) + 3, 1)]
    assert drawn != operators.draw(every, len(cells) + 3, 2)


def test_draw_of_all() -> None:
    """a draw of more than there are is all of them, each once"""
    every = several()
    assert sorted(one.name for one in operators.draw(every, 1000, 1)) == sorted(one.name for one in every)


def test_tree() -> None:
    """the tree has mutants of every operator in kernel, ports, library and managers, all of them different"""
    every = list(operators.generate(lambda file: Source.read(operators.ROOT / file)))
    assert {folder for folder in operators.FOLDERS for one in every if one.file.is_relative_to(folder)} == set(
        operators.FOLDERS)
    assert len({one.operator for one in every}) == 10
    assert len({(one.file, one.edit.start, one.edit.end, one.edit.put) for one in every}) == len(every) >= 1500
