# SPDX-License-Identifier: BSD-2-Clause
"""The page: sections through a template that escapes whatever comes from a file."""

from collections.abc import Callable, Sequence
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from deploy.base.terminal import version
from deploy.report import classes, models, sections
from deploy.report.group import Group, groups
from deploy.report.load import Source
from deploy.report.sections import Section
from deploy.results import kinds

HERE = Path(__file__).parent
_CONTROLS = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(0x20), *range(0x7F, 0xA0))
             if chr(code) not in "\t\n"}


def make(sources: Sequence[Source], title: str, step: Callable[[str], None] = lambda text: None) -> str:
    """`step` hears what is being drawn."""
    step("putting repeats together")
    every = groups(sources)
    return render(build(every, sources, step), sources, title, [*answer(every), *missing(sources)], numbers(every))


def render(
    made: Sequence[Section], sources: Sequence[Source], title: str, notes: Sequence[str],
    head: Sequence[tuple[str, str]] = ()
) -> str:
    """`notes`: the first paragraphs; `head`: numbers, each with what it is of."""
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
        modelled=sections.modelled(sources),
        sources_of={command: [n for n, source in enumerate(sources, 1) if source.command == command]
                    for command in {s.command for s in sources}},
        answer=notes,
        numbers=head,
    )
    return text.translate(_CONTROLS)


def build(every: Sequence[Group], sources: Sequence[Source], step: Callable[[str], None]) -> list[Section]:
    compared = [group for group in every if sections.is_comparison(group)]
    parts = sections.partitions(compared)
    step("drawing machines")
    made = [sections.machines(compared)]
    for number, part in enumerate(parts):
        step(f"drawing {sections.head(part)}")
        made += [make(part, number) for make in (sections.comparison, sections.latency, sections.utilisation,
                                                 sections.locks)]
    made.append(classes.section(every))
    step("fitting the model")
    made.append(models.section(sources))
    rest = sections.partitions([group for group in every if not sections.is_comparison(group) and group.metrics])
    for number, part in enumerate(_gathered(rest)):
        step(f"drawing {part[0].source.document.command}")
        made.append(sections.others(part, number))
    return [one for one in made if one.figures or one.tables or one.words]


def _gathered(parts: Sequence[list[Group]]) -> list[list[Group]]:
    """Results over cores belong into one table."""
    by_setting: dict[tuple[object, ...], list[Group]] = {}
    for part in parts:
        entry = part[0].entry
        key = (part[0].source.setting, entry.emulated, bool(entry.model), entry.workload)
        by_setting.setdefault(key, []).extend(part)
    return list(by_setting.values())


def chief(every: Sequence[Group]) -> list[Group]:
    """The first comparison on the page that has two sides; else nothing."""
    parts = sections.partitions([group for group in every if sections.is_comparison(group)])
    return next((part for part in parts if len(part) > 1), [])


NUMBERS = (("ops_per_s", "the operations per second"), ("p99_us", "the p99 latency"))
COUNTED_NUMBERS = (("instructions_per_op", "the instructions for an operation"),)


def numbers(every: Sequence[Group]) -> list[tuple[str, str]]:
    """Throughput and tail latency of the first result, as multiples of the second's; of counting runs what they
    counted."""
    part = chief(every)
    of = COUNTED_NUMBERS if part and _counts(part) else NUMBERS
    known = [(words, ratio) for metric, words in of if part and (ratio := sections.ratio(part[0], part[1], metric))]
    return [(f"{ratio.mean:.2f} ×", f"{words} of {part[1].label}") for words, ratio in known]


def answer(every: Sequence[Group]) -> list[str]:
    """The main question, in a sentence; other comparisons of the page each in one of their own."""
    lines = []
    for part in sections.partitions([group for group in every if sections.is_comparison(group)]):
        for other in part[1:]:
            counts = _counts([part[0], other])
            ratio = sections.ratio(part[0], other, "instructions_per_op" if counts else "ops_per_s")
            if ratio is None:
                continue
            spread = f" (± {ratio.deviation:.3f} over {len(ratio.runs)} runs)" if ratio.deviation is not None else ""
            spread += _range(part[0], other)
            what = (
                "takes {:.3f} times the instructions an operation"
                if counts else "does {:.3f} times the operations per second"
            )
            lines.append(
                f"With {_kernels(part[0])} Redis {what.format(ratio.mean)} that it {'takes' if counts else 'does'} "
                f"with {_kernels(other)}{spread}, {sections.where(part)}."
            )
    return lines


def missing(sources: Sequence[Source]) -> list[str]:
    """Names the files that do not have all that was asked for."""
    incomplete = [(source.path.name, source.document.incomplete) for source in sources if source.document.incomplete]
    return [f"{name} is incomplete, without {', '.join(f'{one.part} ({one.why})' for one in parts)}."
            for name, parts in incomplete]


def _counts(part: Sequence[Group]) -> bool:
    """Their clock counts instructions: operations per second are its reciprocal."""
    return all(group.kind == kinds.COUNTED and group.value("instructions_per_op") for group in part[:2])


def _range(first: Group, second: Group) -> str:
    """Returns the ratio's interval over prices, as the file has it."""
    ratios = first.source.raw.get("ratios")
    for one in ratios if isinstance(ratios, list) else []:
        if isinstance(one, dict) and (one.get("of"), one.get("to"), one.get("workload")) == (first.entry.layout,
            second.entry.layout, first.entry.workload):
            prices = one.get("prices")
            of = prices.get("ops_per_s") if isinstance(prices, dict) else None
            ends = [of.get("low"), of.get("high")] if isinstance(of, dict) else []
            if ends and all(type(value) is float for value in ends):
                return f" ({ends[0]:.3f} to {ends[1]:.3f} times at other prices)"
    return ""


def _kernels(group: Group) -> str:
    entry = group.entry
    if entry.system == "linux":
        return "Linux"
    kernels = "one kernel for all cores" if entry.clusters == 1 else f"{entry.clusters} kernels"
    return f"{kernels} ({group.label})"
