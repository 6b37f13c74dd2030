# SPDX-License-Identifier: BSD-2-Clause
"""Every command explains itself, and what it finds is JSON, too."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer

from deploy.base import terminal
from deploy.base.paths import ROOT
from deploy.cli import main
from deploy.cli.help import EXAMPLES, FIRST, GROUPS, SUMMARIES
from topology.errors import InputError

PAGE = (ROOT / "docs/json.md").read_text()
WITHOUT_RESULTS = {"console", "completion", "man", "cc"}
TOP = typer.main.get_command(main.make_app())


def commands(group: click.Command = TOP, name: str = "") -> Iterator[tuple[str, click.Command]]:
    if isinstance(group, click.Group):
        for word, inner in group.commands.items():
            yield from commands(inner, f"{name} {word}".strip())
    else:
        yield name, group


ALL = dict(commands())


@pytest.mark.parametrize("name", ALL)
def test_help(name: str) -> None:
    """a command, its arguments and its options are explained on a page of 80 columns"""
    command = ALL[name]
    assert command.help
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name}: {parameter.name} is not explained"
    page = command.get_help(click.Context(command, info_name=f"skerry {name}", terminal_width=80))
    assert all(len(line) <= 80 for line in page.splitlines())
    assert "INTEGER" not in page and "TEXT " not in page.replace("--title TEXT", "")


@pytest.mark.parametrize("name", ["run", "compare"])
def test_groups(name: str) -> None:
    """many options stand in groups; few in one list"""
    page = ALL[name].get_help(click.Context(ALL[name], info_name=f"skerry {name}", terminal_width=80))
    heads = re.findall(r"^(\S.*):$", page, re.MULTILINE)
    assert heads == [head for head in ("Arguments", FIRST, *GROUPS) if head in heads] and {"Machine", "Emulator",
        "Output"} <= {*heads}
    for parameter in (p for p in ALL[name].params if p.param_type_name == "option"):
        assert parameter.opts[0] in page
    few = ALL["doctor"].get_help(click.Context(ALL["doctor"], info_name="skerry doctor", terminal_width=80))
    assert "\nOptions:\n" in few and "\nOutput:\n" not in few


def test_list() -> None:
    """the list of commands has whole lines"""
    page = TOP.get_help(click.Context(TOP, info_name="skerry", terminal_width=80))
    assert "...\n" not in page.partition("Commands:")[2] and set(SUMMARIES) == set(main.COMMANDS)
    assert all(re.search(rf"^  {name} +{re.escape(said)}$", page, re.MULTILINE) for name, said in SUMMARIES.items())


@pytest.mark.parametrize("name", ["bench", "model"])
def test_inner_lists(name: str) -> None:
    """and so have those of commands with commands"""
    group = TOP.commands[name]  # type: ignore[attr-defined]
    page = group.get_help(click.Context(group, info_name=f"skerry {name}", terminal_width=80))
    assert "...\n" not in page.partition("Commands:")[2], page


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines])
def test_examples(line: str) -> None:
    """an example is for the command whose help it is in, whose options it uses"""
    words = shlex.split(line)
    name = max((name for name in ALL if words[: len(name.split())] == name.split()), key=len)
    assert line in EXAMPLES[name]
    ALL[name].make_context(name, words[len(name.split()) :]).close()
    for word in words:
        assert not word.startswith("deploy/deployments/") or (ROOT / word).is_file()


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_json(name: str) -> None:
    """--json is an option of every command with results, and its page says what they are"""
    has = any("--json" in parameter.opts for parameter in ALL[name].params)
    assert has != (name in WITHOUT_RESULTS)
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("name", ALL)
def test_every_command_has_quiet(name: str) -> None:
    """--quiet is an option of every command, so that a script can give it to any"""
    assert any({"--quiet", "-q"} <= {*parameter.opts} for parameter in ALL[name].params)


@pytest.mark.parametrize("line", ["topology", "topology --format dts", "man bench ipc", "completion bash",
                                  "plan --rate 1000 --ghz 2"])
def test_quiet_keeps_results(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--quiet drops progress: the result is the same, and nothing is on standard error"""
    found = []
    for more in ([], ["--quiet"]):
        assert main.main([*line.split(), *more]) == 0
        found.append(capsys.readouterr())
    assert found[0].out == found[1].out and found[1].out and not found[1].err


@pytest.mark.parametrize(
    "line",
    ["topology --layout size=1", "model predict --cores 1,2 --delay 4000",
     "plan --sockets 2 --cores 4 --rate 1000 --ghz 2",
     "model simulate --cores 2 --delay 4000 --entries 1000"],
)  # fmt: skip
def test_json(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a document is JSON as the standard has it, with the keys that the page names, in a file or alone on standard
    output"""
    path = tmp_path / "results.json"
    assert main.main([*line.split(), "--json", str(path)]) == 0
    capsys.readouterr()
    assert main.main([*line.split(), "--json", "-"]) == 0

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    alone = json.loads(capsys.readouterr().out, parse_constant=refuse)
    written = json.loads(path.read_text(), parse_constant=refuse)
    for document in (alone, written):
        document.pop("arguments", None)
    assert alone == written and written["command"] in (line.split()[0], " ".join(line.split()[:2]))
    (row,) = [row for row in PAGE.splitlines() if row.startswith("| ")
              and f"`{written['command']}`" in row.split("|")[1]]
    assert all(f"`{key}`" in row for key in written if key not in ("skerry", "command")), row


def test_what_is_no_number() -> None:
    """infinity and what is no number become null"""
    assert terminal.finite({"a": [float("inf"), float("nan"), 1.5, (2, float("-inf"))], "b": "inf"}) == {
        "a": [None, None, 1.5, [2, None]], "b": "inf",
    }  # fmt: skip


@pytest.mark.parametrize("target, said",
                         [(".", "is a folder"), ("gone/x.json", "no such folder"), ("x" * 300, "file name too long"),
                          ("loop/x", "")])
def test_targets(target: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """what cannot be written is refused before there is anything to write"""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match=f"--json.*{said}"):
        terminal.Output(json_to=target)
