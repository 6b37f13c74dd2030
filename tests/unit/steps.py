# SPDX-License-Identifier: BSD-2-Clause
"""Work, counted so that no slow host changes it."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest


def steps(call: Callable[[], Any]) -> int:
    """Lines of Python that `call`, which must refuse something, executes: work that no slow host changes."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with pytest.raises(ValueError):
            call()
    finally:
        sys.settrace(before)
    return count
