# SPDX-License-Identifier: BSD-2-Clause
"""The command line. Each command is the function of the same name in deploy/commands/<name>.py.

Its parameters (typer's Annotated options) are the command's options, its docstring the help text. It returns
normally for success and raises deploy.errors.Failure (exit status 1), topology.errors.InputError (2) or typer.Exit.
"""

from __future__ import annotations

import errno
import importlib
import sys
from types import ModuleType
from typing import Annotated

import click
import typer

from deploy import completion
from deploy.errors import Failure
from deploy.help_texts import SUMMARIES, epilog
from deploy.output import version
from topology.errors import InputError

# In the order of the help page.
COMMANDS = [
    "doctor", "build", "test", "fuzz", "compare", "bench", "run", "topology", "image", "collect", "model", "plan",
    "lockstat", "top",
    "deploy", "status", "console", "logs", "stop", "undeploy", "report", "completion",
]
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # of what output goes to


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"skerry {version()}")
        raise typer.Exit()


def command_module(name: str) -> ModuleType:
    return importlib.import_module(f"deploy.commands.{name}")


def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_say_version)] = False,
) -> None:
    """A clustered multikernel: build it, boot it, and compare one kernel per socket with one for all."""


def make_app() -> typer.Typer:
    app = typer.Typer(
        name="skerry",
        no_args_is_help=True,
        suggest_commands=False,  # click does
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_top)
    for name in COMMANDS:
        command = getattr(command_module(name), name)
        if isinstance(command, typer.Typer):
            for inner in command.registered_commands:
                inner.epilog = epilog(f"{name} {inner.name}")
            app.add_typer(command, name=name, short_help=SUMMARIES.get(name))
        else:
            app.command(name, epilog=epilog(name), short_help=SUMMARIES.get(name))(command)
    return app


def fail(message: str, status: int) -> int:
    print(f"skerry: {message}", file=sys.stderr)
    return status


def main(arguments: list[str] | None = None) -> int:
    if completion.asked():
        return completion.answer(typer.main.get_command(make_app()))
    try:
        status = make_app()(args=arguments, prog_name="skerry", standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return 2
    except click.ClickException as error:  # wrong usage, or an option's bad value
        return fail(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        return fail("interrupted", 1)
    except Failure as error:
        return fail(str(error), 1)
    except InputError as error:
        return fail(str(error), 2)
    except OSError as error:
        if error.errno not in FULL:
            raise
        return fail(f"cannot write: {(error.strerror or '').lower()}", 1)


if __name__ == "__main__":
    sys.exit(main())
