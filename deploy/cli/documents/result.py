# SPDX-License-Identifier: BSD-2-Clause
"""README's result and what other pages say of it, made from docs/data/comparison.json: what `./skerry compare` wrote.

A page has a block for each text: between `<!-- result: NAME -->` and `<!-- end of result -->`, which this file fills.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from deploy.base.atomic_files import write_text
from deploy.base.errors import Failure
from deploy.base.export import outline
from deploy.base.paths import BUILD, ROOT
from deploy.compare.interval import Interval
from deploy.results import fingerprint

RECORD = ROOT / "docs" / "data" / "comparison.json"
MEASURED = BUILD / "results" / "readme.json"
COMMAND = "build/venv/bin/python -m deploy.cli.documents --measure"
MOST_WORDS = 80  # limit for each paragraph of README's result
KEPT = ("skerry", "command", "host", "images", "images_sha256", "toolchain", "results", "ratios")  # keys of the file
NOT_KEPT = ("per_core", "latency_us", "machine")  # keys of each result that are large, and that no page needs
HOST_KEPT = ("mode", "qemu")
BLOCK = re.compile(r"(<!-- result: ([a-z]+) -->\n)(.*?)(<!-- end of result -->)", re.DOTALL)
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


def record(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the kept part of a results file. Refuses one that cannot be cited: incomplete, of changed files, or
    without a range."""
    if document.get("incomplete"):
        raise Failure("these results are incomplete: a part failed or was interrupted")
    if len(document.get("ratios", ())) != 1 or len(document["results"]) != 2:
        raise Failure("the picture and the table are of two layouts: give the results of `./skerry compare`")
    commit = document["host"].get("environment", {}).get("commit")
    if not commit or commit.endswith("+"):
        raise Failure("the results are of files that differ from a commit: commit them, build, and measure again")
    if not document.get("images"):
        raise Failure("the results do not say which images ran: measure again")
    if "prices" not in document["ratios"][0]:
        raise Failure("the ratio has no interval over prices: measure without --quick")
    if "low" not in document["ratios"][0]["images"]["ops_per_s"]:
        raise Failure("the ratio has no interval over images: measure without --images 1")
    kept = {key: document[key] for key in KEPT if key in document}
    kept["host"] = {key: document["host"][key] for key in HOST_KEPT} | {"environment": {"commit": commit}}
    kept["results"] = [{key: value for key, value in result.items() if key not in NOT_KEPT}
                       | {"programs": programs(result)} for result in document["results"]]
    return kept


def programs(result: Mapping[str, Any]) -> dict[str, int]:
    """Returns how many of each program ran."""
    names = [app["program"] for app in result["machine"]["applications"]]
    return {name: names.count(name) for name in dict.fromkeys(names)}


def measure() -> dict[str, Any]:
    """Runs the comparison, which takes some minutes."""
    MEASURED.parent.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([sys.executable, "-m", "deploy.cli.main", "compare", "--json", str(MEASURED)], cwd=ROOT)
    if done.returncode:
        raise Failure(f"./skerry compare ended with status {done.returncode}")
    return dict(json.loads(MEASURED.read_text()))


def store(document: Mapping[str, Any]) -> None:
    write_text(RECORD, outline(record(document), 3) + "\n")
    known.cache_clear()


@cache
def known() -> dict[str, Any]:
    return dict(json.loads(RECORD.read_text()))


def _kernels(result: Mapping[str, Any]) -> str:
    return "one kernel" if result["clusters"] == 1 else f"{_count(result['clusters'])} kernels"


def _count(number: int) -> str:
    return {2: "two", 3: "three", 4: "four"}.get(number, str(number))


def headline() -> str:
    """The ratio with its intervals: one sentence."""
    first, second = known()["results"]
    median, images, prices = intervals()
    text = (
        f"{_kernels(first).capitalize()} do{'es' * (first['clusters'] == 1)} {median:.2f} times the operations per "
        f"second of {_kernels(second)} ({images} on another image, {prices} at other prices; 95 %)"
    )
    over = " and ".join(name for name, one in (("images", images), ("prices", prices)) if one.undecided)
    return f"{text}; undecided, for 1 is within the interval over {over}" if over else text


def intervals() -> tuple[float, Interval, Interval]:
    """Returns the ratio of operations per second, and its intervals over images and over prices."""
    (ratio,) = known()["ratios"]
    spread, prices = ratio["images"]["ops_per_s"], ratio["prices"]["ops_per_s"]
    return spread["median"], Interval(spread["low"], spread["high"]), Interval(prices["low"], prices["high"])


def depends() -> str:
    """On what it was measured, and when it would be otherwise."""
    document = known()
    (ratio,), (first, _) = document["ratios"], document["results"]
    modelled, there = ratio["modelled"], first["programs"]
    text = (
        f"Lock `{first['lock']}`, {there['redis-server']} Redis, {there['ycsb']} clients, on the modelled "
        f"{modelled['machine'].replace(' x ', ' × ')} with {modelled['assumed']} assumed prices. It depends on hold "
        "times, the time between entries, and cores."
    )
    if model := ratio.get("model"):
        even = [f"up to {cores} loaded cores of each socket" for cores in [model.get("break_even_cores_per_socket")]
                if cores]
        even += [f"from {one['user_cycles']:,.0f} cycles between kernel entries on" for one in [model.get("break_even")]
                 if one]
        where = f" It makes less than {model['even'] - 1:.0%} difference {' or '.join(even)}." if even else ""
        text += f"{where} The most that the ratio can be is {model['most']:.2f}."
    return text


def readme() -> str:
    """README's result: sentence, what it depends on, table and picture."""
    return (
        f"**{headline()}.**\n\n{depends()}\n\n{table()}\n![One kernel per socket beside one for the "
        f"machine](docs/pictures/comparison.svg)\n"
    )


def sentence() -> str:
    """The result in other pages; the commit says of which code."""
    commit = known()["host"]["environment"]["commit"]
    return (
        f"{headline()}: commit {commit[:8]}, lock `{known()['results'][0]['lock']}`, made from "
        f"[comparison.json]({{data}}).\n"
    )


FIGURES = (
    ("ops_per_s", "operations per second", "{:,.0f}"),
    ("p50_us", "p50 latency, µs", "{:,.1f}"),
    ("p99_us", "p99 latency, µs", "{:,.1f}"),
    ("lock_conflict_ratio", "entries that find the lock taken", "{:.0%}"),
)


def figure(result: Mapping[str, Any], metric: str) -> float:
    """Returns the figure of the timed run, where that has it."""
    return float({**result["metrics"], **(result.get("observed") or {})}[metric])


def table() -> str:
    results = known()["results"]
    heads = [f"{r['layout']}: {r['clusters']} kernel{'s' * (r['clusters'] > 1)}" for r in results]
    lines = [f"| | {' | '.join(heads)} |", "|---" + "|---:" * len(results) + "|"]
    lines += [f"| {name} | {' | '.join(form.format(figure(r, key)) for r in results)} |" for key, name, form in FIGURES]
    return "\n".join(lines) + "\n"


TEXTS: dict[str, Callable[[], str]] = {"readme": readme, "sentence": sentence}


def filled(page: Path) -> str:
    """A page's text with its blocks as they should be."""
    def fill(block: re.Match[str]) -> str:
        if block[2] not in TEXTS:
            raise Failure(f"{page.relative_to(ROOT)}: no result is called '{block[2]}'; there are {', '.join(TEXTS)}")
        data = "data/comparison.json" if page.parent.name == "docs" else "docs/data/comparison.json"
        return f"{block[1]}{TEXTS[block[2]]().replace('{data}', data)}{block[4]}"

    return BLOCK.sub(fill, page.read_text())


def pages() -> Iterator[Path]:
    """Yields the pages that have a block."""
    return (page for page in PAGES if BLOCK.search(page.read_text()))


def older() -> str | None:
    """Why the record is not of the images in the build folder, in a sentence; None: it is."""
    kept, now = known()["images"], fingerprint.of_names(known()["images"])
    if missing := sorted(kept.keys() - now.keys()):
        return f"not built: {', '.join(missing)}; ./skerry build makes them"
    if changed := sorted(name for name in kept if kept[name] != now[name]):
        return (
            f"the published result is of other images than these ({', '.join(changed)} "
            f"differ{'s' * (len(changed) == 1)}): {COMMAND} measures anew"
        )
    return None


def same_toolchain() -> bool:
    """Whether images can be compared at all: another compiler makes other ones."""
    return bool(known()["toolchain"] == fingerprint.toolchain())
