# SPDX-License-Identifier: BSD-2-Clause
"""The build stays small."""

from deploy.base.paths import BUILD, ROOT
from tests.mistakes.graph import Graph

STEPS = 4000  # a fresh machine of two cores takes four minutes for them


def test_steps() -> None:
    """a clean build of all that `./skerry test` needs has few steps"""
    steps = [step for step in Graph(BUILD).steps_of(["all"]) if step.command]
    assert 0 < len(steps) <= STEPS


def test_archives() -> None:
    """a package's own Makefile archives what is optimised at link time by gcc-ar: ar alone finds no symbols in it, where
    the release's package gcc, which brings a plugin of ar, is not installed"""
    texts = {path: path.read_text() for path in (ROOT / "apps").rglob("*.sh")}
    packages = {path: text for path, text in texts.items() if "make -C" in text and "-flto" in text}
    assert {path.name for path in packages} >= {"build-redis.sh", "build-redis-linux.sh"}
    wrong = [path.name for path, text in packages.items() if "AR=gcc-ar RANLIB=gcc-ranlib" not in text]
    assert not wrong, wrong
