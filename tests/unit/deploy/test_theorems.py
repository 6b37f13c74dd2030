# SPDX-License-Identifier: BSD-2-Clause
"""Tools: doctor, and prove with its theorems."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import ROOT
from deploy.cli.main import main
from deploy.machine import kvm
from deploy.setup import packages
from deploy.tools import doctor
from deploy.tools.testing import meson_tests
from deploy.tools.testing.meson_tests import MesonTest
from deploy.tools.theorems import campaign, contracts, prover, sources, terms
from deploy.tools.theorems.contracts import Clause, Meaning, from_value
from deploy.tools.theorems.grammar import NotInSubset, Parser
from deploy.tools.theorems.program import Program, Value, parse
from deploy.tools.theorems.sources import Source, Theorem
from tests.long import theorems as planted
from topology.errors import InputError

# ---- Theorems: what the queries say of a function is what the compiled function does, and each theorem can be broken.
# ----


SEED, INPUTS = 7, 60
CTYPES = {1: ctypes.c_bool, 8: ctypes.c_uint8, 16: ctypes.c_uint16, 32: ctypes.c_uint32, 64: ctypes.c_uint64}
CASES = """
static int32_t mixed(int8_t a, uint16_t b, int32_t c) { return (c > 100 || c < -100 ? 7 : c * a) - (b >> 3) % 5; }
static uint32_t narrow(uint64_t a, int16_t b) { uint8_t low = a; return low == 255 ? (uint32_t)b : low | 256u; }
static uint64_t turns(uint32_t a, uint32_t b)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < 9; i++) {
		if (a >> i & 1)
			continue;
		if (i == b % 16)
			return sum + 1000;
		sum += i * b;
	}
	while (sum > 5000)
		sum /= 16;
	return sum;
}
static uint32_t counted(uint64_t a, uint32_t b) { return a && b ? __builtin_ctzll(a) * 100 + __builtin_clz(b) : 1; }
"""


@pytest.fixture(scope="module")
def found() -> list[Source]:
    return campaign.chosen("")


@pytest.fixture(scope="module")
def compiled(found: list[Source], tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("theorems")
    text = prover.annotated(found) + CASES + "void theorem_holds(int condition) { (void)condition; }\n"
    (folder / "all.c").write_text(re.sub(r"\b(?:static|inline)\s", "", text))
    subprocess.run(["gcc", "-std=gnu11", "-w", "-O1", "-fwrapv", "-shared", "-fPIC", "all.c", "-o", "all.so"],
                   cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "all.so"))


def drawn(chance: random.Random, width: int) -> int:
    value = chance.choice((chance.getrandbits(width), 1 << chance.randrange(width), chance.randrange(40),
                           (1 << chance.randrange(width)) - 1, chance.randrange(40) << 12))
    return value & ((1 << width) - 1)


def run(library: ctypes.CDLL, source: Source, name: str, values: list[int]) -> int:
    function = source.functions[name]
    call = getattr(library, name)
    call.restype = CTYPES[function.type[0]]
    return int(call(*(CTYPES[kind[0]](value) for value, (_, kind) in zip(values, function.parameters, strict=True))))


def check(library: ctypes.CDLL, source: Source, theorem: Theorem, chance: random.Random) -> int:
    """Compares on drawn arguments; returns how many of them fulfil the preconditions."""
    function = source.functions[theorem.function]
    inputs = {name: Value(terms.var(name, kind[0]), kind) for name, kind in function.parameters}
    meaning = Meaning({name: from_value(value) for name, value in inputs.items()}, source.definitions)
    assumed = terms.both(*(meaning.assume(clause) for clause in theorem.contract.requires))
    result = Program(source.functions).call(theorem.function, [*inputs.values()], terms.TRUE)
    meaning.values["\\result"] = from_value(result)
    goals = terms.both(*(meaning.goal(clause) for clause in theorem.contract.ensures))
    variables = {str(term.data): term.width for term in terms.order([assumed, goals]) if term.op == "var"}
    variables |= {name: value.type[0] for name, value in inputs.items()}
    fulfilled = 0
    for _ in range(20 * INPUTS):
        values = {name: drawn(chance, width) for name, width in variables.items()}
        if fulfilled == INPUTS or not terms.evaluate(assumed, values):
            continue
        fulfilled += 1
        arguments = [values[name] for name, _ in function.parameters]
        assert terms.evaluate(result.term, values) == run(library, source, theorem.function, arguments), values
        assert terms.evaluate(goals, values), f"{theorem.function} breaks its contract: {values}"
    return fulfilled


def test_functions(found: list[Source], compiled: ctypes.CDLL) -> None:
    """the term that queries use has the value that the compiled function returns, and contracts hold where they are
    tried"""
    chance, fulfilled = random.Random(SEED), 0
    for source in found:
        for theorem in source.theorems:
            fulfilled += check(compiled, source, theorem, chance) > 0
    assert fulfilled >= 0.9 * len(campaign.theorems(found)), fulfilled


def test_translation(compiled: ctypes.CDLL) -> None:
    """C's conversions, promotions, loops, early returns and counts of zeros are as gcc compiles them"""
    functions = {name: parse(text) for name, text in sources._functions(CASES).items()}
    source = Source("", (), functions, {}, {}, ())
    chance = random.Random(SEED)
    for name, function in functions.items():
        inputs, term = prover.result_terms(source, name)
        for _ in range(INPUTS):
            values = [drawn(chance, one.width) for one in inputs]
            named = {parameter: value for (parameter, _), value in zip(function.parameters, values, strict=True)}
            assert terms.evaluate(term, named) == run(compiled, source, name, values), (name, values)


@pytest.mark.parametrize("code, text", [
    ("static uint32_t f(uint32_t a) { return 1 << a; }", "shift by too much"),
    ("static int f(int a) { return a + 1; }", "signed + overflows"),
    ("static int f(int a) { return 1 / a; }", "division by 0"),
    ("static int f(int a) { return -a; }", "signed negation overflows"),
    ("static int f(int a) { if (a) return 1; }", "f() ends without a value"),
    ("static int f(uint32_t a) { uint32_t i = 0; while (i < a) i++; return i; }", "more than 40 turns"),
])
def test_undefined(code: str, text: str) -> None:
    """what C leaves undefined must be proved not to happen"""
    function = parse(code)
    run_of = Program({"f": function})
    run_of.call("f", [Value(terms.var("a", kind[0]), kind) for _, kind in function.parameters], terms.TRUE)
    assert text in [one.text for one in run_of.obligations if one.term is not terms.TRUE]


@pytest.mark.parametrize("text, value", [
    ("1 + 2 * 3 == 7 && 0 <= 3 < 4", True), ("-7 / 2 == -3 && -7 % 2 == -1 && (-7 >> 1) == -4", True),
    ("(~5 & 7) == 2 && (6 ^ 3) == 5 && (uint8_t)300 == 44", True), ("1 < 3 > 3", False),
    ("\\false ==> \\false ==> \\true", True), ("(1 << 70) > 18446744073709551615", True),
])
def test_acsl(text: str, value: bool) -> None:
    """ACSL's integers have no width; relations chain"""
    tree = Parser(text, acsl=True).expression()
    assert Meaning({}).holds(tree) is (terms.TRUE if value else terms.FALSE)


def test_forms() -> None:
    """forms without a meaning here are refused: an unbounded shift, a quantifier in an assumption"""
    free = Meaning({"a": from_value(Value(terms.var("a", 64), (64, False)))})
    with pytest.raises(NotInSubset, match="bound"):
        free.holds(Parser("1 << a > 0", acsl=True).expression())
    clause = contracts.parse("requires \\forall integer i; 0 <= i < a ==> i < 7;").requires[0]
    with pytest.raises(NotInSubset, match="goal"):
        free.assume(clause)
    assert isinstance(clause, Clause)


def test_faults(found: list[Source]) -> None:
    """each theorem has a fault in tests/long/theorems.txt, whose text its function has once"""
    files = {theorem.function: theorem.file for theorem in campaign.theorems(found)}
    faults = planted.faults()
    assert {fault.function for fault in faults} == set(files) and len(files) >= 40
    for fault in faults:
        text = sources.function_text((ROOT / files[fault.function]).read_text(), fault.function)
        assert text.count(fault.old) == 1 and fault.old != fault.new, fault


def test_assumptions(found: list[Source]) -> None:
    """every contract says something of the result"""
    for theorem in campaign.theorems(found):
        assert any("\\result" in clause.text for clause in theorem.contract.ensures), theorem.function


@pytest.mark.skipif(bool(packages.missing({campaign.GROUP})), reason="the provers are not installed")
@pytest.mark.parametrize("function", ["objects_fit", "span_fits", "arch_pte_protect"])
def test_found(found: list[Source], function: str) -> None:
    """a fault that is planted breaks its theorem, by Frama-C or over bits"""
    files = {theorem.function: theorem.file for theorem in campaign.theorems(found)}
    assert planted.found_by(next(fault for fault in planted.faults() if fault.function == function), files)


def test_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """without the provers one line names them and the command that installs them"""
    monkeypatch.setattr(packages, "installed", lambda: {"z3"})
    with pytest.raises(Failure, match=r"needs frama-c-base, why3, cvc5; .*: apt-get install --no-install-recommends "
                                      r"frama-c-base why3 cvc5$"):
        campaign.need_tools()


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """`prove --theorems` lists and refuses as `prove` does; a theorem that is not proved is named with its goal"""
    command = importlib.import_module("deploy.cli.commands.project.prove")
    monkeypatch.setattr(command, "LOGS", tmp_path)
    command.prove(only="span_f", theorems=True, only_list=True)
    assert "span_fits: Returns whether the span lies in" in capsys.readouterr().out
    with pytest.raises(InputError, match="no theorem has this in its name"):
        command.prove(only="xyz", theorems=True)
    theorem = campaign.theorems(campaign.chosen("span_fits"))[0]
    failed = prover.Outcome(theorem, {"Qed": 2}, 1.0, ["ensures (Z3: timeout)"])
    monkeypatch.setattr(campaign, "need_tools", lambda: None)
    monkeypatch.setattr(campaign, "prove", lambda *arguments: [failed])
    with pytest.raises(Failure, match=r"not proved: span_fits: ensures \(Z3: timeout\)"):
        command.prove(only="span_fits", theorems=True)


# ---- Tools: doctor and prove. ----


# ---- What `skerry doctor` says of KVM: each finding that is no KVM says what to do ----

WHY = "the image that TCG boots does not boot under KVM (QEMU was ended by SIGABRT)"


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kvm"
    path.touch()
    monkeypatch.setattr(doctor, "Path", lambda _: path)
    return path


def test_useless(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """doctor: a KVM that boots nothing is named with its reason and with advice"""
    monkeypatch.setattr(kvm, "probe_kvm", lambda: (False, WHY))
    one = doctor.kvm()
    assert WHY in one.found and one.use.startswith("emulation "
                                                   "(TCG); ") and "pass VT-x or AMD-V on" in one.use and one.good


def test_works(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """doctor: a KVM that boots the image is used"""
    monkeypatch.setattr(kvm, "probe_kvm", lambda: (True, "it booted both clusters in 0.4 s"))
    assert doctor.kvm().use == "KVM"


def test_untried(device: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """doctor: without an image the advice is to build one; without the device, to load its module"""
    def fails() -> tuple[bool, str]:
        raise Failure("no image")

    monkeypatch.setattr(kvm, "probe_kvm", fails)
    assert "until ./skerry build has been run" in doctor.kvm().use
    device.unlink()
    assert "load kvm_intel or kvm_amd" in doctor.kvm().use


# ---- `skerry prove`: the explorer's programs, as a user calls them ----

command = importlib.import_module("deploy.cli.commands.project.prove")
OUTPUT = ("echo 'ok: one: 12 executions, 3 redundant, 40 states, at most 7 choices in one, 0.0 s'; echo 'ok: two: 30 "
         "executions, 0 redundant, 2 states, 0.1 s'")
PROGRAMS = {"lock, clh": OUTPUT, "ring": f"{OUTPUT}; exit 1"}
FINDS = "ring, the explorer finds no order"
TRIED = {"name": FINDS, "verdict": "caught", "by": "ring: finds it", "seconds": 1.0}
PLANTING = (
    "import sys; print(sys.argv[2:3] == ['--list'] and sys.argv[1] in {0!r} and {0!r} or sys.argv[2:3] == ['--jobs'] "
    "and {1!r} or '')"
)


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = [MesonTest(f"model: {name}", ["sh", "-c", script], {}, None, 60) for name, script in PROGRAMS.items()]
    monkeypatch.setattr(meson_tests, "collect", lambda word: [test for test in tests if word in test.name])
    monkeypatch.setattr(command, "ensure_built", lambda output, needed: None)
    monkeypatch.setattr(command, "LOGS", tmp_path)
    monkeypatch.setattr(command, "MISTAKES", [sys.executable, "-c", PLANTING.format(FINDS, json.dumps(TRIED))])


def proved(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[dict[str, object]], str]:
    status = main(["prove", *words, "--json", "-"])
    printed = capsys.readouterr()
    return status, json.loads(printed.out)["results"] if printed.out else [], printed.err.strip()


def test_proved(capsys: pytest.CaptureFixture[str]) -> None:
    """cases, executions and states of a program are counted"""
    status, (one,), _ = proved(capsys, "--only", "CLH")
    assert status == 0 and one.pop("seconds") is not None
    assert one == {"name": "lock, clh", "outcome": "passed", "metrics": {"cases": 2, "executions": 42, "states": 42}}


def test_not_proved(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """a program that fails is named with its log, and the others are proved all the same; mistakes are planted where it
    is asked for"""
    status, results, errors = proved(capsys, "--mistakes")
    assert status == 1 and [one["outcome"] for one in results] == ["passed", "failed", "passed"]
    assert errors.splitlines()[-1] == f"skerry: not proved: ring (log: {tmp_path / 'prove' / 'ring.log'})"
    assert (tmp_path / "prove" / "ring.log").read_text().startswith("ok: one: 12")
    assert [one["name"] for one in proved(capsys)[1]] == ["lock, clh", "ring"]


def test_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    """the list runs nothing; a word of no proof is refused"""
    status, results, _ = proved(capsys, "--list", "--mistakes")
    assert status == 0 and results == [{"name": name} for name in (*PROGRAMS, FINDS)]
    assert proved(capsys, "--only", "no order")[0] == 2, "mistakes are planted only where it is asked for"
    assert proved(capsys, "--only", "xyz")[2] == "skerry: --only xyz: no proof has this in its name"


def test_one_at_a_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """two runs would write the same logs: the second is refused, and names the first"""
    with alone("skerry prove", tmp_path / "prove"):
        assert main(["prove", "--only", "lock"]) == 1
    assert f"is being written by process {os.getpid()}, skerry prove" in " ".join(capsys.readouterr().err.split())
    assert main(["prove", "--only", "lock"]) == 0
