# SPDX-License-Identifier: BSD-2-Clause
"""The one exception that means: the input is wrong, and this line names the culprit."""


class InputError(ValueError):
    """Bad input from the user; commands print its single line on stderr and exit with status 2."""

    def __init__(self, culprit: str, problem: str) -> None:
        super().__init__(f"{culprit}: {problem}".replace("\n", " "))
        self.culprit = culprit
        self.problem = problem
