# SPDX-License-Identifier: BSD-2-Clause
"""skerry report refuses what is no results file, and arguments that make no sense, in one line."""

import json
from pathlib import Path
from typing import Any

import pytest

from deploy.cli.main import main

from .test_report import write

GOOD = {"skerry": "0", "command": "compare", "results": [{"metrics": {"ops_per_s": 1.0}}]}
WRONG: dict[str, tuple[Any, str]] = {
    "no JSON": ("{'a': 1}", "bad.json:1: not JSON: "),
    "half of a file": (json.dumps(GOOD, indent=1)[:40], "bad.json:3: not JSON: "),
    "nothing": ("", "bad.json: is empty: not a results file"),
    "half of a letter": ('{"skerry": "\\ud800", "command": "compare", "results": [{"metrics": {}}]}', "bad.json: not JSON: "),
    "a list": ([], "bad.json: not a results file: it has no list 'results'"),
    "another file": ({"name": "x"}, "bad.json: not a results file"),
    "no results": (GOOD | {"results": []}, "bad.json: 'results' is empty"),
    "results that are none": (GOOD | {"results": 3}, "bad.json: results: input should be a valid array, not 3"),
    "no metrics": (GOOD | {"results": [{}]}, "bad.json: results[0] has no 'metrics'"),
    "a word": (GOOD | {"results": [{"metrics": {"ops_per_s": "fast"}}]}, "metrics.ops_per_s: input should be a valid number, not"),
    "infinity": (GOOD | {"results": [{"metrics": {"x": float("inf")}}]}, "bad.json: results[0].metrics.x: not a finite number"),
    "not a number": (GOOD | {"results": [{"metrics": {"x": float("nan")}}]}, "bad.json: results[0].metrics.x: not a finite number"),
    "a number of 400 digits": (GOOD | {"results": [{"metrics": {"x": 10**400}}]}, "bad.json: results[0].metrics.x: too large"),
    "half of a pair": (GOOD | {"results": [{"metrics": {}, "latency_us": [[1.0]]}]}, "bad.json: results[0].latency_us[0]: "),
    "no command": ({"skerry": "0", "results": GOOD["results"]}, "bad.json: the file has no 'command'"),
    "cores that are none": (GOOD | {"results": [{"metrics": {}, "cores": -1}]}, "bad.json: results[0].cores: "),
    "too deep": ("[" * 100_000, "bad.json: not JSON"),
    "a throughput below 0": (
        GOOD | {"results": [{"metrics": {"throughput_per_cycle": -1.0}, "cores": n} for n in (1, 2, 3)]}, "cannot be fitted",
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
