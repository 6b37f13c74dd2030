# SPDX-License-Identifier: BSD-2-Clause
"""Tests how weaker memory orders are generated from a source file, and how the catalogue takes an argument."""

from pathlib import Path

import pytest

from tests.mistakes import catalogue, orders
from tests.mistakes.source import Source

TEXT = """
#define NOTHING atomic_load
static int take(_Atomic int *word, int old)
{
	/* memory_order_seq_cst in a comment */
	atomic_thread_fence(memory_order_seq_cst);
	atomic_exchange_explicit(word, f(1), memory_order_acq_rel);
	__atomic_compare_exchange_n(word, &old, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE);
	atomic_compare_exchange_strong_explicit(word, &old, 1, memory_order_seq_cst, memory_order_relaxed);
	atomic_store(&word[old],  1);
	return atomic_load_explicit(word, memory_order_acquire) + atomic_load_explicit(word, memory_order_relaxed);
}
"""


def weaker() -> list[tuple[str, str]]:
    """Returns what each weakening is called, and the lines that it changes, as they become."""
    made = []
    for one in orders.of(Path("a.c"), Source(TEXT)):
        lines = [line.strip() for line in one.edit.text.splitlines() if line not in TEXT.splitlines()]
        made.append((one.steps, " ".join(" ".join(lines).split())))
        assert one.function == "take" and one.edit.changes
    return made


def test_steps() -> None:
    """each order is weakened by one step, a fence left out, a failure never stronger than its success"""
    assert weaker() == [
        ("dropped", ""),
        ("acq_rel -> acquire", "atomic_exchange_explicit(word, f(1), memory_order_acquire );"),
        ("acq_rel -> release", "atomic_exchange_explicit(word, f(1), memory_order_release );"),
        ("acquire, acquire -> relaxed, relaxed",
         "__atomic_compare_exchange_n(word, &old, 1, false, __ATOMIC_RELAXED , __ATOMIC_RELAXED );"),
        ("acquire, acquire -> acquire, relaxed",
         "__atomic_compare_exchange_n(word, &old, 1, false, __ATOMIC_ACQUIRE , __ATOMIC_RELAXED );"),
        ("seq_cst, relaxed -> acq_rel, relaxed",
         "atomic_compare_exchange_strong_explicit(word, &old, 1, memory_order_acq_rel , memory_order_relaxed );"),
        ("seq_cst -> release", "atomic_store_explicit(&word[old], 1, memory_order_release) ;"),
        ("acquire -> relaxed",
         "return atomic_load_explicit(word, memory_order_relaxed ) + atomic_load_explicit(word, "
         "memory_order_relaxed);"),
    ]


def test_accesses() -> None:
    """an order in a comment is none, and each that is named is within an access"""
    named = [word for access in orders.accesses(Source(TEXT)) for word in access if orders.is_strong(word)]
    assert sorted(named) == ["__ATOMIC_ACQUIRE"] * 2 + ["memory_order_acq_rel", "memory_order_acquire",
                                                         "memory_order_seq_cst", "memory_order_seq_cst"]


def test_argued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """an argued entry has no test that would see it, not even its section's"""
    (tmp_path / "orders.txt").write_text("# licence\n[a.c]\nseen by one\na load\n    take:: x => y\n"
                                         "    argued: nobody reads behind it\n")
    monkeypatch.setattr(catalogue, "LIST", tmp_path)
    (entry,) = catalogue.load(tmp_path)
    assert entry.argued == "nobody reads behind it" and not entry.seen_by and not entry.digest
