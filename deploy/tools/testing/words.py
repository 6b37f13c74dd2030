# SPDX-License-Identifier: BSD-2-Clause
"""Whether a word can be in the name of a test, as far as the tree itself tells: without anything installed or built.

Names are made of what stands in the tree: docstrings, names of functions and files, Meson's words, data that
parametrises tests. So letters that stand nowhere in it are in no name. Numbers and punctuation may be composed, and are
not looked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from deploy.base.paths import ROOT

LARGEST = 1 << 20  # bytes of a file that is read; larger ones are data
_ESCAPED = re.compile(r"\\.")  # as pytest writes a new line
_LETTERS = re.compile(r"[^\W\d_]+")


def may_name_a_test(word: str, root: Path = ROOT) -> bool:
    """False: no test has `word` in its name."""
    missing = {letters.lower() for letters in _LETTERS.findall(_ESCAPED.sub(" ", word))}
    for text in _texts(root):
        if not missing:
            break
        missing = {letters for letters in missing if letters not in text}
    return not missing


def _texts(root: Path) -> Iterator[str]:
    """Paths and contents, in small letters; the tests first, in which most words are found."""
    for top in (root / "tests", root):
        for folder, folders, files in os.walk(top):
            folders[:] = [name for name in folders if not name.startswith(".")
                          and (Path(folder) != root or name not in ("build", "tests"))]
            for path in (Path(folder, name) for name in files):
                yield str(path.relative_to(root)).lower()
                if path.is_file() and path.stat().st_size <= LARGEST:
                    yield path.read_text(errors="replace").lower()
