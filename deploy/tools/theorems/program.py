# SPDX-License-Identifier: BSD-2-Clause
"""Takes a C function of integers through all its paths: its result as one term, and what C leaves undefined.

Arithmetic is C11's for x86-64 (6.3.1: promotions and conversions; two's complement). Calls are followed into the
callee. A loop is unrolled, MAX_TURNS times at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from deploy.tools.theorems import terms
from deploy.tools.theorems.grammar import NotInSubset, Parser, Tree
from deploy.tools.theorems.terms import FALSE, TRUE, Term

MAX_TURNS = 40
HOLDS = "theorem_holds"  # an assertion (assertions.h)
_WRAPPING = {"+": "bvadd", "-": "bvsub", "*": "bvmul", "&": "bvand", "|": "bvor", "^": "bvxor"}
Type = tuple[int, bool]
BOOL, INT, LONG_LONG = (1, False), (32, True), (64, True)


@dataclass(frozen=True)
class Value:
    term: Term  # of a bool: one bit
    type: Type


@dataclass(frozen=True)
class Function:
    name: str
    type: Type
    parameters: tuple[tuple[str, Type], ...]
    body: list[Tree]


@dataclass
class Obligation:
    """Holds where the program reaches it, or its behaviour is undefined."""

    text: str
    term: Term


@dataclass
class _Path:
    """`alive`: the paths that have neither returned nor left the turn of the loop."""

    values: dict[str, Value]
    alive: Term
    result: Value | None = None
    left: Term = FALSE  # paths that `continue` has taken out of the loop's turn
    outer: Term = FALSE  # the same, of the loops around it


@dataclass
class Program:
    functions: Mapping[str, Function]
    required: Callable[[str, Mapping[str, Value]], Term] = lambda name, arguments: TRUE  # a callee's preconditions
    obligations: list[Obligation] = field(default_factory=list)

    def call(self, name: str, arguments: list[Value], alive: Term) -> Value:
        """Returns the function's result, cut to its type."""
        function = self.functions[name]
        values = {parameter: convert(value, kind)
                  for (parameter, kind), value in zip(function.parameters, arguments, strict=True)}
        path = _Path(values, alive)
        self._must(path, self.required(name, values), f"preconditions of {name}()")
        self._run(function.body, path, function.type)
        if path.result is None:
            raise NotInSubset(f"{name}() returns nothing")
        self._must(path, FALSE, f"{name}() ends without a value")
        return path.result

    def _run(self, body: list[Tree], path: _Path, kind: Type) -> None:
        for statement in body:
            if path.alive is FALSE:
                return
            match statement[0]:
                case "declare":
                    path.values[statement[2]] = convert(self.value(statement[3], path), statement[1])
                case "assign":
                    self._assign(statement, path)
                case "expression":
                    self.value(statement[1], path)
                case "if":
                    self._if(statement, path, kind)
                case "for":
                    self._for(statement, path, kind)
                case "continue":
                    path.left, path.alive = terms.either(path.left, path.alive), FALSE
                case "return":
                    value, before = convert(self.value(statement[1], path), kind), path.result
                    path.result = Value(terms.ite(path.alive, value.term, before.term), kind) if before else value
                    path.alive = FALSE

    def _assign(self, statement: Tree, path: _Path) -> None:
        _, name, expression = statement
        if name not in path.values:
            raise NotInSubset(f"assignment to {name}, which is no variable of the function")
        old = path.values[name]
        new = convert(self.value(expression, path), old.type).term
        waiting = path.left is not FALSE or path.outer is not FALSE  # paths that keep their values for the next turn
        path.values[name] = Value(terms.ite(path.alive, new, old.term) if waiting else new, old.type)

    def _if(self, statement: Tree, path: _Path, kind: Type) -> None:
        _, test, then, other = statement
        condition = truth(self.value(test, path))
        before, alive = dict(path.values), path.alive
        path.alive = terms.both(alive, condition)
        self._run(then, path, kind)
        taken, taken_alive = path.values, path.alive
        path.values, path.alive = dict(before), terms.both(alive, terms.negate(condition))
        self._run(other, path, kind)
        path.values = {name: Value(terms.ite(condition, taken[name].term, path.values[name].term), old.type)
                       for name, old in before.items()}
        path.alive = terms.either(taken_alive, path.alive)

    def _for(self, statement: Tree, path: _Path, kind: Type) -> None:
        outer = dict(path.values)
        self._run(statement[1], path, kind)
        self._turns(statement, path, kind, MAX_TURNS)
        path.values = {name: path.values[name] for name in outer}

    def _turns(self, statement: Tree, path: _Path, kind: Type, most: int) -> None:
        """Runs a loop's turns: where the condition is no constant, the paths that go on and those that do not."""
        condition = truth(self.value(statement[2], path))
        if condition is FALSE or path.alive is FALSE:
            return
        if most == 0:
            self._must(path, terms.negate(condition), f"more than {MAX_TURNS} turns")
            return
        before, alive = dict(path.values), path.alive
        path.alive = terms.both(alive, condition)
        left, outer = path.left, path.outer
        path.outer, path.left = terms.either(left, outer), FALSE
        self._run(statement[4], path, kind)
        path.alive, path.left, path.outer = terms.either(path.alive, path.left), left, outer
        self._run(statement[3], path, kind)
        path.values = {name: path.values[name] for name in before}
        self._turns(statement, path, kind, most - 1)
        path.values = {name: Value(terms.ite(condition, path.values[name].term, old.term), old.type)
                       for name, old in before.items()}
        path.alive = terms.either(path.alive, terms.both(alive, terms.negate(condition)))

    def _must(self, path: _Path, condition: Term, text: str) -> None:
        self.obligations.append(Obligation(text, terms.implies(path.alive, condition)))

    def value(self, tree: Tree, path: _Path) -> Value:
        match tree:
            case ("number", number, suffix):
                return Value(*_number(number, suffix))
            case ("name", name):
                return self._named(name, path)
            case ("cast", kind, operand):
                return convert(self.value(operand, path), kind)
            case ("call", name, arguments):
                return self._call(name, arguments, path)
            case ("unary", operator, operand):
                return self._unary(operator, self.value(operand, path), path)
            case ("?", condition, then, other):
                return self._choice(condition, then, other, path)
            case ("&&" | "||" as operator, left, right):
                return self._short(operator, truth(self.value(left, path)), right, path)
            case (operator, left, right):
                return self._binary(operator, self.value(left, path), self.value(right, path), path)
        raise NotInSubset(f"no expression: {tree}")

    def _named(self, name: str, path: _Path) -> Value:
        if name not in path.values:
            raise NotInSubset(f"{name} is no variable")
        return path.values[name]

    def _call(self, name: str, arguments: list[Tree], path: _Path) -> Value:
        values = [self.value(argument, path) for argument in arguments]
        if name == HOLDS:
            self._must(path, truth(values[0]), "assertion")
            return values[0]
        if name.startswith("__builtin_"):
            return self._builtin(name, promote(values[0]), path)
        if name not in self.functions:
            raise NotInSubset(f"{name}() has no body here")
        return self.call(name, values, path.alive)

    def _builtin(self, name: str, value: Value, path: _Path) -> Value:
        """Counts of zeros (GCC, "Other Builtins"): undefined for 0."""
        highest, width = name[10:13] == "clz", 64 if name.endswith("l") else 32
        if name.rstrip("l") not in ("__builtin_clz", "__builtin_ctz"):
            raise NotInSubset(name)
        term = terms.extend(value.term, width, value.type[1])
        self._must(path, terms.negate(terms.apply("=", term, terms.const(0, width))), f"{name}(0)")
        result = terms.const(0, 32)
        for bit in range(width) if highest else reversed(range(width)):
            is_set = terms.apply("=", terms.apply("extract", term, data=(bit, bit)), terms.const(1, 1))
            result = terms.ite(is_set, terms.const(width - 1 - bit if highest else bit, 32), result)
        return Value(result, INT)

    def _choice(self, condition: Tree, then: Tree, other: Tree, path: _Path) -> Value:
        test, alive = truth(self.value(condition, path)), path.alive
        path.alive = terms.both(alive, test)
        first = promote(self.value(then, path))
        path.alive = terms.both(alive, terms.negate(test))
        second = promote(self.value(other, path))
        path.alive = alive
        kind = common(first.type, second.type)
        return Value(terms.ite(test, convert(first, kind).term, convert(second, kind).term), kind)

    def _short(self, operator: str, left: Term, right: Tree, path: _Path) -> Value:
        alive = path.alive
        path.alive = terms.both(alive, left if operator == "&&" else terms.negate(left))
        second = truth(self.value(right, path))
        path.alive = alive
        return from_truth(terms.both(left, second) if operator == "&&" else terms.either(left, second))

    def _unary(self, operator: str, value: Value, path: _Path) -> Value:
        if operator == "!":
            return from_truth(terms.negate(truth(value)))
        value = promote(value)
        if operator == "-" and value.type[1]:
            least = terms.const(1 << (value.type[0] - 1), value.type[0])
            self._must(path, terms.negate(terms.apply("=", value.term, least)), "signed negation overflows")
        names = {"-": "bvneg", "~": "bvnot"}
        return Value(terms.apply(names[operator], value.term), value.type) if operator in names else value

    def _binary(self, operator: str, left: Value, right: Value, path: _Path) -> Value:
        left, right = promote(left), promote(right)
        if operator in ("<<", ">>"):
            return self._shift(operator, left, right, path)
        kind = common(left.type, right.type)
        a, b = convert(left, kind).term, convert(right, kind).term
        if operator in ("==", "!="):
            equal = terms.apply("=", a, b)
            return from_truth(equal if operator == "==" else terms.negate(equal))
        if operator in ("<", ">", "<=", ">="):
            a, b = (b, a) if operator[0] == ">" else (a, b)
            return from_truth(terms.apply(f"bv{'s' if kind[1] else 'u'}l{'e' if '=' in operator else 't'}", a, b))
        if operator in ("/", "%"):
            self._must(path, terms.negate(terms.apply("=", b, terms.const(0, kind[0]))), "division by 0")
            name = {"/": "div", "%": "rem"}[operator]
            return Value(terms.apply(f"bv{'s' if kind[1] else 'u'}{name}", a, b), kind)
        if kind[1] and operator in "+-*":
            self._fits(operator, a, b, kind[0], path)
        return Value(terms.apply(_WRAPPING[operator], a, b), kind)

    def _fits(self, operator: str, a: Term, b: Term, width: int, path: _Path) -> None:
        wide = 2 * width
        exact = terms.apply(_WRAPPING[operator], terms.extend(a, wide, True), terms.extend(b, wide, True))
        cut = terms.extend(terms.extend(exact, width, True), wide, True)
        self._must(path, terms.apply("=", exact, cut), f"signed {operator} overflows")

    def _shift(self, operator: str, left: Value, right: Value, path: _Path) -> Value:
        width, is_signed = left.type
        amount, wide = right.term, max(width, right.type[0])
        limit = terms.const(width, wide)
        self._must(path, terms.apply("bvult", terms.extend(amount, wide, right.type[1]), limit), "shift by too much")
        amount = terms.extend(amount, width, False)
        if operator == ">>":
            return Value(terms.apply("bvashr" if is_signed else "bvlshr", left.term, amount), left.type)
        result = terms.apply("bvshl", left.term, amount)
        if is_signed:  # 6.5.7: the value is not negative and the result fits
            back = terms.apply("=", terms.apply("bvashr", result, amount), left.term)
            positive = terms.apply("bvsle", terms.const(0, width), left.term)
            self._must(path, terms.both(positive, back), "signed << overflows")
        return Value(result, left.type)


def _number(number: int, suffix: str) -> tuple[Term, Type]:
    """A constant of the first type that holds it (6.4.4.1; hexadecimal ones that need it are unsigned)."""
    kinds = [(32, "u" not in suffix), (32, False)] if "l" not in suffix else []
    kinds += [(64, "u" not in suffix), (64, False)]
    for width, is_signed in kinds:
        if -(1 << (width - 1)) * is_signed <= number < 1 << (width - is_signed):
            return terms.const(number, width), (width, is_signed)
    raise NotInSubset(f"{number} has more than 64 bits")


def convert(value: Value, kind: Type) -> Value:
    if kind == BOOL:
        return Value(terms.ite(truth(value), terms.const(1, 1), terms.const(0, 1)), BOOL)
    return Value(terms.extend(value.term, kind[0], value.type[1]), kind)


def promote(value: Value) -> Value:
    return convert(value, INT) if value.type[0] < INT[0] else value


def common(a: Type, b: Type) -> Type:
    """The usual arithmetic conversions, of promoted types (6.3.1.8)."""
    width = max(a[0], b[0])
    return (width, all(is_signed for bits, is_signed in (a, b) if bits == width))


def truth(value: Value) -> Term:
    return terms.negate(terms.apply("=", value.term, terms.const(0, value.term.width)))


def from_truth(term: Term) -> Value:
    return Value(terms.ite(term, terms.const(1, 32), terms.const(0, 32)), INT)


def parse(text: str) -> Function:
    """Reads the definition of a function."""
    parser = Parser(text, acsl=False)
    kind = parser.type()
    name = parser.take()
    parser.take("(")
    parameters = []
    while not parser.has(")"):
        parameter = parser.type()
        if not parameter:
            raise NotInSubset(f"{name}() has a parameter that is no integer")
        parameters.append((parser.take(), parameter))
        parser.has(",")
    if not kind:
        raise NotInSubset(f"{name}() returns no integer")
    return Function(name, kind, tuple(parameters), parser.block())
