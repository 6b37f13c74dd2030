# SPDX-License-Identifier: BSD-2-Clause
"""Files and folders of the host in a deployment: what becomes of them, and what is refused, naming the line."""

import os
import re
import socket
from pathlib import Path, PurePosixPath

import pytest

from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.deployment import Deployment, Program, file_tree, volumes
from deploy.deployment.planner import Plan, plan
from deploy.deployment.reader import parse
from deploy.deployment.volumes import Folder, Share
from deploy.domains.definition import define
from deploy.domains.machines import arrange
from deploy.domains.record import Record
from deploy.machine import image
from topology import foreign
from topology.errors import InputError
from topology.machines.machine import emulated
from topology.units import MIB, PAGE

# ---- Files of the host in a deployment: what they become, and what is refused with the line of the one to blame. ----


PROGRAM = "network = false\n[[program]]\nprogram = 'posixtest'\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "site" / "deep").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_text("<html>")
    (tmp_path / "site" / "deep" / "large").write_bytes(b"x" * 70_000)
    (tmp_path / "site" / "empty").touch()
    (tmp_path / "other").symlink_to("site")
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "back").symlink_to("..", target_is_directory=True)
    (tmp_path / "nowhere").symlink_to("gone")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def programs(text: str, folder: Path) -> tuple[Program, ...]:
    return parse(PROGRAM + text, "file", folder).programs


def entries(content: bytes) -> dict[str, tuple[int, bytes]]:
    """Mode and content of each file, by its path: folders end in '/'. As the POSIX layer reads them."""
    magic, version, count, size, _ = file_tree.HEAD.unpack_from(content)
    assert (magic, version, size) == (file_tree.MAGIC, file_tree.VERSION, len(content))
    rows = [file_tree.ENTRY.unpack_from(content, file_tree.HEAD.size + i * file_tree.ENTRY.size) for i in range(count)]
    files: dict[str, tuple[int, bytes]] = {}

    def walk(number: int, path: str) -> None:
        first, many, _, _, _ = rows[number]
        for child in range(first, first + many):
            assert number < child < count
            data, length, _, name_at, mode = rows[child]
            name = content[name_at : content.index(b"\0", name_at)].decode()
            if mode & file_tree.DIRECTORY:
                files[f"{path}{name}/"] = mode, b""
                walk(child, f"{path}{name}/")
            else:
                assert length < file_tree.ALIGNED or data % PAGE == 0 and not content[data
                    + length :][: -length % PAGE].strip(b"\0")
                files[path + name] = mode, content[data : data + length]

    walk(0, "/")
    return files


def test_tree(folder: Path) -> None:
    """a folder is taken with all in it, a link as what it leads to, and ':rw' marks what may be changed"""
    (program,) = programs("files = ['site:/www', 'other/index.html:/etc/motd:rw']", folder)
    assert program.tree
    files = entries(program.tree.content())
    assert set(files) == {"/www/", "/www/deep/", "/www/deep/large", "/www/empty", "/www/index.html", "/etc/",
                          "/etc/motd"}
    assert (files["/www/deep/large"][1] == b"x" * 70_000 and files["/etc/motd"][1] == b"<html>"
            and files["/www/empty"][1] == b"")
    assert files["/etc/motd"][0] & file_tree.WRITABLE and not files["/www/index.html"][0] & file_tree.WRITABLE
    assert len(program.tree.content()) % PAGE == 0 and program.tree.content() == program.tree.content()


def test_shared(folder: Path) -> None:
    """programs with the same files have one module; others have another"""
    more = "[[program]]\nprogram = 'posixtest'\n"
    text = f"{PROGRAM}files = ['site:/www']\n{more}files = ['site:/www']\n{more}files = ['site:/srv']\n{more}"
    what = plan(parse(text, "file", folder))
    assert [app.files for app in what.cluster_map.applications] == ["files+0", "files+0", "files+1", None]
    assert what.cluster_map.clusters[0].modules == ["posixtest", "files+0", "files+1"]
    trees = {name: tree for name, tree in what.own.items() if isinstance(tree, file_tree.FileTree)}
    assert set(trees) == {"files+0", "files+1"}
    assert "/www/" in entries(trees["files+0"].content()) and "/srv/" in entries(trees["files+1"].content())
    archive = image.cpio({name: tree.content() for name, tree in trees.items()})
    assert b"files+1\0" in archive


def test_ten_thousand(tmp_path: Path) -> None:
    """ten thousand small files take little more than they hold"""
    (tmp_path / "many").mkdir()
    for number in range(10_000):
        (tmp_path / "many" / f"{number:05}").write_text("ten bytes.")
    (program,) = programs("files = ['many:/many']", tmp_path)
    assert program.tree and program.tree.size < MIB
    assert len(entries(program.tree.content())) == 10_001


def test_changed(folder: Path) -> None:
    """a file that has changed since the deployment was read is named"""
    (program,) = programs("files = ['site:/www']", folder)
    (folder / "site" / "index.html").write_text("longer than it was")
    assert program.tree
    with pytest.raises(Failure, match="index.html has 18 bytes now, and had 6"):
        program.tree.content()


def sparse(folder: Path, size: int) -> None:
    with (folder / "huge").open("wb") as file:
        file.truncate(size)


WRONG = {
    "not there": ("files = ['gone:/x']", "4: [[program]] files: {}/gone: no such file"),
    "a link to nothing": ("files = ['site:/a',\n'nowhere:/x']",
                          "5: [[program]] files: {}/nowhere: a symbolic link to nothing"),
    "a circle": ("files = ['loop:/x']",
                 "4: [[program]] files: {}/loop/back/loop: a symbolic link leads back to a folder that it is in"),
    "a pipe": ("files = ['pipe:/x']", "4: [[program]] files: {}/pipe is neither a file nor a folder"),
    "a device": ("files = ['/dev/null:/x']", "4: [[program]] files: /dev/null is neither a file nor a folder"),
    "in place of a device": (
        "files = ['site/index.html:/dev/null']",
        "4: [[program]] files: 'site/index.html:/dev/null': /dev/null is a device, and /dev/null would hide it",
    ),
    "a folder in place of a device": ("files = ['site:/dev/zero']",
                                      "4: [[program]] files: 'site:/dev/zero': /dev/zero is a device"),
    "in a device": ("files = ['site/empty:/dev/null/x']",
                    "4: [[program]] files: 'site/empty:/dev/null/x': /dev/null is a device"),
    "a file in place of /dev": ("files = ['site/empty:/dev:rw']",
                                "4: [[program]] files: 'site/empty:/dev:rw': /dev/console is a device, and /dev would"),
    "a made file": ("files = ['site/empty:/proc/self/stat']",
                    "4: [[program]] files: 'site/empty:/proc/self/stat': /proc/self/stat is a file that"),
    "a relative path": ("files = ['site:www']",
                        "4: [[program]] files: 'site:www': the path in the machine, 'www', is not absolute"),
    "a path with dots": ("files = ['site:/www/../etc']", "4: [[program]] files: '/www/../etc' has a '.' or '..'"),
    "no path": ("files = ['site']", "4: [[program]] files: 'site' is not 'HOST:/GUEST'"),
    "no host": ("files = [':/www']", "4: [[program]] files: ':/www' names no file of the host"),
    "a number": ("files = [7]", "4: [[program]] files: 7 is not 'HOST:/GUEST'"),
    "twice": ("files = ['site:/a', 'other/index.html:/a/index.html']",
              "4: [[program]] files: /a/index.html is there twice: 'site:/a' has it"),
    "in a file": ("files = ['site/empty:/a', 'site:/a/b']",
                  "4: [[program]] files: /a/b is in a file: 'site/empty:/a' has /a"),
    "a file as root": ("files = ['site/empty:/']", "4: [[program]] files: '/' is a folder"),
    "a long name": (f"files = ['site:/{'n' * 256}']", "4: [[program]] files: '/nnn"),
    "more than memory": ("files = ['huge:/x']",
                         "4: [[program]] files: posixtest@0: files of 1012 MiB and heaps of 16 MiB do not fit "
                         "into the "),
    "start in a file": ("files = ['site:/a']\ncwd = '/a/empty'", "5: [[program]] cwd: '/a/empty' is a file"),
    "start nowhere": ("cwd = 'tmp'", "4: [[program]] cwd: 'tmp' is not an absolute path"),
    "a variable without a value": ("env = ['A=b', 'C']", "4: [[program]] env: 'C' is not NAME=VALUE"),
    "a variable without a name": ("env = ['=b']", "4: [[program]] env: '=b' is not NAME=VALUE"),
    "variables without end": (f"env = [{','.join(['``A=b``'] * 65)}]".replace("``", "'"),
                              "4: [[program]] env: posixtest@0: 65 variables are more than 64"),
    "too many threads": ("threads = 65", "4: [[program]] threads: 65 is not a number from 1 to 64"),
    "a user below all": ("uid = -1", "4: [[program]] uid: -1 is not a number from 0 to 2147483647"),
    "more storage than heap": ("storage = '32M'", "4: [[program]] storage: 32M is more than its heap, 16M"),
    "another start": ("restart = 'unless-stopped'",
                      "4: [[program]] restart: 'unless-stopped' is not one of never, on-failure, always"),
    "more restarts": ("restart-limit = 17", "4: [[program]] restart-limit: 17 is not a number from 0 to 16"),
    "the former name": ("forward = [80]", "4: [[program]]: unknown key 'forward'; did you mean 'ports'?"),
}


@pytest.mark.parametrize("text, message", WRONG.values(), ids=WRONG)
def test_refused(text: str, message: str, folder: Path) -> None:
    """a mistake in what a program starts with is refused with its line"""
    sparse(folder, 1010 * MIB)
    with pytest.raises(InputError) as error:
        plan(parse(PROGRAM + text, "file", folder))
    assert str(error.value).startswith(f"file:{message.format(folder)}")


def test_systems_own() -> None:
    """the paths that no file may take are those at which the POSIX layer has something; others beside them are free"""
    sources = "".join((ROOT / "apps" / "libc" / "posix" / name).read_text() for name in ("device.c", "proc.c"))
    assert set(re.findall(r'\{ "(/[a-z/]+)", ', sources)) == file_tree.DEVICES | file_tree.MADE


def test_beside_devices(folder: Path) -> None:
    """a link to a regular file is one, and other files may be in /dev and /proc"""
    (folder / "link").symlink_to("site/index.html")
    (program,) = programs("files = ['link:/dev/other', 'link:/proc/cpuinfo', 'site:/dev/site']", folder)
    assert program.tree and entries(program.tree.content())["/dev/other"][1] == b"<html>"


def test_too_much(folder: Path) -> None:
    """more than a program's files may have, or more of them, is refused with the figure"""
    sparse(folder, 1025 * MIB)
    with pytest.raises(InputError,
                       match="1025 MiB, with those before, are more than a program's files may have, 1 GiB"):
        programs("files = ['huge:/x']", folder)


def test_names_of_bytes(tmp_path: Path) -> None:
    """a name that is no UTF-8 is kept as it is; a socket is refused"""
    (tmp_path / "odd").mkdir()
    Path(os.fsdecode(bytes(tmp_path / "odd") + b"/\xff")).write_text("odd")
    (program,) = programs("files = ['odd:/odd']", tmp_path)
    assert program.tree and b"\xff\0" in program.tree.content()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "odd" / "s"))
        with pytest.raises(InputError, match="s is neither a file nor a folder"):
            programs("files = ['odd:/odd']", tmp_path)


# ---- Folders of the host in a deployment: what becomes of them, and what is refused with the line of the one to
# blame. ----


SHARING = "[[program]]\nprogram = 'posixtest'\n"
HEAD = "network = false\n" + SHARING


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "data" / "below").mkdir(parents=True)
    (tmp_path / "more").mkdir()
    (tmp_path / "link").symlink_to("data")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    (tmp_path / "with, a comma").mkdir()
    return tmp_path


def read(text: str, shared: Path) -> Deployment:
    return parse(HEAD + text, "file", shared)


def test_map(shared: Path) -> None:
    """each volume has a server on its program's core, which the map joins to the program"""
    made = plan(read("volume = ['./data:/data', 'more:/var/more:ro']\n", shared))
    program, first, second = made.cluster_map.applications
    assert program.volumes == [first.name, second.name] and program.mount is None
    assert [(a.role, a.program, a.mount, a.cpu) for a in (first, second)] == [
        ("volume", "volume", "/data", 0), ("volume", "volume", "/var/more", 0)]
    assert made.shares == (Share(first.name, Folder(shared / "data", "/data")),
                           Share(second.name, Folder(shared / "more", "/var/more", read_only=True)))
    assert "volume" in made.cluster_map.clusters[0].modules


def test_qemu(shared: Path) -> None:
    """QEMU gets each folder at its own place, commas in the path doubled, read-only where that is asked for"""
    made = plan(read("volume = ['with, a comma:/data:ro', 'link:/more']\n", shared))
    words = volumes.qemu_arguments(made.shares)
    assert words[1] == f"local,id=volume0,path={shared}/with,, a comma,security_model=none,multidevs=remap,readonly=on"
    assert words[3] == f"virtio-9p-pci,fsdev=volume0,mount_tag={made.shares[0].tag},bus=pcie.0,addr=0x11"
    assert words[5] == f"local,id=volume1,path={shared}/data,security_model=none,multidevs=remap"
    assert words[7].endswith("addr=0x12")


def test_libvirt(shared: Path) -> None:
    """libvirt gives the first domain what QEMU's command line gives the machine"""
    made = plan(read("volume = ['data:/data:ro']\n", shared))
    record = Record("test", "0", "per-socket", "clh", 2, 4, "tcg", "skerry-test")
    domain = foreign.xml(define(arrange(made), record, PurePosixPath("/")), "the domain")
    share = domain.find("devices/filesystem")
    assert share is not None and (share.get("accessmode"), share.get("multidevs")) == ("squash", "remap")
    parts = {part.tag: dict(part.attrib) for part in share}
    assert parts["source"] == {"dir": str(shared / "data")} and parts["target"] == {"dir": made.shares[0].tag}
    assert "readonly" in parts and (parts["address"]["bus"], parts["address"]["slot"]) == ("0", "0x11")


def refused(text: str, shared: Path) -> str:
    with pytest.raises(InputError) as error:
        plan(read(text, shared))
    line = str(error.value)
    assert "\n" not in line and line.startswith("file:")
    return line


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("volume = ['missing:/data']", r"file:4: .*missing: no such folder; mkdir makes it"),
        ("volume = ['file:/data']", "file is no folder"),
        ("volume = ['loop:/data']", "(?i)symlink loop|too many levels"),
        ("volume = ['data:/']", "cannot be a volume"),
        ("volume = ['data:data']", "a folder of the host and an absolute path"),
        ("volume = [':/data']", "names no folder"),
        ("volume = ['data']", "a folder of the host and an absolute path"),
        ("volume = [7]", "a folder of the host and an absolute path"),
        ("volume = 'data:/data'", "list of"),
        ("volume = ['data:/data/../etc']", r"'\.' or '\.\.'"),
        (r'volume = ["a\u0000b:/data"]', "null byte|character"),
        ("volume = ['data:/x\u0000']", "character"),
        ("volume = ['data:/a', 'data:/b']", "the folder of two volumes"),
        ("volume = ['data:/a', 'link:/b']", "the folder of two volumes"),
        ("volume = ['data:/a', 'data/below:/b']", "the folder of two volumes"),
        ("volume = ['data:/a', 'more:/a']", "/a is in the way of another volume, at /a"),
        ("volume = ['data:/a', 'more:/a/b']", "/a/b is in the way"),
        ("volume = ['data:/a/b', 'more:/a']", "/a is in the way"),
        ("volume = ['data:/dev/null']", "/dev/null is a file"),
        ("volume = ['data:/proc/self/stat/x']", "/proc/self/stat is a file"),
        ("files = ['file:/here']\nvolume = ['data:/here/data']", "/here is a file"),
        ("volume = ['data:/a']\n" + SHARING + "volume = ['data:/b']", "file:7: .*the folder of two volumes"),
        ("cpu = 2\nvolume = ['data:/a']", r"cpu 2 is of cluster@1, and volumes are for programs of cluster@0"),
    ],
)  # fmt: skip
def test_refused_volumes(text: str, problem: str, shared: Path) -> None:
    """whatever cannot be a volume is one line that names it"""
    if "\u0000" in text:
        text = text.replace("\u0000", "\\u0000").replace("'", '"')
    assert re.search(problem, refused(text + "\n", shared))


def test_too_many(shared: Path) -> None:
    """a machine has places for so many"""
    for number in range(volumes.MOST + 1):
        (shared / str(number)).mkdir()
    some = [f"volume = {[f'{n}:/{n}' for n in range(first, first + 8) if n <= volumes.MOST]}\n" for first in (0, 8)]
    assert f"a machine can have {volumes.MOST}" in refused(some[0] + SHARING + some[1], shared)
    assert "a program can have 8" in refused(f"volume = {[f'{n}:/{n}' for n in range(9)]}\n", shared)


def test_real_hardware(shared: Path) -> None:
    """an image for real hardware has no host, and says so"""
    deployment = read("volume = ['data:/data']\n", shared)
    with pytest.raises(InputError, match=r"file:4: .*real hardware has none"):
        plan(deployment, emulated(deployment.shape))


def without_volumes() -> Plan:
    return plan(parse(HEAD, "file"))


def test_without() -> None:
    """a machine without volumes is what it was"""
    made = without_volumes()
    assert not made.shares and not volumes.qemu_arguments(made.shares)
    assert [a.program for a in made.cluster_map.applications] == ["posixtest"]
