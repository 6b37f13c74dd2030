# SPDX-License-Identifier: BSD-2-Clause
"""docs/generated/abi.md, made from the public headers: `build/venv/bin/python -m deploy.tools.abi_reference`.

libclang reads the headers, so that values, sizes and offsets are the compiler's. The words are the headers'
comments: what is missing in the page is to be said there. After "Errors:" in the comment of an enumerator come
names of errors.h, each perhaps with its reason in brackets.
"""
