# SPDX-License-Identifier: BSD-2-Clause
"""The lock regimes that an experiment runs under."""

from deploy.deployment.modules import REGIMES
from deploy.load.request import split

BASELINE = "none"


def chosen(option: str | None) -> list[str]:
    """Returns the regimes of --lock, or all that the build makes; the baseline always and first, as the reference."""
    names = split("--lock", option, REGIMES) if option is not None else REGIMES
    return list(dict.fromkeys([BASELINE, *names]))


def named(option: str | None) -> list[str]:
    """Returns the regimes of --lock, or all; the one without a lock only where it is named or all are."""
    words = None if option is None else {word.strip() for word in option.split(",")}
    return [name for name in chosen(option) if words is None or name in words]
