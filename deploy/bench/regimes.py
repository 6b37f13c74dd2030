# SPDX-License-Identifier: BSD-2-Clause
"""Which lock regimes an experiment runs under."""

from deploy.deployment.modules import REGIMES
from topology.errors import InputError

BASELINE = "none"


def chosen(option: str | None) -> list[str]:
    """Returns the regimes of --lock, or all that the build makes; the baseline always and first, as the reference."""
    names = [name.strip() for name in option.split(",")] if option is not None else list(REGIMES)
    for name in names:
        if name not in REGIMES:
            raise InputError("--lock", f"'{name}' is not one of {', '.join(REGIMES)}")
    return list(dict.fromkeys([BASELINE, *names]))
