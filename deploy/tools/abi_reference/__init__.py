# SPDX-License-Identifier: BSD-2-Clause
"""The reference of the ABI, made from the public headers (deploy/cli/documents/generated.py says where it goes).

libclang reads the headers, so that values, sizes and offsets are the compiler's. The words are the headers'
comments: what is missing in the page is to be said there. After "Errors:" in the comment of an enumerator come
names of errors.h, each perhaps with its reason in brackets.
"""
