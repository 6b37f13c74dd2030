# SPDX-License-Identifier: BSD-2-Clause
"""The page's contents on the groups, as data for its template."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from deploy.base.terminal import version
from deploy.compare.tables import FIGURES, linux_differences
from deploy.deployment import WORKLOADS
from deploy.deployment.engines import ENGINES, REDIS
from deploy.profile.components import SPLIT
from deploy.report import figures, machine
from deploy.report.group import Group, Value, ratio
from deploy.report.load import Entry, Source
from topology.units import MIB

_NAMES = {metric: (name, form) for metric, name, form in FIGURES}
_BYTES = ("memory_per_instance", "memory_committed", "memory_reserved")
_SHOWN = ("ops_per_s", "p50_us", "p99_us", "kernel_entries_per_op", "instructions_per_op", "memory_per_instance",
          "boot_to_pong_s")
_LOCKS = ("lock_conflict_ratio", "lock_mean_wait_cycles", "lock_mean_hold_cycles")
_TOLD = ("delay_cycles", "rounds", "operations", "seconds")
_CHIEF = (
    *("one_way_kernel_instructions", "one_way_kernel_cycles", "interrupt_delay_max_instructions"),
    *("operations_per_million_cycles", "ops_per_s", "throughput_per_cycle", "p99_us", "lock_conflict_ratio"),
)
MOST_BARS = 24
MOST_RATIOS = 4  # bars, below which the first's ratio to each other stands


@dataclass
class Cell:
    value: Value
    form: str = ""
    scale: float = 1.0

    def text(self, number: float) -> str:
        return format(number * self.scale, self.form) if self.form else figures.number(number)


@dataclass
class Table:
    caption: str
    head: list[str]
    rows: list[tuple[str, list[Cell | None]]]

    @property
    def is_long(self) -> bool:
        return len(self.rows) > 30


@dataclass
class Figure:
    title: str
    svg: Markup
    caption: str
    commands: list[str]
    table: Table | None = None


@dataclass
class Section:
    name: str  # the anchor
    title: str
    words: list[str] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    in_contents: bool = True


def title_of(metric: str) -> str:
    if metric.startswith(f"{SPLIT}."):
        return f"instructions/operation: {metric.removeprefix(f'{SPLIT}.')}"
    return _NAMES[metric][0] if metric in _NAMES else metric.replace("_", " ")


def cell(metric: str, value: Value | None) -> Cell | None:
    if value is None:
        return None
    return Cell(value, _NAMES[metric][1] if metric in _NAMES else "", 1 / MIB if metric in _BYTES else 1.0)


def commands(groups: Iterable[Group]) -> list[str]:
    return list(dict.fromkeys(source.command for group in groups for source in group.sources))


def repeats(groups: Sequence[Group]) -> str:
    """Returns how many runs the figures stand on."""
    counts = sorted({group.repeats for group in groups})
    if counts == [1]:
        if any(group.entry.min_max for group in groups):
            return "Medians; whiskers reach from the least to the greatest run of the file."
        return "One run each: no error bars."
    runs = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    if all(group.same_each_time for group in groups):
        return f"{runs} runs, the same in every digit: that says nothing of how far a figure may be off."
    return f"Means of {runs} runs; whiskers are one standard deviation, rings single runs."


def once(part: Sequence[Group]) -> str:
    """Below a heading: what would stand below each figure."""
    if not is_single(part):
        return ""
    return "One run each, which would be the same again." if all(is_modelled(g.entry) for g in part) else repeats(part)


def is_single(groups: Sequence[Group]) -> bool:
    return all(group.repeats == 1 and not group.entry.min_max for group in groups)


def _bars(name: str, metric: str, groups: Sequence[Group], names: Sequence[str] | None = None) -> Figure | None:
    labelled = zip(groups, names or [group.label for group in groups])
    known = [(group, label, value) for group, label in labelled if (value := group.value(metric))]
    if not known or all(run == 0 for *_, value in known for run in value.runs) and metric not in _LOCKS:
        return None
    title = title_of(metric)
    scale = 1 / MIB if metric in _BYTES else 1.0
    values = [value.scaled(scale) for *_, value in known]
    of = [group for group, *_ in known]
    svg = figures.bars(name, title, title, [label for _, label, _ in known], values)
    compared = [(known[0][0], other, label)
                for other, label, _ in known[1:]] if is_comparison(known[0][0]) and len(known) <= MOST_RATIOS else []
    ratios = [f"{known[0][1]} ÷ {label}: {quotient.mean:.3f}." for a, b, label in compared
              if (quotient := ratio(a, b, metric))]
    table = Table(title, [title], [(label, [cell(metric, value)]) for _, label, value in known])
    runs = "" if is_single(of) and is_comparison(of[0]) else repeats(of)  # else it stands below the heading
    caption = " ".join(filter(None, [*ratios, runs, _counted(metric, of)]))
    return Figure(title[:1].upper() + title[1:], svg, caption, commands(of), table)


def _counted(metric: str, groups: Sequence[Group]) -> str:
    """Explains a metric that was not taken from the runs that were timed."""
    counts = [c for group in groups for entry in group.entries if (c := entry.counting) and metric in c.metrics]
    if not counts:
        return ""
    kernels = ", ".join(dict.fromkeys(counting.kernel for counting in counts))
    return (
        f"Counted in a run of {counts[0].operations:,} operations beside each timed one, by kernels that count "
        f"({kernels})."
    )


def partitions(groups: Sequence[Group]) -> list[list[Group]]:
    """Groups that may be compared: the same release, command, load, host and number of cores."""
    by_key: dict[tuple[object, ...], list[Group]] = {}
    for group in groups:
        entry = group.entry
        by_key.setdefault((group.source.setting, entry.workload, entry.cores, entry.emulated), []).append(group)
    return list(by_key.values())


def head(part: Sequence[Group]) -> str:
    """Returns what sets this comparison apart from others on the page."""
    entry, document = part[0].entry, part[0].source.document
    load = f", YCSB {entry.workload.upper()}" if entry.workload in WORKLOADS else ""
    where = f", {document.host.cpu}" if document.host.cpu else ""
    by = f" by QEMU {document.host.qemu}" if document.host.qemu else ""
    release = f", Skerry {document.skerry}" if document.skerry != version() else ""
    asked = " ".join(part[0].source.asked) or document.command
    return (
        f"{asked}: {entry.cores} "
        f"core{'s' * (entry.cores != 1)}{load}{where}{f', emulated{by}' * entry.emulated}{release}"
    )


def where(part: Sequence[Group]) -> str:
    """Returns what sets it apart, in words of a sentence."""
    entry = part[0].entry
    load = f"YCSB {entry.workload.upper()} " if entry.workload in WORKLOADS else ""
    modelled = (entry.model_extra or {}).get("modelled") or {}
    if isinstance(modelled, dict) and modelled.get("machine"):
        kind = f"the modelled {modelled['machine']}"
    else:
        kind = "an emulated machine" if entry.emulated else part[0].source.document.host.cpu or "this machine"
    lock = f", each with the lock {entry.lock}" if part[0].one_lock and entry.lock else ""
    return f"under {load}on {entry.cores} core{'s' * (entry.cores != 1)} of {kind}{lock}"


def is_comparison(group: Group) -> bool:
    """Benchmarks vary the machine; the rest sets layouts or systems beside each other."""
    bench = group.source.document.command.startswith("bench")
    return not group.entry.model and not bench and group.value("ops_per_s") is not None


def machines(groups: Sequence[Group]) -> Section:
    made = Section("machine", "Machine and clusters")
    seen: set[object] = set()
    drawable = [group for group in groups if machine.can_draw(group.entry)]
    for group in [group for group in drawable if group.entry.machine] or drawable:
        known = machine.known(group.entry)
        identity = known.model_dump_json(include={"cpus": True, "clusters": {"__all__": {"cluster", "cpus"}},
                                                  "channels": True})
        if identity in seen:
            continue
        seen.add(identity)
        title = f"{group.entry.layout or 'layout'}, {group.entry.cores} cores"
        svg = machine.draw(f"machine-{len(seen)}", title, known)
        plain = "" if group.entry.machine else " The file does not say where cores are: only clusters are drawn."
        made.figures.append(Figure(title, svg, (known.name or "Cores by cluster.") + plain, commands([group])))
    return made


def _served(entry: Entry) -> str:
    """Returns what the clients of an entry asked, with its version; nothing where the file does not say it."""
    if engine := ENGINES.get(entry.server):
        return engine.named(entry.server_version)
    return REDIS.named(entry.redis) if entry.redis else ""


def _told_apart(part: Sequence[Group]) -> str:
    """Behind a heading: on how many cores, under which load; the command stands under Sources."""
    entry = part[0].entry
    load = f", YCSB {entry.workload.upper()}" if entry.workload in WORKLOADS else ""
    return (
        f": {entry.cores} "
        f"core{'s' * (entry.cores != 1)}{load}{', modelled' if is_modelled(entry) else ', emulated' * entry.emulated}"
    )


def comparison(part: Sequence[Group], number: int) -> Section:
    made = Section(f"comparison-{number}", f"Comparison{_told_apart(part)}")
    made.figures = [f for metric in _SHOWN if (f := _bars(f"compare-{number}-{metric}", metric, part))]
    made.tables = [_beside(part)]
    if len(part) > 1:
        made.words.append(f"Columns marked ÷ are {part[0].label} divided by the named one. {once(part)}".rstrip())
    for entry in (group.entry for group in part if group.entry.system == "linux" and group.entry.network):
        release = f"Linux is {entry.kernel}" + (f", its {served}." if (served := _served(entry)) else ".")
        made.words.append(" ".join([release, *linux_differences(entry.network)]))
    return made


def _beside(part: Sequence[Group]) -> Table:
    names = [group.label for group in part] + [f"÷ {group.label}" for group in part[1:]]
    metrics = [metric for metric in _NAMES if any(group.value(metric) for group in part)]
    rows: list[tuple[str, list[Cell | None]]] = []
    for metric in metrics:
        cells = [cell(metric, group.value(metric)) for group in part]
        for other in part[1:]:
            quotient = ratio(part[0], other, metric)
            cells.append(Cell(quotient, ".3f") if quotient else None)
        rows.append((title_of(metric), cells))
    return Table(head(part), names, rows)


def latency(part: Sequence[Group], number: int) -> Section:
    made = Section(f"latency-{number}", f"Latency{_told_apart(part)}", in_contents=False)
    of = {group.label: group.latency() for group in part if group.latency()}
    if not of:
        made.words.append("The files have no distributions, only the percentiles of the comparison.")
        return made
    operations = sum(count for histogram in of.values() for _, count in histogram)
    svg = figures.latencies(f"latency-{number}-figure", "Latency distribution", of)
    caption = f"All {operations:,} operations of all runs, as the clients' HdrHistograms counted them."
    with_them = [group for group in part if group.latency()]
    made.figures = [Figure("Latency distribution", svg, caption, commands(with_them))]
    made.tables = [_percentiles(of)]
    return made


def _percentiles(of: dict[str, list[tuple[float, int]]]) -> Table:
    ranks = [p for p in figures.PERCENTILES if p]
    rows: list[tuple[str, list[Cell | None]]] = [
        (f"{p:g} %", [Cell(Value((figures.percentile(histogram, p),)), ",.1f") for histogram in of.values()])
        for p in ranks
    ]
    rows.append(("slowest", [Cell(Value((histogram[-1][0],)), ",.1f") for histogram in of.values()]))
    return Table("Microseconds within which this share of the operations was done", list(of), rows)


def utilisation(part: Sequence[Group], number: int) -> Section:
    made = Section(f"utilisation-{number}", f"Utilisation{_told_apart(part)}", in_contents=False)
    for place, group in enumerate(part):
        cores = group.per_core("cpu_utilisation")
        if not cores:
            continue
        names = [f"cluster {cluster}, core {core}" for cluster, core in cores]
        values = [value.scaled(100) for value in cores.values()]
        rows: list[tuple[str, list[Cell | None]]] = [(name, [Cell(value, ".1%")])
                                                     for name, value in zip(names, cores.values())]
        table = Table(f"CPU utilisation, {group.label}", ["busy"], rows)
        if len(names) > MOST_BARS:
            made.tables.append(table)
            continue
        styles = [cluster for cluster, _ in cores]
        svg = figures.bars(f"busy-{number}-{place}", f"CPU utilisation, {group.label}", "% of the interval", names,
                           values, styles)
        made.figures.append(Figure(group.label, svg, repeats([group]), commands([group]), table))
    return made


def locks(part: Sequence[Group], number: int) -> Section:
    made = Section(f"locks-{number}", f"Locks{_told_apart(part)}", in_contents=False)
    made.figures = [f for metric in _LOCKS if (f := _bars(f"locks-{number}-{metric}", metric, part))]
    return made


def others(part: Sequence[Group], number: int) -> Section:
    """Whatever else was measured or computed, as it stands in its file."""
    command = part[0].source.document.command
    computed = ", computed, not measured" if part[0].entry.model else ""
    emulated = ", emulated" if part[0].entry.emulated else ""
    workload = part[0].entry.workload
    of = f" ({workload})" if workload and not command.endswith(workload) else ""
    title = f"{command}{of}{emulated}{computed}"
    made = Section(f"other-{number}", title, commands=commands(part))
    names = labels(part)
    metrics = list(dict.fromkeys(metric for group in part for metric in group.metrics))
    common = [m for m in metrics if m not in _TOLD and all(group.value(m) for group in part)]
    chief = [m for m in _CHIEF if m in common] or common[:4]
    if len({group.entry.cores for group in part}) > 2 and not computed:
        made.figures = [_over_cores(f"other-{number}-{n}", m, part) for n, m in enumerate(chief)]
    elif len(part) <= MOST_BARS and not computed:
        made.figures = [f for n, m in enumerate(chief) if (f := _bars(f"other-{number}-{n}", m, part, names))]
    if len(part) <= 6:
        rows = [(title_of(m), [cell(m, group.value(m)) for group in part]) for m in metrics]
        made.tables = [Table(title, names, rows)]
    else:
        lines = [(name, [cell(m, group.value(m)) for m in metrics]) for name, group in zip(names, part)]
        made.tables = [Table(title, [title_of(m) for m in metrics], lines)]
    return made


def _over_cores(name: str, metric: str, part: Sequence[Group]) -> Figure:
    lines: dict[str, dict[int, Value]] = {}
    for group, label in sorted(zip(part, labels(part, cores=False)), key=lambda pair: pair[0].entry.cores):
        if value := group.value(metric):
            lines.setdefault(label, {})[group.entry.cores] = value.scaled(1 / MIB if metric in _BYTES else 1)
    title = title_of(metric)
    order = {label: lines[label] for label in dict.fromkeys(labels(part, cores=False)) if label in lines}
    svg = figures.over_cores(name, title, title, order)
    return Figure(f"{title[:1].upper()}{title[1:]} over cores", svg, repeats(part), commands(part))


def labels(part: Sequence[Group], cores: bool = True) -> list[str]:
    """The lock, and whatever else sets these apart."""

    def differ(values: Iterable[object]) -> bool:
        return len(set(values)) > 1

    entries = [group.entry for group in part]
    delays = [group.value("delay_cycles") for group in part]
    texts = []
    for entry, delay in zip(entries, delays):
        words = [entry.lock or entry.layout or entry.system]
        if entry.layout and differ(e.layout for e in entries):
            words.append(entry.layout)
        if entry.stack and differ(e.stack for e in entries):
            words.append(f"stack {entry.stack}")
        if differ(e.clusters for e in entries):
            words.append(f"{entry.clusters} cluster{'s' * (entry.clusters != 1)}")
        if cores and differ(e.cores for e in entries):
            words.append(f"{entry.cores} core{'s' * (entry.cores != 1)}")
        if delay and differ(d.mean if d else None for d in delays):
            words.append(f"delay {delay.mean:g}")
        texts.append(", ".join(words))
    return texts


def emulated(sources: Iterable[Source]) -> bool:
    """Returns whether it was emulated without prices."""
    return any(entry.emulated and not is_modelled(entry) for source in sources for entry in source.document.results)


def modelled(sources: Iterable[Source]) -> bool:
    return any(is_modelled(entry) for source in sources for entry in source.document.results)


def is_modelled(entry: Entry) -> bool:
    return bool((entry.model_extra or {}).get("modelled"))
