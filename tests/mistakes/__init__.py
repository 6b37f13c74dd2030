# SPDX-License-Identifier: BSD-2-Clause
"""Planted mistakes, each of which must turn a test red: `build/venv/bin/python -m tests.mistakes`.

list/*.txt is the catalogue: what is changed, and the test that must see it. A mistake of which that test is one of the
components' is tried in a mirror of the tree (mirror.py): one object is compiled, the test is linked with it and run.
What no such test sees, and what only a booted machine can see, is tried in a private copy of HEAD (campaign.py). What
has a fresh verdict in verdicts.txt is not tried again: an interrupted run goes on where it was.
"""
