# SPDX-License-Identifier: BSD-2-Clause
"""`skerry bench`: the experiments of the papers, one command and one module here each."""

import typer

from deploy.cli.commands.bench.calibrate import calibrate
from deploy.cli.commands.bench.dynamic import dynamic
from deploy.cli.commands.bench.failover import failover
from deploy.cli.commands.bench.failure import failure
from deploy.cli.commands.bench.fork import fork
from deploy.cli.commands.bench.ipc import ipc
from deploy.cli.commands.bench.latency import latency
from deploy.cli.commands.bench.lines import lines
from deploy.cli.commands.bench.lock import lock
from deploy.cli.commands.bench.mach import mach
from deploy.cli.commands.bench.redis import redis
from deploy.cli.commands.bench.scale import scale
from deploy.cli.commands.bench.validate import validate

bench = typer.Typer(
    help="The experiments of the papers, each with its table and JSON: ipc, scale, redis, lock, mach, dynamic; "
    "failure, failover, fork, latency, lines; calibrate, validate.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

bench.command("calibrate")(calibrate)
bench.command("dynamic")(dynamic)
bench.command("failover")(failover)
bench.command("failure")(failure)
bench.command("fork")(fork)
bench.command("ipc")(ipc)
bench.command("latency")(latency)
bench.command("lines")(lines)
bench.command("lock")(lock)
bench.command("mach")(mach)
bench.command("redis")(redis)
bench.command("scale")(scale)
bench.command("validate")(validate)
