# SPDX-License-Identifier: BSD-2-Clause
"""Files beside a results file: its metrics as CSV, and distributions of latency as HdrHistogram's own text (.hgrm).

JSON for people, with few lines.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

TOLD = ("kind", "system", "layout", "lock", "workload", "stack", "clusters", "cores", "emulated", "how", "row", "group",
        "model", "starved", "distorted")
TICKS = 5  # percentiles in each half of the distance to 100 %, as HdrHistogram's own tools print them


def files(path: Path, data: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Names and contents; none of a document that is not of measurements."""
    rows = [row for row in _rows(data) if isinstance(row.get("metrics"), dict)]
    if not rows:
        return
    if path.suffix != ".csv":
        yield path.with_suffix(".csv"), table(rows)
    seen: set[str] = set()
    for row in rows:
        if "p50_us" not in row.get("distorted", ()) and (pairs := row.get("latency_us")):
            name = _name(row)
            while name in seen:
                name += "+"
            seen.add(name)
            yield path.with_name(f"{path.stem}-{name}.hgrm"), hgrm(pairs)


def _rows(data: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = data.get("results")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _name(row: Mapping[str, Any]) -> str:
    words = [row.get("system") if row.get("system") == "linux" else row.get("layout"), row.get("lock"),
             row.get("workload")]
    return re.sub(r"[^\w.+-]+", "_", "-".join(str(word) for word in words if word)) or "all"


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line for each result, a column for each metric that any has; metrics in parts as a.b."""
    flat = [flattened(row["metrics"]) for row in rows]
    columns = [key for key in TOLD if any(row.get(key) not in (None, "", []) for row in rows)]
    metrics = list(dict.fromkeys(name for one in flat for name in one))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*columns, *metrics])
    for row, values in zip(rows, flat):
        writer.writerow([*(_cell(row.get(key)) for key in columns), *(values.get(name) for name in metrics)])
    return text.getvalue()


def _cell(value: Any) -> Any:
    """A list as its words, with spaces between."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def flattened(metrics: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in metrics.items():
        flat |= {f"{name}.{part}": inner for part, inner in value.items()} if isinstance(value,
            dict) else {name: value}
    return flat


def hgrm(pairs: Sequence[tuple[float, int]]) -> str:
    """Percentiles of (microseconds, operations), ascending; the lines that HdrHistogram's plotter reads."""
    pairs = [(float(value), int(count)) for value, count in pairs if count]
    total = sum(count for _, count in pairs)
    lines = [f"{'Value':>12} {'Percentile':>14} {'TotalCount':>10} {'1/(1-Percentile)':>14}", ""]
    seen, ticks = 0, 0
    for value, count in pairs:
        seen += count
        while (quantile := _percentile(ticks)) <= seen / total and 1 - quantile >= 0.5 / total:
            lines.append(f"{value:12.3f} {quantile:2.12f} {seen:10d} {1 / (1 - quantile):14.2f}")
            ticks += 1
    if pairs:
        lines.append(f"{pairs[-1][0]:12.3f} {1.0:2.12f} {total:10d}")
    return "\n".join([*lines, *_summary(pairs, total)]) + "\n"


def _percentile(tick: int) -> float:
    """TICKS steps to the half, as many to three quarters, and so on."""
    halvings, step = divmod(tick, TICKS)
    return 1 - 0.5**halvings * (1 - step / TICKS / 2)


def _summary(pairs: Sequence[tuple[float, int]], total: int) -> list[str]:
    mean = sum(value * count for value, count in pairs) / total if total else 0.0
    deviation = (sum(count * (value - mean) ** 2 for value, count in pairs) / total) ** 0.5 if total else 0.0
    most = pairs[-1][0] if pairs else 0.0
    return [f"#[Mean    = {mean:12.3f}, StdDeviation   = {deviation:12.3f}]",
            f"#[Max     = {most:12.3f}, Total count    = {total:12d}]",
            f"#[Buckets = {len(pairs):12d}, SubBuckets     = {1:12d}]"]


def outline(value: Any, levels: int, margin: str = "\n") -> str:
    """Returns JSON with a line for each member of the first `levels` levels; a member's line has all that is in it."""
    if not levels or not value or not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    inner = margin + " "
    if isinstance(value, dict):
        members = [f"{json.dumps(key)}: {outline(each, levels - 1, inner)}" for key, each in value.items()]
        return "{" + inner + f",{inner}".join(members) + margin + "}"
    return "[" + inner + f",{inner}".join(outline(each, levels - 1, inner) for each in value) + margin + "]"
