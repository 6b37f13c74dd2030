# SPDX-License-Identifier: BSD-2-Clause
"""Reads a machine's screen: a picture of it through the monitor, and the font that loader and kernels write with."""

import importlib.util
from pathlib import Path

from deploy.base.paths import ROOT
from deploy.machine import monitor
from deploy.machine.run import Run

WIDTH, HEIGHT = 6, 9  # of a character's cell, in dots
LARGE = 1000          # screens at least that wide have dots of two by two pixels
FIRST = ord(" ")


def _glyphs() -> dict[tuple[int, ...], str]:
    folder = ROOT / "cluster-kernel/console"
    spec = importlib.util.spec_from_file_location("make_font", folder / "make-font.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = module.glyphs((folder / "font.txt").read_text())
    return {tuple([*glyph, 0]): chr(FIRST + number) for number, glyph in enumerate(rows)}


def _picture(path: Path) -> tuple[int, int, bytes]:
    """Width, height, and a byte for each pixel, of a binary PPM file."""
    data = path.read_bytes()
    magic, size, depth, pixels = data.split(b"\n", 3)
    assert magic == b"P6" and depth == b"255"
    width, height = map(int, size.split())
    return width, height, pixels[1::3]  # green


def read(run: Run) -> list[str]:
    """Lines of text; a cell that holds no character of the font shows as \N{REPLACEMENT CHARACTER}."""
    path = run.directory / "screen.ppm"
    monitor.human(run.command.monitor, f"screendump {path}")
    width, height, pixels = _picture(path)
    scale = 2 if width >= LARGE else 1
    dots = [[pixels[y * width + x] > 96 for x in range(0, width, scale)] for y in range(0, height, scale)]
    known = _glyphs()

    def character(column: int, row: int) -> str:
        cell = tuple(int("".join("01"[dot] for dot in line[column * WIDTH : (column + 1) * WIDTH]), 2)
                     for line in dots[row * HEIGHT : (row + 1) * HEIGHT])
        return known.get(cell, "\N{REPLACEMENT CHARACTER}")

    columns, rows = len(dots[0]) // WIDTH, len(dots) // HEIGHT
    return ["".join(character(column, row) for column in range(columns)).rstrip() for row in range(rows)]
