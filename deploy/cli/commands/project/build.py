# SPDX-License-Identifier: BSD-2-Clause
"""`skerry build`."""

from __future__ import annotations

import time
from typing import Annotated

from deploy.base import process
from deploy.base.choices import argument, files
from deploy.base.paths import BUILD, ROOT
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.setup import examples, libraries, needs
from deploy.setup.build import ensure_built

Example = Annotated[str | None, argument("[EXAMPLE]", "Only a program of examples/, by its folder, or openmp, c++.",
                                         shell_complete=files())]


def build(example: Example = None, quiet: Quiet = False, json: Json = None) -> None:
    """Set up and build everything: Debian packages, third-party sources, kernel images, programs.

    It takes a second or two if everything is up to date. With a folder of examples/, what this program needs is set up
    and the folder's build.sh makes it, from Debian's sources and with `skerry cc`. `openmp` is the library of
    `skerry cc -fopenmp`, `c++` that of `skerry c++`: their source, GCC's, is 87 MB.
    """
    process.heed_signals()
    output = Output(quiet, json)
    start = time.monotonic()
    if example is None:
        ensure_built(output, needs.EVERYTHING)
        made = BUILD
    elif example in libraries.ARCHIVES:
        libraries.ensure(output, example)
        made = BUILD / "apps/libc" / example
    else:
        name = examples.named(example)
        examples.ensure(output, name)
        made = examples.EXAMPLES / name
    seconds = time.monotonic() - start
    output.line(f"Built in {seconds:.1f} s: {made}")
    if example is not None:
        for deployment in sorted(made.glob("*.toml")):
            output.line(f"To run it: ./skerry run {deployment.relative_to(ROOT)}")
    output.results({"skerry": version(), "command": "build", "build": str(made), "seconds": round(seconds, 3)})
