# SPDX-License-Identifier: BSD-2-Clause
"""A deployment and a machine become a cluster map: which program runs on which core, with which address."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from deploy import modules
from deploy.addresses import Addresses, Key, forwards, host_ports, mac, network
from deploy.deployment import EVERY_CORE, Deployment, Load, Metrics, Redis
from deploy.deployment.blame import blamed
from deploy.metal import REACH
from topology.check import check_map
from topology.clustermap import Application, ClusterMap
from topology.errors import InputError
from topology.irregular import machine_of
from topology.layouts import is_layout_name, make_map
from topology.machine import Machine, Shape, emulated
from topology.reader import read_file
from topology.units import MIB, format_size

VIRTIO_NET = [(0x1AF4, 0x1041), (0x1AF4, 0x1000)]
SYSTEM_HEAP = 2 * MIB
SERVER_STACK_HEAP, CLIENT_STACK_HEAP = 32 * MIB, 8 * MIB  # of stack processes
MIXED = "mixed"  # clusters under different locks
SERVERS = {"redis-server": Redis.port, "metrics": Metrics.port}  # and their ports unless their arguments say another


@dataclass
class Plan:
    """What is to be booted: the map, the machine for it, and the ports that the host is to reach."""

    name: str
    cluster_map: ClusterMap
    machine: Machine
    forwards: list[Key] = field(default_factory=list)  # application name, TCP port
    host_ports: dict[Key, int] = field(default_factory=dict)  # that lead there, where it may not be any (addresses.py)
    load: Load | None = None  # what every YCSB client does; None without clients
    layout: str = "map"
    lock: str = "clh"

    def application(self, name: str) -> Application:
        return next(a for a in self.cluster_map.applications if a.name == name)


def redis_cores(deployment: Deployment, count: int) -> list[int]:
    """Cores that get a Redis: not the network's, unless there is no other."""
    if deployment.redis is None:
        return []
    free = list(range(1, count)) or [0]
    if deployment.redis.cpus:
        if beyond := [cpu for cpu in deployment.redis.cpus if cpu >= count]:
            raise InputError("redis cpus", f"cpu {beyond[0]} is not on a machine of {count} cores, which begin at 0")
        return list(deployment.redis.cpus)
    wanted = deployment.redis.instances
    if wanted == EVERY_CORE:
        return free
    if int(wanted) > len(free):
        raise InputError(
            "redis instances",
            f"{wanted} are too many for a machine of {count} core{'s' * (count > 1)}, which has room for {len(free)} beside the network; "
            "'cpus' puts several on one core",
        )
    return free[: int(wanted)]


def _settle(app: Application, address: str) -> None:
    app.ipv4, app.mac = address, mac(address)


def client_args(load: Load, host: str, port: int, server: str, index: int) -> list[str]:
    """One client of a Redis: loads its share of the records, then waits for all others, then runs."""
    first = load.records * index // load.clients
    count = load.records * (index + 1) // load.clients - first
    options = {
        "host": host,
        "port": port,
        "workload": load.workload,
        "records": load.records,
        "operations": load.operations,
        "value-size": load.value_size,
        "pipeline": load.pipeline,
        "load-first": first,
        "load-count": count,
        "expect": load.records,
        "writer": index + 1,
        "await": server,
    }
    return [word for key, value in options.items() for word in (f"--{key}", str(value))]


def expand(deployment: Deployment, cores: int, nic: bool = True) -> list[Application]:
    """All programs of a deployment on a machine of so many cores; the network's are on core 0.

    Without `nic` instances and clients in the machine reach each other, and nobody else.
    """
    servers = redis_cores(deployment, cores)
    addresses = Addresses(deployment.subnet, len(servers))
    apps: list[Application] = []

    def add(base_name: str, program: str, cpu: int, heap: int) -> Application:
        app = Application(len(apps), base_name, program, cpu, heap)
        apps.append(app)
        return app

    if deployment.network:
        add("switch", "switch", 0, SYSTEM_HEAP).role = "switch"
        if nic:
            driver = add("virtio-net", "virtio-net", 0, SYSTEM_HEAP)
            driver.role, driver.pci_ids = "nic", list(VIRTIO_NET)
    def apart(app: Application, heap: int) -> None:
        """Gives it a stack process, on its core."""
        app.stack = add("stack", "stack", app.cpu, heap).name

    for cpu in servers:
        assert deployment.redis
        stack = deployment.redis.stack == "process"
        redis = add("redis", "redis-server", cpu, deployment.redis.heap)
        _settle(redis, addresses.redis())
        redis.args = ["--port", str(deployment.redis.port), *deployment.redis.args]
        if stack:
            apart(redis, SERVER_STACK_HEAP)
        for index in range(deployment.load.clients):
            client = add("ycsb", "ycsb", cpu, deployment.load.heap)
            _settle(client, addresses.other())
            client.awaits, client.barrier = [redis.name], True
            assert redis.ipv4
            client.args = client_args(deployment.load, redis.ipv4, deployment.redis.port, redis.name, index)
            if stack:
                apart(client, CLIENT_STACK_HEAP)
    if deployment.metrics:
        if deployment.metrics.cpu >= cores:
            raise InputError("metrics cpu", f"cpu {deployment.metrics.cpu} is not on a machine of {cores} cores, which begin at 0")
        metrics = add("metrics", "metrics", deployment.metrics.cpu, deployment.metrics.heap)
        _settle(metrics, addresses.other())
        metrics.statistics = True
        metrics.args = ["--port", str(deployment.metrics.port)]
        if deployment.redis:
            metrics.args += ["--redis-port", str(deployment.redis.port)]
    for number, program in enumerate(deployment.programs):
        if program.cpu >= cores:
            culprit = f"program {number} cpu" if deployment.places else program.program
            raise InputError(culprit, f"cpu {program.cpu} is not on a machine of {cores} cores, which begin at 0")
        app = add(program.name or program.program, program.program, program.cpu, program.heap)
        app.args, app.barrier = list(program.args), program.barrier
        if program.network:
            _settle(app, addresses.other())
    return apps


def plan(deployment: Deployment, metal: Machine | None = None) -> Plan:
    """The deployment on the emulated machine that it names, or on real hardware, which has no network card for us.

    What a file is to blame for names its line.
    """
    try:
        return _plan(deployment, metal)
    except InputError as error:
        raise blamed(error, deployment) from None


def _plan(deployment: Deployment, metal: Machine | None) -> Plan:
    if not is_layout_name(deployment.layout) and Path(deployment.layout).is_file():
        return plan_map(Path(deployment.layout), deployment.shape, metal)
    machine = metal or emulated(deployment.shape)
    apps = expand(deployment, len(machine.cores), nic=metal is None)
    on_core = Counter(a.cpu for a in apps if a.ipv4)
    cluster_map = make_map(
        machine, deployment.layout, deployment.kernel, lambda cores: sum(on_core[c] for c in cores)
    )
    if deployment.locks:
        _each_its_lock(deployment, cluster_map)
    for cluster in cluster_map.clusters:
        mine = [a for a in apps if a.cpu in cluster.cpus]
        cluster.modules = list(dict.fromkeys(a.program for a in mine))
    if deployment.metrics:
        _check_metrics(deployment.metrics, cluster_map)
    cluster_map.network = network(deployment.subnet) if deployment.network else None
    cluster_map.applications = apps
    if any(a.barrier for a in apps) and deployment.shutdown == "when-done":
        cluster_map.shutdown = "when-done"
    check_map(cluster_map, machine)
    _check_reach(machine)
    modules.check_names(cluster_map)
    return Plan(
        name=deployment.name,
        cluster_map=cluster_map,
        machine=machine,
        forwards=forwards(deployment, apps),
        host_ports=host_ports(deployment, apps),
        load=deployment.load if deployment.load.clients else None,
        layout=deployment.layout,
        lock=deployment.lock if len(set(deployment.locks)) < 2 else MIXED,
    )


def _check_metrics(metrics: Metrics, cluster_map: ClusterMap) -> None:
    cluster = cluster_map.cluster_of(metrics.cpu)
    if cluster and not cluster.devices:
        owner = next(c for c in cluster_map.clusters if c.devices)
        where = ", ".join(str(cpu) for cpu in owner.cpus)
        raise InputError("metrics cpu", f"{metrics.cpu} is not of {owner.name}, which collects the statistics of all (cpu {where})")


def _check_reach(machine: Machine) -> None:
    if (end := max(range_.end for range_ in machine.memory)) > REACH:
        has = f"memory that ends at {format_size(end)}, and the loader reaches {format_size(REACH)}"
        raise InputError("--memory", f"the machine has {has}; give each node less")


def _each_its_lock(deployment: Deployment, cluster_map: ClusterMap) -> None:
    locks, clusters = deployment.locks, cluster_map.clusters
    if len(locks) != len(clusters):
        which = f"{len(clusters)} cluster{'s' * (len(clusters) != 1)}"
        raise InputError("clusters lock", f"the list has {len(locks)}, and layout {deployment.layout} makes {which}")
    for cluster, lock in zip(clusters, locks):
        cluster.kernel = deployment.kernel_of(lock)


def plan_map(path: Path, shape: Shape | Machine | None = None, metal: Machine | None = None) -> Plan:
    """A map that somebody wrote, on `metal`, `shape`, the machine that it names, or else two sockets of two cores.

    Every redis-server is forwarded, and the endpoint for Prometheus.
    """
    cluster_map = read_file(path)
    machine = metal or (emulated(shape) if shape else machine_of(cluster_map))
    check_map(cluster_map, machine)
    try:
        _check_reach(machine)
    except InputError as error:
        if shape or metal:
            raise
        raise InputError(str(path), f"{error.problem}: skerry topology --memory SIZE writes such a map") from None
    modules.check_names(cluster_map)
    locks = {c.kernel.partition("+")[0] for c in cluster_map.clusters}
    found = []
    for app in cluster_map.applications:
        if app.ipv4 and app.program in SERVERS:
            port = app.args[app.args.index("--port") + 1] if "--port" in app.args[:-1] else str(SERVERS[app.program])
            if not port.isdecimal() or not 0 < int(port) < 65536:
                raise InputError(app.name, f"'{port}' is not a port")
            found.append((app.name, int(port)))
    return Plan(path.stem, cluster_map, machine, found, lock=locks.pop() if len(locks) == 1 else MIXED)


def is_map(path: Path) -> bool:
    return path.suffix in (".dts", ".dtb")
