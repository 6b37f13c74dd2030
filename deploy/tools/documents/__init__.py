# SPDX-License-Identifier: BSD-2-Clause
"""Pages and pictures of docs/ that are made, and the static site of all of it.

`build/venv/bin/python -m deploy.tools.documents` writes docs/generated/cli.md and docs/pictures/ anew; tests say when they are
out of date. `./skerry docs` makes the site.
"""
