# SPDX-License-Identifier: BSD-2-Clause
"""apt, with our options, and the suites it must know: source packages and bookworm-backports."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from deploy.base.atomic_files import naming
from deploy.base.errors import Failure
from deploy.base.paths import LOGS

SUITE = "bookworm"
BACKPORTS = f"{SUITE}-backports"
OUR_SOURCES = Path("/etc/apt/sources.list.d/skerry.sources")
Say = Callable[[str], None]
OPTIONS = ["-q", "-y", "-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=120"]


@dataclass(frozen=True)
class Archive:
    """One `deb` or `deb-src` entry of the machine's sources, for one suite."""

    kind: str
    uri: str
    suite: str
    signed_by: str | None


def root_prefix(otherwise: str) -> list[str]:
    """In front of a command that root alone may run; the failure where this user cannot become root says
    `otherwise`."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        return ["sudo"]
    raise Failure(f"{otherwise} (this user is not root, and there is no sudo)")


def run_apt(arguments: list[str], as_root: bool = True, cwd: Path | None = None) -> None:
    """Runs apt-get; raises Failure with apt's own error line."""
    if not shutil.which("apt-get"):
        raise Failure("there is no apt-get: Skerry is set up on Debian 12")
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "apt.log"
    prefix = root_prefix(f"apt-get {arguments[0]} is for root") if as_root else []
    command = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get", *OPTIONS, *arguments]
    done = subprocess.run(
        command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    with naming(log), log.open("a") as file:
        file.write("$ " + " ".join(command) + "\n" + done.stdout)
    if done.returncode:
        errors = [line for line in done.stdout.splitlines() if line.startswith("E:")]
        raise Failure(f"apt-get {arguments[0]}: {(errors or ['failed'])[0]} (all of it: {log})")


def parse_deb822(text: str) -> list[Archive]:
    entries = []
    for stanza in re.split(r"\n\s*\n", text):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        unfolded = re.sub(r"\n\s+", " ", "\n".join(lines))
        fields = {key.strip().lower(): value.strip()
                  for key, _, value in (x.partition(":") for x in unfolded.splitlines())}
        signed_by = fields.get("signed-by")
        if fields.get("enabled", "yes").lower() in ("no", "false") or (signed_by and "BEGIN PGP" in signed_by):
            continue  # an inline key cannot be carried over unfolded
        for kind in fields.get("types", "").split():
            for uri in fields.get("uris", "").split():
                for suite in fields.get("suites", "").split():
                    entries.append(Archive(kind, uri, suite, signed_by))
    return entries


def parse_one_line(text: str) -> list[Archive]:
    entries = []
    for match in re.finditer(r"^\s*(deb|deb-src)\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)", text, re.MULTILINE):
        kind, options, uri, suite = match.groups()
        signed_by = re.search(r"signed-by=(\S+)", options or "")
        entries.append(Archive(kind, uri, suite, signed_by[1] if signed_by else None))
    return entries


def archives(folder: Path = Path("/etc/apt")) -> list[Archive]:
    """Lists the archives that this machine's apt knows, our own file left out."""
    known = []
    for path in [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]:
        if path.name == OUR_SOURCES.name or not path.is_file():
            continue
        if path.suffix == ".list":
            known += parse_one_line(path.read_text())
        elif path.suffix == ".sources":
            known += parse_deb822(path.read_text())
    return known


def sources_text(known: list[Archive], backports: bool) -> str:
    """Our sources file: what the machine's own sources lack, from the archive that they already trust."""
    main = next((a for a in known if a.kind == "deb" and a.suite.strip("/") in (SUITE, "stable", "oldstable")), None)
    if main is None:
        raise Failure(f"apt knows no Debian {SUITE} archive; Skerry is set up on Debian 12")
    stanzas = []
    for kind, suite in [("deb-src", SUITE), ("deb", BACKPORTS)]:
        if suite == BACKPORTS and not backports:
            continue
        if any(a.kind == kind and a.suite == suite for a in known):
            continue
        lines = [f"Types: {kind}", f"URIs: {main.uri}", f"Suites: {suite}", "Components: main"]
        lines += [f"Signed-By: {main.signed_by}"] if main.signed_by else []
        stanzas.append("\n".join(lines) + "\n")
    return "# Written by Skerry's set-up; safe to delete.\n" + "\n" + "\n".join(stanzas)


def described(text: str) -> str:
    """Returns in words what a sources file of ours adds."""
    added = [f"{a.kind} {a.uri} {a.suite}" for a in parse_deb822(text)]
    return f"Debian's package sources: {OUR_SOURCES} gets {' and '.join(added) or 'nothing'}"


def write_sources(backports: bool, say: Say) -> bool:
    """Brings our sources file up to date, and says what it adds before it does; whether it changed."""
    text = sources_text(archives(), backports)
    if OUR_SOURCES.exists() and OUR_SOURCES.read_text() == text:
        return False
    say(described(text))
    command = [*root_prefix("apt's package sources lack some of Debian's: let root run './skerry build' once"), "tee",
               str(OUR_SOURCES)]
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        raise Failure(f"{OUR_SOURCES} cannot be written: {done.stderr.strip()}")
    return True


def has_backports() -> bool:
    done = subprocess.run(["apt-cache", "policy"], capture_output=True, text=True)
    return f"n={BACKPORTS}" in done.stdout


def refresh(say: Say) -> bool:
    """Makes apt know source packages and backports; says whether backports is reachable."""
    write_sources(True, say)
    try:
        run_apt(["update"])
    except Failure:
        pass  # a mirror without backports fails the whole update; the one below says what is really wrong
    if has_backports():
        return True
    write_sources(False, say)
    run_apt(["update"])
    return False
