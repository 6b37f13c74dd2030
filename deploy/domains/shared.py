# SPDX-License-Identifier: BSD-2-Clause
"""Memory that a deployment's domains share. QEMU makes it, a file in /dev/shm, and nobody removes it with the domain.

libvirt has a way to files of any host, its storage pools: /dev/shm becomes one for as long as it takes.
"""

import re
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deploy.domains.connection import Connection, explained
from deploy.domains.record import deployment_name
from topology import foreign
from topology.machines.libvirt_domain import element

FOLDER = "/dev/shm"
OURS = "skerry-shared-memory"
ATTEMPTS, PAUSE = 20, 0.1  # seconds; another skerry may be at it, and a folder is one pool's at a time


def shared_name(deployment: str, channel: int) -> str:
    return f"{deployment_name(deployment)}-channel{channel}"


def remove_shared(host: Connection, deployment: str) -> list[str]:
    """Removes the shared memory of a deployment that does not run. The next start makes new files, and meets nobody
    else's content.

    Returns the names that cannot be removed: they are another user's.
    """
    foreign = []
    pattern = re.compile(re.escape(deployment_name(deployment)) + r"-channel\d+")
    with explained(f"{host.uri}: removing the memory in {FOLDER} that domains of {deployment} shared"):
        with _pool(host) as pool:
            for volume in pool.listAllVolumes():
                if not pattern.fullmatch(volume.name()):
                    continue
                try:
                    volume.delete()
                except host.lib.libvirtError:
                    foreign.append(f"{FOLDER}/{volume.name()}")
    return foreign


@contextmanager
def _pool(host: Connection) -> Iterator[Any]:
    """Ours, for the moment; or the one that somebody has made of the folder, which is left as it was."""
    pool, is_ours = _make(host)
    if is_ours or not pool.isActive():
        if not pool.isActive():
            pool.create()
        try:
            yield pool
        finally:
            pool.destroy()
    else:
        pool.refresh()
        yield pool


def _make(host: Connection) -> tuple[Any, bool]:
    root = element("pool", element("name", text=OURS), element("target", element("path", text=FOLDER)), type="dir")
    text = ElementTree.tostring(root, encoding="unicode")
    for attempt in range(ATTEMPTS):
        try:
            return host.raw.storagePoolCreateXML(text), True
        except host.lib.libvirtError:
            there = next((pool for pool in host.raw.listAllStoragePools() if _folder(pool) == FOLDER), None)
            if there is not None and there.name() != OURS:
                return there, False
            if attempt == ATTEMPTS - 1:
                if there is None:
                    raise
                return there, True  # whose skerry was killed
        time.sleep(PAUSE)
    raise AssertionError


def _folder(pool: Any) -> str | None:
    return foreign.xml(pool.XMLDesc(), OURS).findtext("target/path")
