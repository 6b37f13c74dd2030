# SPDX-License-Identifier: BSD-2-Clause
"""Options and arguments of commands, declared in a line each, and their values that a shell completes."""

from collections.abc import Callable, Mapping
from typing import Any

import click
import typer
from click.shell_completion import CompletionItem


def option(form: str, text: str, least: float | None = None, most: float | None = None, **more: Any) -> Any:
    """Declares an option. `form`: its names, and behind them what stands for its value: "--cores -c N". `text`: its
    help. `more`: as typer has it."""
    words = form.split(" ")
    names = [word for word in words if word.startswith("-")]
    metavar = " ".join(words[len(names):]) or None
    return typer.Option(*names, **{"help": text, "min": least, "max": most, "metavar": metavar} | more)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """Declares an argument. `metavar`: what stands for it; `text`: its help; `more`: as typer has it."""
    return typer.Argument(metavar=metavar, help=text, **more)


def words(*choices: str) -> Callable[[str], list[str]]:
    """Returns a function for an option's `autocompletion`: the choices that begin with what is typed."""

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def explained(choices: Mapping[str, str]) -> Callable[[str], list[tuple[str, str]]]:
    """Returns the same for choices that have a sentence each, which some shells show."""

    def complete(incomplete: str) -> list[tuple[str, str]]:
        return [(choice, sentence) for choice, sentence in choices.items() if choice.startswith(incomplete)]

    return complete


def files(*choices: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Returns a function for an option's `shell_complete`: these choices, or else the shell's own files."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        matches = [CompletionItem(choice) for choice in choices if incomplete and choice.startswith(incomplete)]
        return matches or [CompletionItem(incomplete, type="file")]

    complete.choices = choices  # type: ignore[attr-defined]  # for those who do not ask it
    return complete
