# SPDX-License-Identifier: BSD-2-Clause
"""Theorems: what the queries say of a function is what the compiled function does, and each theorem can be broken."""

from __future__ import annotations

import ctypes
import importlib
import random
import re
import subprocess
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.setup import packages
from deploy.tools.theorems import campaign, contracts, prover, sources, terms
from deploy.tools.theorems.contracts import Clause, Meaning, from_value
from deploy.tools.theorems.grammar import NotInSubset, Parser
from deploy.tools.theorems.program import Program, Value, parse
from deploy.tools.theorems.sources import Source, Theorem
from tests.long import theorems as planted
from topology.errors import InputError

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
