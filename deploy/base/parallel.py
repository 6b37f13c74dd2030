# SPDX-License-Identifier: BSD-2-Clause
"""Calls side by side: each in a process of its own, on this host or where another executor starts it."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, Protocol

from deploy.base import interrupts, process
from deploy.base.errors import Failure
from deploy.base.partial import Parts
from deploy.base.paths import ROOT
from topology.errors import InputError

GRACE = 20.0  # seconds in which a process that is to end ends its machine
_LOOK = 1.0  # seconds between looks at how many calls there is room for

_REPORT, _RESULT, _FAILURE = range(3)
Report = Callable[[Any], None]


def silent(report: Any) -> None:
    """Takes a report of which nobody is told."""


@dataclass(frozen=True)
class Call:
    """A call that an executor can take. What it has and returns is pickled."""

    name: str
    function: Callable[..., Any]  # of a module; behind its arguments it is given a function that takes its reports
    arguments: tuple[Any, ...]
    files: frozenset[str] = frozenset()  # that it uses, programs and images, by their place in the build folder

    def __call__(self, on_report: Report = silent) -> Any:
        return self.function(*self.arguments, on_report)


class Lost(Failure):
    """The executor runs nothing any more."""


class Pool(Protocol):
    """An executor of calls."""

    def room(self) -> int:
        """Returns how many calls it runs at once. Raises Lost."""

    def submit(self, call: Call, on_report: Report = silent) -> Future[Any]: ...


def processors() -> list[int]:
    """Returns the numbers of the host's processors that this process may use, in order."""
    return sorted(os.sched_getaffinity(0))


def run(calls: Sequence[Call], most: int, on_start: Callable[[int], None] = lambda place: None,
        on_report: Callable[[int, Any], None] = lambda place, report: None, parts: Parts | None = None,
        on_result: Callable[[int, Any], None] = lambda place, result: None, pool: Pool | None = None) -> list[Any]:
    """Returns the results of the calls, in their order; runs at most `most` of them at once, or as many as `pool` has
    room for. `on_report` is called in threads, the others in the caller's.

    The first that fails ends all. With `parts` failures and an interrupt are recorded there, and the result of a call
    that was not finished is None. Without a pool no call is left when it returns or raises.
    """
    if pool is None:
        with Local(most) as own:
            return run(calls, most, on_start, on_report, parts, on_result, own)
    waiting, results = list(enumerate(calls)), dict[int, Any]()
    running = dict[Future[Any], int]()
    try:
        while (waiting or running) and (not parts or parts.goes_on):
            room = pool.room()
            while waiting and len(running) < room:
                place, call = waiting.pop(0)
                on_start(place)
                running[pool.submit(call, partial(on_report, place))] = place
            for future in wait(running, _LOOK, FIRST_COMPLETED).done:
                place = running.pop(future)
                try:
                    results[place] = future.result()
                    on_result(place, results[place])
                except Failure as failure:
                    if not parts or isinstance(failure, Lost):
                        raise
                    parts.record(calls[place].name, failure)
    except KeyboardInterrupt:
        if not parts:
            raise
        parts.interrupt(*(calls[place].name for place in running.values()))
    return [results.get(place) for place in range(len(calls))]


class Children:
    """The processes of calls, which may have to end before their calls do."""

    def __init__(self) -> None:
        self._lock, self._running, self._ended = threading.Lock(), set[subprocess.Popen[bytes]](), False

    def run(self, call: Call, on: Sequence[int], on_report: Report) -> Any:
        """Returns the result of a call in a process on these processors, or raises what it raised; Failure if it ended
        without either. The calling thread must live as long."""
        child = self._start(call)
        assert child.stdin and child.stdout
        kind: int = _REPORT
        what: Any = None
        try:
            child.stdin.write(pickle.dumps((on, call)))
            child.stdin.close()
            while kind == _REPORT:
                kind, what = pickle.load(child.stdout)
                if kind == _REPORT:
                    on_report(what)
        except (EOFError, OSError, pickle.UnpicklingError):
            kind, what = _FAILURE, Failure(f"{call.name}: its process ended with status {child.wait()} and without a "
                                           f"result")
        finally:
            child.wait()
            self._running.discard(child)
        if kind == _FAILURE:
            raise what
        return what

    def _start(self, call: Call) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        parent = os.getpid()
        with self._lock:
            if self._ended:
                raise Failure(f"{call.name}: not begun")
            child = subprocess.Popen(
                [sys.executable, "-m", "deploy.base.parallel"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=os.environ | {"PYTHONPATH": path},
                start_new_session=True, preexec_fn=lambda: process.end_with(parent, signal.SIGTERM),
            )
            self._running.add(child)
        return child

    def end(self) -> None:
        """Ends all, and lets none begin."""
        with self._lock:
            self._ended = True
            left = list(self._running)
        for child in left:
            child.terminate()
        for child in left:
            process.wait_or_kill(child, GRACE)


class Local(ThreadPoolExecutor):
    """Runs each call on a processor of this host of its own. Leaving it ends those that run."""

    def __init__(self, most: int) -> None:
        self._free = processors()[: max(1, most)]
        self._children = Children()
        super().__init__(len(self._free))

    def room(self) -> int:
        return self._max_workers

    def submit(self, call: Call, on_report: Report = silent) -> Future[Any]:  # type: ignore[override]  # calls alone
        return super().submit(self._run, call, on_report)

    def _run(self, call: Call, on_report: Report) -> Any:
        processor = self._free.pop(0)
        try:
            return self._children.run(call, [processor], on_report)
        finally:
            self._free.append(processor)

    def __exit__(self, *raised: object) -> None:
        self._children.end()
        self.shutdown()


def _end_once(number: int, frame: FrameType | None) -> None:
    """KeyboardInterrupt, the first time. The kernel tells of a killed parent once for each of its threads that takes
    the child over, and a second exception would interrupt what cleans up."""
    signal.signal(number, signal.SIG_IGN)
    interrupts.raise_or_wait(number, frame)


def _work() -> int:
    """The process of one call: it reads the call and writes what there is to say of it, both pickled."""
    process.heed_signals()
    signal.signal(signal.SIGTERM, _end_once)
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the call prints is no part of it

    def say(kind: int, what: Any) -> None:
        if kind != _REPORT:  # the last event: a run that is told to end now ends anyway, and reports no interrupt
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        pickle.dump((kind, what), out)
        out.flush()

    try:
        on, call = pickle.load(sys.stdin.buffer)
        os.sched_setaffinity(0, on)
        try:
            say(_RESULT, call(lambda report: say(_REPORT, report)))
        except InputError as error:
            say(_FAILURE, Failure(str(error)))
        except Failure as error:
            say(_FAILURE, Failure(str(error)))
        except BrokenPipeError:
            raise
        except OSError as error:  # a full disk: the command line knows how to say that
            say(_FAILURE, error)
    except (KeyboardInterrupt, BrokenPipeError):
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(_work())
