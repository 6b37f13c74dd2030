# SPDX-License-Identifier: BSD-2-Clause
"""A copy of the tree in which the pages on a lock and a layout of one's own have been followed, configured."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deploy.base.paths import BUILD, ROOT, THIRD_PARTY
from tests.boot.test_adding import NOT_COPIED, follow


@contextmanager
def tree() -> Iterator[tuple[Path, Sequence[str]]]:
    """Its path, and what calls its ./skerry by the environment of Python's that this tree has."""
    folder = Path(tempfile.mkdtemp(prefix="skerry-f-"))
    copy = folder / "tree"
    try:
        shutil.copytree(ROOT, copy, ignore=NOT_COPIED, symlinks=True)
        for name in ("lock", "driver", "layout"):
            follow((ROOT / "docs" / f"adding-a-{name}.md").read_text(), copy)
        subprocess.run(["meson", "setup", copy / "build", copy, f"-Dthird_party={THIRD_PARTY}"], check=True,
                       capture_output=True)
        (copy / "build/venv").symlink_to(BUILD / "venv")
        call = (f"import sys; sys.path.insert(0, {str(copy)!r}); from deploy.cli.main import main_program; "
                f"sys.exit(main_program())")
        yield copy, (sys.executable, "-c", call)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
