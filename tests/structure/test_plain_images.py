# SPDX-License-Identifier: BSD-2-Clause
"""Images that do not count have no trace of counting: what would be compiled if there were no such thing is the
same."""

import os
import re
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

from deploy.base.paths import BUILD, ROOT
from tests.structure import tree

KERNEL = ROOT / "cluster-kernel"
STAT = KERNEL / "include" / "skerry" / "stat.h"
OFF = KERNEL / "lock" / "count" / "off.h"
FIELDS = ("idle_cycles", "started", "updated", "idle_since", "sequence", "layout")  # what a plain image keeps


@cache
def commands() -> dict[str, dict[str, list[str]]]:
    """Returns how the C sources of each plain image are compiled, by their objects."""
    by_image: dict[str, dict[str, list[str]]] = {}
    for entry, words in tree.compiled():
        image = re.match(r"cluster-kernel/kernel-(\w+)\.elf\.p/", entry["output"])
        if image and entry["file"].endswith(".c"):
            kept = [w for i, w in enumerate(words) if not {"-o", "-MQ", "-MF"} & {w, words[i - 1]}
                    and w not in ("-MD", "-c", "-g")]
            by_image.setdefault(image[1], {})[entry["output"]] = kept
    return by_image


def without_counters(text: str) -> str:
    """stat.h with a record that has no room for what is counted: code that touches a counter does not compile."""
    (lines,) = re.findall(r"^struct core_stat \{\n(.*?)^\};\n", text, re.MULTILINE | re.DOTALL)
    kept = [line if re.search(rf"\b({'|'.join(FIELDS)});", line) else f"\tuint64_t nothing_{i};"
            for i, line in enumerate([line for line in lines.splitlines() if line.split("/*")[0].strip()][:12])]
    record = "\n".join(["struct core_stat {", *kept, "\tuint64_t nothing[500];", "};", ""])
    text, replaced = re.subn(r"struct core_stat \{.*?\n\};\n", lambda match: record, text, flags=re.DOTALL)
    assert replaced == 1
    return re.sub(r"_Static_assert\(__builtin_offsetof\(struct core_stat.*?;\n", "", text, flags=re.DOTALL)


def without_code(text: str, evaluates: bool) -> str:
    """count/off.h with macros in the place of its functions, which do nothing or only evaluate their arguments.

    Either is no counting; the compiler may put the same instructions in another order for one of them.
    """
    names = re.findall(r"^static inline \w+ (count_\w+)\(", text, re.MULTILINE)
    assert {"count_now", "count_acquired", "count_released", "count_syscall"} <= set(names)
    nothing = "((void)(0, ##__VA_ARGS__))" if evaluates else "((void)0)"
    macros = [f"#define {name}(...) {'((uint64_t)0)' if name == 'count_now' else nothing}" for name in names]
    return "\n".join(["#pragma once", "#include <stdbool.h>", "#include <skerry/stat.h>", "struct cpu;",
                      "struct thread;", *macros, ""])


def counting(objects: Iterable[str]) -> list[str]:
    """Returns the objects of sources that take locks, or count what they do. All others see these functions, too, and
    call none."""
    done = subprocess.run(["ninja", "-t", "deps", *objects], cwd=BUILD, capture_output=True, text=True, check=True)
    return [name for name, _, files in (block.partition(": ") for block in done.stdout.split("\n\n"))
            if "check/unrecorded.h" in files]


def without_debug(source: Path, kept: Path) -> bytes:
    subprocess.run(["strip", "--strip-debug", "-o", str(kept), str(source)], check=True)
    return kept.read_bytes()


def assembly(words: list[str]) -> str:
    """Whether two things are equal does not depend on which is named first."""
    done = subprocess.run([*words, "-g0", "-w", "-fdiagnostics-color=never", "-S", "-o", "-"], cwd=BUILD,
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    equal = re.compile(r"^\t(cmp[bwlq])\t(%\w+), (%\w+)\n(?=\t(?:je|jne)\t)", re.MULTILINE)
    return equal.sub(lambda m: "\t{}\t{}, {}\n".format(m[1], *sorted((m[2], m[3]))), done.stdout)


@pytest.mark.limit(240)
@pytest.mark.parametrize("image", sorted(commands()))
def test_no_trace(image: str, tmp_path: Path) -> None:
    """a plain image's code is what it would be without counting"""
    (tmp_path / "skerry").mkdir()
    (tmp_path / "skerry" / "stat.h").write_text(without_counters(STAT.read_text()))
    for name, evaluates in (("absent.h", False), ("evaluates.h", True)):
        (tmp_path / name).write_text(without_code(OFF.read_text(), evaluates))

    def differs(number: int, name: str) -> str | None:
        words = commands()[image][name]
        made, kept = tmp_path / f"{number}.o", tmp_path / f"{number}.kept.o"
        bare = {header: [words[0], f"-I{tmp_path}", *(word.replace("count/off.h", header) for word in words[1:])]
                for header in ("absent.h", "evaluates.h")}
        subprocess.run([*bare["absent.h"], "-w", "-c", "-o", str(made)], cwd=BUILD, check=True)
        if without_debug(made, kept) == without_debug(BUILD / name, kept):
            return None
        plain = assembly(words)
        return None if any(plain == assembly(other) for other in bare.values()) else words[-1]

    names = counting(commands()[image])
    assert len(names) >= 4
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        wrong = [source for source in pool.map(differs, *zip(*enumerate(names))) if source]
    assert not wrong, "\n".join(wrong)


def test_clock() -> None:
    """regimes read the clock by count_now() alone"""
    regimes = [p for p in tree.with_suffix(".h") if p.parent == Path("cluster-kernel/lock")]
    wrong = [str(path) for path in regimes if re.search(r"\b(arch_time|rdtsc|__builtin_ia32_rdtsc)", tree.read(path))]
    assert len(regimes) > 5 and not wrong, "\n".join(wrong)
