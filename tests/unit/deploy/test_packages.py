# SPDX-License-Identifier: BSD-2-Clause
"""Tests what a command sets up: Debian's packages and Python's."""

import hashlib
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.terminal import Output
from deploy.deployment import DEFAULT
from deploy.deployment.planner import plan
from deploy.setup import apt, bootstrap, compiler, extensions, needs, packages, sources

# ---- Debian's packages: those that a command needs, said before, some while it builds ----

class Stop(Exception):
    pass


class Machine:
    """In the place of dpkg and apt."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path, present: set[str],
                 backports: bool = True, release: str = "bookworm") -> None:
        self.present, self.done = set(present), []
        monkeypatch.setattr(apt.host, "distribution", lambda: (release, release))
        monkeypatch.setattr(packages, "installed", lambda: set(self.present))
        monkeypatch.setattr(apt, "run_apt", self._apt)
        monkeypatch.setattr(apt, "has_backports", lambda: backports)
        monkeypatch.setattr(apt, "archives",
                            lambda: [apt.Archive("deb", "http://archive.example/debian", release, None)])
        monkeypatch.setattr(apt, "OUR_SOURCES", folder / "skerry.sources")
        monkeypatch.setattr(apt, "root_prefix", lambda otherwise: [])
        monkeypatch.setattr(Output, "step", lambda output, text: self.done.append(("say", text)))

    def _apt(self, arguments: list[str], as_root: bool = True, cwd: Path | None = None) -> None:
        self.done.append((arguments[0], " ".join(arguments)))
        if arguments[0] == "install":
            self.present |= {word for word in arguments[1:] if not word.startswith("-")} - {apt.BACKPORTS}

    def all_installed(self) -> str:
        return " ".join(text for kind, text in self.done if kind == "install")


def every(*groups: str) -> set[str]:
    return {package.name for package in packages.in_groups(frozenset(groups))}


def test_packages_on_demand(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a run installs no clang, no tcl, no libvirt; the command that needs them does, and says for what"""
    machine = Machine(monkeypatch, tmp_path, set())
    packages.ensure(Output(), needs.of_map(plan(DEFAULT).cluster_map).groups)
    assert machine.present == every("qemu", "image", "topology") and "gcc-12" in machine.present
    assert not {"clang", "tcl", "libvirt-daemon", "libvirt-dev", "redis-tools", "git"} & machine.present
    machine.done.clear()
    packages.ensure(Output(), needs.FUZZ.groups)
    assert ("say", "Debian packages to install: clang libclang-rt-dev (to fuzz)") == machine.done[0]
    assert machine.present == every("qemu", "image", "topology", "fuzz")
    packages.ensure(Output(), (needs.EVERYTHING | needs.PROOFS | needs.CPLUSPLUS).groups)
    assert machine.present == {package.name for package in packages.in_groups()}, "a group that nobody needs"
    machine.done.clear()
    packages.ensure(Output(), needs.EVERYTHING.groups)
    assert machine.done == []


def test_sources_are_announced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """what is added to apt's sources is said before it is written, with file, archive and suites"""
    machine = Machine(monkeypatch, tmp_path, set())
    seen: list[bool] = []
    announce = apt.described

    def described(text: str) -> str:
        seen.append(apt.OUR_SOURCES.exists())
        return announce(text)

    monkeypatch.setattr(apt, "described", described)
    packages.ensure(Output(), frozenset({"qemu"}))
    lines = [text for kind, text in machine.done if kind == "say"]
    place = tmp_path / "skerry.sources"
    archive = "http://archive.example/debian"
    assert (f"Debian's package sources: {place} gets deb {archive} bookworm-backports" in lines)
    assert seen == [False] and place.exists()
    assert [kind for kind, _ in machine.done].index("update") > lines.index(next(text for text in lines
        if "sources" in text))


def test_a_release_that_needs_no_backports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Debian 13 has QEMU 10.0 itself: apt's sources stay as they are, and nothing is said of backports"""
    machine = Machine(monkeypatch, tmp_path, set(), backports=False, release="trixie")
    packages.ensure(Output(), frozenset({"qemu"}))
    assert not (tmp_path / "skerry.sources").exists() and "qemu-system-x86" in machine.present
    assert not [text for _, text in machine.done if "backports" in text]
    assert {kind for kind, _ in machine.done} == {"say", "update", "install"}


ARCHIVES = [
    apt.Archive("deb", "http://tools.example/apt", "cloud-bookworm", None),
    apt.Archive("deb", "http://first.example/debian/", "trixie", None),
    apt.Archive("deb", "http://first.example/debian", "trixie-updates", None),
    apt.Archive("deb-src", "http://sources.example/debian", "trixie", None),
    apt.Archive("deb", "http://second.example/debian-security", "stable-security", None),
]


def test_sources_come_from_the_pool(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a source is asked of Debian's archives only, in apt's order, until one has the file of the pinned hash"""
    asked: list[tuple[str, Path, str]] = []

    def download(uri: str, target: Path, sha256: str) -> None:
        asked.append((uri, target, sha256))
        if "first" in uri:
            raise Failure("404")

    monkeypatch.setattr(apt, "archives", lambda: ARCHIVES)
    monkeypatch.setattr(apt, "download_file", download)
    monkeypatch.setattr(sources, "DOWNLOADS", tmp_path / "downloads")
    sources.download(sources.Source("libevent", "libevent_2.orig.tar.gz", "ab"))
    path = "pool/main/libe/libevent/libevent_2.orig.tar.gz"
    target = tmp_path / "downloads/libevent_2.orig.tar.gz"
    assert asked == [(f"http://first.example/debian/{path}", target, "ab"),
                     (f"http://second.example/debian-security/{path}", target, "ab")]
    assert sources.Source("lwip", "lwip_2.orig.tar.xz", "ab").pool_path == "pool/main/l/lwip/lwip_2.orig.tar.xz"


@pytest.mark.parametrize("archives, answer", [
    (ARCHIVES, "404 of http://first.example/debian"), (ARCHIVES[:1], "apt knows no archive of Debian")])
def test_a_source_that_no_archive_has(archives: list[apt.Archive], answer: str, monkeypatch: pytest.MonkeyPatch,
                                      tmp_path: Path) -> None:
    """the failure has the first archive's answer, and where a file of which hash may be put by hand"""
    def download(uri: str, target: Path, sha256: str) -> None:
        raise Failure(f"404 of {uri.partition('/pool/')[0]}")

    monkeypatch.setattr(apt, "archives", lambda: archives)
    monkeypatch.setattr(apt, "download_file", download)
    monkeypatch.setattr(sources, "DOWNLOADS", tmp_path)
    with pytest.raises(Failure) as failure:
        sources.download(sources.Source("lwip", "lwip.tar", "0ab"))
    assert str(failure.value) == f"{answer}; put a file of SHA-256 0ab there yourself: {tmp_path / 'lwip.tar'}"


@pytest.mark.skipif(not Path(apt.HELPER).exists(), reason="apt downloads the file")
def test_a_file_of_another_hash(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """apt's own downloader leaves a file of the pinned hash, and refuses another one by its error line"""
    monkeypatch.setattr(apt, "LOGS", tmp_path / "log")
    (tmp_path / "pool").write_text("text\n")
    digest = hashlib.sha256(b"text\n").hexdigest()
    apt.download_file(f"file:{tmp_path}/pool", tmp_path / "kept", digest)
    with pytest.raises(Failure, match=r"apt-helper download-file: E: Failed to fetch .*Hash Sum mismatch"):
        apt.download_file(f"file:{tmp_path}/pool", tmp_path / "other", digest[::-1])
    assert (tmp_path / "kept").read_text() == "text\n" and not (tmp_path / "other").exists()


@pytest.mark.skipif(not Path(apt.HELPER).exists(), reason="apt downloads the file")
def test_what_lies_in_the_files_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """what another archive has left there, a part or a link to a file of its own, is neither gone on with nor
    followed"""
    monkeypatch.setattr(apt, "LOGS", tmp_path / "log")
    (tmp_path / "pool").write_text("text\n")
    (tmp_path / "others").write_text("te")
    uri, digest = f"copy:{tmp_path}/pool", hashlib.sha256(b"text\n").hexdigest()
    (tmp_path / "linked").symlink_to(tmp_path / "others")
    (tmp_path / "begun").write_text("page of an error")
    for name in ("linked", "begun"):
        apt.download_file(uri, tmp_path / name, digest)
        assert (tmp_path / name).read_text() == "text\n" and not (tmp_path / name).is_symlink()
    assert (tmp_path / "others").read_text() == "te"


@pytest.mark.skipif(not Path(apt.HELPER).exists(), reason="apt downloads the list")
def test_a_list_of_mirrors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """an address that names a list stands for the archives in it, as in Debian's images for clouds; one that cannot be
    read stands for itself"""
    monkeypatch.setattr(apt, "LOGS", tmp_path / "log")
    (tmp_path / "debian.list").write_text(
        "# ours\nhttps://a.example/debian/\tpriority:1\n\nhttp://b.example/debian\n")
    uris = [f"mirror+file:{tmp_path}/debian.list", f"mirror+file://{tmp_path}/debian.list/", "mirror+file:/no.list",
            "http://b.example/debian", "http://mirror.example/debian"]
    monkeypatch.setattr(apt, "archives", lambda: [apt.Archive("deb", uri, "trixie", None) for uri in uris])
    assert apt.debian_archives() == ["https://a.example/debian", "http://b.example/debian", "mirror+file:/no.list",
                                     "http://mirror.example/debian"]
    asked: list[str] = []
    monkeypatch.setattr(apt, "download_file", lambda uri, target: asked.append(uri) or target.write_text(""))
    assert apt.mirrors("mirror://c.example/list") == apt.mirrors("mirror+https://c.example/list") == []
    assert asked == ["http://c.example/list", "https://c.example/list"]


KEY = "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mDME\n -----END PGP PUBLIC KEY BLOCK-----\n"


def test_apts_sources(tmp_path: Path) -> None:
    """stanzas that are off are none, an archive with its key within is one, and no byte of a comment is too much; ours
    comes from Debian's archive, not from another one's "stable" """
    folder = tmp_path / "sources.list.d"
    folder.mkdir()
    (tmp_path / "sources.list").write_bytes(
        b"# r\xe9seau\ndeb [arch=amd64 signed-by=/b] http://b.example/apt stable main\n")
    (folder / "off.sources").write_text("Types: deb\nURIs: http://o.example\nSuites: bookworm\nEnabled: Off\n")
    (folder / "own.sources").write_text(f"Types: deb\nURIs: http://i.example\nSuites: bookworm\n{KEY}")
    (folder / "public.sources").write_text(
        "Types: deb deb-src\nURIs: http://d.example/debian\n"
        "Suites: bookworm\n# and\n bookworm-updates\nSigned-By: /d\n")
    known = apt.archives(tmp_path)
    assert [(a.uri, a.kind) for a in known if a.suite != "bookworm-updates"] == [
        ("http://b.example/apt", "deb"), ("http://i.example", "deb"), ("http://d.example/debian", "deb"),
        ("http://d.example/debian", "deb-src")]
    assert "URIs: http://d.example/debian\nSuites: bookworm-backports\nComponents: main\nSigned-By: /d\n" in (
        apt.sources_text(known, True))


def test_what_apt_leaves_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a package that is still missing afterwards is a failure that names it and its reason"""
    machine = Machine(monkeypatch, tmp_path, every("topology") - {"make"})
    monkeypatch.setattr(apt, "run_apt", lambda *arguments, **more: None)
    with pytest.raises(Failure, match=r"apt-get did not install make \(musl's and Redis's own build\)"):
        packages.ensure(Output(), frozenset({"topology"}))
    assert machine.all_installed() == ""


def test_without_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a user without root and sudo is told the command that root runs, for what is missing only; apt is not asked"""
    as_others = apt.root_prefix
    machine = Machine(monkeypatch, tmp_path, every("qemu") - {"gcc-12"})
    monkeypatch.setattr(apt, "root_prefix", as_others)
    monkeypatch.setattr(apt.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(apt.shutil, "which", lambda name: None if name == "sudo" else f"/usr/bin/{name}")
    with pytest.raises(Failure, match=r"root installs them by: apt-get install --no-install-recommends gcc-12 cpio "
                       r".*libxml2-utils man-db \(this user is not root"):
        packages.ensure(Output(), frozenset({"qemu", "test"}))
    assert [kind for kind, _ in machine.done] == ["say"] and not (tmp_path / "skerry.sources").exists()
    monkeypatch.setattr(apt.shutil, "which", lambda name: f"/usr/bin/{name}")
    for name in apt.PROXIES:
        monkeypatch.delenv(name, raising=False)
    assert as_others("for root") == ["sudo"]
    monkeypatch.setenv("http_proxy", "http://proxy.example")
    monkeypatch.setenv("no_proxy", "localhost")
    assert as_others("for root") == ["sudo", "--preserve-env=http_proxy,no_proxy"]


def test_packages_beside_the_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """what builds is installed before the build, what boots while it runs, and the build's failure waits for apt"""
    machine = Machine(monkeypatch, tmp_path, set())
    building = threading.Event()
    install = machine._apt

    def apt_get(arguments: list[str], as_root: bool = True, cwd: Path | None = None) -> None:
        if "gcc-12" in arguments:
            assert not building.is_set()
        elif arguments[0] == "install":
            assert building.wait(60)
        install(arguments)

    monkeypatch.setattr(apt, "run_apt", apt_get)
    with pytest.raises(Stop), packages.ensured(Output(), needs.BOOT_GROUPS, needs.BOOT_GROUPS):
        assert "gcc-12" in machine.present and "qemu-system-x86" not in machine.present
        building.set()
        raise Stop
    assert machine.present == every(*needs.BOOT)


def test_package_fails_beside_the_build(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """where apt fails during the build, the build goes on to its end, and then apt's error is told"""
    machine = Machine(monkeypatch, tmp_path, every())

    def apt_get(arguments: list[str], as_root: bool = True, cwd: Path | None = None) -> None:
        if arguments[0] == "install":
            raise Failure("apt-get install: E: no space")

    monkeypatch.setattr(apt, "run_apt", apt_get)
    built = False
    with pytest.raises(Failure, match="E: no space"), packages.ensured(Output(), needs.BOOT_GROUPS, needs.BOOT_GROUPS):
        built = True
    assert built and machine.present == every()


# ---- the compiler: GCC 12, also beside another one ----

@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder that alone is in PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(compiler, "FOLDER", tmp_path / "compiler")
    return folder


def put(folder: Path, name: str, version: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\necho {version}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("own", [None, "14"])
def test_gcc_12_beside_another(own: str | None, commands: Path) -> None:
    """where the host's compiler is another one, or none, gcc and cc are GCC 12 for what a command starts"""
    for name in ("gcc-12", "gcc-ar-12"):
        put(commands, name, "12")
    for name in ("gcc", "cc") if own else ():
        put(commands, name, str(own))
    for _ in range(2):
        compiler.choose(Output())
        assert [subprocess.run([name, "-dumpversion"], capture_output=True, text=True).stdout for name in (
            "gcc", "cc", "gcc-ar", "x86_64-linux-gnu-gcc")] == ["12\n"] * 4
    assert os.environ["PATH"] == f"{compiler.FOLDER}:{commands}"


def test_the_hosts_own_compiler(commands: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """where it is GCC 12 it stays; where there is no GCC 12 a line says that counts will differ"""
    for name in ("gcc", "cc"):
        put(commands, name, "12")
    compiler.choose(Output())
    assert capsys.readouterr() == ("", "")
    put(commands, "gcc", "14")
    compiler.choose(Output())
    assert "There is no gcc-12: instruction counts will differ" in "".join(capsys.readouterr())
    assert os.environ["PATH"] == str(commands) and not compiler.FOLDER.exists()


# ---- Python packages that some commands need, installed while the build runs ----

def test_environment_made_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """an environment that is made anew gets back, with the next command, the groups that it had"""
    venv = tmp_path / "venv"
    for name, path in (("VENV", venv), ("STAMP", venv / "stamp"), ("HAD", venv / "had"), ("LOG", tmp_path / "log")):
        monkeypatch.setattr(bootstrap, name, path)
    installed: list[list[str]] = []

    def run(command: list[str]) -> bool:
        installed.append(command)
        venv.mkdir(exist_ok=True)
        return True

    monkeypatch.setattr(bootstrap, "run_logged", run)
    monkeypatch.setattr(extensions, "is_ours", lambda: True)
    quiet = Output(quiet=True)
    assert bootstrap.make_venv_alone() and bootstrap.had() == set()
    extensions.ensure(quiet, frozenset({"test"}))
    assert bootstrap.had() == {"test"} and not extensions.missing(frozenset({"test"}))
    for _ in range(2):
        assert bootstrap.make_venv_alone() and extensions.missing(frozenset({"test"})) and bootstrap.had() == {"test"}
    installed.clear()
    extensions.ensure(quiet, frozenset())
    assert [command[-1] for command in installed] == [str(extensions.HERE / "requirements-test.txt")]


@pytest.fixture
def venv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[list[str]]]:
    """An environment without packages; what pip was called with, which `pip` in the folder stands for."""
    called: list[list[str]] = []

    def install(*arguments: str) -> list[str]:
        called.append(list(arguments))
        return ["sh", str(tmp_path / "pip")]

    monkeypatch.setattr(bootstrap, "VENV", tmp_path)
    monkeypatch.setattr(bootstrap, "HAD", tmp_path / "had")
    monkeypatch.setattr(bootstrap, "LOG", tmp_path / "log")
    monkeypatch.setattr(bootstrap, "pip_install", install)
    monkeypatch.setattr(extensions, "is_ours", lambda: True)
    (tmp_path / "log").touch()
    yield called


PLOTS = frozenset({"plots"})


def test_python_packages_beside_the_build(venv: list[list[str]], tmp_path: Path) -> None:
    """what only draws is installed while the build runs; it counts as installed when pip says so, and then only"""
    (tmp_path / "pip").write_text(f"until [ -e {tmp_path}/built ]; do sleep 0.05; done\n")
    with extensions.installed_meanwhile(Output(), PLOTS):
        assert extensions.missing(PLOTS)
        (tmp_path / "built").touch()
    assert not extensions.missing(PLOTS) and len(venv) == 1
    with extensions.installed_meanwhile(Output(), PLOTS):
        pass
    assert len(venv) == 1


def test_python_packages_fail_beside_the_build(venv: list[list[str]], tmp_path: Path) -> None:
    """where pip fails during the build it is tried once more after it, and its error is told; where the build fails pip
    is ended"""
    (tmp_path / "pip").write_text("echo ERROR: no such package; exit 1\n")
    with extensions.installed_meanwhile(Output(), PLOTS):
        pass
    with pytest.raises(Failure, match="ERROR: no such package"):
        extensions.ensure(Output(), PLOTS)
    assert len(venv) == 2 and extensions.missing(PLOTS)
    (tmp_path / "pip").write_text("exec sleep 1000\n")
    with pytest.raises(Stop), extensions.installed_meanwhile(Output(), PLOTS):
        raise Stop
    assert extensions.missing(PLOTS)


def test_killed_pip(venv: list[list[str]], tmp_path: Path) -> None:
    """a package that a killed pip has left half-way is installed over"""
    why = "ERROR: Cannot uninstall x 1.0, RECORD file not found"
    (tmp_path / "pip").write_text(f"[ -e {tmp_path}/twice ] || {{ touch {tmp_path}/twice; echo '{why}'; exit 1; }}\n")
    extensions.ensure(Output(), PLOTS)
    assert not extensions.missing(PLOTS) and ["--ignore-installed" in arguments for arguments in venv] == [False, True]
