# SPDX-License-Identifier: BSD-2-Clause
"""The command line: how a command ends, its help, completion by the shells that are here, the manual page."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated

import click
import pytest
import typer
from click.shell_completion import get_completion_class
from typer.testing import CliRunner

from deploy.base import terminal
from deploy.base.choices import option as choices_option
from deploy.base.paths import ROOT
from deploy.base.version import version
from deploy.cli import main as cli_main, man as cli_man
from deploy.cli.completion import NAME, SHELLS, VARIABLE, script, write
from deploy.cli.help import EXAMPLES, FIRST, GROUPS, SUMMARIES
from deploy.cli.main import COMMANDS, main, make_app
from deploy.cli.options import takes
from deploy.cli.write_completion import write_all
from deploy.setup import bootstrap, tab
from topology.errors import InputError

# ---- Tests how a command ends, whichever it is. ----


man = import_module("deploy.cli.commands.project.man")


class Full(io.StringIO):
    """A file on a disk that is full."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("words", [["topology"], ["topology", "-f", "dts"], ["topology", "--json", "-"],
                                   ["completion", "fish"]])
def test_a_full_disk_is_one_line(words: list[str], monkeypatch: pytest.MonkeyPatch,
                                 capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdout", Full())
    assert main(words) == 1
    assert capsys.readouterr().err == "skerry: cannot write: no space left on device\n"


def test_a_full_disk_names_the_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """an error that comes when the file is open already has no name of its own"""
    assert Path("/dev/full").exists()
    monkeypatch.setattr(man, "PAGE", Path("/dev/full"))
    assert main(["man"]) == 1
    assert capsys.readouterr().err == "skerry: cannot write /dev/full: no space left on device\n"


def test_a_file_in_the_place_of_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
                                         capsys: pytest.CaptureFixture[str]) -> None:
    """is one line that names it"""
    path = tmp_path / "folder"
    path.touch()
    monkeypatch.setattr(man, "PAGE", path / "skerry.1")
    monkeypatch.setattr(man, "write_text", lambda page, text: page.parent.mkdir(exist_ok=True))
    assert main(["man"]) == 1
    assert capsys.readouterr().err.endswith(f"skerry: cannot write {path}: file exists\n")


@pytest.mark.parametrize(
    "words, near",
    [(["tpology"], "'topology'"), (["topology", "--layuot", "x"], "'--layout'"), (["bench", "scal"], "'scale'")],
)
def test_what_was_meant_is_named(words: list[str], near: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert near in said and said.count("\n") == 1


def test_an_interrupt_is_one_line_and_status_130(monkeypatch: pytest.MonkeyPatch,
                                                 capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*rest: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("deploy.cli.completion.script", interrupted)
    assert main(["completion", "bash"]) == 130
    assert capsys.readouterr().err == "skerry: interrupted\n"


@dataclass(frozen=True)
class Sizes:
    cores: Annotated[int, choices_option("--cores -c NUMBER OF THEM", "Cores.", 1, most=4)]
    quick: Annotated[bool, choices_option("--quick", "Soon.")] = False


def test_options_of_a_dataclass() -> None:
    """a command of one argument has its fields as options, with their defaults and help"""
    seen: list[Sizes] = []

    @takes(Sizes)
    def sizes(args: Sizes) -> None:
        """Says sizes."""
        seen.append(args)

    app = typer.Typer(add_completion=False)  # otherwise Typer changes how every shell completes
    app.command()(sizes)
    runner = CliRunner()
    assert runner.invoke(app, ["-c", "3"]).exit_code == 0 and seen == [Sizes(3)]
    assert all(runner.invoke(app, words).exit_code == 2 for words in ([], ["-c", "0"], ["--cores", "5"]))
    assert all(text in runner.invoke(app, ["--help"]).output for text in ("NUMBER OF THEM", "Cores.", "Soon."))


# ---- Every command explains itself, and what it finds is JSON, too. ----


PAGE = (ROOT / "docs/json.md").read_text()
WITHOUT_RESULTS = {"console", "completion", "man", "cc"}
TOP = typer.main.get_command(cli_main.make_app())


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
    assert "...\n" not in page.partition("Commands:")[2] and set(SUMMARIES) == set(cli_main.COMMANDS)
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
        assert cli_main.main([*line.split(), *more]) == 0
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
    assert cli_main.main([*line.split(), "--json", str(path)]) == 0
    capsys.readouterr()
    assert cli_main.main([*line.split(), "--json", "-"]) == 0

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


# ---- Shell completion, by the shells that are here: their own completion functions ask the real launcher. ----


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


# ---- skerry(1): whole, valid for groff and mandoc, and of this version. ----


MANUAL = cli_man.page(TOP)
MACROS = {"TH", "SH", "SS", "PP", "TP", "B", "BI", "BR", "I", "IR", "RI", "RS", "RE", "nf", "fi", "br", '\\"'}
# Programs that may judge the page, where it is installed; each is silent about a good one.
JUDGES = (["groff", "-man", "-Tutf8", "-ww", "-z"], ["man", "--warnings", "-l"],
          ["mandoc", "-T", "lint", "-W", "warning"])


def test_whole() -> None:
    """every command, argument and option is in the manual page"""
    for name, command in cli_man.commands(TOP):
        start = MANUAL.index(f".SS {cli_man.escaped(name)} ")
        section = MANUAL[start : MANUAL.find("\n.S", start + 1)]
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or cli_man.escaped(option) in section, f"{name} {option}"


def test_requests() -> None:
    """each line is text or a macro of groff_man(7), escapes are known, and what is opened is closed"""
    for line in MANUAL.splitlines():
        assert line, "an empty line is no paragraph"
        if line.startswith("."):
            assert line[1:].split()[0] in MACROS, line
        assert set(re.findall(r"\\(.)", line)) <= set('e-&"f'), line
    assert MANUAL.count("\n.nf\n") == MANUAL.count("\n.fi\n") and MANUAL.count("\n.RS") == MANUAL.count("\n.RE")
    assert re.search(r"^\.TP\n(?!\.B )", MANUAL, re.MULTILINE) is None  # a tag stands behind each
    headings = re.findall(r"^\.SH (.*)", MANUAL, re.MULTILINE)
    assert headings == ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "EXIT STATUS", "FILES", "SEE ALSO"]


def test_escapes() -> None:
    """text that looks like a request is text"""
    assert cli_man.escaped(".SH a-b\\c\n'x") == "\\&.SH a\\-b\\ec\n\\&'x"


def test_judged(tmp_path: Path) -> None:
    """programs that show manual pages have no complaint"""
    page = tmp_path / "skerry.1"
    assert cli_main.main(["man", "-o", str(page)]) == 0 and page.read_text() == MANUAL
    for judge in JUDGES:
        if shutil.which(judge[0]):
            done = subprocess.run([*judge, str(page)], capture_output=True, text=True)
            said = done.stderr + (done.stdout if judge[0] == "mandoc" else "")
            assert (done.returncode, said) == (0, ""), judge


def test_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """each command has a page of its own, with its options; all go into a folder; a command that is none is refused"""
    assert cli_main.main(["man", "-o", str(tmp_path)]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"skerry.1"} | {f"skerry-{name.replace(' ', '-')}.1" for name, _ in cli_man.commands(TOP)}
    assert cli_main.main(["man", "bench", "ipc"]) == 0
    text = capsys.readouterr().out
    assert (
        text == (tmp_path / "skerry-bench-ipc.1").read_text() and r"\-\-icount" in text
        and ".TH SKERRY\\-BENCH\\-IPC 1" in text
    )
    for judge in JUDGES[:1]:
        if shutil.which(judge[0]):
            paths = sorted(map(str, tmp_path.iterdir()))
            done = subprocess.run([*judge, *paths], capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, "")
    assert cli_main.main(["man", "fly"]) == 2 and "fly: is no command" in capsys.readouterr().err


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """the page tells this version and the day of its release; without a terminal its source is printed"""
    assert cli_main.main(["man"]) == 0
    assert capsys.readouterr().out == MANUAL
    assert f'.TH SKERRY 1 "{cli_man.released()}" "Skerry {version()}"' in MANUAL and cli_man.released()


def test_see_also() -> None:
    """pages that the manual page refers to are there"""
    assert all((ROOT / name).is_file() for name in cli_man.PAGES)


def test_completed() -> None:
    """a shell completes the command"""
    assert "man" in ask("bash", ["ma"])
