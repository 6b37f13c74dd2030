# SPDX-License-Identifier: BSD-2-Clause
"""Syntax of the C and of the ACSL that theorems are written in: tokens, expressions, statements.

C: functions of integers without pointers, structures, switch and goto. Expressions are tuples: an operator, then its
operands; ("number", value, suffix), ("name", name), ("call", name, arguments), ("cast", type, operand).
"""

from __future__ import annotations

import re
from typing import Any

Tree = tuple[Any, ...]

TOKEN = re.compile(r"""\s*(?:
    (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*) | (?P<character>'(?:\\.|[^'\\])') | (?P<name>\\?[A-Za-z_]\w*)
    | (?P<sign><==>|==>|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\^\^|\+\+|--|[-+*/%&|^]=|[-+*/%&|^~!<>=?:;,(){}\[\].])
)""", re.VERBOSE)
TYPES = {
    "bool": (1, False), "_Bool": (1, False), "char": (8, True), "int": (32, True), "unsigned": (32, False),
    "long": (64, True), "size_t": (64, False), "uintptr_t": (64, False),
    **{f"{'' if sign else 'u'}int{width}_t": (width, sign) for width in (8, 16, 32, 64) for sign in (False, True)},
}
QUALIFIERS = ("const", "static", "inline", "extern", "volatile")
WORDS = (*QUALIFIERS, "signed", "short")
LEVELS = (("<==>",), ("==>",), ("||",), ("^^",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="),
          ("<<", ">>"), ("+", "-"), ("*", "/", "%"))
RELATIONS = ("==", "!=", "<", ">", "<=", ">=")


class NotInSubset(Exception):
    """The source has a form that the queries cannot express."""


def tokens(text: str) -> list[str]:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).rstrip()
    result, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise NotInSubset(f"no token: {text[at:at + 30]!r}")
        result.append(match[0].strip())
        at = match.end()
    return result


class Parser:
    """`acsl`: relations may be chained (ACSL 2.2), implications and quantifiers exist."""

    def __init__(self, text: str, acsl: bool) -> None:
        self.tokens, self.at, self.acsl = [*tokens(text), ""], 0, acsl

    def next(self) -> str:
        return self.tokens[self.at]

    def take(self, *wanted: str) -> str:
        token = self.next()
        if wanted and token not in wanted:
            raise NotInSubset(f"{' or '.join(wanted)!r} expected, not {' '.join(self.tokens[self.at:self.at + 8])!r}")
        self.at += 1
        return token

    def has(self, *wanted: str) -> bool:
        if self.next() in wanted:
            self.at += 1
            return True
        return False

    def type(self) -> tuple[int, bool] | None:
        """Takes a type's name, if there is one: its bits and whether it is signed."""
        start, words = self.at, list[str]()
        while self.next() in TYPES or self.next() in WORDS or self.next() == "enum":
            words.append(self.take())
            if words[-1] == "enum":
                self.take()
        words = [word for word in words if word not in QUALIFIERS]
        if not words:
            self.at = start
            return None
        if words == ["enum"]:
            return (32, False)
        is_signed = "unsigned" not in words
        if "short" in words or "char" in words or "long" in words:
            return (16 if "short" in words else 8 if "char" in words else 64, is_signed)
        return (32, is_signed) if set(words) <= {"unsigned", "signed", "int"} else TYPES[words[0]]

    def expression(self) -> Tree:
        if self.acsl and self.next() in ("\\forall", "\\exists"):
            quantifier = self.take()
            self.take("integer")
            names = [self.take()]
            while self.has(","):
                names.append(self.take())
            self.take(";")
            return (quantifier, names, self.expression())
        condition = self.binary(0)
        if not self.has("?"):
            return condition
        then = self.expression()
        self.take(":")
        return ("?", condition, then, self.expression())

    def binary(self, level: int) -> Tree:
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        if LEVELS[level] == ("==>",):  # associates to the right
            if not (self.acsl and self.has("==>")):
                return left
            quantified = self.next() in ("\\forall", "\\exists")
            return ("==>", left, self.expression() if quantified else self.binary(level))
        chain: list[Tree] = []
        while self.next() in LEVELS[level]:
            operator = self.take()
            right = self.binary(level + 1)
            if self.acsl and operator in RELATIONS and chain:
                chain.append((operator, chain[-1][2], right))
            elif self.acsl and operator in RELATIONS:
                chain.append((operator, left, right))
            else:
                left = (operator, left, right)
        for link in chain:
            left = link if link is chain[0] else ("&&", left, link)
        return left

    def unary(self) -> Tree:
        if self.next() in ("-", "~", "!", "+"):
            return ("unary", self.take(), self.unary())
        if self.next() == "(":
            start = self.at
            self.take()
            cast = self.type()
            if cast and self.has(")"):
                return ("cast", cast, self.unary())
            self.at = start
        return self.primary()

    def primary(self) -> Tree:
        token = self.take()
        if token == "(":
            inner = self.expression()
            self.take(")")
            return inner
        if token[:1].isdigit():
            digits = token.rstrip("uUlL")
            return ("number", int(digits, 0), token[len(digits):].lower())
        if token[:1] == "'":
            return ("number", ord(token[1:-1].encode().decode("unicode_escape")), "")
        if not re.match(r"\\?[A-Za-z_]", token):
            raise NotInSubset(f"no expression: {' '.join(self.tokens[self.at - 1:self.at + 6])!r}")
        if token == "sizeof":
            raise NotInSubset("sizeof")  # sources.py puts its value in its place
        if self.next() == "(":
            self.take()
            arguments = []
            while not self.has(")"):
                arguments.append(self.expression())
                self.has(",")
            return ("call", token, arguments)
        return ("name", token)

    def block(self) -> list[Tree]:
        self.take("{")
        result = []
        while not self.has("}"):
            result += self.statement()
        return result

    def body(self) -> list[Tree]:
        return self.block() if self.next() == "{" else self.statement()

    def statement(self) -> list[Tree]:
        if self.next() == "{":
            return self.block()
        if self.has(";"):
            return []
        if self.has("if"):
            self.take("(")
            condition = self.expression()
            self.take(")")
            then = self.body()
            return [("if", condition, then, self.body() if self.has("else") else [])]
        if self.has("for"):
            return [self.loop()]
        if self.has("while"):
            self.take("(")
            condition = self.expression()
            self.take(")")
            return [("for", [], condition, [], self.body())]
        if self.has("return"):
            value = self.expression()
            self.take(";")
            return [("return", value)]
        if self.has("continue"):
            self.take(";")
            return [("continue",)]
        result = self.simple()
        self.take(";")
        return result

    def loop(self) -> Tree:
        self.take("(")
        first = self.simple()
        self.take(";")
        condition = self.expression()
        self.take(";")
        step = self.simple()
        self.take(")")
        return ("for", first, condition, step, self.body())

    def simple(self) -> list[Tree]:
        """Declaration, assignment or call."""
        declared = self.type()
        if declared:
            result: list[Tree] = []
            while True:
                name = self.take()
                result.append(("declare", declared, name, self.expression() if self.has("=") else ("number", 0, "")))
                if not self.has(","):
                    return result
        if self.tokens[self.at + 1] == "(":
            return [("expression", self.expression())]
        name = self.take()
        operator = self.take()
        if operator in ("++", "--"):
            return [("assign", name, (operator[0], ("name", name), ("number", 1, "")))]
        if operator == "=":
            return [("assign", name, self.expression())]
        if operator[-1:] != "=":
            raise NotInSubset(f"no statement: {name} {operator}")
        return [("assign", name, (operator[:-1], ("name", name), self.expression()))]
