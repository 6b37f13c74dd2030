# SPDX-License-Identifier: BSD-2-Clause
"""XML that a user names."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from topology.errors import InputError


def read_root(path: Path) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(path.read_bytes())
    except OSError as error:
        raise InputError(str(path), error.strerror or "cannot be read") from None
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(str(path), f"not XML ({error})") from None
