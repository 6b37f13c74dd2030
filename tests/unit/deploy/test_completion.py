# SPDX-License-Identifier: BSD-2-Clause
"""Shell completion, by the shells that are here: their own completion functions ask the real launcher."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer
from click.shell_completion import get_completion_class

from deploy.base.paths import ROOT
from deploy.cli.completion import NAME, SHELLS, VARIABLE, script, write
from deploy.cli.main import COMMANDS, main, make_app
from deploy.cli.write_completion import write_all
from deploy.setup import bootstrap, tab

LAUNCHER = str(ROOT / "skerry")

# How each shell is made to complete the words "…/skerry …", one candidate a line; files are the shell's own business.
ASK = {
    "bash": "{script}\nCOMP_WORDS=({words}); COMP_CWORD={place}; _skerry_completion {launcher}; printf '%s\\n' "
    "\"${{COMPREPLY[@]}}\"",
    "zsh": "compdef() {{ }}\n_describe() {{ print -l ${{completions_with_descriptions%%:*}}; }}\ncompadd() {{ print -l "
    "$completions; }}\n"
    "{script}\nwords=({words}); CURRENT={place}+1; _skerry_completion",
    "fish": "{script}\ncomplete -C {line} | string split -f 1 \\t",
}
OPTIONS = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}


def ask(shell: str, words: list[str]) -> list[str]:
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here; this installs it: sudo apt-get install {shell}")
    line = [LAUNCHER, *words]
    text = ASK[shell].format(
        script=script(typer.main.get_command(make_app()), shell),
        words=shlex.join(line), place=len(words), launcher=LAUNCHER, line=shlex.quote(" ".join(line)),
    )  # fmt: skip
    done = subprocess.run([shell, *OPTIONS[shell], "-c", text], capture_output=True, text=True, cwd="/",
                          env={**os.environ, "HOME": "/nonexistent"})  # fmt: skip
    return [word for word in done.stdout.splitlines() if word]


@pytest.mark.parametrize("shell", SHELLS)
def test_commands(shell: str) -> None:
    """a shell completes commands"""
    assert set(ask(shell, ["co"])) == {name for name in COMMANDS if name.startswith("co")}


def test_options() -> None:
    """a shell completes options and their values"""
    assert ask("bash", ["compare", "--bas"]) == ["--baseline"]
    assert ask("bash", ["run", "--layout", "per-"]) == ["per-socket", "per-l3", "per-numa"]


def leaves(command: click.Command) -> list[click.Command]:
    inside = command.commands.values() if isinstance(command, click.Group) else ()
    return [leaf for one in inside for leaf in leaves(one)] or [command]


def test_files() -> None:
    """wherever a file may be named, the shell is told to complete files"""
    found = 0
    for command in leaves(typer.main.get_command(make_app())):
        context = click.Context(command)
        for parameter in command.params:
            if isinstance(parameter.type, click.Path) or "FILE" in (parameter.metavar or ""):
                items = parameter.shell_complete(context, "./x")
                assert [(item.type, item.value)
                        for item in items] == [("file", "./x")], f"{command.name} {parameter.name}"
                found += 1
    assert found > 30
    assert ask("bash", ["topology", "--from", "l"]) == ["live"]


def test_another_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == "skerry: 'tcsh': not one of bash, zsh, fish\n"


def lines(command: click.Command, path: list[str]) -> Iterator[tuple[list[str], str]]:
    """Yields what somebody may have typed of a command: whole words, and the beginning of one."""
    yield path[:-1], path[-1][:2]
    for typed in ("", "-", "--", "--q", "per-", "nothing-like-it", "/tmp/x"):
        yield path, typed
        yield [*path, "a.toml"], typed
        yield [*path, "--quiet", "a.toml", "b"], typed
    for option in command.params:
        if isinstance(option, click.Option):
            for name in option.opts:
                yield path, name
                yield [*path, name], ""
                yield [*path, name], "c"
                yield [*path, name, "x"], "--"
                yield path, f"{name}="
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from lines(inner, [*path, name])


@pytest.mark.limit(240)
def test_as_click(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a TAB that is answered from what is written down is answered as by click, for every command, option and shell"""
    monkeypatch.setattr(tab, "FOLDER", tmp_path)
    app = typer.main.get_command(make_app())
    assert isinstance(app, click.Group)
    shells = {}
    for shell in SHELLS:
        kind = get_completion_class(shell)
        assert kind
        shells[shell] = kind(app, {}, NAME, VARIABLE)
    seen = left = 0
    for name, command in app.commands.items():
        write(app, name)
        node = tab.load(name)
        assert node
        for args, typed in lines(command, [name]):
            if tab.called(args) != name:
                continue
            found = tab.completions(node, args, typed)
            if found is None:
                left += 1
                continue
            seen += 1
            items = shells["bash"].get_completions(list(args), typed)
            for shell in SHELLS:
                assert [tab.shown(shell, item) for item in found] == [shells[shell].format_completion(item)
                                                                      for item in items], (args, typed)
    assert seen > 2000 and left * 10 < seen, (seen, left)


def test_stale(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """what is written down of other sources is not used, nor what is broken"""
    monkeypatch.setattr(tab, "FOLDER", tmp_path)
    write(typer.main.get_command(make_app("run")), "run")
    assert tab.load("run") and tab.load("compare") is None
    (tmp_path / "compare.json").write_text("{")
    assert tab.load("compare") is None
    now = tab.stamp()
    monkeypatch.setattr(tab, "stamp", lambda: [now[0] + 1, now[1]])
    assert tab.load("run") is None


def test_written_at_set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """what a set-up writes down answers the first TAB behind every command"""
    monkeypatch.setattr(tab, "FOLDER", tmp_path)
    monkeypatch.setenv("COMP_CWORD", "2")
    write_all()
    for name in COMMANDS:
        monkeypatch.setenv("COMP_WORDS", f"skerry {name} --he")
        assert tab.answer("bash_complete") == "plain,--help", name
    monkeypatch.setenv("COMP_CWORD", "1")
    monkeypatch.setenv("COMP_WORDS", "skerry topo")
    assert tab.answer("bash_complete") == "plain,topology"
    kind = get_completion_class("bash")
    assert kind
    click_answers = kind(typer.main.get_command(make_app()), {}, NAME, VARIABLE)
    for words, place in (("skerry nothing-like-it co", 2), ("skerry nothing-like-it topology ", 3),
                         ("skerry nothing-like-it --", 2)):
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(place))
        items = click_answers.get_completions(*click_answers.get_completion_args())
        assert tab.answer("bash_complete") == "\n".join(map(click_answers.format_completion, items)), words


def test_tab_is_quick() -> None:
    """the first TAB loads few modules, none of the command line's"""
    (tab.FOLDER / "skerry.json").unlink(missing_ok=True)  # as after an update of the sources
    subprocess.run([LAUNCHER, "completion", "bash"], capture_output=True, check=True)
    asks = {**os.environ, VARIABLE: "bash_complete", "COMP_WORDS": "skerry run --la", "COMP_CWORD": "2",
            "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run([LAUNCHER], env=asks, capture_output=True, text=True, check=True)
    assert done.stdout == "plain,--layout\n"
    loaded = [line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")]
    assert not {"click", "typer", "rich", "deploy.cli.main", "asyncio",
                "subprocess"} & set(loaded) and len(loaded) < 150, loaded


def test_tab_sets_nothing_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                             capfd: pytest.CaptureFixture[str]) -> None:
    """a TAB in a tree without the Python tools ends at once and silently"""
    monkeypatch.setenv(VARIABLE, "bash_complete")
    monkeypatch.setattr(bootstrap, "STAMP", tmp_path / "none")
    monkeypatch.setattr(bootstrap, "make_venv", lambda: pytest.fail("it makes them"))
    assert bootstrap.set_up() == 1
    assert capfd.readouterr() == ("", "")
