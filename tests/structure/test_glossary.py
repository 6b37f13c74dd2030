# SPDX-License-Identifier: BSD-2-Clause
"""docs/glossary.md: terms in order, each once, and files and names that there are."""

import re
from pathlib import Path

import pytest

from deploy.base.paths import ROOT

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
