# SPDX-License-Identifier: BSD-2-Clause
"""A link between a machine and programs of the host: a tap device, in a network namespace that holds nothing else.

The host's kernel is at the other end, so that its card offers what a host's network offers: checksums, and segments
that are cut up later. The namespace ends with us: the process that keeps it reads from us until we are gone.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from ipaddress import ip_interface
from types import TracebackType

from deploy.base.errors import Failure
from topology import demand
from topology.maps.clustermap import Network

DEVICE = "skerry0"
_READY = "ready"
_MAKE = (
    'ip link set lo up && ip tuntap add dev "$0" mode tap && ip address add "$1" dev "$0" && ip link set "$0" up && '
    f"echo {_READY}"
)


class Tap:
    """Use as `with Tap() as tap:`. One machine at a time can be attached to it."""

    def __init__(self, network: Network | None = None) -> None:
        self._network = network or Network()
        self._keeper: subprocess.Popen[str] | None = None

    def __enter__(self) -> Tap:
        demand.program("ip", "tap")
        host = ip_interface(f"{self._network.gateway}/{self._network.netmask}").with_prefixlen
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        self._keeper = subprocess.Popen(
            ["unshare", *user, "--net", "sh", "-c", f"{_MAKE} && exec cat >/dev/null", DEVICE, host],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True,
        )  # fmt: skip
        assert self._keeper.stdout
        answer = self._keeper.stdout.readline().strip()
        if answer != _READY:
            self._end()
            more = "" if os.geteuid() == 0 else " (it needs root, or user namespaces and an open /dev/net/tun)"
            raise Failure(f"no tap device: {answer or 'unshare said nothing'}{more}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        if self._keeper:
            with self._keeper:  # closes what it reads, and waits for it
                pass
            self._keeper = None

    def inside(self, command: Sequence[str]) -> list[str]:
        """The command, in the namespace. It is killed when we end: changed credentials would have switched that off."""
        assert self._keeper
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", str(self._keeper.pid), *user, "--net", "setpriv", "--pdeathsig", "KILL",
                *command]

    @property
    def netdev(self) -> str:
        """Returns QEMU's argument."""
        return f"tap,ifname={DEVICE},script=no,downscript=no"
