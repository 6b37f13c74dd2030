# SPDX-License-Identifier: BSD-2-Clause
"""Reports: their pages, what they are given, which results are repeats of each other, and what leads."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from deploy.cli.main import main
from deploy.deployment import Deployment, Load, Redis
from deploy.deployment.planner import plan
from deploy.report import load, page
from deploy.report.group import groups
from deploy.results.result import document, evaluate
from deploy.results.ycsb import percentile
from topology.model.regimes import ClosedForm

from .synthetic import EMULATED, good_run, stream

HOST = {"cpu": "A <b>processor</b> & more", "cores": 2, "mode": "emulated", "qemu": "10.0"}
VOID = {"meta", "br", "hr", "img", "input", "link"}


def comparison(*seconds: float) -> dict[str, Any]:
    """Both layouts, run for so many seconds each."""
    results = []
    for layout, time in zip(("per-socket", "spanning"), seconds, strict=True):
        what = plan(Deployment(layout=layout, statistics=True, redis=Redis(), load=Load(clients=2, operations=1000)))
        results.append(evaluate(what, stream(*good_run(what, seconds=time)), EMULATED))
    return document("compare", HOST, results) | {"arguments": ["compare", "--records", "10", "--json", "x.json"]}


def scale(wobble: float) -> dict[str, Any]:
    """Throughput as a lock of 400 cycles would give it, more or less."""
    form = ClosedForm("clh", 400.0)
    results = [
        {
            "layout": "spanning", "lock": "clh", "clusters": 1, "cores": n,
            "metrics": {"throughput_per_cycle": form.steady(2000, n).throughput * (1 + wobble * (n % 2)),
                        "delay_cycles": 2000},
        }
        for n in (1, 2, 4, 6, 8)
    ]  # fmt: skip
    return {"skerry": "0", "command": "bench scale", "host": HOST, "results": results}


LOCKSTAT = {
    "skerry": "0", "command": "lockstat",
    "results": [{
        "cluster": 0, "kernel": "clh+stat", "lock": "clh", "per_core": [{"cpu": 0, "core": 0, "utilisation": 0.5}],
        "locks": {"kernel": {"acquisitions": 1000, "conflicts": 125, "conflict_ratio": 0.125, "spins_mean": 7.5,
                             "wait_mean": 33.5,
                             "hold_mean": 120.25, "wait_log2": [0, 0, 900, 100], "hold_log2": [0, 0, 0, 1000]}},
        "transactions": {"begun": 0, "committed": 0, "fallbacks": 0, "aborted": {}},
    }],
}  # fmt: skip


def write(folder: Path, **files: Any) -> list[Path]:
    paths = []
    for name, content in files.items():
        paths.append(folder / f"{name}.json")
        paths[-1].write_text(content if isinstance(content, str) else json.dumps(content))
    return paths


class Page(HTMLParser):
    """Tables by their captions as {row: cells}, a cell being the exact numbers in it; and what else one may ask."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, dict[str, list[list[float]]]] = {}
        self.heads: dict[str, list[str]] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self._start = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.tags.append((tag, found))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self._head, self._rows = [], {}
        elif tag in ("th", "caption", "title"):
            self._start = len(self.words)
        elif tag == "td" and "tbody" in self.open:
            self._cells.append([])
        elif tag == "data":
            self._cells[-1].append(float(found["value"] or ""))
        elif tag == "th" and found.get("scope") not in ("row", "col"):
            raise AssertionError("a heading without scope")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}>"
        said = "".join(self.words[self._start :])
        if tag == "caption":
            self._caption = said
        elif tag == "th" and "thead" in self.open:
            self._head.append(said)
        elif tag == "th":
            self._cells = self._rows.setdefault(said, [])
        elif tag == "table":
            self.tables[self._caption] = self._rows
            self.heads[self._caption] = self._head

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def make(paths: list[Path]) -> str:
    return page.make(load.read_all(paths), "A title")


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], str]:
    """Three comparisons, two scalings and lock statistics."""
    compared = [comparison(2.0, 2.5), comparison(2.25, 2.5), comparison(2.5, 3.0)]
    folder = tmp_path_factory.mktemp("results")
    files = {f"compare{i}": one for i, one in enumerate(compared)} | {"scale0": scale(0), "scale1": scale(0.01)}
    return compared, make(write(folder, **files, lockstat=LOCKSTAT))


def _deviation(runs: list[float]) -> list[float]:
    """None where all runs are the same."""
    return [stdev(runs)] if len(set(runs)) > 1 else []


def test_numbers(everything: tuple[list[dict[str, Any]], str]) -> None:
    """means, deviations and ratios of the page are those of the files"""
    files, text = everything
    found = Page(text)
    caption = "compare --records 10: 4 cores, YCSB C, A <b>processor</b> & more, emulated by QEMU 10.0"
    assert found.heads[caption] == ["per-socket", "spanning", "÷ spanning"]
    rows = {"operations/s": "ops_per_s", "p99 latency, µs": "p99_us",
            "lock conflicts/acquisition": "lock_conflict_ratio",
            "memory per instance, MiB": "memory_per_instance", "CPU utilisation": "cpu_utilisation"}  # fmt: skip
    for row, metric in rows.items():
        first, second = ([file["results"][i]["metrics"][metric] for file in files] for i in (0, 1))
        ratios = [a / b for a, b in zip(first, second)]
        expected = [[mean(runs), *_deviation(runs)] for runs in (first, second, ratios)]
        assert found.tables[caption][row] == [pytest.approx(pair, rel=1e-12) for pair in expected], row


def test_cores(everything: tuple[list[dict[str, Any]], str]) -> None:
    """each core's utilisation is the files'"""
    files, text = everything
    table = Page(text).tables["CPU utilisation, spanning"]
    for core in range(4):
        runs = [file["results"][1]["per_core"][core]["cpu_utilisation"] for file in files]
        assert table[f"cluster 0, core {core}"] == [[pytest.approx(mean(runs)), *_deviation(runs)]]


def test_latencies(everything: tuple[list[dict[str, Any]], str]) -> None:
    """percentiles are those of all operations of all files"""
    table = Page(everything[1]).tables["Microseconds within which this share of the operations was done"]
    assert table["50 %"] == [[10.0], [10.0]] and table["75 %"] == [[20.0], [20.0]] and table["slowest"] == [[20.0],
        [20.0]]
    assert percentile([(1.0, 99), (7.0, 1)], 99) == 1.0 and percentile([(1.0, 99), (7.0, 1)], 99.5) == 7.0


def test_locks(everything: tuple[list[dict[str, Any]], str]) -> None:
    """lock statistics stand there by class"""
    rows = Page(everything[1]).tables["Each class of lock; times in cycles"]
    assert rows == {"cluster 0, clh+stat: kernel": [[1000.0], [125.0], [0.125], [7.5], [33.5], [120.25]]}


def test_statistics_of_other_commands(tmp_path: Path) -> None:
    """what counting kernels counted in a benchmark stands there, too, and what became of transactions"""
    counted = copy.deepcopy(LOCKSTAT["results"][0])
    counted["transactions"] = {"begun": 200, "committed": 150, "fallbacks": 50, "aborted": {"conflict": 60}}
    results = [{"metrics": {"cycles": n}, "lock": "rtm", "cores": n, "workload": "mach", "statistics": counted}
               for n in (1, 2)]
    tables = Page(make(write(tmp_path, mach={"skerry": "0", "command": "bench mach", "results": results}))).tables
    assert tables["Each class of lock; times in cycles"]["mach, cluster 0, clh+stat, 2 cores: kernel"][0] == [1000.0]
    assert tables["Transactions"]["mach, cluster 0, clh+stat, 1 core"] == [[200.0], [150.0], [50.0], [0.75]]
    assert tables["bench mach"] == {"cycles": [[1.0], [2.0]]}


def test_over_cores(tmp_path: Path) -> None:
    """what a benchmark did on several numbers of cores is lines, one for each lock and stack"""
    results = [
        {"metrics": {"ops_per_s": 100.0 * cores + len(stack)}, "lock": lock, "cores": cores, "workload": "c",
         "stack": stack}
        for lock in ("clh", "mcs") for stack in ("process", "inproc") for cores in (1, 2, 4)
    ]  # fmt: skip
    text = make(write(tmp_path, redis={"skerry": "0", "command": "bench redis", "results": results}))
    rows = Page(text).tables["bench redis (c)"]
    assert len(rows) == 12 and rows["mcs, stack inproc, 4 cores"] == [[406.0]]
    assert "clh, stack process: 1 cores 107, 2 cores 207, 4 cores 407" in text and "Operations/s over cores" in text


def test_model(everything: tuple[list[dict[str, Any]], str]) -> None:
    """the model finds the service time that made the points"""
    service, delay, r_squared, worst = Page(everything[1]).tables["What was fitted"]["clh, delay 2000"]
    assert service[0] == pytest.approx(400, rel=0.03) and delay[0] == pytest.approx(2000, rel=0.05)
    assert r_squared[0] > 0.99 and worst[0] < 0.02


def test_self_contained(everything: tuple[list[dict[str, Any]], str]) -> None:
    """the page has no script and reaches for nothing; drawings and tables say what they are"""
    text = everything[1]
    found = Page(text)
    assert not found.open
    outside = re.findall(r"(?:https?:)?//[^\s\"'<)]+", re.sub(r'xmlns(:xlink)?="http://www.w3.org/[^"]*"', "", text))
    assert outside == []
    assert not re.search(r"url\((?!#)|@import|\bon\w+=|javascript:", text)
    names = [tag for tag, _ in found.tags]
    assert not {"script", "link", "img", "iframe", "object", "image"} & set(names)
    for _, attributes in found.tags:
        assert not {"src", "srcset", "data"} & set(attributes)
        link = attributes.get("href") or attributes.get("xlink:href")
        assert link is None or link.startswith("#")
    ids = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:href="#|url\(#|aria-labelledby=")([^")\s]+)', text)
    assert used and set(used) <= set(ids)
    drawings = [attributes for tag, attributes in found.tags if tag == "svg"]
    assert len(drawings) > 15 and all(d["role"] == "img" and d["aria-labelledby"] for d in drawings)
    assert names.count("title") == names.count("desc") + 1 == len(drawings) + 1
    assert names.count("caption") == names.count("table") > 10 and names.count("h1") == 1
    assert '<html lang="en">' in text and 'name="viewport"' in text


def test_commands(everything: tuple[list[dict[str, Any]], str]) -> None:
    """every figure names its source, and commands stand only there"""
    text, _, listed = everything[1].partition('<section id="sources"')
    parts = text.split("<figure>")[1:]
    assert parts and all(re.search(r'href="#source-\d"', part.split("</figcaption>")[0]) for part in parts)
    assert "<code>./skerry" not in text and "<code>./skerry compare --records 10</code>" in listed


def test_head(everything: tuple[list[dict[str, Any]], str]) -> None:
    """first a sentence and three numbers at most, a machine for each layout, ratios below bars"""
    text = everything[1]
    head = text.partition("<nav")[0]
    assert 'class="answer">With 2 kernels (per-socket) Redis does' in head and "one kernel for all cores" in head
    assert 1 <= head.count("<li><strong>") <= 3 and " ×</strong> the operations per second of spanning<" in head
    assert "per-socket ÷ spanning: " in text
    assert text.count('aria-labelledby="machine-') == 2 + 1  # two layouts, and the section


def test_range(tmp_path: Path) -> None:
    """the sentence has the interval that the file says, and a modelled machine is called one"""
    data = comparison(2.0, 2.5)
    for entry in data["results"]:
        entry["modelled"] = {"machine": "some Xeon"}
    data["ratios"] = [{"of": "per-socket", "to": "spanning", "workload": "c",
                       "prices": {"ops_per_s": {"low": 1.1, "high": 1.3}}}]
    text = make(write(tmp_path, one=data))
    assert "(1.100 to 1.300 times at other prices)" in text and "of the modelled some Xeon" in text
    assert (
        "YCSB C, modelled</h2>" in text and "<strong>Modelled.</strong>" in text
        and "<strong>Emulated.</strong>" not in text
    )


def test_distorted(tmp_path: Path) -> None:
    """what taking turns distorts is on no page"""
    data = comparison(2.0, 2.5)
    for entry in data["results"]:
        entry["distorted"] = ["cpu_utilisation", "lock_conflict_ratio"]
    text = make(write(tmp_path, one=data))
    assert "CPU utilisation" not in text and "lock conflicts" not in text and "operations/s" in text
    assert "CPU utilisation" in make(write(tmp_path, two=comparison(2.0, 2.5)))


def test_escapes(tmp_path: Path) -> None:
    """nothing that a file says is more than text"""
    evil = '\0\x1b[31m</title><script>alert(1)</script>"\'&{{7*7}}$x_1$\\$'
    data = comparison(2.0, 3.0)
    data |= {"command": evil, "arguments": ["compare", evil]}
    data["host"] = {"cpu": evil, "mode": evil, "qemu": evil}
    for entry in data["results"]:
        entry |= {"layout": evil, "lock": evil, "workload": evil}
        entry["metrics"][evil] = 3.0
        entry["machine"]["name"] = evil
        for key, names in (("clusters", ["kernel"]), ("applications", ["application", "program"])):
            for one in entry["machine"][key]:
                one |= dict.fromkeys(names, evil)
    stat = copy.deepcopy(LOCKSTAT)
    stat["results"][0] |= {"kernel": evil, "locks": {evil: stat["results"][0]["locks"]["kernel"]}}
    curve = scale(0)
    curve["command"] = evil
    text = make(write(tmp_path, compare=data, lockstat=stat, scale=curve))
    found = Page(text)
    assert "script" not in [tag for tag, _ in found.tags] and "alert(1)" in text
    assert "<script" not in text and "49$" not in text and not set(text) & {"\0", "\x1b"}


def test_other_machines_are_not_repeats(tmp_path: Path) -> None:
    other, older = comparison(2.1, 2.6), comparison(2.1, 2.6)
    other["host"] = {**HOST, "cpu": "another"}
    older["skerry"] = "0.0.1"
    tables = Page(make(write(tmp_path, one=comparison(2.0, 2.5), two=other, three=older))).tables
    assert sum(caption.startswith("compare --records 10: ") for caption in tables) == 3
    assert sum("Skerry 0.0.1" in caption for caption in tables) == 1 == sum(", another, " in caption
                                                                            for caption in tables)
    assert all(len(cell) == 1 for rows in tables.values() for cells in rows.values() for cell in cells if cell)


def test_linux_beside_it(tmp_path: Path) -> None:
    """what still differs from Linux is said on the page, too"""
    data = comparison(2.0, 2.5)
    data["results"][1] |= {"system": "linux", "kernel": "6.1.0", "network": "loopback", "redis": "7.0.15"}
    text = make(write(tmp_path, one=data))
    assert "Linux is 6.1.0, its Redis 7.0.15. Linux&#39;s clients and servers speak over loopback" in text


def test_how_a_file_is_encoded_does_not_matter(tmp_path: Path) -> None:
    (path,) = write(tmp_path, one=comparison(2.0, 2.5))
    document, text = load.read(path).document, path.read_text()
    for encoding in ("utf-8-sig", "utf-16"):
        path.write_bytes(text.encode(encoding))
        assert load.read(path).document == document


def test_old_files_and_any_command(tmp_path: Path) -> None:
    """files without distributions, maps and arguments make a page, and so does what nobody thought of"""
    data = comparison(2.0, 3.0)
    del data["arguments"]
    for entry in data["results"]:
        del entry["latency_us"], entry["machine"]
    odd = {"skerry": "0", "command": "bench new",
           "results": [{"metrics": {"wonder": 1.5, "unknown": None}, "lock": "x"}]}
    text = make(write(tmp_path, old=data, odd=odd))
    tables = Page(text).tables
    assert "The files have no distributions" in text and "only clusters are drawn" in text
    assert tables["bench new"] == {"wonder": [[1.5]], "unknown": [[]]}


def test_cores_without_a_number(tmp_path: Path) -> None:
    """of an old file only cores are drawn that have a number"""
    data = comparison(2.0, 3.0)
    for entry in data["results"]:
        del entry["machine"], entry["per_core"][0]["core"]
    assert "only clusters are drawn" in make(write(tmp_path, old=data))


def test_json(tmp_path: Path) -> None:
    """the means come as JSON, too, in the shape that results have"""
    paths = write(tmp_path, one=comparison(2.0, 2.5), two=comparison(2.5, 2.5))
    to = tmp_path / "means.json"
    assert main(["report", *map(str, paths), "-o", str(tmp_path / "x.html"), "-q", "--json", str(to)]) == 0
    data = json.loads(to.read_text())
    first = data["results"][0]
    assert data["command"] == "report" and (first["layout"], first["repeats"]) == ("per-socket", 2)
    assert first["metrics"]["ops_per_s"] == pytest.approx(mean([3000.0, 2400.0]))
    assert first["standard_deviation"]["ops_per_s"] == pytest.approx(stdev([3000.0, 2400.0]))


MEASURE = """<!DOCTYPE html><body><script>
onload = () => {{
	const out = [];
	for (const frame of document.querySelectorAll("iframe")) {{
		const page = frame.contentDocument, wide = page.documentElement.clientWidth;
		const over = [...page.querySelectorAll("body *")].filter(e => !e.closest(".scroll, svg") && e.getBoundingClientRect().right > wide + 1);
		const small = [...page.querySelectorAll("figure svg")].filter(e => e.getBoundingClientRect().width < 250);
		out.push([wide, page.documentElement.scrollWidth, over.length, small.length].join(" "));
	}}
	document.body.insertAdjacentHTML("beforeend", "<output>" + out.join(";") + "</output>");
}};
</script>{frames}</body>"""


@pytest.mark.limit(120)
def test_browser(everything: tuple[list[dict[str, Any]], str], tmp_path: Path) -> None:
    """a browser shows the page at 1280, 768 and 400 pixels without anything that stands out"""
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("no chromium here; this installs it: sudo apt-get install chromium")
    (tmp_path / "page.html").write_text(everything[1])
    frames = "".join(f'<iframe src="page.html" width="{width}" height="800" style="border: 0"></iframe>'
                     for width in (1280, 768, 400))
    (tmp_path / "measure.html").write_text(MEASURE.format(frames=frames))
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
               "--allow-file-access-from-files",
               f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path / 'measure.html'}"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    match = re.search(r"<output>([\d ;]*)</output>", done.stdout)
    assert match, done.stderr[-2000:]
    assert match[1] == "1280 1280 0 0;768 768 0 0;400 400 0 0"


# ---- skerry report refuses what is no results file, and arguments that make no sense, in one line ----

GOOD = {"skerry": "0", "command": "compare", "results": [{"metrics": {"ops_per_s": 1.0}}]}
WRONG: dict[str, tuple[Any, str]] = {
    "no JSON": ("{'a': 1}", "bad.json:1: not JSON: "),
    "half of a file": (json.dumps(GOOD, indent=1)[:40], "bad.json:3: not JSON: "),
    "nothing": ("", "bad.json: is empty: not a results file"),
    "half of a letter": ('{"skerry": "\\ud800", "command": "compare", "results": [{"metrics": {}}]}',
                         "bad.json: not JSON: "),
    "a list": ([], "bad.json: not a results file: it has no list 'results'"),
    "another file": ({"name": "x"}, "bad.json: not a results file"),
    "no results": (GOOD | {"results": []}, "bad.json: 'results' is empty"),
    "results that are none": (GOOD | {"results": 3}, "bad.json: results: input should be a valid array, not 3"),
    "no metrics": (GOOD | {"results": [{}]}, "bad.json: results[0] has no 'metrics'"),
    "a word": (GOOD | {"results": [{"metrics": {"ops_per_s": "fast"}}]},
               "metrics.ops_per_s: input should be a valid number, not"),
    "infinity": (GOOD | {"results": [{"metrics": {"x": float("inf")}}]},
                 "bad.json: results[0].metrics.x: not a finite number"),
    "not a number": (GOOD | {"results": [{"metrics": {"x": float("nan")}}]},
                     "bad.json: results[0].metrics.x: not a finite number"),
    "a number of 400 digits": (GOOD | {"results": [{"metrics": {"x": 10**400}}]},
                               "bad.json: results[0].metrics.x: too large"),
    "half of a pair": (GOOD | {"results": [{"metrics": {}, "latency_us": [[1.0]]}]},
                       "bad.json: results[0].latency_us[0]: "),
    "no command": ({"skerry": "0", "results": GOOD["results"]}, "bad.json: the file has no 'command'"),
    "cores that are none": (GOOD | {"results": [{"metrics": {}, "cores": -1}]}, "bad.json: results[0].cores: "),
    "too many results": (GOOD | {"results": [{}] * (1 << 17)},
                         "bad.json: not JSON that anybody means: has more than 131072 objects"),
    "too many cores": (
        GOOD | {"results": [{"metrics": {}, "per_core": [{}] * (1 << 17)}]},
        "bad.json: not JSON that anybody means: has more than 131072 objects",
    ),
    "too deep": ("[" * 100_000, "bad.json: not JSON"),
    "a throughput below 0": (
        GOOD | {"results": [{"metrics": {"throughput_per_cycle": -1.0}, "cores": n} for n in (1, 2, 3)]},
        "cannot be fitted",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_bad_input(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """bad results end with status 2 and a line that names the file"""
    (path,) = write(tmp_path, bad=WRONG[name][0])
    assert main(["report", str(path), "-o", str(tmp_path / "x.html")]) == 2
    said = capsys.readouterr().err
    assert WRONG[name][1] in said and said.count("\n") == 1 and len(said) < 400
    assert not (tmp_path / "x.html").exists()


def test_bad_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a file given twice, none, a folder, a place that is not there"""
    one, two = write(tmp_path, one=GOOD, two=GOOD)
    to = ["-o", str(tmp_path / "x.html")]
    for words, culprit in [
        ([str(one), str(two), *to], "two.json: the same results as"),
        ([*to], "RESULTS.json"),
        ([str(one)], "-o"),
        ([str(tmp_path), *to], "is a directory"),
        ([str(tmp_path / "no.json"), *to], "no.json: no such file"),
        ([str(one), "-o", str(tmp_path)], "is a folder"),
        ([str(one), "-o", str(tmp_path / "no" / "x.html")], "no such folder"),
        ([str(one), "-o", str(one)], "is one of the results"),
    ]:
        assert main(["report", *words]) == 2
        said = capsys.readouterr().err.splitlines()
        assert len(said) == 1 and culprit in said[0], said


def of_code(commit: str, images: dict[str, str]) -> dict[str, Any]:
    one = comparison(2.0, 2.5)
    return one | {"host": HOST | {"environment": {"commit": commit}}, "images": images}


@pytest.mark.parametrize(
    ("commits", "images", "repeats"),
    [
        (("a", "a"), ({"root": "1", "kernel-clh": "2"}, {"root": "1", "kernel-clh": "2"}), [2, 2]),
        (("a", "b"), ({"root": "1"}, {"root": "1"}), [1, 1, 1, 1]),
        (("a", "a+"), ({"root": "1"}, {"root": "1"}), [1, 1, 1, 1]),
        (("a", "a"), ({"root": "1"}, {"root": "3"}), [1, 1, 1, 1]),
        (("a", "a"), ({"kernel-clh": "1"}, {"kernel-clh": "3"}), [1, 1, 1, 1]),
        (("a", "a"), ({"kernel-clh+stat": "1"}, {"kernel-clh+stat": "3"}), [1, 1, 1, 1]),
        (("a", "a"), ({"kernel-mcs": "1"}, {"kernel-mcs": "3"}), [2, 2]),
        (("a+", "a+"), ({}, {}), [1, 1, 1, 1]),
    ],
)
def test_other_code_is_no_repeat(tmp_path: Path, commits: tuple[str, str], images: tuple[dict[str, str], ...],
                                 repeats: list[int]) -> None:
    """results of other commits or images are not repeats, however alike their figures are; a kernel that did not run
    does not matter"""
    files = {f"run{n}": of_code(commit, of) | {"arguments": ["compare", "--json", f"{n}.json"]}
             for n, (commit, of) in enumerate(zip(commits, images))}
    sources = load.read_all(write(tmp_path, **files))
    assert [group.repeats for group in groups(sources)] == repeats


def test_incomplete(tmp_path: Path) -> None:
    """a page of results of which a part failed says which"""
    one = comparison(2.0, 2.5) | {"incomplete": [{"part": "kernel mcs", "why": "it hung"}]}
    assert "x.json is incomplete, without kernel mcs (it hung)." in make(write(tmp_path, x=one))


def test_repeats_of_a_computation(tmp_path: Path) -> None:
    """runs that are the same in every digit have no interval: that is precision, which says nothing of accuracy"""
    files = {f"run{n}": comparison(2.0, 2.5) | {"arguments": ["compare", "--json", f"{n}.json"]} for n in range(2)}
    text = make(write(tmp_path, **files))
    assert "±" not in text and "2 runs, the same in every digit" in text


def test_no_time_of_the_host_on_a_modelled_machine(tmp_path: Path) -> None:
    """the time from power-on to +PONG is the host's: no headline, and nothing in a comparison on a modelled machine"""
    one = comparison(2.0, 2.5)
    for entry in one["results"]:
        entry["metrics"]["boot_to_pong_s"] = 3.0
    text = make(write(tmp_path, emulated=one))
    assert "power-on to first +PONG, s" in text and "the time from power-on" not in text
    for entry in one["results"]:
        entry |= {"kind": "modelled", "modelled": {"machine": "X"}}
    assert "+PONG" not in make(write(tmp_path, modelled=one))


def test_counted(tmp_path: Path) -> None:
    """where instructions were counted, they are the answer and the headline, not operations per second"""
    one = comparison(2.0, 2.5)
    for entry, count in zip(one["results"], (20_000.0, 25_000.0)):
        entry |= {"kind": "counted"}
        entry["metrics"]["instructions_per_op"] = count
    text = make(write(tmp_path, counted=one))
    assert "takes 0.800 times the instructions an operation that it takes with one kernel" in text
    assert "0.80 ×</strong> the instructions for an operation" in text and "the operations per second of" not in text
