# SPDX-License-Identifier: BSD-2-Clause
"""Runs the provers: Frama-C/WP with Z3 for contracts and run-time errors, Z3 and cvc5 for the queries over bits."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deploy.base.errors import Failure
from deploy.tools.theorems import sources, terms
from deploy.tools.theorems.contracts import Meaning, from_value
from deploy.tools.theorems.grammar import NotInSubset
from deploy.tools.theorems.program import Program, Value
from deploy.tools.theorems.sources import Source, Theorem
from deploy.tools.theorems.terms import Term

WP_TIMEOUT = 10  # seconds for a goal
SMT_TIMEOUT = 60  # of processor time, for a query
SMT_WAIT = 1800
SOLVERS = {"z3": ["z3", "-smt2"], "cvc5": ["cvc5", "--lang=smt2"]}
TYPES = """typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long uint64_t; typedef long int64_t; typedef int int32_t; typedef short int16_t;
typedef signed char int8_t; typedef unsigned long size_t; typedef unsigned long uintptr_t; typedef _Bool bool;
/*@ requires holds: condition != 0; assigns \\nothing; */
void theorem_holds(int condition);
"""
GOAL = re.compile(r"^\[wp\] \[([^\]]*)\] Goal typed_(\w+) : (\w+)(.*)$", re.MULTILINE)
# Goals that the queries prove, too: they contain the callees' preconditions, and their functions assign nothing.
BY_BITS = re.compile(r"_assert_rte_|_call_\w+_requires|_assigns")


@dataclass
class Outcome:
    """The provers' outcome for one theorem. `goals`: how many each prover has proved."""

    theorem: Theorem
    goals: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    failed: list[str] = field(default_factory=list)

    def count(self, prover: str) -> None:
        self.goals[prover] = self.goals.get(prover, 0) + 1

    @property
    def goal_count(self) -> int:
        """Goals that are proved; a query that both solvers answer is one."""
        return sum(count for prover, count in self.goals.items() if prover != "cvc5")

    def to_json(self) -> dict[str, Any]:
        return {"name": self.theorem.function, "outcome": "failed" if self.failed else "passed",
                "seconds": round(self.seconds, 3), "metrics": {"goals": self.goal_count}}


@dataclass(frozen=True)
class Query:
    """`satisfiable`: the answer that is right."""

    theorem: Theorem
    name: str
    text: str
    satisfiable: bool = False


def queries(source: Source, theorem: Theorem) -> Iterator[Query]:
    """Makes the theorem's queries: its preconditions can hold, and its clauses about bits do."""
    try:
        yield from _queries(source, theorem)
    except NotInSubset as error:
        raise Failure(f"{theorem.file}: {theorem.function}(): {error}") from None


def _queries(source: Source, theorem: Theorem) -> Iterator[Query]:
    function = source.functions[theorem.function]
    inputs = {name: Value(terms.var(name, kind[0]), kind) for name, kind in function.parameters}
    meaning = Meaning({name: from_value(value) for name, value in inputs.items()}, source.definitions)
    assumed = [meaning.assume(clause) for clause in theorem.contract.requires]
    named = f"{theorem.file}: {theorem.function}()"
    if assumed:
        yield Query(theorem, "assumptions", terms.query(assumed, f"{named}, its assumptions"), satisfiable=True)
    if not theorem.contract.bits:
        return
    run = Program(source.functions, lambda name, arguments: _required(source, name, arguments))
    result = run.call(theorem.function, [*inputs.values()], terms.both(*assumed))
    defined = terms.both(*(one.term for one in run.obligations))
    yield Query(theorem, "defined", terms.query([*assumed, terms.negate(defined)], f"{named}, no undefined behaviour"))
    meaning.values["\\result"] = from_value(result)
    for number, clause in enumerate(theorem.contract.bits):
        goal = meaning.goal(clause)
        name = clause.name or f"bits {number + 1}"
        yield Query(theorem, name, terms.query([*assumed, terms.negate(goal)], f"{named}, {name}: {clause.text}"))


def _required(source: Source, name: str, arguments: Mapping[str, Value]) -> Term:
    """Returns a function's preconditions for these arguments."""
    contract = next((theorem.contract for theorem in source.theorems if theorem.function == name), None)
    meaning = Meaning({name: from_value(value) for name, value in arguments.items()}, source.definitions)
    return terms.both(*(meaning.assume(clause) for clause in contract.requires)) if contract else terms.TRUE


def result_terms(source: Source, name: str) -> tuple[list[Term], Term]:
    """Returns a function's parameters and its result, for tests that compare it with the compiled function."""
    function = source.functions[name]
    inputs = [Value(terms.var(parameter, kind[0]), kind) for parameter, kind in function.parameters]
    return [value.term for value in inputs], Program(source.functions).call(name, inputs, terms.TRUE).term


def annotated(found: Sequence[Source]) -> str:
    """Returns one C text with all theorems, for Frama-C."""
    parts, seen = [TYPES], dict[str, str]()
    for source in found:
        parts += [f"/*@{text}*/" for text in source.definition_texts]
        contracts = {theorem.function: theorem for theorem in source.theorems}
        for theorem in source.theorems:
            for name in [*sources.callees(source, theorem), theorem.function]:
                if seen.get(name, source.file) != source.file:
                    raise Failure(f"{name}() is in {seen[name]} and in {source.file}: theorems have different names")
                if name not in seen:
                    seen[name] = source.file
                    one = contracts.get(name)
                    parts.append(f"/*@{one.annotation}*/\n{one.code}" if one else source.helpers[name])
    return "\n\n".join(parts) + "\n"


def frama_c(found: Sequence[Source], folder: Path, jobs: int,
            timeout: int = WP_TIMEOUT) -> tuple[dict[str, Outcome], float]:
    """Proves all contracts but the clauses about bits. Returns outcomes by function, and seconds."""
    outcomes = {theorem.function: Outcome(theorem) for source in found for theorem in source.theorems}
    unit, configuration = folder / "theorems.i", folder / "why3.conf"
    unit.write_text(annotated(found))
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "WHY3CONFIG": str(configuration)}
    began = time.monotonic()
    _run(["why3", "-C", str(configuration), "config", "detect"], environment, 600)
    text = _run(["frama-c", "-machdep", "gcc_x86_64", unit.name, "-wp", "-wp-rte", "-wp-prover", "z3",
                 "-wp-timeout", str(timeout), "-wp-par", str(jobs), "-wp-prop=-bits",
                 "-wp-fct", ",".join(outcomes)], environment, 3600, folder)
    (folder / "frama-c.log").write_text(text)
    if "goals scheduled" not in text:
        raise Failure("Frama-C did not read the theorems", log=folder / "frama-c.log")
    names = sorted(outcomes, key=len, reverse=True)
    for prover, goal, verdict, _ in GOAL.findall(text):
        outcome = outcomes[next(name for name in names if goal.startswith(f"{name}_"))]
        if verdict == "Valid":
            outcome.count(prover.split()[0])
        elif not (outcome.theorem.contract.bits and BY_BITS.search(goal)):
            outcome.failed.append(f"{goal.removeprefix(outcome.theorem.function + '_')} ({prover}: {verdict.lower()})")
    return outcomes, time.monotonic() - began


def _run(command: list[str], environment: dict[str, str], timeout: float, folder: Path | None = None) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=timeout, cwd=folder)
    except subprocess.TimeoutExpired:
        raise Failure(f"{command[0]} did not end within {timeout:.0f} s") from None
    return done.stdout + done.stderr


def ask(query: Query, folder: Path, solvers: Iterable[str] = SOLVERS) -> tuple[Query, dict[str, str], float]:
    """Returns each solver's answer."""
    path = folder / f"{query.theorem.function}-{re.sub(r'[^a-z0-9]+', '-', query.name)}.smt2"
    path.write_text(query.text)
    began, answers = time.monotonic(), {}
    for solver in solvers:
        try:
            command = ["prlimit", f"--cpu={SMT_TIMEOUT}", *SOLVERS[solver], str(path)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=SMT_WAIT)
            answers[solver] = (done.stdout.strip().splitlines() or [f"no answer within {SMT_TIMEOUT} s"])[0]
        except subprocess.TimeoutExpired:
            answers[solver] = f"no answer within {SMT_WAIT} s of waiting"
    return query, answers, time.monotonic() - began


def prove(found: Sequence[Source], folder: Path, jobs: int, tick: Callable[[], None]) -> list[Outcome]:
    """Proves all theorems of these sources. `folder` keeps what the provers read."""
    asked = [query for source in found for theorem in source.theorems for query in queries(source, theorem)]
    outcomes, seconds = frama_c(found, folder, jobs)
    for outcome in outcomes.values():
        outcome.seconds += seconds / len(outcomes)
    tick()
    with ThreadPoolExecutor(jobs) as pool:
        for query, answers, took in pool.map(lambda query: ask(query, folder), asked):
            outcome, right = outcomes[query.theorem.function], "sat" if query.satisfiable else "unsat"
            outcome.seconds += took
            for solver, answer in answers.items():
                if answer == right:
                    outcome.count(solver)
                else:
                    outcome.failed.append(f"{query.name} ({solver}: {answer})")
            tick()
    return list(outcomes.values())
