# SPDX-License-Identifier: BSD-2-Clause
"""Links kernels anew with their objects in another order: the same instructions at other addresses."""

from __future__ import annotations

import hashlib
import os
import random
import shlex
import subprocess
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from deploy.base import parallel
from deploy.base.atomic_files import write_text
from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.deployment import modules

RELINKED = BUILD / "relinked"
LINES = 64  # at most, of padding before the first object and before the libraries


def path_of(kernel: str, seed: int) -> Path:
    """Returns where the image is, or will be."""
    return RELINKED / f"{kernel}-{seed}.elf"


def ensure_linked(images: Iterable[Path]) -> None:
    """Makes images (see path_of()) of kernels that are built, side by side, but for those that are kept of this very
    build. What a seed gives depends on the seed and the build alone."""
    asked: dict[str, list[int]] = {}
    for image in sorted(set(images)):
        kernel, _, seed = image.stem.rpartition("-")
        asked.setdefault(kernel, []).append(int(seed))
    with ThreadPoolExecutor(len(parallel.processors())) as links:
        for kernel, seeds in asked.items():
            built = hashlib.sha256(modules.module_path(kernel).read_bytes()).hexdigest()
            missing = [seed for seed in seeds if not _is_kept(path_of(kernel, seed), built)]
            command = link_command(kernel) if missing else []
            for done in [links.submit(_link, command, kernel, seed, built) for seed in missing]:
                done.result()


def _record(image: Path) -> Path:
    return image.with_suffix(".of")


def _is_kept(image: Path, built: str) -> bool:
    """Returns whether the image is there, made of the kernel whose digest is `built`."""
    record = _record(image)
    return image.is_file() and record.is_file() and record.read_text() == built


def link_command(kernel: str) -> list[str]:
    """Returns the command that links a kernel."""
    target = modules.module_path(kernel).relative_to(BUILD)
    return shlex.split(run(["ninja", "-C", str(BUILD), "-t", "commands", str(target)]).splitlines()[-1])


def _link(command: list[str], kernel: str, seed: int, built: str) -> None:
    target, image, draw = modules.module_path(kernel).relative_to(BUILD), path_of(kernel, seed), random.Random(seed)
    image.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{image.stem}-", dir=image.parent) as folder:
        pads = [_padding(Path(folder, f"{end}.o"), draw) for end in ("first", "last")]
        made = Path(folder, image.name)
        run(shuffled(command, target, made, pads, draw))
        _record(image).unlink(missing_ok=True)
        os.replace(made, image)
        write_text(_record(image), built)


def shuffled(command: list[str], target: Path, image: Path, pads: list[str], draw: random.Random) -> list[str]:
    """Returns the command that links `image`: objects in a drawn order, and padding before them and behind them."""
    objects = [word for word in command if word.endswith(".o")]
    place = command.index(objects[0]) if objects else 0
    if not objects or "-o" not in command or command[command.index("-o") + 1] != str(target):
        raise Failure(f"{target}: ninja's command does not link it from objects")
    others = [word for word in command if not word.endswith(".o")]
    others[others.index("-o") + 1] = str(image)
    draw.shuffle(objects)
    return [*others[:place], *pads[:1], *objects, *pads[1:], *others[place:]]


def _padding(path: Path, draw: random.Random) -> str:
    """Makes an object of some empty lines in each section."""
    text = "".join(f".section .{name}\n.balign 64\n.skip {64 * draw.randrange(LINES)}\n"
                   for name in ("text", "rodata", "data", "bss"))
    run(["cc", "-c", "-x", "assembler", "-o", str(path), "-"], text)
    return str(path)


def run(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, cwd=BUILD, input=text, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{command[0]}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
