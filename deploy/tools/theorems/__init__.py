# SPDX-License-Identifier: BSD-2-Clause
"""Theorems about pure arithmetic of the C sources: `skerry prove --theorems` (docs/proofs.md).

A theorem is a function with an ACSL contract (ACSL 1.17) beside its code. Frama-C/WP proves the contract and the
absence of run-time errors; clauses that are named `bits` are proved as queries over bit-vectors, which
this package makes from the same function and the same contract.
"""
