# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench failover`."""

from dataclasses import dataclass
from typing import Annotated

from deploy.base import process
from deploy.base.choices import option, words
from deploy.base.errors import Failure
from deploy.base.terminal import Json, Quiet
from deploy.base.timeouts import Patience
from deploy.bench.destination import Destination
from deploy.bench.failover.linux import free_ports
from deploy.bench.failover.measure import SHARDS, WAYS, Job, measure, problems
from deploy.bench.failover.table import failover_table
from deploy.cli import options
from deploy.cli.options import takes
from deploy.deployment.planner import plan
from deploy.load.request import split
from deploy.machine import kvm, qemu
from deploy.setup import needs
from deploy.setup.build import ensure_built

REPEATS = 3


@dataclass(frozen=True)
class FailoverOptions:
    how: Annotated[str, option("--how LIST", f"Ways in which a cluster of cores ends, of {', '.join(WAYS)}.",
                               autocompletion=words(*WAYS))] = ",".join(WAYS)
    repeats: Annotated[int, option("--repeats N", "Ends in each way.", 1, 1000)] = REPEATS
    node_timeout: Annotated[int, option("--node-timeout MS", "Milliseconds after which Redis's own nodes count each "
                                        "other as failed.", 100, 600_000)] = 2000
    alone: Annotated[bool, option("--alone", "Not beside Redis Cluster on this host's Linux.")] = False
    accel: options.Accel = "auto"
    timeout: options.Timeout = None
    quiet: Quiet = False
    json: Json = None


@takes(FailoverOptions)
def failover(args: FailoverOptions) -> None:
    """Measure how soon a Redis Cluster writes again when the kernel below a master ends.

    Three masters and their replicas on three kernels, each instance under a client that writes with WAIT 1. One kernel
    but the first is ended again and again; its replicas take over when it is fenced, and it comes back. In the same run
    the same processes on this host's Linux are killed, where Redis finds out by itself. The exit status is 1 if an
    acknowledged write is lost on Skerry.
    """
    process.heed_signals()
    job = Job(split("--how", args.how, WAYS), args.repeats, args.node_timeout, qemu.TCG_TURNS,
              Patience(limit=args.timeout), linux=not args.alone)
    what = plan(job.deployment(free_ports(2 * SHARDS)))
    to = Destination.of("failover", args.json, None, args.quiet)
    kvm.check_choice(args.accel, False)
    images = needs.of_map(what.cluster_map)
    ensure_built(to.output, images if args.alone else images | needs.REDIS_OF_HOST)
    job = Job(job.ways, job.repeats, job.node_timeout, kvm.choose(args.accel, len(what.machine.cores)), job.timeout,
              job.linux)
    to.output.line(f"Mode: {job.accel.description}.")
    found = measure(job, to.output.step)
    to.output.table(failover_table(found, job.node_timeout))
    to.write("bench failover", job.accel, [entry for one in found for entry in one.to_json(job.accel.emulated)])
    to.end(drawn=False)
    if failures := problems(found):
        raise Failure("; ".join(failures))
