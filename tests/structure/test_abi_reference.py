# SPDX-License-Identifier: BSD-2-Clause
"""The reference of the ABI says what the public headers say."""

import pytest

from deploy.base.errors import Failure
from deploy.tools.abi_reference.headers import Constant
from deploy.tools.abi_reference.page import _split, markdown, sentence
from deploy.tools.abi_reference.reference import generate


def test_page() -> None:
    """every public header is in the reference, with its calls and structures"""
    text = generate()
    assert "| `CNODE_REVOKE` |" in text and "`struct thread_registers`: 160 bytes" in text


def test_comments() -> None:
    """comments become paragraphs, code and cells"""
    raw = "/*\n * One\n * paragraph with a_name.\n *\n *     a table\n *       deeper\n */"
    assert list(markdown(raw)) == ["One paragraph with `a_name`.", "", "```", "a table", "  deeper", "```", ""]
    assert sentence("/* m0 slot,\n\t * m1 rights. */") == "m0 slot, m1 rights."


def test_errors() -> None:
    """a comment can name only errors that exist"""
    constant = Constant("CNODE_MINT", "17", "/* As COPY. Errors: BUSY (why), SLOT_FULL. And so on. */")
    assert _split(constant, {"BUSY", "SLOT_FULL"}) == ("As COPY. And so on.", "BUSY (why), SLOT_FULL")
    with pytest.raises(Failure, match="SLOT_FULL"):
        _split(constant, {"BUSY"})
