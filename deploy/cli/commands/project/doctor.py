# SPDX-License-Identifier: BSD-2-Clause
"""`skerry doctor`."""

from __future__ import annotations

from rich.table import Table

from deploy.base import host
from deploy.base.errors import Failure
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.tools import doctor as examine


def doctor(quiet: Quiet = False, json: Json = None) -> None:
    """Show what this machine offers, what Skerry will use of it, and why not the rest.

    Changes nothing. With a built tree, KVM is judged by booting the real image.
    """
    output = Output(quiet, json)
    findings = []
    with output.progress("Looking around", total=len(examine.EXAMINATIONS)) as update:
        for number, look in enumerate(examine.EXAMINATIONS, 1):
            findings.append(look())
            update(completed=number, description=findings[-1].subject)
    table = Table(box=None, pad_edge=False, show_header=True, header_style="bold")
    for title in ("", "found", "used"):
        table.add_column(title, overflow="fold")
    for finding in findings:
        table.add_row(finding.subject, finding.found, finding.use, style=None if finding.good else "red")
    output.table(table)
    cpu = host.cpu()
    output.results({
        "skerry": version(),
        "command": "doctor",
        "host": {"cpu": cpu.model, "cores": cpu.cores},
        "results": [finding.as_dict() for finding in findings],
    })
    bad = [f"{finding.subject}: {finding.use}" for finding in findings if not finding.good]
    if bad:
        raise Failure("; ".join(bad))
