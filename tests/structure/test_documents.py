# SPDX-License-Identifier: BSD-2-Clause
"""README, STATUS, CONTRIBUTING and docs/: links and commands are real, made pages up to date, words within limits."""

import json
import re
import xml.etree.ElementTree as xml
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import click
import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.cli.documents import __main__ as documents, generated, result, site
from deploy.results import fingerprint
from deploy.tools.abi_reference.headers import Constant
from deploy.tools.abi_reference.page import _split, markdown, sentence
from deploy.tools.abi_reference.reference import generate
from tests.pages.lines import (
    ALL,
    FENCE as LINES_FENCE,
    NAMES,
    OWN,
    PAGES as SHOWN,
    is_usage,
    leaf,
)
from tests.structure.tree import files, read, with_suffix

# ---- README, CONTRIBUTING and docs/: links lead somewhere, commands are real ones, made pages are up to date, the
# site is whole. ----


WRITES = {"-o", "--output", "--json", "--plot", "--flame"}  # options whose file a command makes
FILE = re.compile(r"[\w./+-]+\.(toml|xml|dts|json|c|iso|log|elf|html|svg|png|dtb)")
# Files that readers have; README has none: it can be pasted.
OWN_FILES = {"machine.xml", "epyc.xml", "my-map.dts", "lstopo.xml", "mine.toml", "results.json", "map.dts", "part.c",
             "scale.json", "FILE.json", "mine.c",
             "FILE.dts", "a.json", "b.json", "MAP.dts", "per-socket.log", "spanning.log", "per-socket.iso", "spanning.iso", "x.json"}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_commands(name: str) -> None:
    """every ./skerry command of a page is one that the command line takes, with its options and their values"""
    wrong = []
    for line in ALL:
        if line.page != name or is_usage(line):
            continue
        try:
            path, command, rest = leaf(line.words)
            if isinstance(command, click.Group):  # `./skerry bench --help`, or a family of commands by its name
                assert set(rest) <= {"--help", "--version", "-h"}, f"{path} {rest}: no such command"
            elif rest and not command.context_settings.get("ignore_unknown_options"):
                own = {} if name == "README.md" else OWN
                command.make_context(path,
                                     [own.get(word, word) for word in rest if word not in ("--help", "-h")]).close()
        except (click.ClickException, AssertionError) as error:
            # `./skerry cc`: the command, by its name
            bare = isinstance(error, click.MissingParameter) and name != "README.md"
            if not bare:
                wrong.append(f"{line.text}: "
                             f"{error.format_message() if isinstance(error, click.ClickException) else error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", NAMES)
def test_files(name: str) -> None:
    """every file that a command of a page names is in the tree, or made by a command of that page, or said to be the
    reader's"""
    mine = [line for line in ALL if line.page == name]
    made = {word for line in mine for option, word in zip(line.words, line.words[1:]) if option in WRITES}
    own = set() if name == "README.md" else OWN_FILES | set(OWN)
    named = {word for line in mine if not is_usage(line) for word in line.words if FILE.fullmatch(word)}
    gone = [word for word in sorted(named - made) if word.removeprefix("build/") not in own
            and not (ROOT / word).exists()]
    assert not gone, gone


def test_scripts() -> None:
    """modules that pages run by name are there"""
    wrong = []
    for page in SHOWN:
        for module in re.findall(r"python -m ([\w.]+)", page.read_text()):
            path = ROOT / module.replace(".", "/")
            if not (path / "__main__.py").is_file() and not path.with_suffix(".py").is_file() and module != "pytest":
                wrong.append(f"{page.name}: {module}")
    assert not wrong, wrong


SOURCE = re.compile(r"`([\w./-]+/[\w-]+\.(?:c|h|S|py|toml|dts|build|sh|css|js))(?::\d+)?`")
CALL = re.compile(r"`([a-z]\w*)\(\)`")
# pages say how, or Meson and musl have it
TO_MAKE = {"cluster-kernel/lock/tas.h", "cluster-kernel/lock/NAME.h", "emulator/machines/NAME.toml", "sys/queue.h",
           "sys/mman.h", "subdir()"}


@pytest.mark.parametrize("name", NAMES)
def test_sources(name: str) -> None:
    """every source file and every function that a page names is in the tree"""
    text = LINES_FENCE.sub("", (ROOT / name).read_text())
    paths = [path.as_posix() for path in files()]
    gone = [file for file in SOURCE.findall(text) if not file.startswith("build/")
            and not any(f"/{path}".endswith(f"/{file}") for path in paths)]
    known = {word for path in with_suffix(".c", ".h", ".S", ".py", ".def") for word in words(path)}
    gone += [f"{function}()" for function in CALL.findall(text) if function not in known]
    assert not (gone := sorted(set(gone) - TO_MAKE)), gone


@cache
def words(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"[A-Za-z_]\w*", read(path)))


@pytest.mark.parametrize("name", NAMES)
def test_links(name: str) -> None:
    """every link of a page leads to a file, and to a heading that it has"""
    page, wrong = ROOT / name, []
    for _, _, to, part in site.LINK.findall(LINES_FENCE.sub("", page.read_text())):
        if ":" in to:
            continue
        aim = (page.parent / to).resolve()
        if not aim.exists():
            wrong.append(f"{to}: no such file")
        elif part and aim.suffix == ".md" and part[1:] not in anchors(aim):
            wrong.append(f"{to}{part}: no such heading")
    assert not wrong, wrong


def anchors(page: Path) -> set[str]:
    """Returns the anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", LINES_FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


MADE = documents.made()


@pytest.mark.parametrize("path", MADE, ids=lambda path: path.name)
def test_made(path: Path) -> None:
    """pages and pictures that are made are up to date"""
    text = MADE[path]()
    assert path.is_file() and path.read_text() == text, f"{path.relative_to(ROOT)} is out of date: {documents.COMMAND} writes it anew"
    if path.suffix == ".svg":
        assert xml.fromstring(text).find("{http://www.w3.org/2000/svg}desc") is not None


def test_published_result_is_of_these_images() -> None:
    """the result that README publishes was measured on the images that this tree builds"""
    if not result.same_toolchain():
        pytest.skip(f"another compiler makes other images: {result.known()['toolchain']}, here "
                    f"{fingerprint.toolchain()}")
    why = result.older()
    assert why is None, why


def test_published_result_is_in_readme() -> None:
    """README has the result as a block that is made, of few words, with its intervals and what it depends on"""
    (block,) = [block for block in result.BLOCK.finditer((ROOT / "README.md").read_text()) if block[2] == "readme"]
    words, _, _ = block[3].partition("\n|")
    assert all(len(paragraph.split()) <= result.MOST_WORDS for paragraph in words.split("\n\n")), words
    median, images, prices = result.intervals()
    assert f"{median:.2f} times" in words and "depends on" in words
    assert f"({images} on another image, {prices} at other prices; 95 %)" in words


@pytest.mark.parametrize(("images", "prices", "undecided"), [
    ([1.2, 1.3], [1.1, 1.6], None), ([0.9, 1.3], [1.1, 1.6], "images"), ([1.2, 1.3], [0.9, 1.6], "prices"),
    ([0.9, 1.3], [0.9, 1.6], "images and prices"),
])
def test_headline(images: list[float], prices: list[float], undecided: str | None,
                  monkeypatch: pytest.MonkeyPatch) -> None:
    """the published sentence has the median and both intervals, and says so if 1 is within one of them"""
    spread = dict(zip(("median", "low", "high"), (1.25, *images)))
    ratio = {"metrics": {"ops_per_s": 1.29}, "images": {"ops_per_s": spread},
             "prices": {"ops_per_s": dict(zip(("low", "high"), prices))}}
    monkeypatch.setattr(result, "known", lambda: {"ratios": [ratio], "results": [{"clusters": 2}, {"clusters": 1}]})
    said = result.headline()
    assert said.startswith(
        "Two kernels do 1.25 times the operations per second of one kernel "
        f"({images[0]:.2f} to {images[1]:.2f} on another image, {prices[0]:.2f} to {prices[1]:.2f} at other prices"
    )
    assert said.endswith(f"; undecided, for 1 is within the interval over {undecided}" if undecided else "; 95 %)")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d | {"ratios": [{}, {}]}, "of two layouts"),
        (lambda d: d | {"incomplete": [{"part": "x", "why": "y"}]}, "incomplete"),
        (lambda d: d | {"host": {"environment": {"commit": "abc+"}}}, "differ from a commit"),
        (lambda d: d | {"host": {"environment": {}}}, "differ from a commit"),
        (lambda d: d | {"images": {}}, "which images"),
        (lambda d: d | {"ratios": [{key: value for key, value in d["ratios"][0].items() if key != "prices"}]},
         "over prices"),
        (lambda d: d | {"ratios": [d["ratios"][0] | {"images": {"ops_per_s": {"median": 1.2}}}]}, "over images"),
    ],
)
def test_results_that_cannot_be_cited(change: Callable[[dict[str, Any]], dict[str, Any]], why: str) -> None:
    """results of three layouts, of changed files, in part, without images or without an interval are not published"""
    with pytest.raises(Failure, match=why):
        result.record(change(dict(result.known())))


def test_other_images_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """one image that differs is named, with the command that measures anew"""
    kept = result.known()["images"]
    monkeypatch.setattr(fingerprint, "of_names", lambda names: kept | {"root": "0" * 64})
    assert (older := result.older()) and "(root differs)" in older and result.COMMAND in older
    monkeypatch.setattr(fingerprint, "of_names", lambda names: {})
    assert (older := result.older()) and older.startswith("not built: ")
    monkeypatch.setattr(fingerprint, "of_names", lambda names: kept)
    assert result.older() is None


def test_generated() -> None:
    """the page that names generated pages names each of them once, with the command that writes them"""
    text = (ROOT / "docs/generated.md").read_text()
    assert site.NAMED.findall(text) == [f"{site.GENERATED}/{name}.md" for name in generated.PAGES]
    assert f"`{documents.COMMAND}`" in text and "`./skerry docs`" in text
    kept = [name for name in generated.PAGES if (ROOT / "docs" / site.GENERATED / f"{name}.md").exists()]
    assert not kept, f"generated pages are not kept in docs/: {kept}"


def test_index() -> None:
    """the index has every page of docs/ once, README and its kin, by what a reader wants"""
    groups = site.structure((ROOT / "docs/index.md").read_text())
    assert list(groups) == ["Tutorial", "How to", "Reference", "Explanation"]
    listed = [to for pages in groups.values() for _, to in pages]
    assert len(listed) == len(set(listed))
    there = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")} - {"index.md"}
    assert set(listed) == there | {f"../{name}" for name in site.OUTSIDE}, set(listed) ^ there


def test_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """what the site is made of has no link that leads out of it, and loads nothing from the network"""
    monkeypatch.setattr(site, "STAGE", tmp_path)
    of_tree = {page for page in SHOWN if not page.is_relative_to(ROOT / "examples") and page.parent != generated.FOLDER}
    assert site.stage() == len(of_tree) + len(generated.PAGES)
    config = site._config(tmp_path / "site")
    listed = [to for group in config["nav"][1:] for pages in group.values() for page in pages for to in page.values()]
    assert all((tmp_path / "docs" / to).is_file() for to in listed)
    assert config["theme"]["font"] is False and "offline" in config["plugins"]
    assert (tmp_path / "docs" / site.SHIM).is_file() and config["extra"]["polyfills"] == [site.SHIM]
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "a.html").write_text('<script src="scripts/x.js"></script><a href="https://example.org">')
    assert site._loads_something(bad) == ""
    (bad / "b.html").write_text('<link rel="stylesheet" href="https://example.org/x.css">')
    assert site._loads_something(bad) == "b.html: https://example.org/x.css"
    json.dumps(config)
    for page in (tmp_path / "docs").rglob("*.md"):
        for _, _, to, _ in site.LINK.findall(LINES_FENCE.sub("", page.read_text())):
            assert ":" in to or (page.parent / to).resolve().is_relative_to((tmp_path / "docs").resolve()), f"{page.name}: {to}"
            assert ":" in to or (page.parent / to).exists(), f"{page.name}: {to}"


# ---- The reference of the ABI says what the public headers say ----

def test_page() -> None:
    """every public header is in the reference, with its calls and structures"""
    text = generate()
    assert "| `CNODE_REVOKE` |" in text and "`struct thread_registers`: 160 bytes" in text


def test_comments() -> None:
    """comments become paragraphs, code and cells"""
    raw = "/*\n * One\n * paragraph with a_name.\n *\n *     a table\n *       deeper\n */"
    assert list(markdown(raw)) == ["One paragraph with `a_name`.", "", "```", "a table", "  deeper", "```", ""]
    assert sentence("/* m0 slot,\n\t * m1 rights. */") == "m0 slot, m1 rights."


def test_errors() -> None:
    """a comment can name only errors that exist"""
    constant = Constant("CNODE_MINT", "17", "/* As COPY. Errors: BUSY (why), SLOT_FULL. And so on. */")
    assert _split(constant, {"BUSY", "SLOT_FULL"}) == ("As COPY. And so on.", "BUSY (why), SLOT_FULL")
    with pytest.raises(Failure, match="SLOT_FULL"):
        _split(constant, {"BUSY"})


# ---- Documents: README and STATUS within their limits, all pages within their words, and no sentence in the project's
# own dialect. ----


README_LINES, README_WORDS = 110, 80
CELL_WORDS, FIRST_SCREEN_LINES = 25, 60
ALL_WORDS = 60_000  # of docs/*.md, made pages excepted
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
# A sentence that begins so makes its reader look for the noun: "Of the cluster: that panics". Questions do not.
INVERTED = re.compile(r"(?:^|[.:;] |\*\* |- |\d\. )((?:Of|What|Those|Whose) [^.?:]{12,}[.])")
PAGES = [path for path in files() if path.match("docs/*.md") or path.name == "README.md" and path.parent == Path()]


def paragraphs(text: str) -> list[str]:
    """Prose and list items: without blocks, tables and comments."""
    kept = [part for part in COMMENT.sub("", FENCE.sub("", text)).split("\n\n") if not part.lstrip().startswith("|")]
    return [line.strip() for part in kept for line in re.split(r"\n(?=[-\d])", part) if line.strip()]


def test_readme() -> None:
    """README has at most 110 lines and no paragraph of more than 80 words"""
    text = read(Path("README.md"))
    assert len(text.splitlines()) <= README_LINES
    long = [f"{len(part.split())} words: {part[:60]}" for part in paragraphs(text) if len(part.split()) > README_WORDS]
    assert not long, long


def test_status() -> None:
    """STATUS has cells of at most 25 words, and one screen of what does not work or was never run"""
    text = read(Path("docs/STATUS.md"))
    wide = [cell.strip() for line in text.splitlines() if line.startswith("|") for cell in re.split(r"(?<!\\)\|", line)
            if len(cell.split()) > CELL_WORDS]
    assert not wide, wide
    screen = text[text.index("## What does not work yet") : text.index("## What is promised")]
    assert len(screen.splitlines()) <= FIRST_SCREEN_LINES


def test_words() -> None:
    """the pages of docs/ have at most 60,000 words together, as `wc -w` counts them"""
    words = sum(len(read(path).split()) for path in PAGES if path.match("docs/*.md"))
    assert words <= ALL_WORDS, f"{words} words: say what is, once; history belongs in CHANGELOG.md"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_sentences(page: Path) -> None:
    """no sentence of a page begins with Of, What, Those or Whose"""
    wrong = [match[1][:90] for part in paragraphs(read(page)) for match in INVERTED.finditer(part)]
    assert not wrong, wrong


# ---- The glossary: terms in order, each once, and files and names that there are ----

ROW = re.compile(r"^\| (?P<term>[^|]+) \| (?P<meaning>[^|]+) \| \[`(?P<file>[^`]+)`\]\((?P<link>[^)]+)\) \|$")
LINES = [line for line in (ROOT / "docs/glossary.md").read_text().splitlines() if line.startswith("| ")][1:]
ROWS = [row.groupdict() for line in LINES if (row := ROW.match(line))]
# regimes and images, not names of the code
NAMED = ("none", "clh", "ticket", "mcs", "fine", "dynamic", "rtm", "+stat", "+debug")


def test_order() -> None:
    """terms are sorted and unique, each with a meaning of one or two sentences"""
    terms = [row["term"].lower() for row in ROWS]
    assert len(ROWS) == len(LINES) >= 60, set(LINES) - {line for line in LINES if ROW.match(line)}
    assert terms == sorted(set(terms))
    for row in ROWS:
        assert row["meaning"].endswith((".", "`")) and row["meaning"].count(". ") <= 2, row["term"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["term"])
def test_file(row: dict[str, str]) -> None:
    """the file of a term is there, and has the names that its meaning mentions"""
    assert row["link"] == "../" + row["file"]
    path = ROOT / row["file"]
    assert path.is_file()
    text = path.read_text()
    for name in re.findall(r"`([a-zA-Z_]+)`", row["meaning"]):
        if name not in NAMED and Path(row["file"]).suffix in (".c", ".h"):
            assert re.search(rf"\b{name}\b", text), f"{row['file']} has no {name}"
