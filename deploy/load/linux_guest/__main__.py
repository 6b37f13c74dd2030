# SPDX-License-Identifier: BSD-2-Clause
"""python3 -m deploy.load.linux_guest: one measurement, as JSON on standard output."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.paths import BUILD
from deploy.base.timeouts import Patience
from deploy.deployment import Deployment, Load, Redis
from deploy.load.linux_guest.guest import build_guest
from deploy.load.linux_guest.machine import COMMAND_LINE, Options
from deploy.load.linux_guest.result import measure
from deploy.machine import qemu
from topology.errors import InputError
from topology.machines.machine import Shape, default_memory

MODES = {"parallel": qemu.TCG_PARALLEL, "turns": qemu.TCG_TURNS, "icount": qemu.TCG_COUNTED, "kvm": qemu.KVM}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="deploy.load.linux_guest", description=__doc__)
    parser.add_argument("--sockets", type=int, default=1)
    parser.add_argument("--cores", type=int, default=2, help="of each socket")
    parser.add_argument("--workload", choices="abcf", default="c")
    parser.add_argument("--records", type=int, default=10_000, help="of each Redis")
    parser.add_argument("--operations", type=int, default=10_000, help="of each client")
    parser.add_argument("--clients", type=int, default=2, help="of each Redis; 0 only boots")
    parser.add_argument("--pipeline", type=int, default=1)
    parser.add_argument("--accel", choices=MODES, help="default: by the number of cores")
    parser.add_argument("--pong", action="store_true", help="measure the time to the first +PONG from outside")
    parser.add_argument("--append", default="", help="to the kernel's command line")
    parser.add_argument("--build", type=Path, default=BUILD, help="where Meson built init and the client")
    parser.add_argument("--timeout", type=float)
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    load = Load(
        clients=arguments.clients,
        workload=arguments.workload,
        records=arguments.records,
        operations=arguments.operations,
        pipeline=arguments.pipeline,
    )
    shape = Shape(arguments.sockets, arguments.cores, default_memory(arguments.cores))
    accel = MODES[arguments.accel] if arguments.accel else qemu.tcg_for(arguments.sockets * arguments.cores)
    command_line = f"{COMMAND_LINE} {arguments.append}".strip()
    deployment = Deployment(name="linux", shape=shape, redis=Redis(), load=load)
    options = Options(accel, Patience(300.0, arguments.timeout), command_line)
    try:
        result = measure(deployment, options, build_guest(build=arguments.build), arguments.pong)
    except (Failure, InputError) as error:
        print(f"linux_guest: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    json.dump(result, sys.stdout, indent=2)
    print()
    return 0


sys.exit(main())
