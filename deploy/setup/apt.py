# SPDX-License-Identifier: BSD-2-Clause
"""apt, with our options: packages, bookworm-backports where QEMU comes from there, and files of Debian's pool."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from deploy.base import host
from deploy.base.atomic_files import naming
from deploy.base.errors import Failure
from deploy.base.paths import LOGS

TRIED = ("bookworm", "trixie")  # releases on which the set-up was tried
SYSTEMS = "Debian 12 or 13"
OLD = "bookworm"  # whose own QEMU is 7.2
BACKPORTS = f"{OLD}-backports"
HELPER = "/usr/lib/apt/apt-helper"
# Suites of Debian's archives, without what follows a hyphen.
DEBIAN = {"bookworm", "trixie", "forky", "sid", "oldstable", "stable", "testing", "unstable"}
OUR_SOURCES = Path("/etc/apt/sources.list.d/skerry.sources")
INLINE = "-----BEGIN PGP"  # in the place of a key's file
OFF = {"no", "false", "without", "off", "disable", "0"}
MIRRORS = re.compile(r"mirror(?:\+(?=\w)|(?=:))")  # how an address begins that names a list (apt-transport-mirror(1))
Say = Callable[[str], None]
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")  # that apt takes from its environment
RETRIES = ["-q", "-o", "Acquire::Retries=3"]
OPTIONS = [*RETRIES, "-y", "-o", "DPkg::Lock::Timeout=120"]


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
        proxies = ",".join(name for name in PROXIES if name in os.environ)  # which sudo drops otherwise
        return ["sudo", *([f"--preserve-env={proxies}"] if proxies else [])]
    raise Failure(f"{otherwise} (this user is not root, and there is no sudo)")


def run_apt(arguments: list[str], as_root: bool = True, cwd: Path | None = None) -> None:
    """Runs apt-get; raises Failure with apt's own error line."""
    if not shutil.which("apt-get"):
        raise Failure(f"there is no apt-get: Skerry is set up on {SYSTEMS}")
    prefix = root_prefix(f"apt-get {arguments[0]} is for root") if as_root else []
    _run([*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get", *OPTIONS, *arguments],
         f"apt-get {arguments[0]}", cwd)


def download_file(uri: str, target: Path, sha256: str | None = None) -> None:
    """Downloads a file as apt does, with its proxies and retries; raises Failure where it is not there, or has another
    SHA-256.

    What is at `target` goes first: apt would go on with what another archive, or a person, has begun there, and through
    a link, as apt itself makes one to an archive's file in a folder."""
    target.unlink(missing_ok=True)
    _run(["env", "LC_ALL=C", HELPER, *RETRIES, "download-file", uri, str(target),
          *([f"SHA256:{sha256}"] if sha256 else [])], "apt-helper download-file")


def _run(command: list[str], name: str, cwd: Path | None = None) -> None:
    """Runs a command of apt's, which adds its output to the log."""
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / "apt.log"
    try:
        done = subprocess.run(
            command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    except FileNotFoundError:
        raise Failure(f"there is no {command[0]}: Skerry is set up on {SYSTEMS}") from None
    with naming(log), log.open("a") as file:
        file.write("$ " + " ".join(command) + "\n" + done.stdout)
    if done.returncode:
        errors = [line for line in done.stdout.splitlines() if line.startswith("E:")]
        raise Failure(f"{name}: {(errors or ['failed'])[0]} (all of it: {log})")


def parse_deb822(text: str) -> list[Archive]:
    entries = []
    for stanza in re.split(r"\n\s*\n", text):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        unfolded = re.sub(r"\n\s+", " ", "\n".join(lines))
        fields = {key.strip().lower(): value.strip()
                  for key, _, value in (x.partition(":") for x in unfolded.splitlines())}
        signed_by = fields.get("signed-by")
        if fields.get("enabled", "yes").lower() in OFF:
            continue
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
        with suppress(PermissionError):  # one with a password: another user's
            if path.suffix == ".list":
                known += parse_one_line(path.read_text(errors="replace"))
            elif path.suffix == ".sources":
                known += parse_deb822(path.read_text(errors="replace"))
    return known


def debian_archives() -> list[str]:
    """Lists the addresses of the archives of Debian's that this machine's apt uses, in apt's order."""
    known = dict.fromkeys(archive.uri for archive in archives()
                          if archive.kind == "deb" and archive.suite.strip("/").partition("-")[0] in DEBIAN)
    return list(dict.fromkeys(mirror.rstrip("/") for uri in known for mirror in mirrors(uri.rstrip("/"))))


def mirrors(uri: str) -> list[str]:
    """Lists the archives of a list of mirrors, of which apt's downloader takes no file; of any other address, itself.

    Debian's images for clouds have such a list."""
    if not (begin := MIRRORS.match(uri)):
        return [uri]
    rest = uri[begin.end():]
    with TemporaryDirectory(prefix="skerry-mirrors-") as folder:
        listed = Path(folder, "list")
        try:
            download_file(f"http{rest}" if rest.startswith(":") else rest, listed)
        except Failure:
            return [uri]  # whose failure says why
        lines = [line.split() for line in listed.read_text(errors="replace").splitlines()]
    return [words[0] for words in lines if words and not words[0].startswith("#")]


def needs_backports() -> bool:
    """Returns whether this release's own QEMU is too old for some commands."""
    return host.distribution()[0] == OLD


def sources_text(known: list[Archive], backports: bool) -> str:
    """Our sources file: backports, where the machine's own sources lack it, from the archive that they already
    trust."""
    named = [a for suite in (OLD, "oldstable", "stable") for a in known  # others than Debian have a "stable", too
             if a.kind == "deb" and a.suite.strip("/") == suite and INLINE not in (a.signed_by or "")]
    main = next(iter(named), None)
    if main is None:
        raise Failure(f"apt knows no Debian {OLD} archive; Skerry is set up on {SYSTEMS}")
    text = "# Written by Skerry's set-up; safe to delete.\n"
    if backports and not any(a.kind == "deb" and a.suite == BACKPORTS for a in known):
        lines = ["Types: deb", f"URIs: {main.uri}", f"Suites: {BACKPORTS}", "Components: main"]
        lines += [f"Signed-By: {main.signed_by}"] if main.signed_by else []
        text += "\n" + "\n".join(lines) + "\n"
    return text


def described(text: str) -> str:
    """Returns in words what a sources file of ours adds."""
    added = [f"{a.kind} {a.uri} {a.suite}" for a in parse_deb822(text)]
    return f"Debian's package sources: {OUR_SOURCES} gets {' and '.join(added) or 'nothing'}"


def write_sources(backports: bool, say: Say) -> bool:
    """Brings our sources file up to date, and says what it adds before it does; whether it changed."""
    text = sources_text(archives(), backports)
    if (OUR_SOURCES.read_text() if OUR_SOURCES.exists() else sources_text(archives(), False)) == text:
        return False
    say(described(text))
    command = [*root_prefix("apt's package sources lack backports: let root run './skerry build' once"), "tee",
               str(OUR_SOURCES)]
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode:
        raise Failure(f"{OUR_SOURCES} cannot be written: {done.stderr.strip()}")
    return True


def has_backports() -> bool:
    done = subprocess.run(["apt-cache", "policy"], capture_output=True, text=True)
    return f"n={BACKPORTS}" in done.stdout


def refresh(say: Say) -> bool:
    """Renews apt's lists, with those of backports where this release needs them; returns whether backports is
    reachable."""
    if not needs_backports():
        run_apt(["update"])
        return False
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
