# SPDX-License-Identifier: BSD-2-Clause
"""Files of verdicts: a line for each group that has the same verdict, its fields separated by tabs."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

LICENCE = "# SPDX-License-Identifier: BSD-2-Clause\n"


def read(path: Path) -> Iterator[list[str]]:
    """Yields the fields of each line; nothing if there is no file."""
    for line in path.read_text().splitlines()[1:] if path.exists() else ():
        yield line.split("\t")


def write(path: Path, lines: Iterable[Sequence[str]]) -> None:
    """Replaces the file at once, so that one that is interrupted loses nothing."""
    new = path.with_suffix(".new")
    new.write_text(LICENCE + "".join("\t".join(line) + "\n" for line in lines))
    new.replace(path)
