# SPDX-License-Identifier: BSD-2-Clause
"""Commands with many options: a function of one argument, a dataclass of which each field is an option."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, get_type_hints

Options = TypeVar("Options")


def takes(kind: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Makes a command of a function of `kind`: typer sees its fields as parameters."""
    hints = get_type_hints(kind, include_extras=True)
    empty = inspect.Parameter.empty
    parameters = [
        inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name],
            default=empty if field.default is dataclasses.MISSING else field.default,
        )
        for field in dataclasses.fields(kind)  # type: ignore[arg-type]
    ]  # fmt: skip

    def decorate(function: Callable[[Options], None]) -> Callable[..., None]:
        @wraps(function)
        def command(**words: Any) -> None:
            function(kind(**words))

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate
