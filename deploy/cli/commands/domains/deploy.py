# SPDX-License-Identifier: BSD-2-Clause
"""`skerry deploy`."""

import re
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated

from deploy.base import process
from deploy.base.choices import option
from deploy.base.errors import Failure
from deploy.base.terminal import Json, Output, Quiet, version
from deploy.base.timeouts import Patience
from deploy.cli import options
from deploy.cli.options import takes
from deploy.deployment.addresses import shown
from deploy.deployment.planner import Plan
from deploy.domains import connection, keep as watch
from deploy.domains.connection import Connection, has_library
from deploy.domains.deploy import Deployment, Done, Request, wait_ready
from deploy.domains.machines import arrange
from deploy.domains.options import URI, Connect
from deploy.machine import kvm
from deploy.setup import needs
from deploy.setup.build import ensure_built
from topology.errors import InputError


@dataclass(frozen=True, kw_only=True)
class DeployOptions:
    connect: Connect = URI
    name: Annotated[str | None, option("--name NAME", "Name of the deployment (default: its file's).")] = None
    bridge: Annotated[str | None, option("--bridge NAME", "A bridge of the host, in place of ports forwarded to its "
                                         "loopback.")] = None
    per_cluster: Annotated[bool, option("--per-cluster", "A domain for each cluster; channels are memory that two of "
                                        "them share.")] = False
    replace: Annotated[bool, option("--replace", "Restart a machine that runs, where it has changed.")] = False
    wait: Annotated[bool, option("--wait/--no-wait", "Wait until all of it serves, or only until it "
                                 "is started.")] = True
    keep: Annotated[bool, option("--keep", "With --per-cluster: stay, and start a domain that is lost again, by "
                                 "[clusters] restart, until Ctrl-C.")] = False
    storage: Annotated[str | None, option("--storage FOLDER", "The host's folder for image and logs.")] = None
    print_xml: Annotated[bool, option("--print-xml", "Print the domains' XML and change nothing.")] = False
    accel: options.Accel = "auto"
    what: options.PlanOptions
    uefi: options.Uefi = False
    timeout: options.Timeout = None
    quiet: Quiet = False
    json: Json = None


@takes(DeployOptions)
def deploy(args: DeployOptions) -> None:
    """Make a deployment run as a domain of libvirt, or as one for each cluster, and say where its instances are.

    A running deployment is left alone if it has not changed; --replace restarts one that has.
    """
    what = options.load_plan(args.what, apart=args.per_cluster)
    process.heed_signals()
    output = Output(args.quiet, args.json)
    kvm.check_choice(args.accel, False)
    _check(what, args.name, args.bridge, args.storage)
    if args.keep and (not args.per_cluster or len(what.cluster_map.clusters) < 2):
        raise InputError("--keep", "is for a deployment with a domain for each cluster: --per-cluster")
    arrange(what, per_cluster=args.per_cluster)  # refuses what cannot be, before anything is asked or built
    needed = needs.of_map(what.cluster_map, what.own) | (needs.NOTHING if args.print_xml else needs.DEPLOY)
    # first: it also compiles libvirt's library, and libvirtd drops a connection that is silent for long
    ensure_built(output, needed)
    host = Connection(args.connect)
    with ExitStack() as stack:
        if args.print_xml:
            _enter_if_it_answers(output, stack, host)
        else:
            stack.enter_context(host)
        mode = connection.choose_accel(host, args.accel, len(what.machine.cores))
        folder = PurePosixPath(args.storage) if args.storage else None
        order = Request(what, args.name or what.name, mode.kind, args.bridge, args.uefi, folder, args.replace,
                       args.per_cluster)
        if args.print_xml:
            print(Deployment(host, order).preview(), end="")
            return
        _converge(args, host, order, output)


def _converge(args: DeployOptions, host: Connection, order: Request, output: Output) -> None:
    with output.progress(f"Deploying {order.name}"):
        deployment = Deployment(host, order)
        done = deployment.converge()
    output.line(f"{done.message}.")
    verb = "will serve"
    if args.wait:
        with output.progress(f"Waiting until {order.name} serves") as update:
            verb = "serves" if wait_ready(done, order.what, Patience(limit=args.timeout), update) else ""
    _tell(output, done, verb)
    output.results({
        "skerry": version(),
        "command": "deploy",
        "connect": args.connect,
        "name": order.name,
        "action": done.action,
        "accel": order.accel,
        "domains": [member.domain for member in done.deployed.members],
        "placement": done.deployed.record.placement,
        "instances": done.deployed.record.instances(),
    })
    if args.keep:
        _keep(output, deployment)


def _enter_if_it_answers(output: Output, stack: ExitStack, host: Connection) -> None:
    """A domain's XML needs no host: one that does not answer is not known, and nothing is set up to ask it."""
    why = "libvirt's Python library is missing"
    try:
        if has_library():
            stack.enter_context(host)
            return
    except Failure as error:
        why = str(error)
    output.step(f"Without the host: {why}. The cores are not pinned, and nothing is known of what is there.")


def _keep(output: Output, deployment: Deployment) -> None:
    name = deployment.request.name
    output.line(f"Watching {name}; Ctrl-C ends that, and leaves it running.")
    try:
        watch.keep(deployment, lambda line: output.line(f"{line}."))
    except KeyboardInterrupt:
        output.line(f"{name} goes on without being watched.")
        return
    output.line(f"{name} has ended.")


def _check(what: Plan, name: str | None, bridge: str | None, storage: str | None) -> None:
    if name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InputError("--name", f"'{name}' is not made of letters, digits, '.', '_' and '-'")
    if bridge is not None and what.cluster_map.network is None:
        raise InputError("--bridge", f"{what.name} has no network")
    if storage is not None and not storage.startswith("/"):
        raise InputError("--storage", f"'{storage}' does not begin with /")


def _tell(output: Output, done: Done, verb: str) -> None:
    """`verb`: what its programs do at their addresses; empty: nothing any more."""
    record = done.deployed.record
    apart = ", each in a domain of its own" if record.machines > 1 else ""
    output.line(f"{record.clusters} clusters{apart}, {record.cores} cores, {record.accel}; {record.placement}.")
    where = f" on {record.bridge}" if record.bridge else ""
    if not verb:
        output.line(f"{record.name} has done its work.")
    for instance in record.instances() if verb else []:
        output.line(f"{instance['app']} {verb} at {shown(str(instance['app']), str(instance['address']))}{where}")
