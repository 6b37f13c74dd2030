# SPDX-License-Identifier: BSD-2-Clause
"""Programs of your own: `skerry cc` as configure scripts use it, the examples, pages that are followed."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import typer

from deploy.base.errors import Failure
from deploy.base.paths import BUILD, ROOT
from deploy.base.terminal import Output
from deploy.cli.main import make_app
from deploy.setup import examples, libraries, needs, recipes, sources
from deploy.tools.fuzz.target import Target
from tests.pages.reader import CORPUS, cut_off, unchanged
from topology.errors import InputError

# ---- `skerry cc` takes what configure scripts and Makefiles give to a compiler. ----


WRAPPER = BUILD / needs.WRAPPER
SYSROOT = WRAPPER.parent / "sysroot"

# Functions of the layer, lwIP, the socket layer and musl, as a program may have them too.
OWN_NAMES = """
#include <stdio.h>
#include <stdlib.h>
static int calls;
int stream_write(void) { return 1; }
int event_wait(void) { return 2; }
int file_init(void) { return 3; }
int tcp_connect(void) { return 4; }
int heap_map(void) { return 5; }
void *malloc(size_t size) { calls++; return (void *)(size * 0); }
void free(void *block) { calls += block != 0; }
int main(void) { return stream_write() + event_wait() + file_init() + tcp_connect() + heap_map() + (malloc(1) != 0); }
"""


def cc(folder: Path, *words: str, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([WRAPPER, *words], cwd=folder, input=text, capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "part.c").write_text("int part(void) { return 7; }\n")
    (tmp_path / "main.txt").write_text("#include <stdio.h>\nint part(void);\nint main(void) { return puts(\"here\") < "
                                       "0 || part() != 7; }\n")
    return tmp_path


def test_queue(folder: Path) -> None:
    """skerry cc: <sys/queue.h>, which musl lacks and many programs include, is there"""
    text = (
        "#include <stddef.h>\n#include <sys/queue.h>\nstruct one { STAILQ_ENTRY(one) next; };\nSTAILQ_HEAD(all, one) "
        "all = STAILQ_HEAD_INITIALIZER(all);\n"
    )
    cc(folder, "-c", "-x", "c", "-o", "queue.o", "-", text=text)


def test_compiles_and_links(folder: Path) -> None:
    """skerry cc: languages, libraries, response files, dependency files and position-independent objects link to one
    static program"""
    cc(folder, "-c", "-O2", "-fPIC", "-MD", "-MP", "-MF", "part.d", "part.c")
    assert (folder / "part.d").read_text().startswith("part.o: part.c")
    subprocess.run(["ar", "crs", "libpart.a", "part.o"], cwd=folder, check=True)
    (folder / "rest").write_text("-L. -lpart -lm -lpthread -lrt -ldl -lc\n")
    traced = cc(folder, "-pie", "-fPIE", "-static", "-pthread", "-rdynamic", "-x", "c", "main.txt", "-x", "none", "-o",
                "all",
                "-Wl,-t,-z,now", "@rest")  # fmt: skip
    libraries = [Path(line) for line in traced.stdout.splitlines() if line.startswith("/") and line.endswith(".a")]
    compiler = Path(cc(folder, "-print-libgcc-file-name").stdout.strip()).parent
    assert libraries and {path.resolve().parent for path in libraries} <= {SYSROOT / "lib", compiler.resolve()}
    header = subprocess.run(["readelf", "-hl", folder / "all"], capture_output=True, text=True, check=True).stdout
    assert "EXEC" in header and "INTERP" not in header


def test_stops_early(folder: Path) -> None:
    """skerry cc: -E, -S, -fsyntax-only, -M and -r do their part only, and read from standard input too"""
    assert "int part" in cc(folder, "-E", "part.c").stdout
    assert "__skerry__ 1" in cc(folder, "-dM", "-E", "-", text="").stdout
    assert "part:" in cc(folder, "-S", "-o", "-", "part.c").stdout
    assert cc(folder, "-M", "part.c").stdout.strip() == "part.o: part.c"
    cc(folder, "-fsyntax-only", "part.c")
    cc(folder, "-r", "-o", "linked.o", "-xc", "-", text="int other;\n")
    assert sorted(path.name for path in folder.iterdir()) == ["linked.o", "main.txt", "part.c"]


CPLUSPLUS = [
    ("a.cc",), ("-c", "-O2", "a.cpp"), ("-E", "a.cxx"), ("-S", "part.c", "a.C"), ("-x", "c++", "part.c"),
    ("-xc++", "-"), ("-fsyntax-only", "a.hpp"),
    ("@words",), ("--without-net", "-o", "out", "a.cc"),
]  # fmt: skip


@pytest.mark.parametrize("words", CPLUSPLUS, ids=" ".join)
def test_cplusplus(folder: Path, words: tuple[str, ...]) -> None:
    """skerry cc: C++ is refused in one sentence that names what is C++"""
    for name in ("a.cc", "a.cpp", "a.cxx", "a.C", "a.hpp"):
        (folder / name).write_text("#include <vector>\nint main() { return 0; }\n")
    (folder / "words").write_text("-O2 a.cc\n")
    before = sorted(folder.iterdir())
    done = cc(folder, *words, check=False, text="")
    named = next(word for word in words if "a." in word or "c++" in word or word[0] == "@")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == f"skerry-cc: {named}: is C++, and this compiler is for C; `skerry c++` is for C++\n"
    )
    assert sorted(folder.iterdir()) == before


def test_cplusplus_is_not_built(folder: Path) -> None:
    """skerry c++: without its library it is refused in one line that says what builds it, and nothing is compiled with
    that of the host"""
    (folder / "a.cc").write_text("int main() { return 0; }\n")
    done = subprocess.run([WRAPPER, "--c++", "--cores", "a.cc", "-o", "out"], cwd=folder, capture_output=True,
                          text=True, env=os.environ | {"SKERRY_CPLUSPLUS": str(folder / "none")})
    assert (done.returncode, done.stdout) == (2, "") and not (folder / "out").exists()
    assert done.stderr == "skerry-cc: --c++: libstdc++ is not built; `./skerry build c++` builds it\n"


def test_names_of_cplusplus(folder: Path) -> None:
    """skerry cc: what only looks like C++ by its name is compiled"""
    (folder / "words").write_text("-O2 -c part.c\n")
    (folder / "a.cc").write_text("int class;\n")
    cc(folder, "-c", "-x", "c", "a.cc", "-o", "c++.o")
    cc(folder, "-c", "part.c", "-o", "part.cc")
    cc(folder, "@words")


def test_answers(folder: Path) -> None:
    """skerry cc: -dumpmachine names the C library, -print-file-name finds musl's, --version is gcc's"""
    assert cc(folder, "-dumpmachine").stdout == "x86_64-linux-musl\n"
    assert cc(folder, "-print-file-name=libc.a").stdout.strip() == str(SYSROOT / "lib/libc.a")
    assert Path(cc(folder, "-print-file-name=libgcc.a").stdout.strip()).exists()
    assert "(GCC)" in cc(folder, "--version").stdout or "gcc" in cc(folder, "--version").stdout
    assert "no input files" in cc(folder, check=False).stderr


@pytest.mark.parametrize("through", [("-shared", "part.c"), ("@words",)])
def test_shared(folder: Path, through: tuple[str, ...]) -> None:
    """skerry cc: -shared is refused in one line that says what to do, from a response file as well"""
    (folder / "words").write_text("-shared part.c -o part.so\n")
    done = cc(folder, *through, check=False)
    assert done.returncode != 0 and len(done.stderr.splitlines()) == 1
    assert "-shared cannot be used with skerry cc" in done.stderr and "--disable-shared" in done.stderr


def test_names(folder: Path) -> None:
    """skerry cc: a program's functions may have the names of the layer's, and replace malloc"""
    cc(folder, "-xc", "-", "-o", "own", text=OWN_NAMES)
    listed = subprocess.run(["nm", folder / "own"], capture_output=True, text=True, check=True).stdout
    globals_ = [line.split()[2] for line in listed.splitlines() if " T " in line]
    for name in ("stream_write", "event_wait", "tcp_connect", "malloc", "free"):
        assert globals_.count(name) == 1, name
    assert "skerry_syscall" not in globals_ or globals_.count("skerry_syscall") == 1


def test_for_linux(folder: Path) -> None:
    """skerry cc --for-linux: the program runs on the host, for configure scripts that run what they compile"""
    (folder / "both.c").write_text((folder / "part.c").read_text() + (folder / "main.txt").read_text())
    cc(folder, "--for-linux", "-o", "here", "both.c")
    assert subprocess.run([folder / "here"], capture_output=True, text=True, check=True).stdout == "here\n"


def test_no_host_libraries(folder: Path) -> None:
    """skerry cc: a library of the host, which is made for another C library, is not found"""
    assert "cannot find -lc_nonshared" in cc(folder, "-o", "x", "-xc", "-", "-xnone", "-lc_nonshared", check=False,
                                             text="int main(void) { return 0; }").stderr


@pytest.mark.parametrize("name, call", [
    ("fork", "fork()"), ("vfork", "vfork()"), ("daemon", "daemon(0, 0)"), ("system", "system(\"ls\")"),
    ("popen", "popen(\"ls\", \"r\") != 0"),
    ("posix_spawn", "posix_spawn(0, \"ls\", 0, 0, 0, 0)"), ("getpid", None),
])  # fmt: skip
def test_what_always_fails(name: str, call: str | None, folder: Path) -> None:
    """skerry cc: the linker warns of a call that always fails because a program is one process, and of no other"""
    head = "#define _GNU_SOURCE\n#include <spawn.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
    (folder / "calls.c").write_text(f"{head}int main(void) {{ return {call or 'getpid()'}; }}\n")
    warnings = cc(folder, "-O2", "-o", "calls", "calls.c").stderr
    assert (f"warning: {name}() always fails on Skerry, where a program is one process"
            in warnings) == (call is not None), warnings
    assert "warning" not in warnings or call


# ---- `skerry cc -fopenmp`, whose library `skerry build openmp` makes of GCC's source. ----

PARALLEL = "int main(void)\n{\n\tint sum = 0;\n\t#pragma omp parallel reduction(+ : sum)\n\tsum++;\n\treturn !sum;\n}\n"


@pytest.fixture
def without_openmp(folder: Path) -> Path:
    """Returns a copy of skerry-cc that finds no library of OpenMP."""
    text, count = re.subn("^openmp='.*'$", f"openmp='{folder}/none'", WRAPPER.read_text(), flags=re.MULTILINE)
    assert count == 1
    (folder / "skerry-cc").write_text(text)
    (folder / "skerry-cc").chmod(0o755)
    (folder / "parallel.c").write_text(PARALLEL)
    return folder / "skerry-cc"


@pytest.mark.parametrize("words", [("-fopenmp", "parallel.c"), ("--cores", "-c", "-fopenmp", "parallel.c"),
                                   ("-ftree-parallelize-loops=4", "parallel.c")], ids=" ".join)
def test_openmp_is_not_built(words: tuple[str, ...], without_openmp: Path, folder: Path) -> None:
    """skerry cc: -fopenmp without its library is refused in one line that says what builds it"""
    done = subprocess.run([without_openmp, *words, "-o", "out"], cwd=folder, capture_output=True, text=True)
    named = next(word for word in words if word.startswith("-f"))
    assert (done.returncode, done.stdout) == (2, "") and not (folder / "out").exists()
    assert done.stderr == (f"skerry-cc: {named}: libgomp is not built; `./skerry build openmp` builds it\n")


def test_openmp_of_the_host(without_openmp: Path, folder: Path) -> None:
    """skerry cc: -fopenmp of a response file does not link the compiler's own library; -fopenmp-simd needs none"""
    (folder / "words").write_text("-fopenmp parallel.c -o out\n")
    done = subprocess.run([without_openmp, "@words"], cwd=folder, capture_output=True, text=True)
    assert done.returncode and f"{folder}/none/lib/libgomp.a" in done.stderr and not (folder / "out").exists()
    subprocess.run([without_openmp, "-fopenmp-simd", "parallel.c", "-o", "out"], cwd=folder, check=True)


def test_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """a library is built anew after its script or its compiler changed, left alone else, and kept where a script
    fails"""
    script, compiler = tmp_path / "tree/apps/libc/openmp/build.sh", tmp_path / "compiler"
    script.parent.mkdir(parents=True)
    script.write_text("mkdir \"$OUTPUT/lib\"\necho first >\"$OUTPUT/lib/libgomp.a\"\n")
    compiler.write_text("first")
    monkeypatch.setattr(recipes, "COMPILED_WITH", (compiler,))
    for name, value in {"ROOT": tmp_path / "tree", "BUILD": tmp_path / "build", "LOGS": tmp_path,
                        "ensure_built": lambda output, needed: None}.items():
        monkeypatch.setattr(libraries, name, value)
    monkeypatch.setattr("deploy.setup.build.BUILD", tmp_path / "build")
    monkeypatch.setattr(sources, "ensure", lambda output, example: None)
    output, made = Output(True), tmp_path / "build/apps/libc/openmp/lib/libgomp.a"
    assert libraries.ensure(output, "openmp") and not libraries.ensure(output, "openmp")
    compiler.write_text("second")
    assert libraries.ensure(output, "openmp") and not libraries.ensure(output, "openmp")
    script.write_text("false\n")
    with pytest.raises(Failure, match="openmp could not be built"):
        libraries.ensure(output, "openmp")
    assert made.read_text() == "first\n"
    script.write_text("true\n")
    with pytest.raises(Failure, match="has made no lib/libgomp.a"):
        libraries.ensure(output, "openmp")


# ---- Examples, and pages that are followed. ----


# ---- `skerry build examples/NAME`: what is built anew, and what is kept ----

SCRIPT = ("#!/bin/sh\necho run >>runs\n[ -e object ] || echo compiled >>compilations\ntouch object\ncat runs "
          ">\"$OUTPUT/one.elf\"\n")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An example, one, whose script writes what it did to its work folder, build/examples/one."""
    folder, compiler, library = tmp_path / "examples/one", tmp_path / "compiler", tmp_path / "library"
    folder.mkdir(parents=True)
    (folder / "build.sh").write_text(SCRIPT)
    for file in (compiler, library):
        file.write_text("first")
    values = {"EXAMPLES": folder.parent, "BUILD": tmp_path / "build", "LOGS": tmp_path, "COMPILED_WITH": (compiler,),
              "LINKED_WITH": (library,), "ensure_built": lambda output, needed: None}  # fmt: skip
    for name, value in values.items():
        monkeypatch.setattr(examples, name, value)
    monkeypatch.setattr("deploy.setup.build.BUILD", tmp_path / "build")
    return folder


def lines(example: Path, name: str) -> int:
    return len((example.parents[1] / "build/examples/one" / name).read_text().splitlines())


def test_kept(example: Path) -> None:
    """an example is linked anew after its libraries changed, compiled anew after its compiler did, and left alone
    else"""
    output = Output(True)
    assert examples.ensure(output, "one") and not examples.ensure(output, "one")
    (example.parents[1] / "library").write_text("second")
    assert examples.ensure(output, "one")
    assert lines(example, "runs") == 2 and lines(example, "compilations") == 1
    (example.parents[1] / "compiler").write_text("second")
    assert examples.ensure(output, "one")
    assert lines(example, "runs") == 1 and lines(example, "compilations") == 1
    (example / "one.elf").unlink()
    assert examples.ensure(output, "one")


def test_failure(example: Path) -> None:
    """a script that fails is named with its lines, and runs again the next time"""
    (example / "build.sh").write_text("echo 'x.c:1: error: no such thing' >&2\nfalse\necho unreached "
                                      ">\"$OUTPUT/one.elf\"\n")
    for _ in range(2):
        with pytest.raises(Failure, match="(?s)no such thing.*examples/one could not be built"):
            examples.ensure(Output(True), "one")


def test_named(example: Path) -> None:
    """an example is named by its folder; another folder is refused with the list of those that there are"""
    assert examples.named(str(example)) == "one"
    with pytest.raises(InputError, match="no example to build; there are examples/one"):
        examples.named(str(example.parents[1]))


def test_sources() -> None:
    """the build fetches no example's sources, and each example of the list is there to build"""
    assert {source.name for source in sources.needed()} == {"redis", "lwip", "musl"}
    assert {source.name for source in sources.needed(servers={"valkey"})} == {"redis", "lwip", "musl", "valkey"}
    for name in ("lua", "sqlite", "memcached", "nginx"):
        assert name in examples.names() and sources.needed(name)
    assert set(libraries.OF_EXAMPLES) <= set(examples.names()) and sources.needed(libraries.SOURCE)


# ---- docs/libvirt.md shows commands that exist, with options that they have ----

PAGE = (ROOT / "docs/libvirt.md").read_text()


def test_commands() -> None:
    """every command of the page can be parsed, and names files that are there"""
    app = typer.main.get_command(make_app())
    shown = re.findall(r"^\./skerry (.*)$", PAGE, re.MULTILINE)
    assert len(shown) >= 6
    for line in shown:
        name, *words = shlex.split(line)
        command = app.commands[name]  # type: ignore[attr-defined]
        command.make_context(name, list(words))
        for path in re.findall(r"\S+\.toml", line):
            assert (ROOT / path).is_file(), path


def test_options() -> None:
    """every option that the page speaks of belongs to one of its commands"""
    app = typer.main.get_command(make_app())
    commands = [app.commands[n] for n in ("deploy", "status", "logs", "console", "kill", "stop", "undeploy")]  # type: ignore[attr-defined]
    known = {option for command in commands for parameter in command.params
             for option in parameter.opts + parameter.secondary_opts}
    assert set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", re.sub(r"```.*?```", "", PAGE, flags=re.DOTALL))) <= known


# ---- What runs the commands of pages as a reader would (tests/pages/reader.py) ----

def test_cut_off() -> None:
    """what was cut off in a table is seen, with a terminal and without"""
    assert cut_off("│ 1.5 [1.4..… │\n│ whole │\nand so on …\n", None) == ["│ 1.5 [1.4..… │"]
    assert cut_off(f"│ {'x' * 90} │", None) == [] and cut_off(f"│ {'x' * 90} │", 80)


def test_unchanged(tmp_path: Path) -> None:
    """what a command changes in a file of the tree is put back, also when it fails"""
    file = tmp_path / "kernel.corpus"
    file.write_text("a YQ==\n")
    with pytest.raises(ZeroDivisionError), unchanged(file):
        file.write_text("b Yg==\n")
        raise ZeroDivisionError
    assert file.read_text() == "a YQ==\n"
    assert Target("kernel", "clh").corpus == ROOT / CORPUS
