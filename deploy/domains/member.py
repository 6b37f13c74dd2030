# SPDX-License-Identifier: BSD-2-Clause
"""One domain of a deployment."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deploy.domains import record
from deploy.domains.connection import Connection, explained
from deploy.domains.record import Record
from deploy.machine.events import BUTTON, Event


class Member:
    def __init__(self, host: Connection, raw: Any, of: Record) -> None:
        self.host = host
        self.raw = raw
        self.record = of

    @property
    def domain(self) -> str:
        return self.record.domain

    def is_active(self) -> bool:
        with explained(f"{self.host.uri}: {self.domain}"):
            return bool(self.raw.isActive())

    def word(self, events: Sequence[Event]) -> str:
        """running, paused, done, failed, killed, stopped or off; `events` are the deployment's."""
        lib = self.host.lib
        with explained(f"{self.host.uri}: {self.domain}"):
            state, reason = self.raw.state()
        if state in (lib.VIR_DOMAIN_RUNNING, lib.VIR_DOMAIN_BLOCKED):
            return "running"
        if state != lib.VIR_DOMAIN_SHUTOFF:
            return "paused"
        if reason == lib.VIR_DOMAIN_SHUTOFF_DESTROYED:
            return "stopped"
        ended = [event for event in events if event.kind == "done"]
        if ended and ended[-1].get("why") == BUTTON:
            return "stopped"
        if ended:
            return "failed" if ended[-1].get("status") else "done"
        lost = (lib.VIR_DOMAIN_SHUTOFF_CRASHED, lib.VIR_DOMAIN_SHUTOFF_DAEMON)  # the latter: while libvirtd was away
        return "killed" if reason in lost else "off"

    def press_power_button(self) -> None:
        """Presses the power button of a domain that runs."""
        with explained(f"{self.host.uri}: {self.domain}"):
            if self.raw.isActive():
                self.raw.shutdownFlags(self.host.lib.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN)

    def stop(self) -> bool:
        """Ends the machine; whether it ran. The emulator gets to write out what it has."""
        with explained(f"{self.host.uri}: {self.domain}"):
            if not self.raw.isActive():
                return False
            try:
                self.raw.destroyFlags(self.host.lib.VIR_DOMAIN_DESTROY_GRACEFUL)
            except self.host.lib.libvirtError:
                if self.raw.isActive():  # it does not heed
                    self.raw.destroy()
            return True

    def destroy(self) -> None:
        """Ends the domain at once, as a power cut does."""
        with explained(f"{self.host.uri}: {self.domain}"):
            self.raw.destroy()

    def forget(self) -> None:
        """Ends it and removes its definition, with what belongs to that."""
        lib = self.host.lib
        self.stop()
        with explained(f"{self.host.uri}: {self.domain}"):
            self.raw.undefineFlags(lib.VIR_DOMAIN_UNDEFINE_NVRAM | lib.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE)

    def remove_log(self) -> list[str]:
        """libvirt keeps what the emulator said, and has no call to remove it. What stays."""
        host = self.host
        cache = os.environ.get("XDG_CACHE_HOME", "~/.cache") if host.is_local else "~/.cache"
        folder = Path(cache, "libvirt/qemu/log") if host.is_session else Path("/var/log/libvirt/qemu")
        log = folder / f"{self.domain}.log"
        if not host.is_local:
            return [f"{host.hostname}:{log}"]
        try:
            # the latter: rotated ones
            for path in [log.expanduser(), *folder.expanduser().glob(f"{self.domain}.log.*")]:
                path.unlink(missing_ok=True)
        except OSError:
            return [str(log)]
        return []


def of_domain(host: Connection, raw: Any) -> Member | None:
    """None for somebody else's."""
    lib = host.lib
    try:
        text = raw.metadata(lib.VIR_DOMAIN_METADATA_ELEMENT, record.NAMESPACE)
        return Member(host, raw, record.parse(text))
    except lib.libvirtError as error:
        if error.get_error_code() in (lib.VIR_ERR_NO_DOMAIN_METADATA, lib.VIR_ERR_NO_DOMAIN):
            return None
        raise
    except ValueError:
        return None
