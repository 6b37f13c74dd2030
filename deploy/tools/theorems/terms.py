# SPDX-License-Identifier: BSD-2-Clause
"""Terms over bit-vectors and booleans (SMT-LIB 2.6, QF_BV): shared, folded where constant, printed, evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

_COMPARE = {"=": int.__eq__, "bvult": int.__lt__, "bvule": int.__le__}
_PLAIN: dict[str, Callable[[int, int], int]] = {
    "bvadd": int.__add__, "bvsub": int.__sub__, "bvmul": int.__mul__, "bvand": int.__and__, "bvor": int.__or__,
    "bvxor": int.__xor__,
}


@dataclass(frozen=True)
class Term:
    """`width` 0: a boolean. `op`: SMT-LIB's name, or "const" and "var" with a value or a name in `data`."""

    op: str
    width: int
    args: tuple[Term, ...] = ()
    data: int | str | tuple[int, int] = 0
    key: int = 0  # hash of all that is below, so that hashing a term does not walk it

    def __hash__(self) -> int:
        return self.key

    def __eq__(self, other: object) -> bool:
        return self is other  # _make() shares equal terms


_all: dict[tuple[object, ...], Term] = {}


def _make(op: str, width: int, args: tuple[Term, ...] = (), data: int | str | tuple[int, int] = 0) -> Term:
    key = (op, width, tuple(map(id, args)), data)
    if key not in _all:
        _all[key] = Term(op, width, args, data, len(_all))
    return _all[key]


def const(value: int, width: int) -> Term:
    return _make("const", width, data=value & ((1 << width) - 1))


def var(name: str, width: int) -> Term:
    return _make("var", width, data=name)


TRUE, FALSE = _make("const", 0, data=1), _make("const", 0, data=0)


def is_const(*terms: Term) -> bool:
    return all(term.op == "const" for term in terms)


def signed(value: int, width: int) -> int:
    return value - (1 << width) if value >> (width - 1) & 1 else value


def apply(op: str, *args: Term, data: tuple[int, int] = (0, 0)) -> Term:
    """Returns a term; a constant where all arguments are."""
    width = _width(op, args, data)
    if is_const(*args):
        value = _value(op, [int(a.data) for a in args if isinstance(a.data, int)], args, data)
        return const(value, width) if width else (TRUE if value else FALSE)
    return _make(op, width, args, data)


def _width(op: str, args: tuple[Term, ...], data: tuple[int, int]) -> int:
    if op in ("=", "bvult", "bvule", "bvslt", "bvsle", "and", "or", "not"):
        return 0
    if op == "extract":
        return data[0] - data[1] + 1
    if op in ("zero_extend", "sign_extend"):
        return args[0].width + data[0]
    return args[-1].width


def _value(op: str, v: list[int], args: tuple[Term, ...], data: tuple[int, int]) -> int:
    """Evaluates as SMT-LIB defines it; the caller cuts the result to its width."""
    width = args[0].width
    if op in _PLAIN:
        return _PLAIN[op](v[0], v[1])
    if op in _COMPARE:
        return _COMPARE[op](v[0], v[1])
    if op == "extract":
        return v[0] >> data[1]
    return int(_OPERATIONS[op](v, [signed(x, a.width) if a.width else x for x, a in zip(v, args, strict=True)], width))


def _quotient(a: int, b: int) -> int:
    """Truncates towards zero, as C does; by 0 as SMT-LIB says."""
    if b == 0:
        return 1 if a < 0 else -1
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# Take the arguments' values, the same as signed numbers, and the width of the first.
_OPERATIONS: dict[str, Callable[[list[int], list[int], int], int]] = {
    "bvslt": lambda v, s, width: s[0] < s[1],
    "bvsle": lambda v, s, width: s[0] <= s[1],
    "not": lambda v, s, width: not v[0],
    "and": lambda v, s, width: all(v),
    "or": lambda v, s, width: any(v),
    "ite": lambda v, s, width: v[1] if v[0] else v[2],
    "bvnot": lambda v, s, width: ~v[0],
    "bvneg": lambda v, s, width: -v[0],
    "bvshl": lambda v, s, width: v[0] << v[1] if v[1] < width else 0,
    "bvlshr": lambda v, s, width: v[0] >> v[1],
    "bvashr": lambda v, s, width: s[0] >> v[1],
    "bvudiv": lambda v, s, width: v[0] // v[1] if v[1] else -1,
    "bvurem": lambda v, s, width: v[0] % v[1] if v[1] else v[0],
    "bvsdiv": lambda v, s, width: _quotient(s[0], s[1]),
    "bvsrem": lambda v, s, width: s[0] - s[1] * _quotient(s[0], s[1]) if s[1] else s[0],
    "zero_extend": lambda v, s, width: v[0],
    "sign_extend": lambda v, s, width: s[0],
}


def both(*terms: Term) -> Term:
    kept = [term for term in dict.fromkeys(terms) if term is not TRUE]
    if FALSE in kept:
        return FALSE
    return TRUE if not kept else kept[0] if len(kept) == 1 else _make("and", 0, tuple(kept))


def either(*terms: Term) -> Term:
    return negate(both(*map(negate, terms)))


def negate(term: Term) -> Term:
    return term.args[0] if term.op == "not" else apply("not", term)


def implies(a: Term, b: Term) -> Term:
    return either(negate(a), b)


def ite(condition: Term, then: Term, other: Term) -> Term:
    if is_const(condition):
        return then if condition.data else other
    return then if then is other else _make("ite", then.width, (condition, then, other))


def extend(term: Term, width: int, is_signed: bool) -> Term:
    """Extends or cuts to `width`."""
    if width == term.width:
        return term
    if width < term.width:
        return apply("extract", term, data=(width - 1, 0))
    return apply("sign_extend" if is_signed else "zero_extend", term, data=(width - term.width, 0))


def order(terms: Iterable[Term]) -> list[Term]:
    """Lists all that the terms consist of, each behind its arguments."""
    done: dict[Term, None] = {}
    stack = [(term, False) for term in reversed(list(terms))]
    while stack:
        term, expanded = stack.pop()
        if term in done:
            continue
        if expanded:
            done[term] = None
        else:
            stack.append((term, True))
            stack += [(arg, False) for arg in term.args]
    return list(done)


def evaluate(term: Term, values: Mapping[str, int]) -> int:
    """Returns the term's value where the variables have these."""
    known: dict[Term, int] = {}
    for one in order([term]):
        if one.op == "var":
            result = values[str(one.data)]
        elif isinstance(one.data, int) and one.op == "const":
            result = one.data
        else:
            data = one.data if isinstance(one.data, tuple) else (0, 0)
            result = int(_value(one.op, [known[arg] for arg in one.args], one.args, data))
        known[one] = result & ((1 << one.width) - 1) if one.width else result & 1
    return known[term]


def _sort(width: int) -> str:
    return f"(_ BitVec {width})" if width else "Bool"


def _text(term: Term, names: Mapping[Term, str]) -> str:
    if term.op == "const":
        return (f"(_ bv{term.data} {term.width})" if term.width else "true" if term.data else "false")
    arguments = " ".join(names[arg] for arg in term.args)
    if isinstance(term.data, tuple) and term.op in ("extract", "zero_extend", "sign_extend"):
        numbers = term.data if term.op == "extract" else term.data[:1]
        return f"((_ {term.op} {' '.join(map(str, numbers))}) {arguments})"
    return f"({term.op} {arguments})"


def query(asserted: Iterable[Term], comment: str) -> str:
    """Returns an SMT-LIB script that asks whether all can hold together."""
    asserted = list(asserted)
    names: dict[Term, str] = {}
    lines = [f"; {comment}", "(set-logic QF_BV)"]
    for term in order(asserted):
        if term.op == "var":
            names[term] = str(term.data)
            lines.append(f"(declare-const {term.data} {_sort(term.width)})")
        elif term.op == "const":
            names[term] = _text(term, names)
        else:
            names[term] = f"t!{len(names)}"
            lines.append(f"(define-fun {names[term]} () {_sort(term.width)} {_text(term, names)})")
    lines += [f"(assert {names[term]})" for term in asserted]
    return "\n".join([*lines, "(check-sat)"]) + "\n"
