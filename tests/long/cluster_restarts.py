# SPDX-License-Identifier: BSD-2-Clause
"""Clusters that are ended again and again under load:
`build/venv/bin/python -m tests.long.cluster_restarts [--kills N] [--seed N] [--sockets N] [--fresh]`.

Who is ended, how and when is drawn from the seed, which is printed; the kill of a number is the same in every run. A
client of each Redis writes from outside and reads back (deploy/bench/failure/load.py): an acknowledged write on a
cluster that goes on is there, and nothing of a former life is seen. At the end the control words say how many lives
each cluster has had, and the first cluster's manager has the memory and the slots that it has after one kill. Some 10 s
a kill.

Ctrl-C or SIGTERM ends it between two kills. The verdict stands in tests/long/cluster_restarts.json, and the next run
with the same seed goes on behind the last kill that is there; each kill's figures are in
build/results/cluster-restarts-SEED.jsonl.
"""

import argparse
import json
import random
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from deploy.base import host, process
from deploy.base.errors import Failure
from deploy.base.file_lock import alone
from deploy.base.paths import BUILD
from deploy.bench.failure.scene import Fate, deployment, draw, mortal, on_stage
from deploy.deployment.planner import Plan, plan
from deploy.machine import monitor
from deploy.machine.run import Run
from tests.boot.machine import machine
from tests.boot.test_restart_cluster import life

KILLS = 1000
VERDICTS = Path(__file__).with_suffix(".json")
RUNNING, PASSED, FAILED = "not at its end", "passed", "FAILED"
PAUSE = 0.2, 3.0  # seconds of load before a kill
ANSWER = 30.0     # seconds until a request counts as an error: hosts are slow, or have more to do


def left(run: Run) -> tuple[int, int]:
    """Bytes and slots that nobody has in the first cluster, as its manager says at the end."""
    monitor.human(run.command.monitor, monitor.POWER_BUTTON)
    run.wait_for(lambda: not run.running, "the machine is off")
    (memory,) = run.events.of("memory", cluster=0)
    return int(memory["free"]), int(memory["slots"])


class Campaign:
    """One seed's kills, and what is known of them."""

    def __init__(self, seed: int, kills: int, sockets: int, verdicts: Path = VERDICTS) -> None:
        self.path, self.seed, self.kills = verdicts, seed, kills
        self.entry: dict[str, Any] = read(verdicts).get(str(seed), {"seed": seed, "done": 0, "commits": []}) | {
            "kills": kills, "sockets": sockets, "verdict": RUNNING
        }  # fmt: skip
        self.figures = BUILD / "results" / f"cluster-restarts-{seed}.jsonl"
        self.figures.parent.mkdir(parents=True, exist_ok=True)

    @property
    def done(self) -> int:
        return int(self.entry["done"])

    def note(self, fate: Fate) -> None:
        with self.figures.open("a") as file:
            file.write(json.dumps(fate.to_json()) + "\n")
        self.entry["done"] = fate.kill.number
        for name, value in (("survivor_errors", fate.survivor_errors), ("survivor_requests", fate.survivor_requests)):
            self.entry[name] = self.entry.get(name, 0) + value
        self.entry["worst_pong_ms"] = round(max(self.entry.get("worst_pong_ms", 0), fate.pong_ms))
        self.entry["worst_survivor_longest_ms"] = round(max(self.entry.get("worst_survivor_longest_ms", 0),
                                                            fate.survivor_longest_ms))
        self._write()

    def end(self, wrong: str = "") -> None:
        errors = self.entry.get("survivor_errors", 0)
        wrong = wrong or (f"survivors' clients had {errors} errors" if errors else "")
        self.entry |= {"verdict": FAILED if wrong else PASSED if self.done >= self.kills else RUNNING, "why": wrong}
        self._write()

    def _write(self) -> None:
        commit = str(host.environment().get("commit", "?"))
        if commit not in self.entry["commits"]:
            self.entry["commits"].append(commit)
        self.entry["date"] = time.strftime("%Y-%m-%d")
        campaigns = read(self.path) | {str(self.seed): self.entry}
        lines = ",\n".join(json.dumps(campaigns[seed]) for seed in sorted(campaigns, key=int))
        new = self.path.with_suffix(".new")
        new.write_text(f'{{"campaigns": [\n{lines}\n]}}\n')
        new.replace(self.path)

    def __str__(self) -> str:
        return (f"seed {self.seed}: {self.done} of {self.kills} kills, {self.entry['verdict']}"
                f"{': ' + self.entry['why'] if self.entry.get('why') else ''}; survivors: "
                f"{self.entry.get('survivor_requests', 0):,} requests, "
                f"{self.entry.get('survivor_errors', 0)} errors, longest answer "
                f"{self.entry.get('worst_survivor_longest_ms', 0) / 1e3:.2f} s; "
                f"worst PONG after {self.entry.get('worst_pong_ms', 0) / 1e3:.2f} s")  # fmt: skip


def read(path: Path = VERDICTS) -> dict[str, dict[str, Any]]:
    data = json.loads(path.read_text()) if path.exists() else {"campaigns": []}
    return {str(entry["seed"]): entry for entry in data["campaigns"]}


def after_one(what: Plan, seed: int) -> tuple[int, int]:
    with machine(what) as run:
        with on_stage(run, seed, ANSWER) as scene:
            scene.kill(replace(draw(seed, 1, mortal(what), quiet=PAUSE), how="panic", core=0))
        return left(run)


def session(campaign: Campaign, what: Plan) -> None:
    """One machine, from the first kill that is not done to the last. Failure where something is wrong."""
    left_after_one = after_one(what, campaign.seed)
    took: list[float] = []
    with machine(what) as run:
        with on_stage(run, campaign.seed, ANSWER) as scene:
            lives = dict.fromkeys((number for number, _ in mortal(what)), 1)
            for number in range(campaign.done + 1, campaign.kills + 1):
                fate = scene.kill(draw(campaign.seed, number, mortal(what), quiet=PAUSE))
                lives[fate.kill.cluster] += 1
                if (counted := {cluster: life(run, cluster) for cluster in lives}) != lives:
                    raise Failure(f"kill {number}: the control words have lives {counted}, not {lives}")
                campaign.note(fate)
                took.append(fate.pong_ms / 1e3)
                print(f"{number}: {fate.kill} after {fate.kill.quiet:.2f} s: {fate.why}; PONG after {took[-1]:.2f} s",
                      flush=True)
            if scene.false_alarms:
                raise Failure(f"{scene.false_alarms} clusters were lost that nobody had ended")
        if (found_left := left(run)) != left_after_one:
            raise Failure(f"the first cluster has {found_left} bytes and slots left, after one kill {left_after_one}")
    if took:
        print(f"kill to PONG: median {median(took):.2f} s, worst {max(took):.2f} s")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.long.cluster_restarts",
                                     description="Ends clusters again and again under load.")
    parser.add_argument("--kills", type=int, default=KILLS, metavar="N", help=f"in all ({KILLS})")
    parser.add_argument("--seed", type=int, metavar="N", help="what kills are drawn from; default: a new one")
    parser.add_argument("--sockets", type=int, default=2, metavar="N",
                        help="clusters of the machine (2), of which the first is not ended")
    parser.add_argument("--fresh", action="store_true", help="begin again where the seed has a verdict")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    process.heed_signals()
    try:
        with alone("tests.long.cluster_restarts", VERDICTS, BUILD / "cluster-restarts.lock"):
            return attend(options, seed)
    except Failure as error:
        print(f"cluster_restarts: {error}", file=sys.stderr)
        return 1


def attend(options: argparse.Namespace, seed: int) -> int:
    """The campaign of a seed, from where it was. Returns the exit status."""
    print(f"seed {seed}", flush=True)
    campaign = Campaign(seed, options.kills, options.sockets)
    if options.fresh:
        campaign.entry = {"seed": seed, "done": 0, "commits": [], "kills": options.kills, "sockets": options.sockets,
                          "verdict": RUNNING}
        campaign.figures.unlink(missing_ok=True)
    try:
        session(campaign, plan(deployment(options.sockets)))
        campaign.end()
    except (KeyboardInterrupt, Failure) as error:
        campaign.end("" if isinstance(error, KeyboardInterrupt) else f"after kill {campaign.done}: {error}")
    print(campaign)
    return {PASSED: 0, FAILED: 1}.get(str(campaign.entry["verdict"]), 130)


if __name__ == "__main__":
    sys.exit(main())
