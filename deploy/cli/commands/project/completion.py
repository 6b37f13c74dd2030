# SPDX-License-Identifier: BSD-2-Clause
"""`skerry completion`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from deploy.base.choices import argument, words
from deploy.base.terminal import Quiet
from deploy.cli import completion as completions
from deploy.setup import tab
from topology.errors import InputError

Shell = Annotated[str, argument("bash|zsh|fish", "The shell.", autocompletion=words(*completions.SHELLS))]


def completion(context: typer.Context, shell: Shell, quiet: Quiet = False) -> None:
    """Print a shell's script that completes commands, options and their values. For the shell that runs:

    \b
    bash  eval "$(./skerry completion bash)"
    zsh   eval "$(./skerry completion zsh)"
    fish  ./skerry completion fish | source
    """
    if shell not in completions.SHELLS:
        raise InputError(f"'{shell}'", f"not one of {', '.join(completions.SHELLS)}")
    tab.renew()
    sys.stdout.write(completions.script(context.find_root().command, shell))
