# SPDX-License-Identifier: BSD-2-Clause
"""Documents: README and STATUS within their limits, all pages within their words, and no sentence in the project's own
dialect."""

import re
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from tests.structure.tree import files, read

README_LINES, README_WORDS = 110, 80
CELL_WORDS, FIRST_SCREEN_LINES = 25, 60
ALL_WORDS = 60_000  # of docs/*.md, made pages excepted
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# A sentence that begins so makes its reader look for the noun: "Of the cluster: that panics". Questions do not.
INVERTED = re.compile(r"(?:^|[.:;] |\*\* |- |\d\. )((?:Of|What|Those|Whose) [^.?:]{12,}[.])")
PAGES = [path for path in files() if path.match("docs/*.md") or path.name == "README.md" and path.parent == Path()]


def paragraphs(text: str) -> list[str]:
    """Prose and list items: without blocks, tables and comments."""
    kept = [part for part in COMMENT.sub("", FENCE.sub("", text)).split("\n\n") if not part.lstrip().startswith("|")]
    return [line.strip() for part in kept for line in re.split(r"\n(?=[-\d])", part) if line.strip()]


def test_readme() -> None:
    """README has at most 110 lines and no paragraph of more than 80 words"""
    text = read(Path("README.md"))
    assert len(text.splitlines()) <= README_LINES
    long = [f"{len(part.split())} words: {part[:60]}" for part in paragraphs(text) if len(part.split()) > README_WORDS]
    assert not long, long


def test_status() -> None:
    """STATUS has cells of at most 25 words, and one screen of what does not work or was never run"""
    text = read(Path("docs/STATUS.md"))
    wide = [cell.strip() for line in text.splitlines() if line.startswith("|") for cell in re.split(r"(?<!\\)\|", line)
            if len(cell.split()) > CELL_WORDS]
    assert not wide, wide
    screen = text[text.index("## What does not work yet") : text.index("## What is promised")]
    assert len(screen.splitlines()) <= FIRST_SCREEN_LINES


def test_words() -> None:
    """the pages of docs/ have at most 60,000 words together, as `wc -w` counts them"""
    words = sum(len(read(path).split()) for path in PAGES if path.match("docs/*.md"))
    assert words <= ALL_WORDS, f"{words} words: say what is, once; history belongs in CHANGELOG.md"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_sentences(page: Path) -> None:
    """no sentence of a page begins with Of, What, Those or Whose"""
    wrong = [match[1][:90] for part in paragraphs(read(page)) for match in INVERTED.finditer(part)]
    assert not wrong, wrong


# ---- The glossary: terms in order, each once, and files and names that there are ----

ROW = re.compile(r"^\| (?P<term>[^|]+) \| (?P<meaning>[^|]+) \| \[`(?P<file>[^`]+)`\]\((?P<link>[^)]+)\) \|$")
LINES = [line for line in (ROOT / "docs/glossary.md").read_text().splitlines() if line.startswith("| ")][1:]
ROWS = [row.groupdict() for line in LINES if (row := ROW.match(line))]
# regimes and images, not names of the code
NAMED = ("none", "clh", "ticket", "mcs", "fine", "dynamic", "rtm", "+stat", "+debug")


def test_order() -> None:
    """terms are sorted and unique, each with a meaning of one or two sentences"""
    terms = [row["term"].lower() for row in ROWS]
    assert len(ROWS) == len(LINES) >= 60, set(LINES) - {line for line in LINES if ROW.match(line)}
    assert terms == sorted(set(terms))
    for row in ROWS:
        assert row["meaning"].endswith((".", "`")) and row["meaning"].count(". ") <= 2, row["term"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["term"])
def test_file(row: dict[str, str]) -> None:
    """the file of a term is there, and has the names that its meaning mentions"""
    assert row["link"] == "../" + row["file"]
    path = ROOT / row["file"]
    assert path.is_file()
    text = path.read_text()
    for name in re.findall(r"`([a-zA-Z_]+)`", row["meaning"]):
        if name not in NAMED and Path(row["file"]).suffix in (".c", ".h"):
            assert re.search(rf"\b{name}\b", text), f"{row['file']} has no {name}"
