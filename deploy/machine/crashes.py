# SPDX-License-Identifier: BSD-2-Clause
"""Programs and clusters that ended and should not have, in words."""

import re
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.symbols import Image
from deploy.deployment.planner import Plan
from deploy.machine.console_lines import By, Line, lines, lines_by
from deploy.machine.events import BAD_LINE, ENDS, Event, bad_line_words, cluster_words
from topology.maps.clustermap import ALWAYS, NEVER, Application

LAST_LINES = 8
UNSERVED = ", before it served"
# of a Redis, hundreds of lines before its last
_REASONS = re.compile(r"==> .* is not true|Guru Meditation|Out Of Memory")
_REASON_LINES = 3
_REPORTER_GONE = re.compile(r"\[manager \d+\] cluster 0 is gone: (.*)")
_REPORTER_DOWN = re.compile(r"\[manager \d+\] cluster 0 stays down: (.*)")  # which would have been started again


@dataclass(frozen=True)
class Death:
    """`counts`: the deployment did not do what it is for."""

    application: str | None  # None: a cluster's
    what: str
    lines: Sequence[str] = field(default=())
    counts: bool = True

    def __str__(self) -> str:
        return self.what


def is_started_again(event: Event, plan: Plan) -> bool:
    """Whether an end is one after which the application, or the cluster, is started again, until it stays down."""
    if event.kind == "cluster-lost":
        return any(c.restart for c in plan.cluster_map.clusters if c.number == event.get("cluster"))
    app = next((a for a in plan.cluster_map.applications if a.name == event.get("app")), None)
    if app is None or event.kind not in ENDS or app.restart == NEVER:
        return False
    return app.restart == ALWAYS or event.kind != "exit" or event.get("status") != 0


def death(event: Event, plan: Plan, console: str) -> Death | None:
    """Returns the end that an event reports, with the last lines that the program wrote; None: it reports none."""
    if event.kind == "stays-down":
        name = str(event.get("app"))
        what = f"{name} stays down: it was started again {event.get('restarts')} times and ended too often"
        return Death(name, what, telling(console, name))
    if what := bad_line_words(event) if event.kind == BAD_LINE else cluster_words(event):
        return Death(None, what)
    name = str(event.get("app"))
    if event.kind == "fault":
        what = (f"{name} was killed: {event.get('cause')}, at instruction "
                f"{_address(event.get('rip'))}{_source(event, plan)}")
    elif event.kind == "failed":
        why = re.compile(rf"\[manager \d+\] {re.escape(name)} cannot be started: (.+ \(error \d+\))")
        refused = next((words for line in lines_by(By.MANAGER, console) if (words := why.match(line))), None)
        what = f"{name} could not be started: {refused[1] if refused else 'error ' + str(event.get('error'))}"
    elif event.kind == "exit" and event.get("status") != 0:
        what = f"{name} {status_text(event.get('status'))}{_needs_fork(console, name)}"
    else:
        return None
    return Death(name, what, telling(console, name), event.kind == "failed" or _counts(plan, name))


def unserved(event: Event, console: str) -> Death:
    """Returns the death of a program that ended well by its own account, before it served at a port that the deployment
    leads to."""
    name = str(event.get("app"))
    return Death(name, f"{name} {status_text(event.get('status'))}{UNSERVED}{_needs_fork(console, name)}",
                 telling(console, name))


def status_text(status: object) -> str:
    """A program's exit status: above 128 it is a signal's number, as a shell has it."""
    if isinstance(status, int) and status > 128:
        try:
            return f"ended by signal {status - 128} ({signal.Signals(status - 128).name})"
        except ValueError:
            pass
    return f"ended with status {status}"


def lost_reporter(console: Iterable[Line], comes_back: bool = False) -> str:
    """That the first cluster is lost for good, through which all others report: they can say so on the console only.
    Else nothing."""
    lost = _REPORTER_DOWN if comes_back else _REPORTER_GONE
    match = next((words for line in console if line.by == By.MANAGER and (words := lost.match(line.text))), None)
    return f"cluster 0, which reports for all, is lost: {match[1].strip()}" if match else ""


def telling(console: str, application: str) -> list[str]:
    """The last lines that an application wrote, and before them the reason that a Redis gives in its crash report."""
    mark = f"[{application}] "
    spoken = [plain(line.text.removeprefix(mark)) for line in lines(console) if line.by == By.ANYBODY
              and line.text.startswith(mark)]
    spoken = [line for line in spoken if line.strip()]
    before, last = spoken[:-LAST_LINES], spoken[-LAST_LINES:]
    reasons = [line for line in before if _REASONS.search(line)][:_REASON_LINES]
    return [*reasons, "…", *last] if reasons else last


def plain(line: str) -> str:
    """Returns the line without characters that a terminal would obey."""
    return "".join(c if c.isprintable() else "?" for c in line.rstrip("\r\n").replace("\t", " "))


def _needs_fork(console: str, application: str) -> str:
    """That a program which has ended had called fork(), or one of its kin, in vain."""
    called = re.search(rf"^\[{re.escape(application)}\] posix: system call (fork|vfork) \(\d+\) is not provided",
                       console, re.MULTILINE)
    return f": it had called {called[1]}(), which always fails here" if called else ""


def _source(event: Event, plan: Plan) -> str:
    """` in FUNCTION, FILE:LINE` of a fault in an executable of the user's, as far as the executable has symbols."""
    name, rip = event.get("app"), event.get("rip")
    application = next((a for a in plan.cluster_map.applications if a.name == name), None)
    path = plan.own.get(application.program) if application else None
    if not isinstance(path, Path) or not isinstance(rip, int):
        return ""
    try:
        place = Image(path).places([rip])[rip]
    except Failure:  # no binutils here, or the file has changed
        return ""
    if place.function == "??":
        return ""
    return f" in {place.function}{f', {Path(place.source).name}' if place.source else ''}"


def _address(value: object) -> str:
    return f"{value:#x}" if isinstance(value, int) else str(value)


def _counts(plan: Plan, name: str) -> bool:
    """Everything but a program of which its deployment says that nobody waits for its end, and which serves nobody."""
    application: Application | None = next((a for a in plan.cluster_map.applications if a.name == name), None)
    if application is None or application.barrier or application.role or application.ipv4:
        return True
    return any(a.stack == name for a in plan.cluster_map.applications)
