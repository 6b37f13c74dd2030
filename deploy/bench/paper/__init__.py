# SPDX-License-Identifier: BSD-2-Clause
"""`skerry paper`: which runs it takes (work.py), and the report of them (page.py)."""
