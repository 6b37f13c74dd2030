# SPDX-License-Identifier: BSD-2-Clause
"""A running machine, watched: `source` looks at it, `sample` says what happened between two looks, `view` lays a
sample out in lines, `terminal` owns the screen and the keyboard, `watch` is the loop."""
