# SPDX-License-Identifier: BSD-2-Clause
"""The page: sections through a template that escapes whatever comes from a file."""

from collections.abc import Callable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from deploy.output import version
from deploy.report import classes, models, sections
from deploy.report.group import Group, groups
from deploy.report.load import Source
from deploy.report.sections import Section

HERE = Path(__file__).parent
_CONTROLS = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}


def make(sources: Sequence[Source], title: str, step: Callable[[str], None] = lambda text: None) -> str:
    """`step` hears what is being drawn."""
    step("putting repeats together")
    found = groups(sources)
    made = build(found, sources, step)
    environment = Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    text = environment.get_template("page.html.j2").render(
        title=title,
        style=Markup((HERE / "page.css").read_text()),
        version=version(),
        sections=made,
        sources=sources,
        emulated=sections.emulated(sources),
        answer=answer(found),
    )
    return text.translate(_CONTROLS)


def build(found: Sequence[Group], sources: Sequence[Source], step: Callable[[str], None]) -> list[Section]:
    compared = [group for group in found if sections.is_comparison(group)]
    parts = sections.partitions(compared)
    step("drawing machines")
    made = [sections.machines(compared)]
    for number, part in enumerate(parts):
        step(f"drawing {sections.head(part)}")
        made += [make(part, number) for make in (sections.comparison, sections.latency, sections.utilisation, sections.locks)]
    made.append(classes.section(found))
    step("fitting the model")
    made.append(models.section(sources))
    rest = sections.partitions([group for group in found if not sections.is_comparison(group) and group.metrics])
    for number, part in enumerate(_gathered(rest)):
        step(f"drawing {part[0].source.document.command}")
        made.append(sections.others(part, number))
    return [one for one in made if one.figures or one.tables or one.words]


def _gathered(parts: Sequence[list[Group]]) -> list[list[Group]]:
    """Results over cores belong into one table."""
    found: dict[tuple[object, ...], list[Group]] = {}
    for part in parts:
        entry = part[0].entry
        key = (part[0].source.setting, entry.emulated, bool(entry.model), entry.workload)
        found.setdefault(key, []).extend(part)
    return list(found.values())


def answer(found: Sequence[Group]) -> list[str]:
    """The main question, in a sentence for each comparison: one kernel per socket beside one for all."""
    said = []
    for part in sections.partitions([group for group in found if sections.is_comparison(group)]):
        for other in part[1:]:
            ratio = sections.ratio(part[0], other, "ops_per_s")
            if ratio is None:
                continue
            spread = f" (± {ratio.deviation:.3f} over {len(ratio.runs)} runs)" if ratio.deviation is not None else ""
            said.append(
                f"{part[0].label} does {ratio.mean:.3f} times the operations per second of {other.label}{spread}: "
                f"{sections.head(part)}."
            )
    return said
