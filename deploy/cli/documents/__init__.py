# SPDX-License-Identifier: BSD-2-Clause
"""Pages and pictures of docs/ that are made, and the static site of all of it.

`build/venv/bin/python -m deploy.cli.documents` writes the generated pages into build/docs/, and docs/pictures/ anew;
tests say when the pictures are out of date. `./skerry docs` makes the site, generated pages included.
"""
