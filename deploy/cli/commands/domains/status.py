# SPDX-License-Identifier: BSD-2-Clause
"""`skerry status`."""

from rich.table import Table

from deploy.base.terminal import Json, Output, Quiet, version
from deploy.deployment.addresses import shown
from deploy.domains import deployed
from deploy.domains.connection import Connection
from deploy.domains.deployed import Deployed, State
from deploy.domains.options import URI, Connect, OptionalName

WORDS = {"gone": "gone: it was removed", "killed": "killed: its emulator is gone", "off": "off", "stopped": "stopped",
         "done": "done, all went well"}


def status(name: OptionalName = None, connect: Connect = URI, quiet: Quiet = False, json: Json = None) -> None:
    """Show the state of the deployments of a libvirt host."""
    output = Output(quiet, json)
    with Connection(connect) as host:
        deployments = [deployed.pick(host, name)] if name else deployed.all_of(host)
        states = [(one, one.state()) for one in deployments]
    if states:
        output.table(_table(states))
    else:
        output.line(f"{connect}: nothing is deployed")
    for one, state in states:
        for line in state.trouble:
            output.line(f"{one.name}: {line}")
        for app, count in state.restarts.items():
            if not app.startswith("cluster "):
                output.line(f"{one.name}: {app} was started again, {count} times")
        for line in state.changes:
            output.line(f"{one.name}: {line}")
    output.results({
        "skerry": version(),
        "command": "status",
        "connect": connect,
        "deployments": [_data(one, state) for one, state in states],
    })


def _table(states: list[tuple[Deployed, State]]) -> Table:
    table = Table("deployment", "state", "clusters", "cores", "layout", "lock", "accel", "skerry", "instances",
                  box=None)
    for one, state in states:
        record = one.record
        where = " ".join(shown(str(instance["app"]), str(instance["address"])) for instance in record.instances())
        table.add_row(
            record.name, _words(state, len(record.forwards)), str(record.clusters), str(record.cores), record.layout,
            record.lock, record.accel, record.version, where,
        )  # fmt: skip
        if record.machines > 1:
            for number, (domain, word) in enumerate(state.domains.items()):
                table.add_row(f"  {domain}", WORDS.get(word, word), f"cluster {number}")
    return table


def _words(state: State, servers: int) -> str:
    if state.in_parts:
        return f"{len(state.domains) - len(state.not_running())} of {len(state.domains)} domains run"
    if not state.is_running:
        return WORDS.get(state.word, state.word)
    return f"{state.word}, {len(state.serving)} of {servers} serve" if servers else state.word


def _data(one: Deployed, state: State) -> dict[str, object]:
    record = one.record
    return {
        "name": record.name, "state": state.word, "serving": state.serving,
        "domains": [{"domain": domain, "state": word} for domain, word in state.domains.items()],
        "trouble": state.trouble, "restarts": state.restarts, "changes": state.changes, "version": record.version,
        "clusters": record.clusters, "cores": record.cores, "layout": record.layout, "lock": record.lock,
        "accel": record.accel, "bridge": record.bridge, "placement": record.placement, "instances": record.instances(),
    }  # fmt: skip
