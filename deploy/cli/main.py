# SPDX-License-Identifier: BSD-2-Clause
"""The command line. Each command is the function of the same name in deploy/cli/commands/<folder>/<name>.py.

Its parameters (typer's Annotated options) are the command's options, its docstring the help text. It returns
normally for success and raises deploy.base.errors.Failure (exit status 1), topology.errors.InputError (2) or
typer.Exit.
"""

from __future__ import annotations

# ruff: noqa: E402
import sys

from deploy.base import interrupts

if __name__ == "__main__":
    interrupts.end_at_once()  # before anything takes long
    if sys.argv[1:] == ["--version"]:
        from deploy.base.version import version

        print(f"skerry {version()}", flush=True)
        sys.exit()

import errno
import importlib
import os
import shlex
import traceback
from types import ModuleType
from typing import Annotated

import click
import typer

from deploy.base.errors import Failure
from deploy.base.version import version
from deploy.cli import completion
from deploy.cli.help import INNER, SUMMARIES, GroupedCommand, epilog
from topology import demand
from topology.errors import InputError

# In the order of the help page.
COMMANDS = (
    "doctor", "build", "test", "prove", "explore", "fuzz", "compare", "bench", "run", "topology", "image", "collect",
    "model", "plan", "lockstat", "top", "granularity", "kill", "map", "move", "demo", "profile", "cc", "deploy",
    "status", "console", "logs", "stop", "undeploy", "report", "paper", "completion", "man", "docs", "release",
)
# By folder of deploy/cli/commands. `bench` is a folder of its own.
FOLDERS = {
    "project": ("build", "cc", "completion", "docs", "doctor", "explore", "fuzz", "man", "prove", "release", "test"),
    "measure": ("collect", "compare", "model", "paper", "plan", "profile", "report"),
    "machine": ("demo", "image", "run", "topology"),
    "live": ("granularity", "kill", "lockstat", "map", "move", "top"),
    "domains": ("console", "deploy", "logs", "status", "stop", "undeploy"),
}
FOLDER_OF = {name: f"{folder}." for folder, names in FOLDERS.items() for name in names}
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM, errno.EEXIST,
              errno.ENOTDIR)  # the last two: a file in the place of a folder


def _say_version(asked: bool) -> None:
    if asked:
        print(f"skerry {version()}")
        raise typer.Exit()


def command_module(name: str) -> ModuleType:
    return importlib.import_module(f"deploy.cli.commands.{FOLDER_OF.get(name, '')}{name}")


def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True,
                                          callback=_say_version)] = False,
) -> None:
    """A clustered multikernel: build it, boot it, and compare one kernel per socket with one for all."""


def _stub() -> None:
    """In the place of a command that is not called: its module takes long to load."""


@interrupts.heard_in_imports
def _install(group: str) -> None:
    """Installs what is needed before a command says what it needs (topology/demand.py)."""
    from deploy.base.terminal import Output
    from deploy.setup import build, needs

    quiet = not {"--quiet", "-q"}.isdisjoint(sys.argv)
    build.ensure_built(Output(quiet), needs.Needs(groups=frozenset((group,))))


def _called(arguments: list[str]) -> str:
    """The word that names the command; nothing where there is none."""
    return next((word for word in arguments if not word.startswith("-")), "")


def _completed() -> str | None:
    """The command of the line that a shell completes; None where it cannot be told."""
    try:
        return _called(shlex.split(os.environ.get("COMP_WORDS", ""))[1:])
    except ValueError:  # an open quotation
        return None


def make_app(called: str | None = None) -> typer.Typer:
    """With every command; or, to be quick, with the parameters of the one that is called, and the names of the
    others."""
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
        command = getattr(command_module(name), name) if called in (None, name) else _stub
        if isinstance(command, typer.Typer):
            for inner in command.registered_commands:
                inner.epilog = epilog(f"{name} {inner.name}")
                inner.cls = GroupedCommand
                inner.short_help = INNER.get(f"{name} {inner.name}")
            app.add_typer(command, name=name, short_help=SUMMARIES.get(name))
        else:
            settings = getattr(command, "context_settings", None)
            app.command(name, cls=GroupedCommand, epilog=epilog(name), short_help=SUMMARIES.get(name),
                        context_settings=settings)(command)
    return app


def fail(message: str, status: int) -> int:
    print(f"skerry: {message}", file=sys.stderr)
    return status


def main(arguments: list[str] | None = None) -> int:
    """Called by tests, too, which go on after it."""
    try:
        if completion.asked():
            called = _completed()
            known = called if called is None or called in COMMANDS else ""  # a part of a command's name, or nothing
            return completion.answer(typer.main.get_command(make_app(called)), known)
        status = make_app(_called(sys.argv[1:] if arguments is None else arguments))(args=arguments, prog_name="skerry",
            standalone_mode=False)
        sys.stdout.flush()
        if status == interrupts.STATUS:  # typer's answer to a KeyboardInterrupt
            return fail("interrupted", status)
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        return 2
    except click.ClickException as error:  # wrong usage, or an option's bad value
        return fail(error.format_message(), 2)
    except (click.Abort, KeyboardInterrupt):
        return fail("interrupted", interrupts.STATUS)
    except Failure as error:
        return fail(str(error), 1)
    except InputError as error:
        return fail(str(error), 2)
    except OSError as error:
        if not (why := _unwritable(error)):
            raise
        return fail(why, 1)


def _unwritable(error: OSError) -> str:
    """Returns the file that cannot be written, and why, in words; nothing for other errors."""
    text = error.strerror or ""
    if _finds_no_folder(error):
        return f"cannot write temporary files: {text[:1].lower()}{text[1:]}; set TMPDIR to a folder with space"
    where = f" {error.filename}" if error.filename else ""
    return f"cannot write{where}: {text.lower()}" if error.errno in UNWRITABLE else ""


def _finds_no_folder(error: OSError) -> bool:
    """Returns whether the tempfile module failed, which reports a missing file without a name."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return error.errno == errno.ENOENT and error.filename is None and frame.f_globals["__name__"] == "tempfile"


def _have_streams() -> None:
    """In the place of one that whoever called us has closed: what is said there is not wanted."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))


def main_program() -> int:
    try:
        _have_streams()
        if (called := _called(sys.argv[1:])) in COMMANDS:
            command_module(called)  # most of what a command imports, while Ctrl-C ends the process at once
        interrupts.raise_keyboard_interrupt()
        demand.install = _install
        status = main()
        interrupts.end_at_once()
        return status
    except KeyboardInterrupt:  # as the last thing that main does
        return fail("interrupted", interrupts.STATUS)


if __name__ == "__main__":
    sys.exit(main_program())
