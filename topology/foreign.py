# SPDX-License-Identifier: BSD-2-Clause
"""Readers of foreign text: files that a user names, what such files name, and what programs answer.

Every reader of such text takes it from here, so that size, depth and number are bounded in one place, and the work with
them. What exceeds a bound is one InputError. tests/structure/test_foreign.py finds parsers that are called elsewhere.
"""

import json as json_format
import re
import resource
import subprocess
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from topology.errors import InputError, Place
from topology.units import GIB, MIB


class Kind(NamedTuple):
    """`size`: bytes of a file; more is something else."""

    name: str
    size: int


DEPLOYMENT = Kind("a deployment file", MIB)
MACHINE = Kind("a machine file", MIB)
TOPOLOGY = Kind("a machine's topology", 16 * MIB)
MAP = Kind("a cluster map", 4 * MIB)  # as source; a blob has MAP_MAX_SIZE
RESULTS = Kind("a results file", 64 * MIB)
LOG = Kind("a run's log", GIB)
PROGRAM = Kind("a program", GIB)

DEPTH = 64          # of nested lists, tables, elements
KEY_PARTS = 8       # of a dotted key, which some parsers take time for by the square
ELEMENTS = 1 << 17  # of XML
# of JSON: what holds others, and what follows a comma; each takes some hundred bytes when it is read
VALUES = 1 << 22
OBJECTS = 1 << 17   # of JSON that is read into models: each takes some thousand bytes
NUMBERS = 4096      # of processors or nodes in a set, and the first number that none has

TOOL_MEMORY, TOOL_SECONDS = 4 * GIB, 60  # of a program that parses for us; the seconds are its own, not the clock's

Element = ElementTree.Element


def read(path: Path, kind: Kind) -> bytes:
    """A file's bytes; no more than `kind` has are read."""
    try:
        with path.open("rb") as file:
            content = file.read(kind.size + 1)
    except OSError as error:
        raise InputError(str(path), (error.strerror or "cannot be read").lower()) from None
    except ValueError:  # a name with a NUL
        raise InputError(repr(str(path)), "is not a file's name") from None
    if len(content) > kind.size:
        raise InputError(str(path), f"has more than {kind.size // MIB} MiB: not {kind.name}")
    return content


def json(content: str | bytes, name: str, objects: int = VALUES) -> Any:
    """`objects`: how many it may have."""
    values = sum(map(content.count, ",[{")) if isinstance(content, str) else sum(map(content.count, (b",", b"[", b"{")))
    if values > VALUES:
        raise InputError(name, f"not JSON that anybody means: has more than {VALUES} values")
    if (content.count("{") if isinstance(content, str) else content.count(b"{")) > objects:
        raise InputError(name, f"not JSON that anybody means: has more than {objects} objects")
    try:
        data = json_format.loads(content)
    except json_format.JSONDecodeError as error:
        raise InputError(f"{name}:{error.lineno}", f"not JSON: {error.msg.lower()}, column {error.colno}") from None
    except UnicodeDecodeError:
        raise InputError(name, "not JSON: not text") from None
    except RecursionError:
        raise InputError(name, "not JSON that anybody means: nested too deeply") from None
    except ValueError:  # an integer of thousands of digits
        raise InputError(name, "a number with too many digits") from None
    if _is_deep(data):
        raise InputError(name, "not JSON that anybody means: nested too deeply")
    return data


def _is_deep(data: Any) -> bool:
    level, depth = [data], 0
    while level:
        inside = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, dict | list)]
        level = [item for items in inside for item in items if isinstance(item, dict | list)]
        depth += 1
        if depth > DEPTH:
            return True
    return False


class _Bounded(ElementTree.TreeBuilder):
    """Refuses an element before it is built."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name, self._depth, self._count = name, 0, 0

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self._depth += 1
        self._count += 1
        if self._depth > DEPTH:
            raise InputError(self._name, f"not XML that anybody means: nested deeper than {DEPTH} elements")
        if self._count > ELEMENTS:
            raise InputError(self._name, f"has more than {ELEMENTS} XML elements")
        return super().start(tag, attrs)

    def end(self, tag: str, /) -> Element:
        self._depth -= 1
        return super().end(tag)


def xml(content: str | bytes, name: str) -> Element:
    parser = ElementTree.XMLParser(target=_Bounded(name))
    try:
        parser.feed(content)
        root: Element = parser.close()
        return root
    except InputError:
        raise
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(name, f"not XML ({error})") from None


# Strings and comments, in which nothing is a key, and what separates keys and values.
_TOML = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*(?:"{3,5}|\Z)|\'\'\'(?:[^\']|\'(?!\'\'))*(?:\'{3,5}|\Z)'
    r'|"(?:[^"\\\n]|\\[^\n])*"?|\'[^\'\n]*\'?|#[^\n]*|[\n=,{}.\[\]]',
    re.DOTALL,
)  # fmt: skip


_SEPARATORS = {"[": 1, "{": 1, "]": -1, "}": -1, "=": 0, ",": 0, "\n": 0}  # and by how much they deepen


def xml_root(path: Path) -> Element:
    """Returns the root of XML that a user names."""
    return xml(read(path, TOPOLOGY), str(path))


def check_toml(text: str, source: str) -> None:
    """Refuses keys of many parts, and nesting, in one pass, before a parser takes its time for them."""
    parts, depth = 1, 0
    for match in _TOML.finditer(text):
        mark = match[0]
        if mark == ".":
            parts += 1
        elif mark in _SEPARATORS:
            parts = 1
            depth = max(0, depth + _SEPARATORS[mark])
        if parts > KEY_PARTS or depth > DEPTH:
            problem = f"a key of more than {KEY_PARTS} parts" if parts > KEY_PARTS else "is nested too deeply"
            raise InputError("", problem, place=Place(source, text.count("\n", 0, match.start()) + 1))


def toml(text: str, source: str) -> dict[str, Any]:
    check_toml(text, source)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(source, f"not TOML: {error}") from None
    except RecursionError:
        raise InputError(source, "is nested too deeply") from None
    except ValueError:  # an integer of thousands of digits
        raise InputError(source, "has a number with too many digits") from None


def run(command: Sequence[str], text: str | bytes, name: str, environment: Mapping[str, str] | None = None,
        timeout: float | None = None) -> subprocess.CompletedProcess[bytes]:
    """A program that parses `text`, within bounds of memory and of its own time, which are set before it gets the text.

    FileNotFoundError: there is none. subprocess.TimeoutExpired: after `timeout` seconds of the clock.
    """
    content = text.encode() if isinstance(text, str) else text
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment) as process:
        try:
            resource.prlimit(process.pid, resource.RLIMIT_AS, (TOOL_MEMORY, TOOL_MEMORY))
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (TOOL_SECONDS, TOOL_SECONDS))
        except ProcessLookupError:
            pass  # it has ended
        try:
            out, err = process.communicate(content, timeout)
        except BaseException:
            process.kill()
            raise
    if process.returncode < 0:
        raise InputError(name, f"{Path(command[0]).name} ended with signal {-process.returncode} while it read it")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def spans_of(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Returns the first and the last of each run of numbers."""
    spans: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if spans and spans[-1][1] == number - 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    return spans


def format_spans(numbers: Iterable[int]) -> str:
    return ",".join(f"{a}-{b}" if a < b else str(a) for a, b in spans_of(numbers))


def parse_spans(text: str) -> set[int]:
    """Raises ValueError for anything else, and for more numbers, or larger ones, than machines have."""
    numbers: set[int] = set()
    left = NUMBERS
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        span = range(int(first), int(last or first) + 1)
        left -= len(span) if span.stop <= NUMBERS else NUMBERS
        if span.stop > NUMBERS or left < 0:
            raise ValueError(f"'{part.strip()[:40]}': more than {NUMBERS} numbers, or one above {NUMBERS - 1}")
        numbers |= set(span)
    return numbers
