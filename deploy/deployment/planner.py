# SPDX-License-Identifier: BSD-2-Clause
"""A deployment and a machine become a cluster map: which program runs on which core, with which address."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.deployment import (
    EVERY_CORE,
    Deployment,
    Load,
    Metrics,
    Program,
    Redis,
    engines,
    modules,
    redis_data,
    redis_memory,
    volumes,
)
from deploy.deployment.addresses import Addresses, Key, forwards, host_ports, mac, network
from deploy.deployment.blame import blamed, traced
from deploy.deployment.file_tree import FileTree
from deploy.deployment.model import EVERY_CORE_OF_CLUSTER
from deploy.deployment.replicas import settings as cluster_settings
from deploy.deployment.replicas.placement import Copy, place
from deploy.deployment.switches import Switches, switches
from deploy.deployment.volumes import Folder, Share
from topology import drivers, regimes
from topology.errors import InputError
from topology.grouping import is_layout_name
from topology.layouts import is_homed
from topology.limits import MAX_CORES, MAX_THREADS
from topology.machines.irregular import machine_of
from topology.machines.machine import Machine, Shape, emulated
from topology.machines.physical_memory import REACH
from topology.maps.check import check_map
from topology.maps.clustermap import FINE, NEVER, Application, ClusterMap, switch_of
from topology.maps.mapmaker import divide, make_map
from topology.maps.reader import read_file
from topology.units import LARGE_PAGE, MIB, align_up, format_size

SYSTEM_HEAP = 2 * MIB
SERVER_STACK_HEAP, CLIENT_STACK_HEAP = 32 * MIB, 8 * MIB  # of stack processes
MIXED = "mixed"  # clusters under different locks
# With their ports, unless their arguments say another.
SERVERS = {**dict.fromkeys(engines.PROGRAMS, Redis.port), "metrics": Metrics.port}


@dataclass
class Plan:
    """Everything that is to be booted: the map, the machine for it, and the ports that the host is to reach."""

    name: str
    cluster_map: ClusterMap
    machine: Machine
    forwards: list[Key] = field(default_factory=list)  # application name, TCP port
    host_ports: dict[Key, int] = field(default_factory=dict)  # that lead there, where it may not be any (addresses.py)
    load: Load | None = None  # what every YCSB client does; None without clients
    layout: str = "map"
    lock: str = "clh"
    own: modules.Own = field(default_factory=dict)  # modules that the build does not make
    outside: bool = False  # whether programs may connect to the host and its network
    shares: tuple[Share, ...] = ()  # folders of the host that the machine gets
    shards: tuple[tuple[str, ...], ...] = ()  # of a Redis Cluster: each one's instances, the master first

    def application(self, name: str) -> Application:
        return next(a for a in self.cluster_map.applications if a.name == name)


def redis_cores(deployment: Deployment, count: int, taken: Sequence[int] = (0,)) -> list[int]:
    """Cores that get a Redis: not the network's, unless there is no other."""
    if deployment.redis is None:
        return []
    free = [cpu for cpu in range(count) if cpu not in taken] or list(range(1, count)) or [0]
    if deployment.redis.cpus:
        if beyond := [cpu for cpu in deployment.redis.cpus if cpu >= count]:
            raise InputError("redis cpus", f"cpu {beyond[0]} is not on a machine of {count} cores, which begin at 0",
                             at=("redis", "cpus"))
        return list(deployment.redis.cpus)
    number = deployment.redis.instances
    if number == EVERY_CORE:
        return free
    if int(number) > len(free):
        raise InputError(
            "redis instances",
            f"{number} are too many for a machine of {count} core{'s' * (count > 1)}, which has room for {len(free)} "
            f"beside the network; "
            "'cpus' puts several on one core",
            at=("redis", "instances"),
        )
    return free[: int(number)]


def _others(deployment: Deployment) -> list[int]:
    """Cores of what has an address, beside Redis and its clients."""
    return [p.cpu for p in deployment.programs if p.network] + ([deployment.metrics.cpu] if deployment.metrics else [])


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
        **({"think": load.think} if load.think else {}),
        **({"warm": load.warm} if load.warm else {}),
        **({"rate": load.rate, "arrivals": load.arrivals} if load.rate else {}),
        **({"survive": load.survive} if load.survive else {}),
        "load-first": first,
        "load-count": count,
        "expect": load.records,
        "writer": index + 1,
        "await": server,
    }
    return [word for key, value in options.items() for word in (f"--{key}", str(value))]


def placed(deployment: Deployment, machine: Machine, network: Switches) -> list[Copy]:
    """Returns where the masters of a Redis Cluster and their replicas are; nothing without `masters`."""
    redis = deployment.redis
    if redis is None or not redis.masters:
        return []
    cores = redis_cores(deployment, len(machine.cores), network.cores)
    domains = [[cpu for cpu in cores if cpu in members] for members in divide(machine, deployment.layout)]
    return place(domains, redis.masters, redis.replicas, redis.arbiter)


def expand(deployment: Deployment, cores: int, nic: bool = True, network: Switches | None = None,
           copies: Sequence[Copy] = ()) -> list[Application]:
    """All programs of a deployment on a machine of so many cores; the network's are on core 0, unless `network` says
    more.

    Without `nic` instances and clients in the machine reach each other, and nobody else. `copies`: the instances of a
    Redis Cluster, in place of one on every core.
    """
    made = _Applications(deployment, cores, network or Switches.one(cores), copies)
    if deployment.network:
        made.add_network(nic)
    for number, cpu in enumerate(made.servers):
        made.add_redis(cpu, number)
    if deployment.metrics:
        made.add_metrics(deployment.metrics)
    trees = _trees(deployment)
    for number, program in enumerate(deployment.programs):
        made.add_program(program, number, trees)
    return made.apps


class _Applications:
    """The list as it grows."""

    def __init__(self, deployment: Deployment, cores: int, network: Switches, copies: Sequence[Copy] = ()) -> None:
        self.deployment, self.cores, self.network = deployment, cores, network
        self.servers = [copy.core for copy in copies] or redis_cores(deployment, cores, network.cores)
        self.apps: list[Application] = []
        self._addresses = Addresses(deployment.subnet, len(self.servers))
        self._lowers: dict[int, str] = {}  # lower switches, by their cores

    def _add(self, base_name: str, program: str, cpu: int, heap: int, *origin: str | int) -> Application:
        app = Application(len(self.apps), base_name, program, cpu, heap, origin=origin)
        self.apps.append(app)
        return app

    def _settle(self, app: Application, address: str) -> None:
        app.ipv4, app.mac, app.switch = address, mac(address), self._lowers.get(self.network.of[app.cpu])

    def _give_stack(self, app: Application, heap: int) -> None:
        """A stack process, on its core."""
        stack = self._add("stack", "stack", app.cpu, heap, "redis", "stack")
        app.stack, stack.restart = stack.name, app.restart

    def _on_machine(self, name: str, cpu: int, *at: str | int) -> None:
        if cpu >= self.cores:
            raise InputError(name, f"cpu {cpu} is not on a machine of {self.cores} cores, which begin at 0", at=at)

    def add_network(self, nic: bool) -> None:
        self._add("switch", "switch", 0, SYSTEM_HEAP, "network").role = "switch"
        if nic:
            card = drivers.every()[self.deployment.subnet.driver or drivers.usual().name]
            driver = self._add(card.name, card.name, 0, SYSTEM_HEAP, "network", "driver")
            driver.role, driver.pci_ids = "nic", card.ids
        used = {self.network.of[cpu] for cpu in [*self.servers, *_others(self.deployment)] if cpu < self.cores}
        for cpu in self.network.cores[1:]:
            if cpu in used:
                lower = self._add("switch", "switch", cpu, SYSTEM_HEAP, "network")
                lower.role, lower.switch = "switch", self.apps[0].name
                self._lowers[cpu] = lower.name

    def add_redis(self, cpu: int, number: int) -> None:
        """An instance, with its clients."""
        what, load = self.deployment.redis, self.deployment.load
        assert what
        engine = engines.ENGINES[what.server]
        children = max(what.children, min(what.replicas, 1))  # a master sends its data from one
        redis = self._add(what.server, engine.forking if children else engine.program, cpu, what.heap, "redis")
        redis.restart, redis.processes = what.restart, 1 + children
        self._settle(redis, self._addresses.redis())
        port = what.port_of(number)
        of_replica = redis_data.of_replica() if children and not what.folder else []
        of_cluster = cluster_settings.defaults(what.replicas) if what.masters else []
        redis.args = ["--port", str(port), *redis_memory.limits(what.heap, what.args), *of_replica, *of_cluster,
                      *what.args]
        if what.masters:
            redis.args += cluster_settings.settings(what.node_timeout, self.deployment.subnet.forward)
        if what.folder:
            self._add_volume(redis, volumes.DATA, "redis", "data")
            redis.args += redis_data.settings(what.append or "no", what.save, bool(children))
        if what.stack == "process":
            self._give_stack(redis, SERVER_STACK_HEAP)
        for index in range(load.clients):
            client = self._add("ycsb", "ycsb", cpu, load.heap, "ycsb")
            self._settle(client, self._addresses.other())
            client.awaits, client.barrier = [redis.name], True
            client.cables = [redis.name] if load.cables else []
            assert redis.ipv4
            client.args = client_args(load, redis.ipv4, port, redis.name, index)
            if what.stack == "process":
                self._give_stack(client, CLIENT_STACK_HEAP)

    def _add_volume(self, app: Application, guest: str, *origin: str | int) -> None:
        """A program's volume: its server, on the program's core."""
        server = self._add("volume", "volume", app.cpu, SYSTEM_HEAP, *origin)
        server.role, server.pci_ids, server.mount = "volume", volumes.PCI_IDS, guest
        app.volumes.append(server.name)

    def add_metrics(self, what: Metrics) -> None:
        self._on_machine("metrics cpu", what.cpu, "metrics", "cpu")
        metrics = self._add("metrics", "metrics", what.cpu, what.heap, "metrics")
        self._settle(metrics, self._addresses.other())
        metrics.statistics = True
        metrics.args = ["--port", str(what.port)]
        if self.deployment.redis:
            metrics.args += ["--redis-port", str(self.deployment.redis.port)]

    def add_program(self, program: Program, number: int, trees: dict[FileTree, str]) -> None:
        for cpu in program.cpus or (program.cpu,):
            self._on_machine(program.program, cpu, "program", number, "cpus" if program.cpus else "cpu")
        app = self._add(program.name or program.program, program.program, program.cpu, program.heap, "program", number)
        app.args, app.barrier, app.placement = list(program.args), program.barrier, program.placement
        app.env, app.cwd = list(program.env), program.cwd if program.cwd != "/" else None
        app.restart, app.restart_limit, app.restart_delay = (
            program.restart, program.restart_limit, program.restart_delay
        )
        app.user, app.threads = (program.uid, program.gid), program.threads if program.threads != MAX_THREADS else None
        app.processes = program.processes
        app.storage = program.storage or (program.heap // 2 if program.elf else 0)
        if program.tree:
            app.files = trees[program.tree]
        if program.network:
            self._settle(app, self._addresses.other())
        for index, folder in enumerate(program.folders):
            self._add_volume(app, folder.guest, "program", number, "volume", index)


def plan(deployment: Deployment, metal: Machine | None = None) -> Plan:
    """The deployment on the emulated machine that it names, or on real hardware, with a network card if it names the
    driver.

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
    network_cores = switches(deployment, machine)
    copies = placed(deployment, machine, network_cores)
    apps = expand(deployment, len(machine.cores), nic=metal is None or deployment.subnet.driver is not None,
                  network=network_cores, copies=copies)
    joined = [(app.cpu, switch.cpu) for app in apps if (switch := switch_of(apps, app))]
    cluster_map = make_map(machine, deployment.layout, deployment.kernel,
                           lambda cores: sum((a in cores) != (b in cores) for a, b in joined))
    _give_cores(deployment, cluster_map, apps)
    _configure_clusters(deployment, cluster_map, apps)
    if deployment.metrics:
        _check_metrics(deployment.metrics, cluster_map)
    _lay_cables(deployment, cluster_map, apps)
    shares = _shares(deployment, cluster_map, apps, metal)
    cluster_map.network = network(deployment.subnet) if deployment.network else None
    cluster_map.applications = apps
    cluster_map.failure_timeout = deployment.failure_timeout
    if any(a.ends_the_run for a in apps) and deployment.shutdown == "when-done":
        cluster_map.shutdown = "when-done"
    own: modules.Own = {program.program: program.elf for program in deployment.programs if program.elf} | {
        name: tree for tree, name in _trees(deployment).items()}
    _check_planned(cluster_map, machine, own)
    return Plan(
        name=deployment.name,
        cluster_map=cluster_map,
        machine=machine,
        forwards=forwards(deployment, apps),
        host_ports=host_ports(deployment, apps),
        load=deployment.load if deployment.load.clients else None,
        layout=deployment.layout,
        lock=deployment.lock if len(set(deployment.locks)) < 2 else MIXED,
        own=own,
        outside=deployment.subnet.outside,
        shares=shares,
        shards=_shards(copies, apps),
    )


def _shards(copies: Sequence[Copy], apps: Sequence[Application]) -> tuple[tuple[str, ...], ...]:
    """The instances of each shard by name; they are in the order of the copies."""
    names = {copy: app.name for copy, app in zip(copies, (app for app in apps if app.origin == ("redis",)))}
    of: dict[int, dict[int, str]] = {}
    for copy, name in names.items():
        of.setdefault(copy.shard, {})[copy.number] = name
    return tuple(tuple(shard[number] for number in sorted(shard)) for _, shard in sorted(of.items()))


def _check_planned(cluster_map: ClusterMap, machine: Machine, own: modules.Own) -> None:
    """Refuses a map that cannot be, with the place in the deployment."""
    try:
        check_map(cluster_map, machine)
        _check_reach(machine)
        modules.check_names(cluster_map, own)
        _check_room(cluster_map, own)
    except InputError as error:
        raise traced(error, cluster_map) from None


def _configure_clusters(deployment: Deployment, cluster_map: ClusterMap, apps: list[Application]) -> None:
    """Gives each cluster its lock, its rules of restart, and the modules of its programs."""
    if deployment.locks:
        _each_its_lock(deployment, cluster_map)
    if deployment.granularity:
        _set_granularity(deployment.granularity, cluster_map)
    if is_homed(deployment.layout):
        _set_homes(deployment.granularity or FINE, cluster_map)
    for cluster in cluster_map.clusters:
        mine = [a for a in apps if a.cpu in cluster.cpus]
        cluster.restart = deployment.restart != NEVER
        cluster.restart_limit, cluster.restart_delay = deployment.restart_limit, deployment.restart_delay
        cluster.spare_cores = (
            deployment.spare_cores and cluster.kernel.partition("+")[0] not in regimes.names(regimes.UNLOCKED)
        )
        cluster.modules = list(dict.fromkeys([*(a.program for a in mine), *(a.files for a in mine if a.files)]))


def _give_cores(deployment: Deployment, cluster_map: ClusterMap, apps: list[Application]) -> None:
    """Chooses the cores of programs that have several. All are of the cluster of the first."""
    switches = {app.cpu for app in apps if app.role == "switch"}
    for app in apps:
        program = deployment.programs[int(app.origin[1])] if app.origin[:1] == ("program",) else None
        if program is None or not program.several:
            continue
        at = (*app.origin, program.several)
        cluster = cluster_map.cluster_of(app.cpu)
        assert cluster  # each core of a machine is of one
        if program.cpus:
            app.cpus = list(program.cpus)
            if away := [cpu for cpu in app.cpus if cpu not in cluster.cpus]:
                other = cluster_map.cluster_of(away[0])
                raise InputError(app.base_name, f"cpu {app.cpu} is of {cluster.name} and cpu {away[0]} of "
                                 f"{other.name if other else 'none'} (layout {deployment.layout}), and a program's "
                                 f"cores are of one cluster", at=at)
            continue
        place = cluster.cpus.index(app.cpu)
        free = [cpu for cpu in cluster.cpus[place + 1 :] + cluster.cpus[:place] if cpu not in switches]
        if program.cores != EVERY_CORE_OF_CLUSTER:
            free = [cpu for cpu in free if cpu in cluster.cpus[place + 1 :]][: int(program.cores) - 1]
            if len(free) < int(program.cores) - 1:
                raise InputError(app.base_name, f"has {program.cores} cores, and {cluster.name} (layout "
                                 f"{deployment.layout}) has {len(free) + 1} from cpu {app.cpu} on without a switch",
                                 at=at)
        app.cpus = [app.cpu, *free][:MAX_CORES]


def _trees(deployment: Deployment) -> dict[FileTree, str]:
    """Modules of programs' files: the same files are one module. '+' is in no program's name."""
    trees = dict.fromkeys(program.tree for program in deployment.programs if program.tree)
    return {tree: f"files+{number}" for number, tree in enumerate(trees)}


def _check_room(cluster_map: ClusterMap, own: modules.Own) -> None:
    """Files are in a cluster's memory beside the heaps of its programs."""
    for cluster in cluster_map.clusters:
        mine = [app for app in cluster_map.applications if app.cpu in cluster.cpus]
        sizes = {app.files: tree.size for app in mine if app.files and isinstance(tree := own.get(app.files), FileTree)}
        files = sum(align_up(size, LARGE_PAGE) for size in sizes.values())
        heaps = sum(app.heap * app.processes for app in mine)
        memory = sum(r.size for r in cluster.memory)
        if sizes and files + heaps >= memory:
            app = max((app for app in mine if app.files in sizes), key=lambda app: sizes[str(app.files)])
            needed = (
                f"files of {files // MIB} MiB and heaps of {heaps // MIB} MiB do not fit into the {memory // MIB} MiB "
                f"of {cluster.name}"
            )
            raise InputError(app.name, needed, at=(app.name, "files"))


def _check_metrics(metrics: Metrics, cluster_map: ClusterMap) -> None:
    cluster = cluster_map.cluster_of(metrics.cpu)
    if cluster and not cluster.devices:
        owner = next(c for c in cluster_map.clusters if c.devices)
        where = ", ".join(str(cpu) for cpu in owner.cpus)
        raise InputError("metrics cpu", f"{metrics.cpu} is not of {owner.name}, which collects the statistics of all "
                                        f"(cpu {where})", at=("metrics", "cpu"))


def _lay_cables(deployment: Deployment, cluster_map: ClusterMap, apps: list[Application]) -> None:
    """Lays the cables that programs name: to each application of that name in their cluster."""
    for app in apps:
        if app.origin[:1] != ("program",):
            continue
        number = app.origin[1]
        assert isinstance(number, int)
        for index, name in enumerate(deployment.programs[number].cables):
            at = ("program", number, "cables", index)
            named = [other for other in apps if other.base_name == name and other.ipv4 and other is not app]
            if not named:
                raise InputError(app.base_name, f"there is no other program '{name}' with an address", at=at)
            home = cluster_map.cluster_of(app.cpu)
            near = [other for other in named if cluster_map.cluster_of(other.cpu) is home]
            if not near:
                raise InputError(app.base_name, f"'{name}' is in another cluster, and cables join programs of one",
                                 at=at)
            app.cables += [other.name for other in near if app.name not in other.cables
                           and other.name not in app.cables]


def _shares(deployment: Deployment, cluster_map: ClusterMap, apps: list[Application],
            metal: Machine | None) -> tuple[Share, ...]:
    """The folders of the host behind the volume servers; each server is where devices are."""
    shares: list[Share] = []
    limit = f"is one too many: a machine can have {volumes.MOST}"
    for server in (app for app in apps if app.role == "volume"):
        key = "data" if server.origin[0] == "redis" else "volume"
        if metal:
            raise InputError(key, "a folder of the host needs a host: real hardware has none (run and deploy do)",
                             at=server.origin)
        home = cluster_map.cluster_of(server.cpu)
        if home and not home.devices:
            owner = next(c for c in cluster_map.clusters if c.devices)
            where = ", ".join(str(cpu) for cpu in owner.cpus)
            raise InputError(key, f"cpu {server.cpu} is of {home.name}, and volumes are for programs of "
                                       f"{owner.name}, which has the devices (cpu {where})", at=server.origin)
        if len(shares) == volumes.MOST:
            raise InputError(key, limit, at=server.origin)
        shares.append(Share(server.name, _folder_of(deployment, server.origin, len(shares))))
    return tuple(shares)


def _folder_of(deployment: Deployment, origin: tuple[str | int, ...], before: int) -> Folder:
    """Returns the folder of a volume with so many before it; those of Redis instances are the first."""
    if origin[0] == "redis":
        assert deployment.redis and deployment.redis.folder
        return volumes.of_instance(deployment.redis.folder, before + 1)
    _, number, _, index = origin
    assert isinstance(number, int) and isinstance(index, int)
    return deployment.programs[number].folders[index]


def _check_reach(machine: Machine) -> None:
    if (end := max(range_.end for range_ in machine.memory)) > REACH:
        has = f"memory that ends at {format_size(end)}, and the loader reaches {format_size(REACH)}"
        raise InputError("--memory", f"the machine has {has}; give each node less", at=("memory",))


def _each_its_lock(deployment: Deployment, cluster_map: ClusterMap) -> None:
    locks, clusters = deployment.locks, cluster_map.clusters
    if len(locks) != len(clusters):
        which = f"{len(clusters)} cluster{'s' * (len(clusters) != 1)}"
        raise InputError("clusters lock", f"the list has {len(locks)}, and layout {deployment.layout} makes {which}",
                         at=("clusters", "lock"))
    for cluster, lock in zip(clusters, locks):
        cluster.kernel = deployment.kernel_of(lock)


def _set_granularity(granularity: str, cluster_map: ClusterMap) -> None:
    locks = [cluster.kernel.partition("+")[0] for cluster in cluster_map.clusters]
    able = [cluster for cluster, lock in zip(cluster_map.clusters, locks) if lock in regimes.names(regimes.SWITCHED)]
    if not able:
        problem = (f"'{granularity}' is for lock {' and '.join(regimes.names(regimes.SWITCHED))}, and the lock is "
                   f"{' and '.join(dict.fromkeys(locks))}")
        raise InputError("clusters granularity", problem, at=("clusters", "granularity"))
    for cluster in able:
        cluster.granularity = granularity


def _set_homes(granularity: str, cluster_map: ClusterMap) -> None:
    """Localities are of kernels with a lock for each object."""
    for cluster in cluster_map.clusters:
        lock = cluster.kernel.partition("+")[0]
        if lock not in regimes.names(regimes.SWITCHED):
            raise InputError("clusters lock",
                             f"layout homed is for lock {' and '.join(regimes.names(regimes.SWITCHED))}, not {lock}",
                             at=("clusters", "lock"))
        cluster.homed, cluster.granularity = True, granularity


def plan_map(path: Path, shape: Shape | Machine | None = None, metal: Machine | None = None) -> Plan:
    """A map that somebody wrote, on `metal`, `shape`, the machine that it names, or else two sockets of two cores.

    Every Redis and Valkey is forwarded, and the endpoint for Prometheus.
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
    forwards = []
    for app in cluster_map.applications:
        if app.ipv4 and app.program in SERVERS:
            port = app.args[app.args.index("--port") + 1] if "--port" in app.args[:-1] else str(SERVERS[app.program])
            if not port.isdecimal() or not 0 < int(port) < 65536:
                raise InputError(app.name, f"'{port}' is not a port")
            forwards.append((app.name, int(port)))
    return Plan(path.stem, cluster_map, machine, forwards, lock=locks.pop() if len(locks) == 1 else MIXED)


def is_map(path: Path) -> bool:
    return path.suffix in (".dts", ".dtb")
