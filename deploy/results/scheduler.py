# SPDX-License-Identifier: BSD-2-Clause
"""Calls on the workers of a Dask scheduler, as deploy/base/parallel.py has them on processors of this host.

A worker's tree must be of the same commit, with the same files in its build folder: each call looks first. A scheduler
and its workers can run anything as whoever talks to them: docs/testing.md says how to keep others away.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import re
import socket
import subprocess
import threading
import warnings
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from textwrap import shorten
from typing import Any

from deploy.base import host
from deploy.base.errors import Failure
from deploy.base.parallel import Call, Children, Lost, Report, processors, silent
from deploy.base.paths import BUILD, ROOT
from deploy.base.version import version
from deploy.machine import qemu
from deploy.results import fingerprint
from topology import demand
from topology.errors import InputError

ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.]+\]|[\w.-]+):([0-9]{1,5})")
EXECUTABLE = b"\x7fELF"
LIMIT = 30.0  # seconds in which a scheduler must answer
ARRIVAL = 120.0  # seconds in which it must have a worker
LOOK = 0.5  # seconds in which a worker notices that a call is not wanted any more


@cache
def changes() -> str | None:
    """Returns a digest of the changes since the commit of files that git knows; None without any, or without git."""
    command = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "diff", "HEAD", "--", ".", ":!docs", ":!tests",
               ":!*.md"]
    try:
        text = subprocess.run(command, capture_output=True).stdout
    except OSError:
        return None
    return hashlib.sha256(text).hexdigest()[:16] if text else None


@dataclass(frozen=True)
class Tree:
    """Two trees must have these in common. `files`: digests of programs and images by their place in build/."""

    skerry: str
    commit: str | None
    changes: str | None
    qemu: str | None  # its version, where the emulator's model is among the files
    files: Mapping[str, str]

    @classmethod
    def here(cls, files: Collection[str]) -> Tree:
        """Returns this tree, with those of the files that exist and are executables."""
        there = {name: fingerprint.digest(path) for name in sorted(files)
                 if (path := BUILD / name).is_file() and path.open("rb").read(4) == EXECUTABLE}
        emulator = ".".join(map(str, qemu.version())) if str(fingerprint.MODEL) in files else None
        return cls(version(), host.commit(), changes(), emulator, there)

    def refuses(self, other: Tree) -> str:
        """Returns why the other tree is not this one; an empty text if it is."""
        for what in ("skerry", "commit", "changes", "qemu"):
            wanted, found = getattr(self, what), getattr(other, what)
            if wanted != found:
                return f"{what} {found or 'unknown'}, not {wanted or 'unknown'}"
        differing = [name for name, digest in self.files.items() if other.files.get(name) != digest]
        more = f" (and {len(differing) - 1} more)" if len(differing) > 1 else ""
        return f"build/{differing[0]} is another or missing{more}" if differing else ""


def _checked(tree: Tree, call: Call, on_report: Report) -> tuple[str, Any]:
    """Returns why this host's tree is refused, or an empty text and the call's result."""
    why = tree.refuses(Tree.here(tree.files))
    return (f"{socket.gethostname()}: {why}; build the same commit there", None) if why else ("", call(on_report))


@dataclass(frozen=True)
class _Job:
    """A call on its way. A scheduler passes it on as bytes, which run it where they are unpickled: on a worker."""

    tree: Tree
    call: Call

    def __reduce__(self) -> tuple[Any, ...]:
        return _work, (self.tree, self.call)


def _work(tree: Tree, call: Call) -> tuple[str, Any]:
    """Runs a call on a worker, in a process of its own, which ends when the call is not wanted any more."""
    worker = _library().get_worker()
    key, children, done = worker.get_current_task(), Children(), threading.Event()

    def look() -> None:
        while not done.wait(LOOK):
            task = worker.state.tasks.get(key)
            if task is None or task.state == "cancelled":
                children.end()

    threading.Thread(target=look, daemon=True).start()
    try:
        result: tuple[str, Any] = children.run(Call(call.name, _checked, (tree, call)), processors(), silent)
        return result
    finally:
        done.set()


def _library() -> Any:
    """Returns dask.distributed, which takes a second to load."""
    demand.module("distributed", "dask")
    try:
        import distributed
    except ImportError as error:
        raise Failure(f"--scheduler needs dask.distributed, which ./skerry build installs: {error}") from None
    return distributed


class Workers:
    """The workers of a scheduler, as an executor of calls. Raises InputError where a worker's tree is another, and
    Failure for a call whose worker died twice."""

    def __init__(self, address: str, limit: float = LIMIT) -> None:
        if not (match := ADDRESS.fullmatch(address)) or not 0 < int(match[3]) < 1 << 16:
            raise InputError(f"--scheduler {address}", "is no address as tcp://HOST:8786")
        self._address, self._limit = address, limit
        library = _library()
        logging.disable(logging.CRITICAL)  # a lost connection is told here, in a line
        warnings.filterwarnings("ignore", module="distributed")
        self._client = self._connect(library)
        self._killed: type[Exception] = library.KilledWorker
        self._pool = self._client.get_executor(pure=False)

    def _connect(self, library: Any) -> Any:
        """Returns a client. Its own limit does not end what some peers do that are no scheduler."""
        client = Future[Any]()

        def connect() -> None:
            try:
                client.set_result(library.Client(self._address, timeout=self._limit, set_as_default=False))
            except Exception as error:
                client.set_exception(error)

        threading.Thread(target=connect, daemon=True).start()
        try:
            return client.result(2 * self._limit)
        except Exception as error:  # whatever a peer that is no scheduler can cause
            why = f"no Dask scheduler answers there: {_words(error)}"
            raise InputError(f"--scheduler {self._address}", why) from None

    def begin(self) -> None:
        """Waits for a worker, and lets a second death of one be the last. Raises Lost where none comes in time."""
        try:
            self._client.wait_for_workers(1, timeout=ARRIVAL)
            self._client.sync(self._client._run_on_scheduler, _give_up_early(), callback_timeout=self._limit)
        except Exception as error:
            raise Lost(f"--scheduler {self._address}: no worker comes: {_words(error)}") from None

    def room(self) -> int:
        try:
            threads: dict[str, int] = self._client.sync(self._client.scheduler.ncores, workers=None,
                                                        callback_timeout=self._limit)
        except Exception:
            raise self._lost() from None
        if not threads:
            self.begin()
        return max(1, sum(threads.values()))

    def submit(self, call: Call, on_report: Report = silent) -> Future[Any]:
        """Sends a call, of which no reports come."""
        job, outcome = pickle.dumps(_Job(Tree.here(call.files), call)), Future[Any]()
        outcome.set_running_or_notify_cancel()

        def finish(sent: Future[Any]) -> None:
            try:
                why, result = sent.result()
                if why:
                    raise InputError(f"--scheduler {self._address}", why)
                outcome.set_result(result)
            except CancelledError:
                outcome.set_exception(self._lost())
            except self._killed as error:
                outcome.set_exception(Failure(f"{call.name}: its worker died twice, last {error.args[1].address}"))
            except ImportError as error:
                outcome.set_exception(InputError(f"--scheduler {self._address}", "a worker was not started in a folder "
                                                 f"of Skerry: {_words(error)}"))
            except (Failure, InputError, OSError) as error:
                outcome.set_exception(error)
            except Exception as error:
                outcome.set_exception(Failure(f"{call.name}: {_words(error)}"))

        try:
            self._pool.submit(pickle.loads, job).add_done_callback(finish)
        except Exception:
            raise self._lost() from None
        return outcome

    def _lost(self) -> Lost:
        return Lost(f"--scheduler {self._address}: the scheduler, or the connection to it, is lost")

    def end(self) -> None:
        """Lets workers end what they run, and leaves them to others."""
        with suppress(Exception):
            self._pool.shutdown(wait=False)
            self._client.close(timeout=2)


def _give_up_early() -> Any:
    """Returns a function for the scheduler, which need not have this module: it is sent by value."""
    def set_failures(dask_scheduler: Any) -> None:
        dask_scheduler.allowed_failures = min(dask_scheduler.allowed_failures, 1)

    return set_failures


def _words(error: BaseException) -> str:
    return shorten(str(error), 200, placeholder="…") or type(error).__name__


@contextmanager
def workers(address: str | None) -> Iterator[Workers | None]:
    """Yields the workers of a scheduler; None without an address. What they run is cancelled behind it."""
    if address is None:
        yield None
        return
    known = Workers(address)
    try:
        known.begin()
        yield known
    finally:
        known.end()
