# SPDX-License-Identifier: BSD-2-Clause
"""Calls side by side: each in a process of its own, which has a processor of the host for itself among them."""

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from types import FrameType
from typing import Any

from deploy.base import interrupts, process
from deploy.base.errors import Failure
from deploy.base.partial import Parts
from deploy.base.paths import ROOT
from topology.errors import InputError

GRACE = 20.0  # seconds in which a process that is to end ends its machine

_REPORT, _RESULT, _FAILURE, _GONE = range(4)
_Said = tuple[int, int, Any]  # place of the call, kind, what


@dataclass(frozen=True)
class Call:
    name: str
    function: Callable[..., Any]  # of a module; behind its arguments it is given a function that takes its reports
    arguments: tuple[Any, ...]


def processors() -> list[int]:
    """Returns the numbers of the host's processors that this process may use, in order."""
    return sorted(os.sched_getaffinity(0))


def run(calls: Sequence[Call], most: int, on_start: Callable[[int], None] = lambda place: None,
        on_report: Callable[[int, Any], None] = lambda place, report: None, parts: Parts | None = None) -> list[Any]:
    """Returns the results of the calls, in their order; runs at most `most` of them at once.

    The first that fails ends all. With `parts` failures and an interrupt are recorded there, and the result of a call
    that was not finished is None.
    """
    free, waiting = processors()[: max(1, most)], list(enumerate(calls))
    running, results = dict[int, _Worker](), dict[int, Any]()
    messages: SimpleQueue[_Said] = SimpleQueue()
    try:
        while (waiting or running) and (not parts or parts.goes_on):
            while waiting and free:
                place, call = waiting.pop(0)
                running[place] = _Worker(place, call, free.pop(0), messages)
                on_start(place)
            place, kind, what = messages.get()
            if kind == _REPORT:
                on_report(place, what)
                continue
            if kind != _RESULT and not (parts and isinstance(what, Failure)):
                raise what
            worker = running.pop(place)
            free.append(worker.processor)
            worker.process.wait()
            if kind == _RESULT:
                results[place] = what
            elif parts:
                parts.record(worker.name, what)
    except KeyboardInterrupt:
        if not parts:
            raise
        parts.interrupt(*(worker.name for worker in running.values()))
    finally:
        for worker in running.values():
            worker.process.terminate()
        for worker in running.values():
            process.wait_or_kill(worker.process, GRACE)
    return [results.get(place) for place in range(len(calls))]


class _Worker:
    def __init__(self, place: int, call: Call, processor: int, messages: SimpleQueue[_Said]) -> None:
        self.place, self.name, self.processor, self.messages = place, call.name, processor, messages
        path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        parent = os.getpid()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "deploy.base.parallel"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
            start_new_session=True, preexec_fn=lambda: process.end_with(parent, signal.SIGTERM),
        )
        threading.Thread(target=self._listen, args=(pickle.dumps((processor, call)),), daemon=True).start()

    def _listen(self, request: bytes) -> None:
        assert self.process.stdin and self.process.stdout
        kind = _REPORT
        try:
            self.process.stdin.write(request)
            self.process.stdin.close()
            while kind == _REPORT:
                kind, what = pickle.load(self.process.stdout)
                self.messages.put((self.place, kind, what))
        except (EOFError, OSError, pickle.UnpicklingError):
            self.messages.put((self.place, _GONE,
                           Failure(f"{self.name}: its process ended with status {self.process.wait()} and without a "
                                   f"result")))


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
        processor, call = pickle.load(sys.stdin.buffer)
        os.sched_setaffinity(0, {processor})
        try:
            say(_RESULT, call.function(*call.arguments, lambda report: say(_REPORT, report)))
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
