# SPDX-License-Identifier: BSD-2-Clause
"""Commands with many options: a function of one argument, a dataclass of which each field is an option."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar, get_type_hints

Options = TypeVar("Options")


def _options(kind: type) -> Iterator[inspect.Parameter]:
    """The fields of `kind` as parameters; a field that is such a dataclass itself stands for its fields."""
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        if dataclasses.is_dataclass(hints[field.name]):
            yield from _options(hints[field.name])
            continue
        default = inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
        yield inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, annotation=hints[field.name],
                                default=default)


def _filled(kind: type[Options], words: dict[str, Any]) -> Options:
    hints = get_type_hints(kind, include_extras=True)
    return kind(**{
        field.name: _filled(hints[field.name], words) if dataclasses.is_dataclass(hints[field.name])
        else words[field.name] for field in dataclasses.fields(kind)  # type: ignore[arg-type]
    })  # fmt: skip


def takes(kind: type[Options]) -> Callable[[Callable[[Options], None]], Callable[..., None]]:
    """Makes a command of a function of `kind`: typer sees its fields as parameters."""
    parameters = list(_options(kind))

    def decorate(function: Callable[[Options], None]) -> Callable[..., None]:
        @wraps(function)
        def command(**words: Any) -> None:
            function(_filled(kind, words))

        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate
