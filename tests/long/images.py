# SPDX-License-Identifier: BSD-2-Clause
"""The interval over images beside kernels that it was not made from: `build/venv/bin/python -m tests.long.images`.

Runs the images of `./skerry compare`. Then kernels that are linked anew by other seeds, each with a salt of its own:
nine in ten must have their ratio inside the interval. Then the kernel as built with 0 to 5 pages more that nobody
touches before its data without values: the medians of their ratios over some salts must be within 2 %. Takes some ten
minutes on two processors.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from deploy.base import process
from deploy.base.partial import Parts
from deploy.base.paths import BUILD
from deploy.base.terminal import Output
from deploy.compare import runs
from deploy.compare.images import IMAGES
from deploy.compare.interval import prediction
from deploy.compare.runs import Setting
from deploy.compare.tables import ratios
from deploy.deployment import modules
from deploy.emulator import run as modelled_run
from deploy.emulator.machine_file import PAPERS, load
from deploy.load.case import RedisCase
from deploy.machine.events import Event
from deploy.setup import relink
from tests.long import published

METRIC = "ops_per_s"
INSIDE, SPREAD = 0.9, 0.02  # of the held-out kernels; greatest median of padded kernels over the least, less 1
FIRST = 101  # seed of the held-out kernels
PAGES, SALTS = 6, 4  # paddings, from none on; salts of each
PAGE = 4096

Settings = Mapping[Setting, RedisCase]


def measure(every: Sequence[tuple[RedisCase, Settings]], output: Output) -> list[float]:
    """Returns the ratio of two cases in each of their settings, which are the same for both."""
    def follow(name: str, update: Callable[..., None]) -> Callable[[Event], None]:
        return lambda event: None

    (first, settings), (second, others) = every
    runs.link(case for part in (settings, others) for case in part.values())
    assert first.job.modelled
    calls = runs.timed(every, modelled_run.mode(first.job.modelled))
    parts = Parts(output)
    done = runs.separate(runs.run_all(runs.at_once(first), calls, runs.Follower(output, follow, 1), parts), parts)
    parts.finish()
    return [ratios(*(done[runs.What.TIMED, setting, *case.key] for case in (first, second)))[METRIC]
            for setting in settings]


def held_out(case: RedisCase, kernels: int) -> Settings:
    return {Setting(seed): case.relinked(seed).salted(seed) for seed in range(FIRST, FIRST + kernels)}


def padded(case: RedisCase, pages: int, folder: Path) -> RedisCase:
    """Returns the case on its kernel with so many pages more at the begin of .bss."""
    pad, image = folder / f"{pages}.o", folder / f"{case.kernel}-pages-{pages}.elf"
    if not image.exists():
        relink.run(["cc", "-c", "-x", "assembler", "-o", str(pad), "-"],
                   f".section .bss\n.balign {PAGE}\n.skip {PAGE * pages}\n")
        command = relink.link_command(case.kernel)
        target = str(modules.module_path(case.kernel).relative_to(BUILD))
        place = next(place for place, word in enumerate(command) if word.endswith(".o"))
        words = [str(image) if word == target else word for word in command]
        relink.run([*words[:place], str(pad), *words[place:]])
    return replace(case, plan=replace(case.plan, own={**case.plan.own, case.kernel: image}))


def with_pages(case: RedisCase, folder: Path) -> Settings:
    return {Setting(SALTS * pages + salt): padded(case, pages, folder).salted(1 + salt)
            for pages in range(PAGES) for salt in range(SALTS)}


def check_kernels(cases: Sequence[RedisCase], kernels: int, output: Output) -> tuple[bool, dict[str, list[float]]]:
    """Returns whether enough kernels linked anew lie inside the interval over images, and all ratios."""
    drawn = measure([(case, {Setting(draw): runs.on_image(case, draw, IMAGES) for draw in range(IMAGES)})
                     for case in cases], output)
    interval = prediction(drawn)
    assert interval
    print(f"{IMAGES} images: {median(drawn):.3f}, another image {interval.low:.3f} to {interval.high:.3f}", flush=True)
    others = measure([(case, held_out(case, kernels)) for case in cases], output)
    for seed, ratio in enumerate(others, FIRST):
        print(f"kernel {seed}: {ratio:.3f}{'' if interval.low <= ratio <= interval.high else ', OUTSIDE'}")
    inside = sum(interval.low <= ratio <= interval.high for ratio in others)
    right = inside >= ceil(INSIDE * kernels)
    print(f"{inside} of {kernels} inside: {'met' if right else 'MISSED'}", flush=True)
    return right, {"images": drawn, "held_out": others}


def check_pages(cases: Sequence[RedisCase], output: Output) -> tuple[bool, dict[str, list[float]]]:
    """Returns whether the medians of padded kernels are near to each other, and all ratios."""
    with TemporaryDirectory(prefix="skerry-padded-", dir=BUILD) as folder:
        ratio_of = measure([(case, with_pages(case, Path(folder))) for case in cases], output)
    medians = [median(ratio_of[SALTS * pages:SALTS * (pages + 1)]) for pages in range(PAGES)]
    spread = max(medians) / min(medians) - 1
    right = spread <= SPREAD
    print(f"0 to {PAGES - 1} pages more: {', '.join(f'{one:.3f}' for one in medians)}; {spread:.1%} apart: "
          f"{'met' if right else 'MISSED'}")
    return right, {"pages": ratio_of}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.images",
                                     description="Puts kernels linked anew beside the interval over images.")
    parser.add_argument("--kernels", type=int, default=20, metavar="N", help="held-out kernels (20)")
    parser.add_argument("--only", choices=("kernels", "pages"), help="one of the two checks")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all ratios")
    args = parser.parse_args()
    if args.kernels < 1:
        parser.error("--kernels is 1 or more")
    process.heed_signals()
    output = Output()
    cases = published.cases(load(PAPERS), output)
    checks = [check_kernels(cases, args.kernels, output)] if args.only != "pages" else []
    checks += [check_pages(cases, output)] if args.only != "kernels" else []
    if args.json:
        every = {name: values for _, known in checks for name, values in known.items()}
        args.json.write_text(json.dumps(every, indent=2) + "\n")
    return 0 if all(right for right, _ in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
