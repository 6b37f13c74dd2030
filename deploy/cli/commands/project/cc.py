# SPDX-License-Identifier: BSD-2-Clause
"""`skerry cc`."""

import os

import typer

from deploy.base import interrupts, process
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.terminal import Output, Quiet
from deploy.setup import needs
from deploy.setup.build import ensure_built

WRAPPER = BUILD / "apps" / "libc" / "skerry-cc"  # ./skerry calls it, too, where it is there


def cc(context: typer.Context, quiet: Quiet = False) -> None:
    """Compile and link C programs that run on Skerry: gcc with musl, the POSIX layer and lwIP; all arguments are gcc's.

    Programs become static executables with fixed addresses, which [[program]] elf = "FILE" of a deployment runs. A
    configure script or Makefile takes it as CC="/path/to/skerry cc". --without-net, first, leaves the network out, and
    --cores, before that, is for programs whose threads use several cores, --processes for programs that fork.
    `skerry c++` is the same for C++.
    """
    process.heed_signals()
    if not context.args:
        raise Failure("cc: no input files")
    ensure_built(Output(quiet), needs.COMPILER)
    interrupts.hear()
    os.execv(WRAPPER, [str(WRAPPER), *context.args])


cc.context_settings = {"allow_extra_args": True, "ignore_unknown_options": True}  # type: ignore[attr-defined]
