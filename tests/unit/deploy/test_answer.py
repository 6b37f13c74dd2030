# SPDX-License-Identifier: BSD-2-Clause
"""The sentences that a comparison on a modelled machine ends with."""

from __future__ import annotations

import importlib
import subprocess
from dataclasses import replace

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.cli.main import command_module, main
from deploy.compare import unpriced
from deploy.compare.verdict import APART, Answer, alone, answers
from deploy.emulator import run
from deploy.emulator.entries import Entries
from deploy.emulator.machine_file import load
from deploy.load.measure import Comparison
from deploy.results.counting import Counting
from deploy.results.result import Result

from .test_results import both

MACHINE = load("xeon-e5-2683v3")


def result(layout: str, clusters: int, ops: float, busy: tuple[float, ...] = (0.4, 0.3), mean_us: float = 100.0) -> Result:
    metrics = {"ops_per_s": ops, "p50_us": 1e6 / ops, "p99_us": 2e6 / ops, "mean_us": mean_us, "channel_hops_per_op": 2.0 * (clusters > 1)}
    cores = [{"core": 14 * i, "ops_per_s": 0.0, "cpu_utilisation": share} for i, share in enumerate(busy)]
    cores.append({"core": 1, "ops_per_s": ops, "cpu_utilisation": 0.99})
    apps = [{"program": name} for name in ("switch", "redis-server", "ycsb", "ycsb")]
    seen = Entries(operations=1000, entries=11_200, acquisitions=11_200, conflicts=4480, wait=11_200 * 770, hold=11_200 * 180, moves=33_600)
    return Result(layout, "clh", "c", clusters, 28, True, metrics, cores, machine={"applications": apps}, observed=seen)


def answer(first: float, second: float, others: dict[float, tuple[float, float]]) -> Answer:
    def pair(a: float, b: float) -> list[tuple[Result, Result]]:
        return [(result("per-socket", 2, a), result("spanning", 1, b))]

    return answers(MACHINE, {1.0: pair(first, second)} | {factor: pair(*ops) for factor, ops in others.items()})[0]


def test_verdict() -> None:
    """which layout, by how much, on which machine, with which range"""
    said = answer(340.0, 250.0, {0.5: (350.0, 300.0), 2.0: (300.0, 150.0)})
    verdict = said.sentences()[0]
    assert MACHINE.name in verdict and "1.36 times" in verdict and "1.17 to 2.00 times" in verdict
    assert "2 kernels (per-socket) do 1.36" in verdict and "includes 1" not in verdict
    assert "YCSB C (1 Redis, 2 clients, 1,000 operations)" in verdict
    assert said.to_json()["range"]["ops_per_s"] == [pytest.approx(350 / 300), 2.0]
    assert said.to_json()["modelled"]["machine"] == MACHINE.name


def test_homed() -> None:
    """a kernel whose objects have homes is named so, and each layout's lock where they differ"""
    first, second = result("per-socket", 2, 340.0), replace(result("homed", 1, 250.0), lock="dynamic")
    (said,) = answers(MACHINE, {1.0: [(first, second)]})
    assert "one kernel for the machine with objects at home on their node (homed), lock clh against dynamic" in said.sentences()[0]
    unlocked = replace(second, observed=Entries(1000, 11_200, acquisitions=0, conflicts=0, wait=0, hold=0, moves=0))
    why = answers(MACHINE, {1.0: [(first, unlocked)]})[0].sentences()[2]
    assert why.startswith("homed: 11.2 kernel entries an operation, none of which takes a lock of the whole kernel")
    assert "lines move" not in why and why.endswith("go through no channel between kernels.")


def test_undecided() -> None:
    """a range that includes 1 decides nothing, and says so"""
    assert "does not say which" in answer(100.0, 99.0, {0.5: (100.0, 101.0), 2.0: (100.0, 90.0)}).sentences()[0]


def test_counted_apart() -> None:
    """where the tables show the locks of kernels that count, a sentence says why those figures are other ones"""
    first, second = result("per-socket", 2, 2.0), result("spanning", 1, 1.0)
    assert APART not in answer(2.0, 1.0, {}).sentences()
    counted = replace(first, counting=Counting("clh+stat", 1000)), replace(second, counting=Counting("clh+stat", 1000))
    sentences = answers(MACHINE, {1.0: [counted]})[0].sentences()
    assert sentences.index(APART) == 3 and "find the lock taken" in sentences[2]


def test_quick() -> None:
    """without other line costs there is no range, and that is said"""
    said = answer(340.0, 250.0, {})
    assert "this ratio was not measured" in said.sentences()[0] and "range" not in said.to_json()


def test_why() -> None:
    """entries, conflicts and waits of each layout; a network core that limits the others; what is assumed"""
    said = answer(2.0, 1.0, {})
    text = "\n".join(said.sentences())
    assert text.count("11.2 kernel entries an operation") == 2 and "limits the others" not in text
    assert text.count("40% of them find the lock taken, and a lock is waited for 770 cycles and held 180 on average, in which 3.0 lines move") == 2
    assert "go through 2.0 channels between kernels" in text and "go through no channel between kernels" in text
    assert f"{len(MACHINE.assumed)} of the machine's {len(MACHINE.prices)} prices are assumed" in text
    assert "How sure: " in (trust := said.sentences()[-1]) and "trust which layout wins" in trust
    other = replace(said, machine=load("epyc-7402")).sentences()[-1]
    assert "Nothing published of this machine" in other and "39%" not in other
    busy = replace(said, second=result("spanning", 1, 1.0, (0.99, 0.95)))
    assert "spanning: the network's cores 0, 14 are busy" in "\n".join(busy.sentences())
    one = replace(said, second=result("spanning", 1, 1.0, (0.99, 0.5)))
    assert "spanning: the network's core 0 is busy" in "\n".join(one.sentences())


def test_turning() -> None:
    """with runs of clients that pause the sentences, and the JSON, say at which rate of kernel entries another layout wins"""
    said = answer(340.0, 250.0, {})
    assert said.turn is None and "turning" not in said.to_json()
    said.first.calm, said.second.calm = result("per-socket", 2, 20.0, mean_us=90), result("spanning", 1, 20.0, mean_us=95)
    said = replace(said)
    assert any(line.startswith("per-socket is not slower at either of the two rates") for line in said.sentences())
    assert said.to_json()["turning"]["outcome"] == "neither"
    assert len(said.sentences()) <= 10


def test_unpriced() -> None:
    """a comparison without prices ends in sentences: the ratio, its instructions, and what it does not say"""
    first, second = both()
    verdict, trust = unpriced.sentences(first, second)
    assert "2 kernels (per-socket) do 2.00 times" in verdict and "one kernel for the machine (spanning)" in verdict
    assert "Cache lines cost nothing" in trust
    for result, count in ((first, 37_000.0), (second, 38_000.0)):
        result.metrics |= {"instructions_per_op": count, "instructions_per_op_by.kernel": 3000.0}
    counted = unpriced.sentences(first, second)
    assert "2 kernels (per-socket) take 0.974 times the instructions an operation of one kernel for the machine (spanning)" in counted[0]
    assert counted[1].startswith("per-socket 37,000, of them 3,000 in the kernel; spanning 38,000")
    assert not [word for word in ("per second", "latency", "µs") if word in " ".join(counted)]
    assert "as many instructions an operation as" in unpriced.sentences(first, first)[0]
    assert "as many operations per second as" in unpriced.sentences(both()[0], both()[0])[0]
    assert "times of one run" in unpriced.sentences(*(replace(r, emulated=False) for r in both()))[-1]


def test_alone() -> None:
    """a layout alone ends in a sentence, too, which says that there is no ratio"""
    said = alone(result("homed", 1, 1_198_898.0))
    assert said[0].startswith("One kernel for the machine with objects at home on their node (homed), lock clh: 1,198,898 operations per second.")
    assert "there is no ratio" in said[0] and said[1].startswith("homed: 11.2 kernel entries an operation")
    counted = replace(result("per-socket", 2, 2.0), turns=True, observed=None)
    counted.metrics["instructions_per_op"] = 22_440.0
    assert alone(counted) == ["2 kernels (per-socket), lock clh: 22,440 instructions for an operation. Nothing stands beside it, so there is no ratio: "
                              "--layout takes several."]  # fmt: skip


def test_old_qemu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """a QEMU that cannot run a modelled machine is said before anything is built"""
    def build(*rest: object) -> None:
        raise AssertionError("built")

    monkeypatch.setattr(run.qemu, "version", lambda *rest: (8, 2))
    monkeypatch.setattr(run.shutil, "which", lambda *rest: "/usr/bin/qemu")
    for words in (["compare"], ["bench", "scale", "--machine", MACHINE.path.stem], ["bench", "ipc", "--machine", MACHINE.path.stem]):
        module = command_module(".".join(word for word in words[:2] if not word.startswith("-")))
        monkeypatch.setattr(module, "ensure_built", build)
        assert main(words) == 1
        assert capsys.readouterr().err.startswith("skerry: QEMU 8.2 cannot run a modelled machine; 9.2 and later can")


def asked_for(words: list[str], monkeypatch: pytest.MonkeyPatch) -> Comparison:
    """What compare makes of its options, before it checks and builds."""
    asked: list[Comparison] = []

    def stop(job: Comparison) -> None:
        asked.append(job)
        raise Failure("far enough")

    monkeypatch.setattr(importlib.import_module("deploy.cli.commands.measure.compare"), "check", stop)
    assert main(["compare", *words]) == 1
    return asked[0]


@pytest.mark.parametrize("words, clients", [
    ([], 2), (["--machine", "epyc-7402"], 1), (["--machine", "epyc-7402", "--layout", "per-l3,spanning"], 1), (["--clients", "1"], 1),
    (["--cores", "29"], 1),
])  # fmt: skip
def test_clients(words: list[str], clients: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """two clients of each Redis, or one where the machine has more cores than the network has ports for"""
    assert asked_for(words, monkeypatch).clients == clients


@pytest.mark.parametrize("words, culprit", [
    (["--machine", "nope"], "--machine nope"),
    (["--quick", "--icount"], "--quick"),
    (["--verify", "--icount"], "--verify"),
    *((["--machine", "xeon-e5-2683v3", *odd], odd[0]) for odd in (
        ["--cores", "3"], ["--sockets", "2"], ["--icount"], ["--accel", "kvm"], ["--boot", "kernel"], ["--baseline", "linux"],
        ["--smt", "on"],
    )),
], ids=" ".join)  # fmt: skip
def test_refused(words: list[str], culprit: str) -> None:
    """compare --machine: what a modelled machine leaves no choice for is refused in one line"""
    done = subprocess.run([str(ROOT / "skerry"), "compare", *words], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and done.stderr.startswith(f"skerry: {culprit}"), done.stderr


@pytest.mark.parametrize("words, machine", [
    ([], MACHINE.name), (["--icount"], None), (["--cores", "3"], None), (["--accel", "tcg"], None), (["--baseline", "linux"], None),
])  # fmt: skip
def test_default(words: list[str], machine: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """compare: the machine is the papers' Xeon, modelled, unless an option says how or what to emulate"""
    job = asked_for(words, monkeypatch)
    assert (job.modelled and job.modelled.name) == machine
    assert job.records == (10_000 if machine is None else 50)
