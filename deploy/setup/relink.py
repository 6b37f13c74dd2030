# SPDX-License-Identifier: BSD-2-Clause
"""Links a kernel anew with its objects in another order: the same instructions at other addresses."""

from __future__ import annotations

import random
import shlex
import subprocess
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.deployment import modules

RELINKED = BUILD / "relinked"
LINES = 64  # at most, of padding before the first object and before the libraries


def path_of(kernel: str, seed: int) -> Path:
    """Returns where the image is, or will be."""
    return RELINKED / f"{kernel}-{seed}.elf"


def relink(kernel: str, seed: int) -> Path:
    """Makes the image of a kernel that is built. What a seed gives depends on the seed and the build alone."""
    target, image = modules.module_path(kernel).relative_to(BUILD), path_of(kernel, seed)
    command = shlex.split(_run(["ninja", "-C", str(BUILD), "-t", "commands", str(target)]).splitlines()[-1])
    image.parent.mkdir(parents=True, exist_ok=True)
    draw = random.Random(seed)
    pads = [_padding(image.with_suffix(f".{end}.o"), draw) for end in ("first", "last")]
    _run(shuffled(command, target, image, pads, draw))
    return image


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
    _run(["cc", "-c", "-x", "assembler", "-o", str(path), "-"], text)
    return str(path)


def _run(command: list[str], text: str = "") -> str:
    done = subprocess.run(command, cwd=BUILD, input=text, capture_output=True, text=True)
    if done.returncode:
        raise Failure(f"{command[0]}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
