# SPDX-License-Identifier: BSD-2-Clause
"""Values of options that a shell completes: words, words with a sentence each, and files."""

from collections.abc import Callable, Mapping

import click
from click.shell_completion import CompletionItem


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
