#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""font.txt to C: make-font.py font.txt font.c"""

import sys
from pathlib import Path

BANDS, IN_BAND, ROWS, WIDTH, CHARACTERS = 6, 16, 8, 6, 95


def glyphs(text: str) -> list[list[int]]:
    """Rows of dots of each character, the leftmost dot in the highest bit."""
    lines = [line for line in text.splitlines() if line and not line.startswith("# ")]
    assert len(lines) == BANDS * ROWS and all(len(line) == IN_BAND * WIDTH for line in lines), "font.txt is not whole"
    assert set("".join(lines)) <= set("#."), "font.txt has something else than # and ."
    bits = [line.replace("#", "1").replace(".", "0") for line in lines]
    return [
        [int(bits[band * ROWS + row][at * WIDTH : (at + 1) * WIDTH], 2) for row in range(ROWS)]
        for band in range(BANDS)
        for at in range(IN_BAND)
    ][:CHARACTERS]


def main() -> None:
    source, output = map(Path, sys.argv[1:])
    rows = ["\t{ " + ", ".join(f"{row:#04x}" for row in glyph) + " }," for glyph in glyphs(source.read_text())]
    lines = ["/* Generated from font.txt */", '#include "screen.h"', "",
             "const uint8_t font[FONT_LAST - FONT_FIRST + 1][FONT_DOTS] = {", *rows, "};"]
    output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
