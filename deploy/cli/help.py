# SPDX-License-Identifier: BSD-2-Clause
"""Help pages: texts of the commands, and their options in groups."""

from __future__ import annotations

from collections.abc import Mapping

import click
from typer.core import TyperCommand

SUMMARIES = {  # they fit into a terminal of 80 columns
    "doctor": "What this machine offers, and what will be used.",
    "build": "Set up and build everything.",
    "test": "Run every test, or those with a word in their name.",
    "prove": "Bounded proofs: every execution of small cases.",
    "explore": "Every state of a tiny machine, to a depth.",
    "fuzz": "Fuzz a kernel, the readers of maps and images, or TCP stacks.",
    "compare": "One kernel per socket beside one for all: Redis, YCSB.",
    "bench": "One experiment of the papers.",
    "run": "Boot a deployment file or a cluster map.",
    "topology": "Turn a machine into a cluster map, or check one.",
    "image": "A bootable image of a deployment.",
    "collect": "Results from the serial logs of real machines.",
    "model": "The queueing models of one lock around one kernel.",
    "plan": "The largest useful cluster size, and its layout.",
    "lockstat": "Lock statistics of a deployment.",
    "top": "Watch a running deployment.",
    "granularity": "Change the locks of running kernels.",
    "kill": "End one cluster of a running deployment.",
    "map": "Which cluster has which core and memory.",
    "move": "Move a core or memory to another cluster.",
    "demo": "What Skerry does, to be looked at.",
    "profile": "Where the instructions of an operation go.",
    "cc": "The C compiler for programs of your own.",
    "deploy": "Make a deployment run as libvirt domains.",
    "status": "The state of the deployments of a libvirt host.",
    "console": "Attach to a deployment's console.",
    "logs": "The console output of a deployment.",
    "stop": "Switch a deployment off.",
    "undeploy": "End a deployment and remove all of it.",
    "report": "One self-contained page of results.",
    "paper": "Every figure of the papers, into one report.",
    "completion": "A script that completes commands in a shell.",
    "man": "Manual pages: skerry(1), and one for each command.",
    "docs": "One static site of all documents.",
    "release": "Images, SDK, sources and checksums.",
}

INNER = {  # for commands that have some of their own
    "bench ipc": "System calls on one core, under every lock.",
    "bench scale": "Where one lock stops scaling: ping-pong on 1..n cores.",
    "bench redis": "Redis, its lwIP and the driver over 1..n cores.",
    "bench lock": "The locks alone, on this machine's own cores.",
    "bench mach": "The Mach study's programs, and its Tables 1 to 4.",
    "bench dynamic": "Coarse and fine in one kernel, beside Uhlig 2007.",
    "bench failure": "Detection and recovery time of a lost cluster.",
    "bench failover": "Time until a Redis Cluster writes again, beside Linux.",
    "bench fork": "What fork() costs, beside Linux.",
    "bench latency": "How long the kernel's operations delay an interrupt.",
    "bench lines": "Which cache lines move between which cores.",
    "bench calibrate": "The prices of this machine's cores, as a file.",
    "bench validate": "The model beside published and measured values.",
    "demo failure": "A cluster dies under load, and comes back.",
    "model fit": "Fit a model to measured throughput.",
    "model predict": "Predicted throughput over locks, delays and cores.",
    "model simulate": "Simulated throughput, aborts included.",
}
EXAMPLE_WIDTH = 74  # a terminal's 80 less what a manual page indents
EXAMPLES: dict[str, tuple[str, ...]] = {
    "build": ("build", "build examples/lua"),
    "test": ("test", "test --only redis", "test --json results.json --quiet"),
    "prove": ("prove", "prove --only ring", "prove --list"),
    "explore": ("explore --theme retype", "explore --all --time 5 --lock fine", "explore --theme dirty --pairs"),
    "fuzz": ("fuzz --regime rtm --time 300 --jobs 2", "fuzz --target map --time 300", "fuzz --runs 100000 --seed 7"),
    "compare": (
        "compare",
        "compare --sockets 2 --cores 4 --workload a,c --baseline linux",
        "compare --from machine.xml --layout per-l3,per-socket,spanning --json results.json",
        "compare --quick",
        "compare --program wakeups --layout per-socket,homed,spanning",
        "compare --icount --records 1000 --operations 500",
    ),
    "run": (
        "run deploy/deployments/redis.toml --keep",
        "run deploy/deployments/ycsb.toml --from machine.xml --smt off --layout per-l3",
        "run map.dts --json results.json",
        "run deploy/deployments/redis.toml --gdb",
    ),
    "topology": (
        "topology --sockets 2 --cores 4 --layout per-socket",
        "topology --from live --format dts",
        "topology --sockets 2 --cores 14 --format svg",
        "topology --from machine.xml --layout per-l3 --format json",
    ),
    "top": ("top", "top --once --json -", "top redis --connect qemu:///system --interval 2"),
    "granularity": ("granularity fine", "granularity coarse --cluster 1"),
    "kill": ("kill --cluster 1", "kill --cluster 1 --how hang-core --core 1"),
    "map": ("map", "map --json -"),
    "move": ("move --core 5 --to 0", "move --memory 64M --to 0 --from 1"),
    "demo failure": ("demo failure", "demo failure --how hang --plot curve.svg"),
    "status": ("status", "status --connect qemu:///system"),
    "logs": ("logs redis", "logs redis --events"),
    "console": ("console redis",),
    "stop": ("stop redis",),
    "undeploy": ("undeploy redis",),
    "report": ("report a.json b.json -o page.html",),
    "completion": ("completion bash",),
    "doctor": ("doctor", "doctor --json -"),
    "image": (
        "image -o skerry.iso",
        "image deploy/deployments/ycsb.toml --layout spanning -o spanning.iso",
        "image deploy/deployments/ycsb.toml --live --console 0x3f8,115200 -o here.iso",
    ),
    "collect": ("collect per-socket.iso per-socket.log spanning.iso spanning.log --json results.json",),
    "plan": ("plan --sockets 2 --cores 28 --rate 250000 --ghz 2.3", "plan --from machine.xml --delay 8000 --loss 2"),
    "lockstat": (
        "lockstat --histogram",
        "lockstat results.json --since barrier-1 --until barrier-2",
        "lockstat ycsb --connect qemu:///system",
    ),
    "cc": ("cc -O2 -o echo.elf examples/echo/echo.c", "cc -c -O2 part.c"),
    "profile": (
        "profile",
        "profile --layout per-socket,spanning --flame spanning.svg",
        "profile --sockets 1 --cores 2 --workload a",
        "profile --baseline linux",
        "profile --outside --baseline linux --sockets 1 --cores 2",
    ),
    "deploy": (
        "deploy deploy/deployments/redis.toml",
        "deploy deploy/deployments/redis.toml --per-cluster --connect qemu+ssh://host/system",
        "deploy deploy/deployments/redis.toml --bridge virbr0 --print-xml",
    ),
    "model fit": ("model fit scale.json --plot fit.svg", "model fit scale.json --max-cores 8"),
    "model predict": ("model predict", "model predict --lock ticket --cores 1..60 --delay 4000"),
    "model simulate": ("model simulate --lock rtm --conflict 0.05 --cores 1..8 --delay 4000",),
    "bench ipc": ("bench ipc --icount", "bench ipc --native --runs 31 --json ipc.json"),
    "bench fork": ("bench fork", "bench fork --baseline linux"),
    "bench scale": ("bench scale --cores 1..8 --delays 500,4000", "bench scale --native --lock clh,rtm"),
    "bench redis": ("bench redis --cores 1,2,4 --lock clh,fine --workload a",
                    "bench redis --stack process,inproc --baseline linux"),
    "bench mach": ("bench mach --cores 2..4 --lock clh",),
    "bench lock": ("bench lock --cores 1,2 --lock clh,mcs --delay 0,2000",),
    "bench dynamic": ("bench dynamic", "bench dynamic --icount", "bench dynamic --figure 7 --cores 2,8,16 --quick"),
    "bench failover": ("bench failover",),
    "bench failure": ("bench failure", "bench failure --quick --how panic,manager",
                      "bench failure --first --repeats 5 --seed 7"),
    "bench latency": ("bench latency",),
    "bench validate": (
        "bench validate", "bench validate --rows paper,figures", "bench validate --rows table1 --quick",
        "bench validate --rows host --host mine.toml",
    ),
    "bench calibrate": ("bench calibrate", "bench calibrate -o mine.toml"),
    "bench lines": ("bench lines --lock clh,fine --cores 8 --delay 500",
                    "bench lines --lock ticket --cores 16 --top 5"),
    "man": ("man", "man bench ipc", "man -o skerry.1"),
    "paper": ("paper --list", "paper", "paper elphinstone-3 uemura-tables --into /tmp/paper"),
    "release": ("release", "release -o /tmp/skerry"),
    "docs": ("docs", "docs -o /tmp/site"),
}


def example_lines(name: str) -> list[str]:
    """A command's examples, as a shell takes them, at most EXAMPLE_WIDTH columns each: longer ones go on behind a
    backslash."""
    return [line for example in EXAMPLES.get(name, ()) for line in _folded(f"./skerry {example}")]


def _folded(line: str) -> list[str]:
    if len(line) <= EXAMPLE_WIDTH:
        return [line]
    option = line.rfind(" -", 4, EXAMPLE_WIDTH - 1)
    end = option if option > 0 else line.rindex(" ", 4, EXAMPLE_WIDTH - 1)
    return [f"{line[:end]} \\", *_folded(f"   {line[end:]}")]


def epilog(name: str) -> str | None:
    """Returns the end of a help page, which leaves its lines as they are."""
    lines = example_lines(name)
    return "\b\n" + "\n".join(["Examples:", *(f"  {line}" for line in lines)]) if lines else None


MANY = 14  # options, from which on a page is in groups
FIRST = "Options"  # whatever is in no other group
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Machine": ("--sockets", "--cores", "--memory", "--topology", "--smt", "--machine", "--driver"),
    "Clusters and kernels": ("--layout", "--lock", "--switch", "--metrics", "--stat"),
    "Load": ("--workload", "--records", "--operations", "--clients", "--value-size", "--delay", "--delays"),
    "Emulator": ("--accel", "--icount", "--boot", "--uefi", "--timeout", "--gdb"),
    "Output": ("--verbose", "--plot", "--quiet", "--json", "--help"),
}


def group_of(parameter: click.Parameter) -> str:
    return next((group for group, names in GROUPS.items() if not {*parameter.opts}.isdisjoint(names)), FIRST)


class GroupedCommand(TyperCommand):
    """A command, its options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        by_group: dict[str, list[tuple[str, str]]] = {"Arguments": [], FIRST: [], **{group: [] for group in GROUPS}}
        options = [p for p in self.get_params(ctx) if p.param_type_name == "option"]
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                place = (
                    "Arguments" if parameter not in options else group_of(parameter) if len(options) >= MANY else FIRST
                )
                by_group[place].append(record)
        for title, records in by_group.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
