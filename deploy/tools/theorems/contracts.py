# SPDX-License-Identifier: BSD-2-Clause
"""ACSL contracts (ACSL 1.17, sections 2.2 and 2.3) and their meaning over the mathematical integers.

An integer is a signed bit-vector that is wide enough for every value in its interval, so that nothing wraps. The
intervals come from the parameters' types and from the bounds that `requires` gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from deploy.tools.theorems import terms
from deploy.tools.theorems.grammar import RELATIONS, NotInSubset, Parser, Tree
from deploy.tools.theorems.program import Type, Value
from deploy.tools.theorems.terms import FALSE, TRUE, Term

WIDEST = 320  # bits; more: a bound is missing
_UNBOUNDED = 1 << 70  # of a quantified variable, before its guard bounds it


@dataclass(frozen=True)
class Clause:
    names: tuple[str, ...]
    tree: Tree
    text: str

    @property
    def name(self) -> str:
        return self.names[-1] if self.names and self.names[-1] != "bits" else ""


@dataclass(frozen=True)
class Definition:
    """A predicate or a logic function."""

    parameters: tuple[str, ...]
    tree: Tree


@dataclass(frozen=True)
class Contract:
    requires: tuple[Clause, ...]
    ensures: tuple[Clause, ...]

    @property
    def bits(self) -> tuple[Clause, ...]:
        """Clauses that are proved over bit-vectors."""
        return tuple(clause for clause in self.ensures if "bits" in clause.names)


def parse(annotation: str) -> Contract:
    parser, found = Parser(annotation, acsl=True), dict[str, list[Clause]](requires=[], ensures=[])
    while parser.next():
        keyword = parser.take("requires", "ensures", "assigns")
        names = []
        while parser.tokens[parser.at + 1] == ":":
            names.append(parser.take())
            parser.take(":")
        start = parser.at
        tree = parser.expression()
        if keyword != "assigns":
            text = " ".join(parser.tokens[start:parser.at])
            found[keyword].append(Clause(tuple(names), tree, text))
        parser.take(";")
    return Contract(tuple(found["requires"]), tuple(found["ensures"]))


def parse_definitions(annotation: str) -> dict[str, Definition]:
    """Reads predicates and logic functions of integers."""
    parser, result = Parser(annotation, acsl=True), dict[str, Definition]()
    while parser.next():
        if parser.take("predicate", "logic") == "logic":
            parser.take("integer")
        name = parser.take()
        parser.take("(")
        parameters = []
        while not parser.has(")"):
            parser.take("integer")
            parameters.append(parser.take())
            parser.has(",")
        parser.take("=")
        result[name] = Definition(tuple(parameters), parser.expression())
        parser.take(";")
    return result


@dataclass(frozen=True)
class Integer:
    """`low` <= value <= `high`; the term is signed and has the bits that these need."""

    term: Term
    low: int
    high: int


def integer(term: Term, low: int, high: int) -> Integer:
    width = _bits(low, high)
    if width > WIDEST:
        raise NotInSubset("an integer has no bound that `requires` gives")
    return Integer(terms.extend(term, width, True), low, high)


def _bits(low: int, high: int) -> int:
    return max(high.bit_length(), (-low - 1).bit_length() if low < 0 else 0) + 1


def from_value(value: Value) -> Integer:
    """Takes a value of C."""
    width, is_signed = value.type
    term = terms.extend(value.term, width + 1, is_signed)
    return integer(term, -(1 << (width - 1)) if is_signed else 0, (1 << (width - is_signed)) - 1)


def number(value: int) -> Integer:
    return integer(terms.const(value, _bits(value, value)), value, value)


@dataclass
class Meaning:
    """`values`: what the names stand for."""

    values: dict[str, Integer]
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    fresh: list[str] = field(default_factory=list)
    defined: list[Term] = field(default_factory=list)  # conditions under which the predicates have a meaning

    def goal(self, clause: Clause) -> Term:
        """Returns the clause as a term that is to be proved, with the conditions under which it has a meaning."""
        self.defined.clear()
        result = self.holds(clause.tree)
        return terms.both(result, *self.defined)

    def assume(self, clause: Clause) -> Term:
        """Returns the clause as a term, and narrows the intervals of the variables that it bounds."""
        self.defined.clear()
        result = self.holds(clause.tree, None)
        if self.defined:
            raise NotInSubset("`requires` shifts by a number that may be less than 0")
        for _ in range(2):  # the bounds of one variable bound another
            self._narrow(clause.tree)
        return result

    def _narrow(self, tree: Tree) -> None:
        if tree[0] == "&&":
            self._narrow(tree[1])
            self._narrow(tree[2])
        elif tree[0] in RELATIONS:
            for one, other, operator in ((tree[1], tree[2], tree[0]), (tree[2], tree[1], _mirrored(tree[0]))):
                if one[0] == "name" and one[1] in self.values:
                    with suppress(NotInSubset):
                        self._bound(one[1], operator, self.integer(other))

    def _bound(self, name: str, operator: str, limit: Integer) -> None:
        value = self.values[name]
        low, high = value.low, value.high
        if operator in ("<", "<=", "=="):
            high = min(high, limit.high - (operator == "<"))
        if operator in (">", ">=", "=="):
            low = max(low, limit.low + (operator == ">"))
        if low <= high:
            self.values[name] = integer(value.term, low, high)

    def holds(self, tree: Tree, positive: bool | None = True) -> Term:
        """Returns a predicate as a term. `positive`: it is a goal, so that "for all" may become a variable."""
        match tree:
            case ("&&", a, b):
                return terms.both(self.holds(a, positive), self.holds(b, positive))
            case ("||", a, b):
                return terms.either(self.holds(a, positive), self.holds(b, positive))
            case ("==>", a, b):
                return terms.implies(self.holds(a, None), self.holds(b, positive))
            case ("<==>", a, b):
                return terms.apply("=", self.holds(a, None), self.holds(b, None))
            case ("^^", a, b):
                return terms.negate(terms.apply("=", self.holds(a, None), self.holds(b, None)))
            case ("unary", "!", a):
                return terms.negate(self.holds(a, None))
            case ("?", c, a, b):
                return terms.ite(self.holds(c, None), self.holds(a, None), self.holds(b, None))
            case ("name", "\\true"):
                return TRUE
            case ("name", "\\false"):
                return FALSE
            case ("call", name, arguments) if name in self.definitions:
                return self._inside(name, arguments).holds(self.definitions[name].tree, positive)
            case ("\\forall", names, body):
                return self._for_all(names, body, positive)
            case (operator, a, b) if operator in RELATIONS:
                return self._relation(operator, a, b)
        value = self.integer(tree)
        return terms.negate(terms.apply("=", value.term, terms.const(0, value.term.width)))

    def _inside(self, name: str, arguments: list[Tree]) -> Meaning:
        definition = self.definitions[name]
        values = dict(zip(definition.parameters, map(self.integer, arguments), strict=True))
        return replace(self, values=values)

    def _for_all(self, names: list[str], body: Tree, positive: bool | None) -> Term:
        if not positive or body[0] != "==>":
            raise NotInSubset("\\forall stands in a goal, with a guard that bounds its variables")
        inner = replace(self, values=dict(self.values))
        for name in names:
            variable = f"{name}!{len(self.fresh)}"
            self.fresh.append(variable)
            width = _bits(-_UNBOUNDED, _UNBOUNDED - 1)
            inner.values[name] = integer(terms.var(variable, width), -_UNBOUNDED, _UNBOUNDED - 1)
        outer = [*self.defined]
        guard = inner.assume(Clause((), body[1], ""))
        result = inner.holds(body[2], positive)
        self.defined[:] = [*outer, *(terms.implies(guard, condition) for condition in self.defined)]
        return terms.implies(guard, result)

    def _relation(self, operator: str, left: Tree, right: Tree) -> Term:
        a, b = self.integer(left), self.integer(right)
        width = max(a.term.width, b.term.width)
        x, y = terms.extend(a.term, width, True), terms.extend(b.term, width, True)
        if operator in ("==", "!="):
            equal = terms.apply("=", x, y)
            return equal if operator == "==" else terms.negate(equal)
        x, y = (y, x) if operator[0] == ">" else (x, y)
        return terms.apply("bvsle" if "=" in operator else "bvslt", x, y)

    def integer(self, tree: Tree) -> Integer:
        match tree:
            case ("number", value, _):
                return number(value)
            case ("name", name):
                return self._named(name)
            case ("cast", kind, operand):
                return _cast(self.integer(operand), kind)
            case ("call", "\\old", [operand]):
                return self.integer(operand)
            case ("call", name, arguments) if name in self.definitions:
                return self._inside(name, arguments).integer(self.definitions[name].tree)
            case ("*" | "/" | "%" as operator, a, ("<<", ("number", 1, _), b)):
                return self._power(operator, self.integer(a), self.integer(b))
            case ("unary", "-", a):
                return self._arithmetic("-", number(0), self.integer(a))
            case ("unary", "+", a):
                return self.integer(a)
            case ("unary", "~", a):
                return self._arithmetic("-", number(-1), self.integer(a))
            case ("?", c, a, b):
                return self._choice(self.holds(c, None), self.integer(a), self.integer(b))
            case (operator, a, b) if operator in RELATIONS:
                return self._choice(self._relation(operator, a, b), number(1), number(0))
            case (operator, a, b):
                return self._arithmetic(operator, self.integer(a), self.integer(b))
        raise NotInSubset(f"no integer: {tree}")

    def _named(self, name: str) -> Integer:
        if name not in self.values:
            raise NotInSubset(f"{name} is neither a parameter nor a constant")
        return self.values[name]

    def _power(self, operator: str, a: Integer, exponent: Integer) -> Integer:
        """Multiplies or divides by a power of two: shifts and masks, which say the same of what is not negative."""
        exponent = self._amount(exponent)
        if operator != "*" and a.low < 0:
            return _divide(operator, a, _shift("<<", number(1), exponent))
        if operator == "%":
            return self._arithmetic("&", a, self._arithmetic("-", _shift("<<", number(1), exponent), number(1)))
        return _shift("<<" if operator == "*" else ">>", a, exponent)

    def _amount(self, amount: Integer) -> Integer:
        """A shift by less than 0 has no meaning: that there is none becomes a part of the goal."""
        if amount.low >= 0:
            return amount
        zero = terms.const(0, amount.term.width)
        self.defined.append(terms.apply("bvsle", zero, amount.term))
        return integer(amount.term, 0, max(amount.high, 0))

    def _choice(self, condition: Term, a: Integer, b: Integer) -> Integer:
        low, high = min(a.low, b.low), max(a.high, b.high)
        width = _bits(low, high)
        return integer(terms.ite(condition, terms.extend(a.term, width, True), terms.extend(b.term, width, True)),
                       low, high)

    def _arithmetic(self, operator: str, a: Integer, b: Integer) -> Integer:
        if operator in ("<<", ">>"):
            return _shift(operator, a, self._amount(b))
        if operator in ("/", "%"):
            return _divide(operator, a, b)
        low, high = _interval(operator, a, b)
        width = max(_bits(low, high), a.term.width, b.term.width)
        if width > WIDEST:
            raise NotInSubset("an integer has no bound that `requires` gives")
        names = {"+": "bvadd", "-": "bvsub", "*": "bvmul", "&": "bvand", "|": "bvor", "^": "bvxor"}
        return integer(terms.apply(names[operator], terms.extend(a.term, width, True),
                                   terms.extend(b.term, width, True)), low, high)


def _mirrored(operator: str) -> str:
    return operator.translate(str.maketrans("<>", "><"))


def _interval(operator: str, a: Integer, b: Integer) -> tuple[int, int]:
    match operator:
        case "+":
            return a.low + b.low, a.high + b.high
        case "-":
            return a.low - b.high, a.high - b.low
        case "*":
            corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            return min(corners), max(corners)
    least, width = min(a.low, b.low), max(a.term.width, b.term.width)
    if operator == "&" and max(a.low, b.low) >= 0:
        return 0, min(one.high for one in (a, b) if one.low >= 0)
    return (0, (1 << (width - 1)) - 1) if least >= 0 else (-(1 << (width - 1)), (1 << (width - 1)) - 1)


def _cast(value: Integer, kind: Type) -> Integer:
    width, is_signed = kind
    low, high = -(1 << (width - 1)) if is_signed else 0, (1 << (width - is_signed)) - 1
    if low <= value.low and value.high <= high:
        return value
    return integer(terms.extend(terms.extend(value.term, width, True), width + 1, is_signed), low, high)


def _shift(operator: str, a: Integer, b: Integer) -> Integer:
    if b.low < 0 or operator == "<<" and b.high > WIDEST:
        raise NotInSubset("a shift has no bound that `requires` gives")
    if b.high > WIDEST:  # shifts out all bits
        width = b.term.width
        most = terms.const(WIDEST, width)
        amount = terms.ite(terms.apply("bvsle", most, b.term), most, b.term)
        b = integer(amount, min(b.low, WIDEST), WIDEST)
    if operator == "<<":
        corners = [x << y for x in (a.low, a.high) for y in (b.low, b.high)]
    else:
        corners = [x >> y for x in (a.low, a.high) for y in (b.low, b.high)]
    low, high = min(corners), max(corners)
    width = max(_bits(low, high), a.term.width, b.term.width)
    name = "bvshl" if operator == "<<" else "bvashr"
    return integer(terms.apply(name, terms.extend(a.term, width, True), terms.extend(b.term, width, True)), low, high)


def _divide(operator: str, a: Integer, b: Integer) -> Integer:
    """Divides as C does, towards zero; an unsigned division where no operand is negative, which provers prefer."""
    if b.low <= 0 <= b.high:
        raise NotInSubset("a divisor may be 0")
    width = max(a.term.width, b.term.width) + 1
    kind = "u" if a.low >= 0 and b.low > 0 else "s"
    largest, most = max(abs(a.low), abs(a.high)), max(abs(b.low), abs(b.high)) - 1
    bound = largest if operator == "/" else min(largest, most)
    if kind == "u" and b.low == b.high and b.low & (b.low - 1) == 0:
        shift, mask = number(b.low.bit_length() - 1), number(b.low - 1)
        wide = terms.extend(a.term, width, True)
        name, other = ("bvlshr", shift) if operator == "/" else ("bvand", mask)
        term = terms.apply(name, wide, terms.extend(other.term, width, True))
        return integer(term, 0, a.high // b.low if operator == "/" else bound)
    name = f"bv{kind}{'div' if operator == '/' else 'rem'}"
    term = terms.apply(name, terms.extend(a.term, width, True), terms.extend(b.term, width, True))
    return integer(term, 0 if kind == "u" else -bound, bound)
