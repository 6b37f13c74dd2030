# SPDX-License-Identifier: BSD-2-Clause
"""`skerry collect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from deploy.base.choices import argument
from deploy.base.errors import Failure
from deploy.base.terminal import Json, Output, Quiet
from deploy.compare.tables import comparison_table, layout_table, pairs, ratio_json
from deploy.results import serial_log
from deploy.results.result import document
from topology.errors import InputError


def collect(
    files: Annotated[list[Path], argument("IMAGE LOG...", "Booted images, each followed by the log of its machine.")],
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Turn the serial logs of real machines into results, as `compare` writes them.

    Each log must hold a whole run of its image, from power-on until it is done. The first layout is set beside the
    others.
    """
    output = Output(quiet, json)
    if len(files) % 2:
        raise InputError(str(files[-1]), "every image needs its log: IMAGE LOG [IMAGE LOG]...")
    captured = []
    for image, log in zip(files[::2], files[1::2]):
        with output.progress(f"Reading {image} and {log}"):
            one = serial_log.evaluate_log(image, log)
        if one.result.problems:
            raise Failure(f"{log}: {one.result.problems[0]}")
        output.table(layout_table(one.result))
        captured.append(one)
    hosts = [one.host for one in captured]
    if any((host["cpu"], host["mode"]) != (hosts[0]["cpu"], hosts[0]["mode"]) for host in hosts):
        raise Failure("these runs are of different machines: " + "; ".join(f"{h['cpu']}, {h['mode']}" for h in hosts))
    results = [one.result for one in captured]
    for first, second in pairs(results):
        output.table(comparison_table(first, second))
    output.line(f"{hosts[0]['cpu']}, {hosts[0]['mode']}.")
    data = document("compare", hosts[0], results)
    data["ratios"] = [ratio_json(first, second) for first, second in pairs(results)]
    output.results(data)
