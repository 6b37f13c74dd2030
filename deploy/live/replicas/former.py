# SPDX-License-Identifier: BSD-2-Clause
"""Asks the instances of a Redis Cluster, again and again, and has them take the next steps until it is whole."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Connection
from redis.exceptions import RedisError, ResponseError

from deploy.base.errors import Failure
from deploy.deployment.model import Redis
from deploy.live.replicas.steps import HAND_OVER, TAKEOVER, Step, Verdict, next_steps
from deploy.live.replicas.view import Endpoint, View, view_of
from topology.errors import InputError

ANSWER = 10.0   # seconds for all answers of an instance; the next round asks one that is silent for longer again
BETWEEN = 0.1   # seconds between rounds while something is to be done
IDLE = 2.0      # seconds between rounds while all is whole
PATIENCE = 60.0  # seconds in which something must change
_AGAIN = 0.5  # seconds until a step is taken once more
# The same for a hand-over of a shard, in node timeouts and seconds: no node votes for, and none asks for, another one
# sooner, and clients of the shard would wait 5 s in vain.
_AGAIN_HANDED = 4, 1.0

Say = Callable[[str], None]


@dataclass(frozen=True)
class Promotion:
    """A replica that took over because its master's life was known to have ended."""

    shard: int  # from 0
    to: str
    seconds: float  # since this process was told, until the replica had agreed


class Former:
    """Forms the cluster of these instances. All but `learn` is for one thread."""

    def __init__(self, endpoints: Sequence[Endpoint], say: Say = lambda text: None, is_new: bool = False,
                 node_timeout: float = Redis.node_timeout / 1000) -> None:
        """`is_new`: the instances have just been started, and nobody has written to them as a cluster. `node_timeout`:
        theirs, in seconds."""
        self.endpoints = list(endpoints)
        self.say, self.is_new = say, is_new
        self._again_handed = _AGAIN_HANDED[0] * node_timeout + _AGAIN_HANDED[1]
        self._handed: dict[int, float] = {}  # shards, and when the last hand-over began
        self.was_whole = self.is_whole = False  # ever; at the last look
        self.promotions: list[Promotion] = []
        self._over: dict[str, float] = {}  # since when it is known, time.monotonic()
        self._is_urgent = False
        self._views: dict[str, View] = {}  # of the last round
        self._synchronised: dict[str, str] = {}  # the master with which each replica was last seen to be so, by ids
        self._taken: dict[tuple[str, tuple[str, ...]], float] = {}  # steps, and when
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news: asyncio.Event | None = None

    @property
    def over(self) -> list[str]:
        """Returns whose lives have ended, and who have not begun to serve since."""
        return list(self._over)

    def learn(self, over: Iterable[str] = (), serving: Iterable[str] = ()) -> None:
        """Tells, from any thread, whose lives have ended for certain, and which have begun to serve since. It acts at
        once. Never before a cluster of cores is fenced: what is taken for dead and lives would have two masters."""
        now, over = time.monotonic(), set(over)
        self._over = {name: since for name, since in ({name: now for name in over} | self._over).items()
                      if name not in set(serving)}
        self._is_urgent |= bool(self._over.keys() & over)
        if self._loop and self._news:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._news.set)

    def form(self, patience: float = PATIENCE) -> None:
        """Until all is whole. Raises Failure, with what is missing, where that cannot be, or where nothing has changed
        for `patience` seconds."""
        asyncio.run(self._form(patience))

    def keep(self, is_over: Callable[[], bool]) -> None:
        """Until `is_over`. Says when it becomes whole, and what is missing when nothing changes any more."""
        asyncio.run(self._keep(is_over))

    async def _form(self, patience: float) -> None:
        self._begin()
        last, since = Verdict(), time.monotonic()
        while True:
            verdict = await self.round()
            if verdict is None:
                continue
            if verdict.is_whole:
                return
            if verdict.lost and not verdict.steps and not verdict.waits:
                raise Failure(missing(verdict))
            if verdict != last:
                last, since = verdict, time.monotonic()
            if time.monotonic() - since > patience + self._delay(verdict):
                raise Failure(missing(verdict))
            await self._pause(BETWEEN)

    async def _keep(self, is_over: Callable[[], bool]) -> None:
        self._begin()
        last, since, was_whole, told = Verdict(), time.monotonic(), False, ""
        while not is_over():
            verdict = await self.round()
            if verdict is None:
                continue
            if verdict != last:
                last, since = verdict, time.monotonic()
            if verdict.is_whole and not was_whole:
                self.say(f"The Redis Cluster is whole: {self._sizes()}")
                told = ""
            elif not verdict.is_whole and (text := self._trouble(verdict, time.monotonic() - since)) not in ("", told):
                self.say(text)
                told = text
            was_whole = verdict.is_whole
            await self._pause(IDLE if was_whole else BETWEEN)

    def _sizes(self) -> str:
        masters = len({one.shard for one in self.endpoints})
        return f"{masters} masters, {len(self.endpoints) - masters} replicas"

    def _delay(self, verdict: Verdict) -> float:
        """Seconds that nothing may change for, beside the patience: a hand-over is not tried twice in a short time."""
        return self._again_handed if any(step.words == HAND_OVER for step in verdict.steps) else 0.0

    def _trouble(self, verdict: Verdict, quiet: float) -> str:
        stands = quiet > PATIENCE + self._delay(verdict) or (verdict.lost and not verdict.steps and not verdict.waits)
        return missing(verdict) if stands else ""

    def _begin(self) -> None:
        self._loop, self._news = asyncio.get_running_loop(), asyncio.Event()

    async def _pause(self, seconds: float) -> None:
        assert self._news
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), seconds)

    # --- a round ---

    async def round(self) -> Verdict | None:
        """Asks all but those whose lives have ended, and takes the next steps. None: something was learnt meanwhile,
        and answers may be of lives that have ended."""
        assert self._news
        self._news.clear()
        if self._is_urgent:
            await self._hasten()
        living = [one for one in self.endpoints if one.name not in self._over]
        asked = [asyncio.ensure_future(self._look(one)) for one in living]
        everyone, news = asyncio.ensure_future(_all(asked)), asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait((everyone, news), return_when=asyncio.FIRST_COMPLETED)
            if self._news.is_set():
                return None
            views = {one.name: view for one, task in zip(living, asked, strict=True) if (view := task.result())}
        finally:
            await _drop([everyone, news, *asked])
        self._note(views)
        self._views = views
        verdict = next_steps(self.endpoints, views, set(self._over), self.is_new)
        self.is_whole = verdict.is_whole
        self.was_whole |= verdict.is_whole
        self.is_new = self.is_new and not verdict.is_whole
        await asyncio.gather(*(self._take(step) for step in verdict.steps if self._is_due(step)))
        return verdict

    async def _hasten(self) -> None:
        """Has replicas of those that have just ended take over, without a look at other shards."""
        self._is_urgent = False
        over = set(self._over)
        hit = {one.shard for one in self.endpoints if one.name in over}
        talks = [Talk(one) for one in self.endpoints if one.shard in hit and one.name not in over]
        try:
            fresh = await asyncio.gather(*(self._view_by(talk) for talk in talks))
            views = {name: view for name, view in self._views.items() if name not in over}
            views |= {talk.endpoint.name: view for talk, view in zip(talks, fresh, strict=True) if view}
            steps = next_steps(self.endpoints, views, over, self.is_new).steps
            of = {talk.endpoint: talk for talk in talks}
            await asyncio.gather(*(self._take(step, of[step.endpoint]) for step in steps
                                   if step.words == TAKEOVER and step.endpoint in of))
        finally:
            await asyncio.gather(*(talk.end() for talk in talks))

    def _note(self, views: Mapping[str, View]) -> None:
        for view in views.values():
            if view.is_synchronised:
                self._synchronised[view.myself.id] = view.myself.master

    async def _look(self, one: Endpoint) -> View | None:
        talk = Talk(one)
        try:
            return await self._view_by(talk)
        finally:
            await talk.end()

    async def _view_by(self, talk: Talk) -> View | None:
        """The instance's view; None where it does not answer, or with an error."""
        try:
            nodes, cluster, info = await asyncio.wait_for(
                talk.ask(("CLUSTER", "NODES"), ("CLUSTER", "INFO"), ("INFO", "replication", "keyspace")), ANSWER)
            return view_of(talk.endpoint.name, nodes, cluster, info, self._synchronised)
        except (RedisError, OSError, TimeoutError, InputError):
            return None

    def _is_due(self, step: Step) -> bool:
        if step.words == HAND_OVER:
            before, again = self._handed.get(step.endpoint.shard), self._again_handed
        else:
            before, again = self._taken.get((step.endpoint.name, step.words)), _AGAIN
        return before is None or time.monotonic() - before > again

    async def _take(self, step: Step, talk: Talk | None = None) -> None:
        """Takes a step. One that is refused, or not answered, is taken again while it is still the next one."""
        self._taken[step.endpoint.name, step.words] = time.monotonic()
        if step.words == HAND_OVER:
            self._handed[step.endpoint.shard] = time.monotonic()
        own = talk or Talk(step.endpoint)
        try:
            await asyncio.wait_for(own.ask(step.words), ANSWER)
        except (RedisError, OSError, TimeoutError):
            return
        finally:
            await own.end()
        self._note_promotion(step)

    def _note_promotion(self, step: Step) -> None:
        if step.words == TAKEOVER:
            since = min((since for name, since in self._over.items()
                         if any(one.name == name and one.shard == step.endpoint.shard for one in self.endpoints)),
                        default=None)
            seconds = time.monotonic() - since if since is not None else 0.0
            self.promotions.append(Promotion(step.endpoint.shard, step.endpoint.name, seconds))
            self.say(f"{step.endpoint.name} has taken over shard {step.endpoint.shard + 1}"
                     + (f", {seconds:.3f} s after its master's end was known" if since is not None else ""))


async def _all(tasks: Sequence[asyncio.Future[Any]]) -> None:
    if tasks:
        await asyncio.wait(tasks)


async def _drop(tasks: Sequence[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Talk:
    """A connection of its own for each look: none leads into a life that has ended. `ask` raises what redis-py
    raises."""

    def __init__(self, one: Endpoint) -> None:
        self.endpoint = one
        host, port = one.reached
        self._connection = Connection(host=host, port=port, protocol=2, decode_responses=True, driver_info=None)

    async def ask(self, *commands: tuple[str, ...]) -> list[str]:
        """Returns the answers to commands that are sent at once."""
        if not self._connection.is_connected:
            await self._connection.connect()  # type: ignore[no-untyped-call]  # redis-py's own
        await self._connection.send_packed_command(self._connection.pack_commands(commands))
        answers: list[str | RedisError] = []
        for _ in commands:
            try:
                answers.append(str(await self._connection.read_response()))
            except ResponseError as error:
                answers.append(error)
        if errors := [answer for answer in answers if isinstance(answer, RedisError)]:
            raise errors[0]
        return [str(answer) for answer in answers]

    async def end(self) -> None:
        with suppress(RedisError, OSError):
            await self._connection.disconnect(nowait=True)


def missing(verdict: Verdict) -> str:
    """Says what a Redis Cluster that is not whole lacks, in one line."""
    waits = [f"waits for {text}" for text in verdict.waits]
    tried = [f"{step.endpoint.name} does not do {' '.join(step.words[:2])}: {step.why}" for step in verdict.steps]
    return "the Redis Cluster is not whole: " + "; ".join([*verdict.lost, *waits, *tried] or ["nothing is known"])
