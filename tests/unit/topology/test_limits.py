# SPDX-License-Identifier: BSD-2-Clause
"""What Python reads from the headers is what the C compiler finds there."""

import re
import subprocess
from pathlib import Path

import pytest

from deploy.base.paths import ROOT
from deploy.deployment import file_tree
from topology import headers

FILES = "lib/include/skerry/file_tree.h"
PLACES = (headers.KERNEL, headers.LIBRARY)
READ = ("boot.h", "stat.h", "map_limits.h", "process.h", "channel.h", "port.h")


def test_enumerators(tmp_path: Path) -> None:
    """every enumerator of the headers that Python reads has the compiler's value"""
    found = {name: value for place in PLACES for file in READ if (ROOT / place / file).exists() for name, value in headers.enumerators(place / file).items()}
    assert len(found) > 50
    lines = "".join(f'printf("{name} %lld\\n", (long long){name});\n' for name in found)
    includes = "".join(f"#include <skerry/{file}>\n" for file in READ)
    (tmp_path / "values.c").write_text(f"#include <stdio.h>\n{includes}int main(void)\n{{\n{lines}return 0;\n}}\n")
    folders = [f"-I{ROOT / place.parent}" for place in PLACES]
    subprocess.run(["gcc", "-w", *folders, "-o", "values", "values.c"], cwd=tmp_path, check=True)
    told = subprocess.run([tmp_path / "values"], capture_output=True, text=True, check=True).stdout
    assert {name: int(value) for name, value in (line.split() for line in told.splitlines())} == found


def test_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a header that Python cannot read is named, with what it does not understand"""
    monkeypatch.setattr(headers, "ROOT", tmp_path)
    path = Path("odd.h")
    (tmp_path / path).write_text("enum { A = 3, B = A * 2 + 1, C, D = sizeof(int) };\nstruct odd {\n\tuint64_t a, b[B];\n\tuint32_t c;\n};\n")
    with pytest.raises(headers.HeaderError, match=r"odd.h: 'sizeof\(int\)'"):
        headers.constant(path, "A")
    headers.enumerators.cache_clear(), headers._text.cache_clear()
    (tmp_path / path).write_text((tmp_path / path).read_text().replace("sizeof(int)", "1 << C"))
    assert headers.enumerators(path) == {"A": 3, "B": 7, "C": 8, "D": 256}
    with pytest.raises(headers.HeaderError, match="odd.h: struct odd: 'uint32_t c'"):
        headers.layout(path, "odd")


def constant(header: str, name: str) -> int:
    found = re.search(rf"\b{name}\s*=?\s*((?:0x)?[0-9a-fA-F]+(?:\s*\*\s*\d+)?)", (ROOT / header).read_text())
    assert found, f"{header} has no {name}"
    product = 1
    for factor in found[1].split("*"):
        product *= int(factor, 0)
    return product


@pytest.mark.parametrize(
    "value, header, name",
    [
        (file_tree.VERSION, FILES, "FILE_TREE_VERSION ="),
        (file_tree.ALIGNED, FILES, "FILE_TREE_ALIGNED ="),
        (file_tree.MOST_ENTRIES, FILES, "FILE_TREE_ENTRIES"),
        (file_tree.LONGEST_NAME, FILES, "FILE_TREE_NAME"),
        (file_tree.MAGIC, FILES, "FILE_TREE_MAGIC"),
    ],
)
def test_file_tree(value: int, header: str, name: str) -> None:
    """the layout of file trees is the header's"""
    assert value == constant(header, name)
