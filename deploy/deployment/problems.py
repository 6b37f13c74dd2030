# SPDX-License-Identifier: BSD-2-Clause
"""Words an error in a file as one line: where it is, what was found, what was expected, which name is near."""

import difflib
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from deploy.deployment.places import Path, Places
from deploy.deployment.schema import File
from topology.errors import InputError

LONGEST = 60  # characters of a value that are repeated
SYNONYMS = {  # what others call a key
    "forward": "ports", "environment": "env", "volumes": "files", "working-dir": "cwd", "working_dir": "cwd",
    "workdir": "cwd", "user": "uid",
}  # fmt: skip


FORMER = {"patience": "failure-timeout"}  # names of the version before, which files may still have


@cache
def schema() -> dict[str, Any]:
    return File.model_json_schema(by_alias=True)


def first(error: ValidationError, data: Mapping[str, Any], places: Places) -> InputError:
    """The problem that stands first in the file."""
    details: dict[Path, ErrorDetails] = {}
    for detail in error.errors(include_url=False):
        details.setdefault(_path(detail, data), detail)
    outer = {path[:length] for path in details for length in range(len(path))}  # branches of a union that did not fit
    details = {path: detail for path, detail in details.items() if path not in outer or detail["type"] == "skerry"}
    path, detail = min(details.items(), key=lambda item: places.line(item[0]))
    return InputError(_table(path, detail), at=path, place=places.place(path), others=len(details) - 1,
                      **_say(detail, path, data))


def _path(detail: ErrorDetails, data: Any) -> Path:
    """Returns where the problem is in the file: pydantic's location without the names of a union's branches."""
    path: Path = ()
    here = data
    for step in detail["loc"]:
        if isinstance(here, Mapping) and step in here:
            here = here[step]
        elif isinstance(here, list) and isinstance(step, int):
            here = here[step]
        else:
            continue
        path += (step,)
    return path + tuple(detail.get("ctx", {}).get("at", ()))


def _table(path: Path, detail: ErrorDetails) -> str:
    """`[redis] heap`, `[[program]] cpu`; of an unknown key the table that has it."""
    within = len(path) > 1
    if detail["type"] == "extra_forbidden":
        path = path[:-1]
    kinds = schema()["properties"]
    tables = {key for key, value in kinds.items()
              if (table_of(value) if within else _resolve(value).get("type") == "object")}
    if not path:
        return "the file"
    if path[0] == "program" and len(path) > 1:
        return " ".join(["[[program]]", *_words(path[2:])])
    if path[0] in tables:
        return " ".join([f"[{path[0]}]", *_words(path[1:])])
    return " ".join(_words(path))


def _words(path: Path) -> list[str]:
    return [".".join(str(part) for part in path if isinstance(part, str))] if path else []


def _say(detail: ErrorDetails, path: Path, data: Any) -> dict[str, Any]:
    """The members of an InputError."""
    kind = detail["type"]
    if kind == "skerry":
        return {"problem": str(detail["ctx"]["text"])}
    if kind == "missing":
        return {"problem": f"has no '{detail['loc'][-1]}'"}
    value = _at(data, path)
    if kind == "extra_forbidden":
        return _unknown(str(path[-1]), path[:-1], value)
    schema_here = form(path)
    if path[:1] == ("program",) and len(path) < 3:
        is_table = isinstance(value, Mapping)
        return {"problem": f"{'is a table' if is_table else f'{show(value)} is no table'}; write [[program]] and its "
                f"keys below"}
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value) and table_of(schema_here):
        return {"problem": f"is a list of tables; write [{path[-1]}]"}
    if schema_here.get("type") == "object":
        return {"found": show(value), "expected": f"a table; write [{path[-1]}] and its keys below"}
    near = nearest(value, _choices(schema_here)) if isinstance(value, str) else None
    return {"found": show(value), "expected": expected(schema_here), **({"nearest": f"'{near}'"} if near else {})}


def _unknown(key: str, table: Path, value: Any) -> dict[str, str]:
    here = table_of(form(table)).get("properties", {})
    if not table and isinstance(value, (Mapping, list)):
        tables = {name: _header(name) for name, kind in here.items() if _fields(kind)}
        near = tables.get(nearest(key, tables) or "")
        text = f"unknown table {show(key)}"
        return {"problem": text,
                "nearest": near} if near else {"problem": f"{text}; there are {', '.join(tables.values())}"}
    text = f"unknown key {show(key)}"
    if near := SYNONYMS.get(key) if SYNONYMS.get(key) in here else nearest(key.replace("_", "-"), here):
        return {"problem": text, "nearest": f"'{near}'"}
    homes = [name for name, value in schema()["properties"].items() if key in _fields(value)]
    if not table and key in schema()["properties"]:
        homes = []
    top = ["at the top of the file, before any table"] if table and key in schema()["properties"] else []
    if top or homes:
        inside = [f"in {_join([_header(name) for name in homes], 'or')}"] if homes else []
        return {"problem": f"{text}; it belongs {_join(top + inside, 'or')}"}
    return {"problem": f"{text}; there are {', '.join(here)}" if here else text}


def _fields(form: Mapping[str, Any]) -> Mapping[str, Any]:
    form = _resolve(form)
    items = _resolve(form.get("items", {}))
    fields: Mapping[str, Any] = items.get("properties") or table_of(form).get("properties", {})
    return fields


def _header(name: str) -> str:
    return "[[program]]" if name == "program" else f"[{name}]"


def nearest(word: str, choices: Sequence[str] | Mapping[str, Any]) -> str | None:
    close = difflib.get_close_matches(word.lower(), list(choices), n=1)
    longer = [choice for choice in choices if len(word) > 2 and choice.startswith(word.lower())]
    return close[0] if close else longer[0] if longer else None


def _at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def show(value: Any) -> str:
    """A value as somebody would know it again."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    if isinstance(value, int) and abs(value) >= 10**LONGEST:
        return "a number of more digits than that"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _resolve(form: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the schema with its reference followed, and without `null`, which no TOML file can express."""
    if "$ref" in form:
        return _resolve(schema()["$defs"][form["$ref"].rpartition("/")[2]])
    if "anyOf" in form:
        some = [branch for branch in form["anyOf"] if branch.get("type") != "null"]
        if len(some) == 1 and "x-expected" not in form:
            return _resolve(some[0])
    return form


def table_of(form: Mapping[str, Any]) -> Mapping[str, Any]:
    """The table among what it may be; empty if there is none."""
    form = _resolve(form)
    branches = (_resolve(branch) for branch in (form, *form.get("anyOf", ())))
    return next((branch for branch in branches if branch.get("type") == "object"), {})


def form(path: Path) -> Mapping[str, Any]:
    """The schema of what stands at a path."""
    here = _resolve(schema())
    for step in path:
        if type(step) is int:
            here = next((b["items"] for b in (here, *here.get("anyOf", ())) if "items" in b), {})
        else:
            here = table_of(here).get("properties", {}).get(FORMER.get(str(step), step), {})
        here = _resolve(here)
    return here


def _choices(form: Mapping[str, Any]) -> list[str]:
    choices = [*form.get("enum", ()), *([form["const"]] if "const" in form else [])]
    return choices + [choice for branch in form.get("anyOf", ()) for choice in _choices(branch)]


def expected(form: Mapping[str, Any]) -> str:
    """Returns in words what a schema accepts."""
    form = _resolve(form)
    if "x-expected" in form:
        return str(form["x-expected"])
    if "anyOf" in form:
        return _join([expected(branch) for branch in form["anyOf"]], "or")
    if choices := _choices(form):
        return f"one of {', '.join(choices)}" if len(choices) > 1 else f"'{choices[0]}'"
    if form.get("type") == "integer":
        step = f" that {form['multipleOf']} divides" if "multipleOf" in form else ""
        return f"a number from {form['minimum']} to {form['maximum']}{step}"
    if form.get("type") == "array":
        return f"a list of {_plural(_resolve(form['items']))}"
    if form.get("type") == "object":
        return "a table"
    if form.get("type") == "boolean":
        return "true or false"
    return "a string"


def _plural(form: Mapping[str, Any]) -> str:
    if "x-plural" in form:
        return str(form["x-plural"])
    if choices := _choices(form):
        return f"{', '.join(choices)}"
    if form.get("type") == "integer":
        return f"numbers from {form['minimum']} to {form['maximum']}"
    return {"string": "strings", "object": "tables"}[str(form.get("type"))]


def _join(parts: Sequence[str], word: str) -> str:
    return f" {word} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
