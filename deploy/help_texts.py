# SPDX-License-Identifier: BSD-2-Clause
"""What help pages have beside a command's own words: a line for each in the list of all, examples at each one's end."""

SUMMARIES = {  # what fits into a terminal of 80 columns
    "doctor": "What this machine offers, and what will be used.",
    "build": "Set up and build everything.",
    "test": "Run every test, or those with a word in their name.",
    "fuzz": "Fuzz the system-call interface of a kernel.",
    "compare": "One kernel per socket beside one for all: Redis, YCSB.",
    "bench": "One experiment of the papers.",
    "run": "Boot a deployment file or a cluster map.",
    "topology": "Turn a machine into a cluster map, or check one.",
    "image": "A bootable image of a deployment.",
    "collect": "Results of machines that wrote to a serial port.",
    "model": "The queueing models of one lock around one kernel.",
    "plan": "How large a cluster may be, and which layout that is.",
    "lockstat": "What the locks of a deployment went through.",
    "top": "Watch a running deployment.",
    "deploy": "Make a deployment run as libvirt domains.",
    "status": "What the deployments of a libvirt host do.",
    "console": "Attach to a deployment's console.",
    "logs": "What a deployment wrote to its console.",
    "stop": "Switch a deployment off.",
    "undeploy": "End a deployment and remove all of it.",
    "report": "One self-contained page of results.",
    "completion": "A script that completes commands in a shell.",
}

EXAMPLES: dict[str, tuple[str, ...]] = {
    "build": ("build",),
    "test": ("test", "test --only redis", "test --json results.json --quiet"),
    "fuzz": ("fuzz --regime rtm --time 300 --jobs 2", "fuzz --runs 100000 --seed 7"),
    "compare": (
        "compare",
        "compare --sockets 2 --cores 4 --workload a,c --baseline linux",
        "compare --from machine.xml --layout per-l3,per-socket,spanning --json results.json",
        "compare --icount --records 1000 --operations 500",
    ),
    "run": (
        "run deploy/deployments/redis.toml --keep",
        "run deploy/deployments/ycsb.toml --from machine.xml --smt off --layout per-l3",
        "run map.dts --json results.json",
        "run deploy/deployments/redis.toml --gdb",
    ),
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
    "deploy": (
        "deploy deploy/deployments/redis.toml",
        "deploy deploy/deployments/redis.toml --per-cluster --connect qemu+ssh://host/system",
        "deploy deploy/deployments/redis.toml --bridge virbr0 --print-xml",
    ),
    "model fit": ("model fit scale.json --plot fit.svg", "model fit scale.json --max-cores 8"),
    "model predict": ("model predict", "model predict --lock ticket --cores 1..60 --delay 4000"),
    "model simulate": ("model simulate --lock rtm --conflict 0.05 --cores 1..8 --delay 4000",),
    "bench ipc": ("bench ipc --icount", "bench ipc --native --runs 31 --json ipc.json"),
    "bench scale": ("bench scale --cores 1..8 --delays 500,4000", "bench scale --native --lock clh,rtm"),
    "bench redis": ("bench redis --cores 1,2,4 --lock clh,fine --workload a", "bench redis --stack process,inproc --baseline linux"),
    "bench mach": ("bench mach --cores 2..4 --lock clh",),
    "bench lock": ("bench lock --cores 1..4 --lock clh,mcs --delay 0,2000",),
    "bench latency": ("bench latency",),
}


def epilog(name: str) -> str | None:
    """For a help page, which leaves its lines as they are."""
    found = EXAMPLES.get(name)
    return None if found is None else "\b\n" + "\n".join(["Examples:", *(f"  ./skerry {line}" for line in found)])
