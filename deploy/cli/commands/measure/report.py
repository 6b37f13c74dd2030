# SPDX-License-Identifier: BSD-2-Clause
"""`skerry report`."""

from pathlib import Path
from typing import Annotated, Any

from deploy.base.atomic_files import write_text
from deploy.base.choices import argument, option
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.report import load, models, page
from deploy.report.group import groups
from topology.errors import InputError


def report(
    results: Annotated[list[Path], argument("RESULTS.json...", "Results files; several of one command are repeats.")],
    output_file: Annotated[Path, option("-o --output FILE.html", "The page to write.")],
    title: Annotated[str | None, option("--title TEXT", "The page's heading.")] = None,
    quiet: Quiet = False,
    json: Json = None,
) -> None:
    """Make one self-contained page of results: machine, comparison, latencies, utilisation, locks, model.

    Results of one command, commit and images on one host are repeats of each other: their means get error bars. The
    page needs no network and no script; every figure names its source, and the command that made it stands there.
    """
    output = Output(quiet, json)
    _check(output_file, results)
    sources = load.read_all(results)
    models.check(sources)  # before the first word, so that bad input is one line
    with output.progress("Drawing") as update:
        text = page.make(sources, title or _title(sources),
                         lambda what: update(description=what[:1].upper() + what[1:]))
    write_text(output_file, text)
    output.results(_document(groups(sources)))
    output.line(f"{output_file}: {len(text.encode()) / 1024:.0f} KiB, of {len(sources)} results "
                f"file{'s' * (len(sources) > 1)}.")


def _check(path: Path, results: list[Path]) -> None:
    """Before anything is drawn."""
    if path.is_dir():
        raise InputError(f"-o {path}", "is a folder")
    if not path.resolve().parent.is_dir():
        raise InputError(f"-o {path}", "no such folder")
    if path.resolve() in {result.resolve() for result in results}:
        raise InputError(f"-o {path}", "is one of the results")


def page_title(sources: list[Any]) -> str:
    """Returns the subject of the main comparison."""
    part = page.chief(groups_of(sources))
    layouts = [group.entry.layout for group in part[:2]]
    alike = len(set(layouts)) < 2 or any(group.entry.system != "skerry" for group in part[:2])
    return " beside ".join(group.label for group in part[:2]) if alike else " beside ".join(layouts)


def groups_of(sources: list[Any]) -> list[Any]:
    return list(groups(sources))


def _title(sources: list[Any]) -> str:
    if headed := page_title(sources):
        return f"Skerry: {headed}"
    commands = list(dict.fromkeys(source.document.command for source in sources))
    return f"Skerry: {', '.join(commands)}"


def _document(groups: list[Any]) -> dict[str, Any]:
    """The means, in the shape that every results file has."""
    entries = []
    for group in groups:
        entry = group.entry
        values = {metric: value for metric in group.metrics if (value := group.value(metric))}
        entries.append(
            {
                **{"layout": entry.layout, "lock": entry.lock, "workload": entry.workload, "system": entry.system},
                **{"clusters": entry.clusters, "cores": entry.cores},
                **({"emulated": True} if entry.emulated else {}),
                "of": group.source.document.command,
                "kind": group.kind,
                "repeats": group.repeats,
                "metrics": {metric: value.mean for metric, value in values.items()},
                "standard_deviation": {metric: value.deviation for metric, value in values.items()},
                "per_core": [],
            }
        )
    return {"skerry": version(), "command": "report", "results": entries}
