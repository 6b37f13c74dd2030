# SPDX-License-Identifier: BSD-2-Clause
"""The static site: docs/ as it stands, with README and others beside it, in the order of docs/index.md."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from deploy.base.errors import Failure
from deploy.base.paths import BUILD, LOGS, ROOT
from deploy.cli.documents import generated

HERE = Path(__file__).parent
SHIM, STYLE = "scripts/iframe-worker.js", "styles/site.css"
STAGE = BUILD / "site-source"
GENERATED = "generated"  # the folder of pages that are not in git; docs/generated.md names them for readers
NAMED = re.compile(rf"`({GENERATED}/[\w-]+\.md)`")
OUTSIDE = {  # pages not in docs/
    "README.md": "readme.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "vulnerabilities.md",
    "CHANGELOG.md": "changelog.md",
}  # fmt: skip
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
ITEM = re.compile(r"^- \[([^\]]+)\]\(([^)#]+)\)")
THEME = {
    "name": "material", "font": False, "language": "en",
    "features": ["navigation.indexes", "navigation.top", "search.highlight", "content.code.copy", "toc.follow"],
    "palette": [
        {"media": "(prefers-color-scheme: light)", "scheme": "default",
         "toggle": {"icon": "material/weather-night", "name": "Dark"}},
        {"media": "(prefers-color-scheme: dark)", "scheme": "slate",
         "toggle": {"icon": "material/weather-sunny", "name": "Light"}},
    ],
}  # fmt: skip


def structure(index: str) -> dict[str, list[tuple[str, str]]]:
    """Titles and pages by heading, of docs/index.md."""
    groups: dict[str, list[tuple[str, str]]] = {}
    heading = ""
    for line in index.splitlines():
        if line.startswith("## "):
            heading = line[3:].strip()
        elif item := ITEM.match(line):
            groups.setdefault(heading, []).append((item[1], item[2]))
    return groups


def make(folder: Path) -> int:
    """The number of pages."""
    pages = stage()
    config = STAGE / "mkdocs.json"  # which is YAML, too
    config.write_text(json.dumps(_config(folder), indent=1))
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "docs.log"
    with log.open("w") as file:
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--config-file", str(config)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    if done.returncode == 0 and (page := _loads_something(folder)):
        raise Failure(f"the site loads something from the network: {page}")
    if done.returncode:
        last = [line for line in log.read_text().splitlines() if line.strip()][-1:]
        raise Failure(f"the site could not be made: {''.join(last)} (all of it: {log})")
    return pages


def _loads_something(folder: Path) -> str:
    """A page whose scripts, styles or pictures are not its own; nothing where all are."""
    loads = re.compile(
        r"""<(?:script|img|iframe)[^>]*\bsrc=["']?(https?:[^"'> ]+)"""
        r"""|<link[^>]*rel=["']?(?:stylesheet|preconnect)[^>]*href=["']?(https?:[^"'> ]+)"""
    )
    for page in sorted(folder.rglob("*.html")):
        if match := loads.search(page.read_text()):
            return f"{page.name}: {match[1] or match[2]}"
    return ""


def stage() -> int:
    """A copy of all pages, with links that lead out of docs/ led to their copies, or taken away."""
    shutil.rmtree(STAGE, ignore_errors=True)
    target = STAGE / "docs"
    shutil.copytree(ROOT / "docs", target)
    generated.write(target / GENERATED)
    for own in (SHIM, STYLE):
        (target / own).parent.mkdir()
        shutil.copy(HERE / Path(own).name, target / own)
    for name, copy in OUTSIDE.items():
        (target / copy).write_text((ROOT / name).read_text())
    pages = sorted(target.rglob("*.md"))
    for page in pages:
        source = next((ROOT / name for name, copy in OUTSIDE.items() if copy == page.name and page.parent == target),
                      None)
        source = source or ROOT / "docs" / page.relative_to(target)
        page.write_text(_linked(page.read_text(), source))
    listed = target / f"{GENERATED}.md"
    listed.write_text(NAMED.sub(r"[\1](\1)", listed.read_text()))
    return len(pages)


def _linked(text: str, source: Path) -> str:
    """The page's text as it stands in the stage."""
    here = source.parent.relative_to(ROOT / "docs") if source.parent.is_relative_to(ROOT / "docs") else Path()

    def link(match: re.Match[str]) -> str:
        mark, words, to, part = match[1], match[2], match[3], match[4] or ""
        if ":" in to:
            return match[0]
        aim = (source.parent / to).resolve()
        up = "../" * len(here.parts)
        if aim.is_relative_to(ROOT / "docs"):
            return f"{mark}[{words}]({up}{aim.relative_to(ROOT / 'docs').as_posix()}{part})"
        name = aim.relative_to(ROOT).as_posix() if aim.is_relative_to(ROOT) else ""
        return f"{mark}[{words}]({up}{OUTSIDE[name]}{part})" if name in OUTSIDE else words

    parts = re.split(r"(^```.*?^```)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def _title(page: Path) -> str:
    return next(line.removeprefix("# ") for line in page.read_text().splitlines() if line.startswith("# "))


def _config(folder: Path) -> dict[str, Any]:
    groups = structure((ROOT / "docs" / "index.md").read_text())
    nav: list[dict[str, Any]] = [{"All documents": "index.md"}]
    for heading, pages in groups.items():
        nav.append({heading: [{title: OUTSIDE.get(to.removeprefix("../"), to)} for title, to in pages]})
        if any(to == f"{GENERATED}.md" for _, to in pages):
            made = (f"{GENERATED}/{name}.md" for name in generated.PAGES)
            nav[-1][heading] += [{_title(STAGE / "docs" / page): page} for page in made]
    return {
        "site_name": "Skerry",
        "site_dir": str(folder),
        "docs_dir": str(STAGE / "docs"),
        "use_directory_urls": False,  # links work from files
        "theme": THEME,
        "plugins": ["search", "offline"],
        "extra_css": [STYLE],
        "extra": {"polyfills": [SHIM], "generator": False},  # in place of one from the network
        "markdown_extensions": ["tables", "fenced_code", {"toc": {"permalink": True}}, "admonition"],
        "nav": nav,
        "validation": {"links": {"anchors": "warn"}, "nav": {"omitted_files": "warn"}},
    }
