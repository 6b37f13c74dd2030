# SPDX-License-Identifier: BSD-2-Clause
"""The commands of pages that take seconds, as a reader types them in a terminal of 80 columns; tests/pages/ways.py says
what executes the others."""

import os
from collections.abc import Iterator

import pytest

from tests.pages.reader import WIDTH, Reader
from tests.pages.ways import Command, of_suite


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    os.environ["COLUMNS"] = str(WIDTH)  # of commands that run in this process
    one = Reader(terminal=True)
    try:
        yield one
    finally:
        one.close()
        del os.environ["COLUMNS"]


@pytest.mark.drawn
@pytest.mark.limit(120)
@pytest.mark.parametrize("command", of_suite(), ids=lambda command: command.text)
def test_command(command: Command, reader: Reader) -> None:
    """a command that pages show ends well, and its tables fit 80 columns"""
    assert reader.run(command) or command.words[0] == "cc" or "-o" in command.words
