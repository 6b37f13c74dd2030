# SPDX-License-Identifier: BSD-2-Clause
"""Builds the conformance tests of Debian's posixtestsuite: for each C library or form of the layer one program that has
them all. Its argument names the test that it runs, "sem_open/9-1".

Objects are kept below build/posix-suite while the compiler's headers are the same; programs are linked anew each time.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from deploy.base.atomic_files import write_text
from deploy.base.errors import Failure
from deploy.base.paths import BUILD, THIRD_PARTY
from deploy.base.terminal import Output
from deploy.setup import needs, recipes, sources
from deploy.setup.build import ensure_built

SOURCE = "posixtestsuite"
TREE = THIRD_PARTY / SOURCE
INTERFACES = TREE / "conformance/interfaces"
FOLDER = BUILD / "posix-suite"
# Left out: what sets the host's clock, asynchronous I/O, and functions that make no system call.
CHOSEN = ("clock", "fork", "getpid", "kill", "mlock", "mmap", "mq_", "munlock", "munmap", "nanosleep", "pthread_",
          "raise", "sched_", "sem_", "shm_", "sig", "timer_")
NOT_CHOSEN = ("clock_settime",)
TEST = re.compile(r"\d+-\d+")
REPEATED, ENOUGH = "sigaction", 4  # an interface whose tests are there for each signal, and how many of those are run
UNDEFINED = re.compile(r"(\S+\.o): in function `[^']*':\n.*undefined reference")
FORKS = re.compile(r"\b(fork|system|popen|vfork) *\(|\bexec[lv]")
FLAGS = ("-std=gnu99", "-O1", "-w", "-D_POSIX_C_SOURCE=200112L", "-D_XOPEN_SOURCE=600", f"-I{TREE / 'include'}")
SKERRY = str(recipes.WRAPPER)
COMPILERS = {"glibc": ["gcc"], "musl": [SKERRY, "--for-linux"]}


@dataclass(frozen=True)
class Form:
    """A C library, or a form of the layer, for which the programs are linked."""

    name: str
    objects: str  # of COMPILERS
    linker: tuple[str, ...]
    target: str | None = None  # ninja's, of the layer
    forks: bool = True


FORMS = {form.name: form for form in (
    Form("glibc", "glibc", ("gcc", "-pthread"), None),
    Form("musl", "musl", (SKERRY, "--for-linux"), "apps/libc/skerry-for-linux.o"),
    Form("one", "musl", (SKERRY, "--without-net"), "apps/libc/skerry-layer-alone.o", False),
    Form("processes", "musl", (SKERRY, "--processes", "--without-net"), "apps/libc/skerry-layer-alone-processes.o"),
    Form("cores", "musl", (SKERRY, "--cores", "--without-net"), "apps/libc/skerry-layer-alone-cores.o", False),
)}  # fmt: skip


@dataclass(frozen=True, order=True)
class Test:
    interface: str
    number: str

    def __str__(self) -> str:
        return f"{self.interface}/{self.number}"

    @property
    def source(self) -> Path:
        return INTERFACES / self.interface / f"{self.number}.c"

    @cached_property
    def forks(self) -> bool:
        return bool(FORKS.search(self.source.read_text(errors="replace")))

    @property
    def function(self) -> str:
        return f"test_{self.interface}_{self.number.replace('-', '_')}"

    def compiled(self, library: str) -> Path:
        return FOLDER / library / self.interface / f"{self.number}.o"


def _order(path: Path) -> list[int]:
    return [int(part) for part in path.stem.split("-")]


def tests(only: str = "") -> list[Test]:
    """Lists the suite's tests whose interface, or whole name with a slash, has `only` in it."""
    result = []
    for folder in sorted(INTERFACES.iterdir()):
        if folder.name.startswith(CHOSEN) and folder.name not in NOT_CHOSEN:
            found = sorted((path for path in folder.glob("*.c") if TEST.fullmatch(path.stem)), key=_order)
            result += [Test(folder.name, path.stem) for path in found
                       if folder.name != REPEATED or _order(path)[1] <= ENOUGH]
    return [test for test in result if only in str(test)]


def unpack(output: Output) -> None:
    """Gets the suite's sources where they are missing."""
    sources.ensure(output, SOURCE)


def _defines(path: Path, name: str) -> bool:
    names = subprocess.run(["nm", "--defined-only", "--format=posix", path], capture_output=True, text=True, check=True)
    return any(line.split()[0] == name for line in names.stdout.splitlines())


def _compile(test: Test, library: str) -> None:
    """Makes an object whose only visible name is the test's function. Nothing is there where it does not compile, or
    has no main()."""
    path = test.compiled(library)
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(".new")
    done = subprocess.run([*COMPILERS[library], *FLAGS, "-c", "-o", fresh, test.source], capture_output=True)
    if not done.returncode:
        subprocess.run(["objcopy", f"--redefine-sym=main={test.function}", f"--keep-global-symbol={test.function}",
                        fresh], check=True)
        if _defines(fresh, test.function):
            fresh.replace(path)


MAIN = """\
#include <stdio.h>
#include <string.h>

{declared}
static const struct {{
	const char *name;
	int (*run)(int, char **);
}} tests[] = {{
{listed}}};

int main(int count, char **arguments)
{{
	for (unsigned i = 0; count > 1 && i < sizeof(tests) / sizeof(tests[0]); i++)
		if (!strcmp(tests[i].name, arguments[1]))
			return tests[i].run(1, arguments + 1);
	fprintf(stderr, "usage: %s TEST\\n", arguments[0]);
	return 99;
}}
"""


def program(form: Form) -> Path:
    return FOLDER / f"{form.name}.elf"


def _link(form: Form, members: Sequence[Test]) -> list[Test]:
    """Links the program, without the tests that call functions that the C library lacks. Returns the others."""
    path = program(form)
    main, objects = path.with_suffix(".c"), path.with_suffix(".objects")
    write_text(main, MAIN.format(
        declared="".join(f"int {test.function}(int, char **);\n" for test in members),
        listed="".join(f'\t{{ "{test}", {test.function} }},\n' for test in members)))
    write_text(objects, "".join(f"{test.compiled(form.objects)}\n" for test in members))
    command = [*form.linker, "-w", "-o", str(path), str(main), f"-Wl,@{objects}", "-lrt", "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    lacking = set(UNDEFINED.findall(done.stderr))
    there = [test for test in members if str(test.compiled(form.objects)) not in lacking]
    if done.returncode and len(there) == len(members):
        raise Failure(f"{path.name}: {done.stderr.strip().splitlines()[0]}")
    return _link(form, there) if done.returncode else there


def build(output: Output, forms: Iterable[Form], chosen: Sequence[Test], jobs: int) -> dict[str, list[Test]]:
    """Builds the programs of these forms. Returns for each form the tests that are in them: the others do not
    compile."""
    targets = frozenset(form.target for form in forms if form.target)
    if targets:
        ensure_built(output, needs.COMPILER | needs.Needs(targets))
    stamp, now = FOLDER / "compiled-with", recipes.digest(recipes.COMPILED_WITH, *FLAGS) if targets else ""
    if targets and (not stamp.exists() or stamp.read_text() != now):
        shutil.rmtree(FOLDER / "musl", ignore_errors=True)
        FOLDER.mkdir(parents=True, exist_ok=True)
        write_text(stamp, now)
    result = {}
    with ThreadPoolExecutor(jobs) as pool, output.progress("Building the suite's programs"):
        for library in dict.fromkeys(form.objects for form in forms):
            list(pool.map(lambda test, library=library: _compile(test, library), chosen))
        for form in forms:
            there = [test for test in chosen if test.compiled(form.objects).exists()]
            result[form.name] = _link(form, there)
    return result
