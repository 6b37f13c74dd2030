# SPDX-License-Identifier: BSD-2-Clause
"""Deployment files: what they say, their network and their schema."""

import json
import re
import socket
from dataclasses import fields, replace
from pathlib import Path

import pytest

from deploy import deployment
from deploy.base.errors import Failure
from deploy.base.paths import ROOT
from deploy.cli.options import PlanOptions, load_plan
from deploy.deployment import Deployment, Load, Metrics, Program, Redis, parse, places, reference, schema
from deploy.deployment.addresses import INSIDE, mac
from deploy.deployment.engines import ENGINES, is_server
from deploy.deployment.planner import Plan, plan, plan_map
from deploy.machine.qemu import Forward, user_network
from deploy.machine.run import check_ports
from tests.ports import reserved_port
from topology.errors import InputError
from topology.machines.machine import Shape
from topology.maps.clustermap import COARSE, FINE, Application, Network
from topology.maps.dts import write_dts
from topology.maps.reader import read_dts
from topology.units import GIB, MIB

# ---- From a deployment file to its plan ----

EXAMPLES = sorted((ROOT / "deploy/deployments").glob("*.toml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_expand_to_maps_that_survive_their_text(path: Path) -> None:
    made = plan(deployment.read(path))
    assert read_dts(write_dts(made.cluster_map)) == made.cluster_map
    assert made.forwards


def test_defaults() -> None:
    made = parse("[redis]")
    assert (made.shape, made.layout, made.kernel) == (Shape(2, 2, GIB), "per-socket", "clh")
    assert made.redis and made.redis.heap == 256 * MIB and "--save" in made.redis.args


@pytest.mark.parametrize("key", ["failure-timeout", "patience"])
@pytest.mark.parametrize("milliseconds,fits", [(100, True), (60000, True), (99, False), (60001, False), (0, False)])
def test_failure_timeout(milliseconds: int, fits: bool, key: str) -> None:
    """how long a cluster may be silent reaches the map, by the key's present and former name; without it the loader
    chooses"""
    text = f"[redis]\n[clusters]\n{key} = {milliseconds}"
    if not fits:
        with pytest.raises(InputError, match=f"{key}.*100 to 60000"):
            parse(text)
        return
    made = plan(parse(text)).cluster_map
    assert made.failure_timeout == milliseconds and read_dts(write_dts(made)).failure_timeout == milliseconds
    assert plan(parse("[redis]")).cluster_map.failure_timeout is None


def test_what_does_not_fit_the_machine_is_refused() -> None:
    with pytest.raises(InputError, match="heaps of"):
        plan(Deployment(redis=Redis(heap=2 * GIB)))
    with pytest.raises(InputError, match="cpu 9"):
        plan(Deployment(programs=(Program("posixtest", cpu=9),)))
    with pytest.raises(InputError, match="runs on one core"):
        plan(Deployment(lock="none"))
    with pytest.raises(InputError, match="--layout"):
        plan(Deployment(layout="per-planet"))


def test_valkey_is_where_redis_would_be() -> None:
    """a deployment with another server differs in the programs alone: places, arguments, ports, clients are the same"""
    made = [plan(Deployment(redis=Redis(server=name, host_port=17000), load=Load(clients=1))) for name in ENGINES]
    (redis, valkey) = made
    assert servers_of(valkey) and {app.program for app in servers_of(valkey)} == {"valkey-server"}
    assert [app.cpu for app in servers_of(redis)] == [app.cpu for app in servers_of(valkey)]
    for ours, theirs in zip(redis.cluster_map.applications, valkey.cluster_map.applications, strict=True):
        assert theirs.awaits == [name.replace("redis@", "valkey@") for name in ours.awaits]
        assert (theirs.ipv4, theirs.heap) == (ours.ipv4, ours.heap)
        assert theirs.args == [word.replace("redis@", "valkey@") for word in ours.args]
    ports = {(name.replace("redis@", "valkey@"), port): host for (name, port), host in redis.host_ports.items()}
    assert valkey.host_ports == ports and len(ports) == len(servers_of(valkey))


def servers_of(made: Plan) -> list[Application]:
    return [app for app in made.cluster_map.applications if is_server(app)]


def test_redis_is_on_every_core_but_the_networks_with_its_clients_beside_it() -> None:
    made = plan(Deployment(shape=Shape(2, 4, 2 * GIB), redis=Redis(), load=Load(clients=2, records=1001), switch="one"))
    apps = made.cluster_map.applications
    assert [a.cpu for a in apps if a.program == "redis-server"] == list(range(1, 8))
    assert {a.cpu for a in apps if a.role} == {0}
    for app in apps:
        if app.program == "ycsb":
            server = made.application(app.awaits[0])
            assert server.cpu == app.cpu and app.args[1] == server.ipv4
    shares = [int(a.args[a.args.index("--load-count") + 1]) for a in apps if a.program == "ycsb"][:2]
    assert sum(shares) == 1001


def test_one_core_has_everything() -> None:
    made = plan(Deployment(shape=Shape(1, 1), redis=Redis()))
    assert {a.cpu for a in made.cluster_map.applications} == {0}


def test_many_instances_get_different_addresses() -> None:
    made = plan(Deployment(shape=Shape(2, 20, 16 * GIB), redis=Redis(heap=16 * MIB), load=Load(clients=2)))
    addresses = [a.ipv4 for a in made.cluster_map.applications if a.ipv4]
    assert len(addresses) == 114 == len(set(addresses))


def test_too_many_ports_are_refused() -> None:
    with pytest.raises(InputError, match="ycsb@79: is one too many with a network port: there may be 120"):
        plan(Deployment(shape=Shape(2, 30, 16 * GIB), redis=Redis(instances=40, heap=2 * MIB), load=Load(clients=2)))


def test_metrics_has_an_address_a_port_for_the_host_and_the_right_to_ask() -> None:
    made = plan(parse("[redis]\nport = 7000\n[ycsb]\nclients = 1\n[metrics]\nport = 9999\ncpu = 1"))
    apps = made.cluster_map.applications
    metrics = next(a for a in apps if a.program == "metrics")
    assert metrics.cpu == 1 and metrics.args == ["--port", "9999", "--redis-port", "7000"]
    assert metrics.ipv4 and [a.name for a in apps if a.statistics] == [metrics.name]
    assert (metrics.name, 9999) in made.forwards
    assert "metrics" in made.cluster_map.clusters[0].modules and "metrics" not in made.cluster_map.clusters[1].modules


def test_a_map_file_is_a_deployment_too(tmp_path: Path) -> None:
    made = plan(Deployment(shape=Shape(2, 3, GIB), redis=Redis(heap=64 * MIB), metrics=Metrics(port=9101)))
    path = tmp_path / "mine.dts"
    path.write_text(write_dts(made.cluster_map))
    read = plan_map(path)
    assert read.machine.shape == Shape(2, 3, GIB)
    assert read.forwards == made.forwards
    with pytest.raises(InputError, match="cpu@4: the machine"):
        plan_map(path, Shape(1, 3, 3 * GIB))
    assert plan(Deployment(layout=str(path), shape=Shape(2, 3, GIB))).cluster_map == made.cluster_map


def test_what_no_build_makes_is_refused_before_one() -> None:
    for wrong in (Deployment(lock="mutex", network=False), Deployment(programs=(Program("nosuch", 1),))):
        with pytest.raises(InputError, match="cluster@0: .*no such"):
            plan(wrong)


def test_granularity() -> None:
    """each kernel that has a choice of locks gets the deployment's, also where the command line names the lock, and a
    map says so"""
    mixed = plan(parse("[redis]\n[clusters]\nlock = ['clh', 'dynamic']\ngranularity = 'fine'"))
    assert [cluster.granularity for cluster in mixed.cluster_map.clusters] == [COARSE, FINE]
    assert read_dts(write_dts(mixed.cluster_map)) == mixed.cluster_map
    named = parse("[redis]\n[clusters]\ngranularity = 'fine'").with_clusters(None, "dynamic")
    assert [cluster.granularity for cluster in plan(named).cluster_map.clusters] == [FINE, FINE]
    assert [cluster.granularity for cluster
            in plan(Deployment(lock="dynamic", redis=Redis())).cluster_map.clusters] == [COARSE, COARSE]
    with pytest.raises(InputError, match=r"\[clusters\] granularity: 'fine' is for lock dynamic, and the lock is fine"):
        plan(named.with_clusters(None, "fine"))


def test_homes() -> None:
    """layout homed is one kernel, fine unless the deployment says coarse, whose objects have homes; and of no other
    regime"""
    homed = parse("[redis]\n[clusters]\nlayout = 'homed'\nlock = 'dynamic'")
    (cluster,) = plan(homed).cluster_map.clusters
    assert (cluster.homed, cluster.granularity, len(cluster.cpus)) == (True, FINE, 4)
    assert read_dts(write_dts(plan(homed).cluster_map)) == plan(homed).cluster_map
    assert plan(replace(homed, granularity=COARSE)).cluster_map.clusters[0].granularity == COARSE
    assert not plan(homed.with_clusters("spanning", None)).cluster_map.clusters[0].homed
    with pytest.raises(InputError, match=r"layout homed is for lock dynamic, not fine"):
        plan(homed.with_clusters(None, "fine"))


def test_transactions_of_modelled_machines() -> None:
    """kernel rtm+model is refused: without the plugin its transactions do nothing"""
    with pytest.raises(InputError, match="cluster@0: .*modelled machine"):
        plan(Deployment(lock="rtm+model", network=False))


def test_a_machine_is_done_only_when_something_counts() -> None:
    assert plan(parse("[redis]")).cluster_map.shutdown is None
    assert plan(parse("[redis]\n[ycsb]\nclients = 1")).cluster_map.shutdown == "when-done"


def test_an_option_adds_metrics_to_what_has_a_network(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("[redis]\ninstances = 1")
    assert [app for app, _ in load_plan(PlanOptions(path, metrics=True)).forwards] == ["redis@2", "metrics@3"]
    path.write_text("[redis]\ninstances = 1\n[metrics]\nport = 9999")
    assert ("metrics@3", 9999) in load_plan(PlanOptions(path, metrics=True)).forwards
    path.write_text("network = false\n[[program]]\nprogram = 'posixtest'")
    with pytest.raises(InputError, match="--metrics: needs a network"):
        load_plan(PlanOptions(path, metrics=True))
    (tmp_path / "a.dts").write_text(write_dts(plan(parse("[redis]")).cluster_map))
    with pytest.raises(InputError, match="--metrics: is not for a cluster map"):
        load_plan(PlanOptions(tmp_path / "a.dts", metrics=True))


def test_clients_have_cables_to_their_redis() -> None:
    made = plan(Deployment(redis=Redis(), load=Load(clients=2)))
    clients = [app for app in made.cluster_map.applications if app.program == "ycsb"]
    assert clients and all(app.cables == app.awaits for app in clients)
    assert read_dts(write_dts(made.cluster_map)) == made.cluster_map
    without = plan(parse("[redis]\n[ycsb]\nclients = 2\ncables = false"))
    assert not any(app.cables for app in without.cluster_map.applications)


PAIR = "[redis]\ncpus = [0, 1, 2]\n[[program]]\nprogram = 'posixtest'\nnetwork = true\nname = 'a'\n"


def test_programs_have_cables_to_those_of_their_cluster_that_they_name() -> None:
    made = plan(parse(PAIR + "cables = ['redis', 'b']\n[[program]]\nprogram = 'posixtest'\nnetwork = true\nname = "
                      "'b'\ncables = ['a']"))
    by_name = {app.base_name: app for app in made.cluster_map.applications}
    near = [app.name for app in made.cluster_map.applications if app.base_name == "redis" and app.cpu < 2]
    assert by_name["a"].cables == [*near, by_name["b"].name] and len(near) == 2
    assert by_name["b"].cables == []  # the other end names it


@pytest.mark.parametrize("text, problem", [
                             ("cables = ['nobody']", "there is no other program 'nobody' with an address"),
                             ("cables = ['a']", "there is no other program 'a' with an address"),
                             ("cables = ['b']\n[[program]]\nprogram = 'posixtest'\nnetwork = true\nname = 'b'\ncpu = 2",
                              "'b' is in another cluster"),
                             ("cables = ['b']\n[[program]]\nprogram = 'posixtest'\nname = 'b'",
                              "there is no other program 'b' with an address"),
                         ])
def test_cables_to_nobody_name_their_line(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        plan(parse(PAIR + text))
    assert refused.value.place and refused.value.place.line == 7


def test_cables_need_a_network_and_have_an_end() -> None:
    with pytest.raises(InputError, match="has cables, but no network"):
        parse("[redis]\n[[program]]\nprogram = 'posixtest'\ncables = ['redis']")
    with pytest.raises(InputError, match="one too many for redis"):
        plan(parse("[redis]\ncpus = [0]\n[ycsb]\nclients = 16\n[[program]]\nprogram = 'posixtest'\nnetwork = "
                   "true\ncables = ['redis']"))


# ---- Subnets and fixed ports of the host: from a deployment file to the map and QEMU's words ----

PROGRAM = "[[program]]\nprogram = 'posixtest'\nnetwork = true\n"


def test_a_subnet() -> None:
    """every address is in the file's subnet, and so are the map's gateway and MTU"""
    made = plan(parse("[redis]\n[ycsb]\nclients = 1\n[network]\nsubnet = '192.168.7.0/24'\ngateway = "
                      "'192.168.7.1'\nmtu = 1400"))
    apps = [app for app in made.cluster_map.applications if app.ipv4]
    assert [app.ipv4 for app in apps[:4]] == ["192.168.7.101", "192.168.7.151", "192.168.7.102", "192.168.7.152"]
    assert made.cluster_map.network == Network("255.255.255.0", "192.168.7.1", 1400)
    assert "192.168.7.101" in apps[1].args, "a client finds its server"
    other = plan(parse("network.subnet = '10.9.0.0/16'\n[redis]")).cluster_map
    assert {app.mac for app in apps}.isdisjoint(app.mac for app in other.applications), "for two machines on one bridge"
    assert mac("10.9.0.101").hex(":") == "02:53:0a:09:00:65"


def test_ports_of_the_host() -> None:
    """a fixed port for the first Redis, the next one for the next; of programs as compose files have it"""
    text = f"[redis]\nhost-port = 16379\n[metrics]\nhost-port = 19100\n{PROGRAM}ports = [80, '18080:8080']"
    made = plan(parse(text))
    assert made.host_ports == {("redis@2", 6379): 16379, ("redis@3", 6379): 16380, ("redis@4", 6379): 16381,
                               ("metrics@5", 9100): 19100, ("posixtest@6", 8080): 18080}  # fmt: skip
    assert made.forwards[-2:] == [("posixtest@6", 80), ("posixtest@6", 8080)]
    assert plan(parse("[redis]")).host_ports == {}
    closed = plan(parse("[redis]\n[network]\nforward = false"))
    assert set(closed.host_ports.values()) == {INSIDE} and len(closed.forwards) == 3


def test_a_way_out() -> None:
    """only where the file asks for one: in QEMU's words under run, and in a domain's"""
    assert not plan(parse("[redis]")).outside and not plan(parse("[redis]\n[network]\nmtu = 1400")).outside
    assert plan(parse("[redis]\n[network]\noutside = true\ndriver = 'e1000e'")).outside


def test_words_of_qemu() -> None:
    """QEMU is the gateway; servers of its own get out of the way"""
    forwards = [Forward("a", "10.0.2.101", 80, 8080), Forward("b", "10.0.2.102", 80, INSIDE)]
    assert (
        user_network(None,
                     forwards) == "net=10.0.2.0/24,host=10.0.2.2,ipv6=off,restrict=on,hostfwd=tcp:127.0.0.1:8080-10.0.2.101:80"
    )
    assert forwards[1].address == "10.0.2.102:80"
    assert user_network(Network("255.255.0.0", "10.9.0.3"),
                        []) == "net=10.9.0.0/16,host=10.9.0.3,ipv6=off,restrict=on,dns=10.9.0.4"
    assert ",restrict=off," in user_network(None, forwards, outside=True)
    assert user_network(Network("255.255.255.0", "10.9.8.15"), []).endswith(",dhcpstart=10.9.8.16")


def test_a_port_that_somebody_has() -> None:
    """is said before anything boots"""
    port = reserved_port()  # so that afterwards nobody has it
    with socket.create_server(("127.0.0.1", port)):
        with pytest.raises(Failure, match=rf"port {port} of the host, for redis@2: address already in use"):
            check_ports([Forward("closed", "10.0.2.102", 1, INSIDE), Forward("redis@2", "10.0.2.101", 6379, port)])
    check_ports([Forward("redis@2", "10.0.2.101", 6379, port)])


SUBNET = "is not an IPv4 subnet of /8 to /24 such as 10.0.3.0/24"
PORT = "is not a port from 1 to 65535, or 'HOST:PORT' with one of each"
WRONG = {
    "network = 5\n[redis]": "1: network: 5 is not true or false or a table",
    "network = []\n[redis]": "1: network: an empty list is not",
    "[redis]\n[[network]]\nmtu = 1400": "2: network: is a list of tables; write [network]",
    "network = true\n[redis]\n[network]": "3: not TOML: this has a value already",
    "[redis]\n[network]\nsubnet = '10.0.3.0'": f"3: [network] subnet: '10.0.3.0' {SUBNET}",
    "[redis]\n[network]\nsubnet = 10": f"3: [network] subnet: 10 {SUBNET}",
    "[redis]\n[network]\nsubnet = '10.0.3.0/33'": f"3: [network] subnet: '10.0.3.0/33' {SUBNET}",
    "[redis]\n[network]\nsubnet = '10.0.3.0/255.255.255.0'": f"3: [network] subnet: '10.0.3.0/255.255.255.0' {SUBNET}",
    "[redis]\n[network]\nsubnet = '10.0.0.0/6'": f"3: [network] subnet: '10.0.0.0/6' {SUBNET}",
    "[redis]\n[network]\nsubnet = '10.0.3.7/24'": "3: [network] subnet: '10.0.3.7/24' names an address in a subnet; "
    "the subnet is 10.0.3.0/24",
    "[redis]\n[network]\nsubnet = '10.0.3.0/26'": "3: [network] subnet: '10.0.3.0/26' is too small",
    "[redis]\n[network]\nsubnet = '127.0.0.0/8'": "3: [network] subnet: '127.0.0.0/8' is not for machines",
    "[redis]\n[network]\ngateway = '10.0.3.1'": "3: [network] gateway: 10.0.3.1 is not in the subnet 10.0.2.0/24",
    "[redis]\n[network]\ngateway = '10.0.2.255'": "3: [network] gateway: 10.0.2.255 is no station of the subnet",
    "[redis]\n[network]\ngateway = '10.0.2.101'": "3: [network] gateway: 10.0.2.101 is one that programs get",
    "[redis]\n[network]\ngateway = 'router'": "3: [network] gateway: 'router' is not an IPv4 address such as",
    "[redis]\n[network]\nmtu = 9000": "3: [network] mtu: 9000 is not a number from 576 to 1500",
    "[redis]\n[network]\nforward = [80]": "3: [network] forward: a list is not true or false",
    "[redis]\n[network]\nsubnets = 1": "3: [network]: unknown key 'subnets'; did you mean 'subnet'?",
    "[redis]\n[network]\nhost-port = 1": "3: [network]: unknown key 'host-port'; it belongs in [redis] or [metrics]",
    "[redis]\nhost_port = 1": "2: [redis]: unknown key 'host_port'; did you mean 'host-port'?",
    "[redis]\nhost-port = 65534": "2: [redis] host-port: redis@4 would need port 65536 of the host, and 65535 is "
    "the last",
    "[redis]\nhost-port = 7000\n[metrics]\nhost-port = 7001": "4: [metrics] host-port: port 7001 of the host is "
    "redis@3's already",
    "[redis]\nhost-port = 7000\n[network]\nforward = false": "2: [redis] host-port: contradicts forward = false of "
    "[network]",
    f"{PROGRAM}ports = ['80']": f"4: [[program]] ports: '80' {PORT}",
    f"{PROGRAM}ports = ['0:80']": f"4: [[program]] ports: '0:80' {PORT}",
    f"{PROGRAM}ports = [true]": f"4: [[program]] ports: true {PORT}",
    f"{PROGRAM}ports = 7000": "4: [[program]] ports: 7000 is not a list of ports from 1 to 65535, or",
    f"{PROGRAM}ports = [80, '7000:80']": "4: [[program]] ports: names the program's port 80 twice",
    f"{PROGRAM}ports = ['7000:80', '7000:81']": "4: [[program]] ports: port 7000 of the host is posixtest@2's already",
    f"{PROGRAM}ports = [80]\n[network]\nforward = false": "4: [[program]] ports: contradicts forward = false",
    "[redis]\nnetwork.mtu = 1": "2: [redis]: unknown key 'network'; it belongs at the top of the file",
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_mistakes(text: str) -> None:
    """a mistake in the network is one line that says where and what"""
    with pytest.raises(InputError) as caught:
        plan(parse(text, "file"))
    line = str(caught.value)
    assert line.startswith(f"file:{WRONG[text]}") and "\n" not in line, line


# ---- The form of deployment files: as pages and for editors, and where files say what ----

AGAIN = "is out of date: build/venv/bin/python -m deploy.deployment writes it anew"


def test_schema_file() -> None:
    """docs/deployment.schema.json is the schema"""
    assert reference.SCHEMA.read_text() == reference.json_schema(), f"{reference.SCHEMA} {AGAIN}"


def test_page() -> None:
    """the generated page has every key of the schema, and docs/topology.md every layout"""
    text = reference.page()
    table_of_layouts = reference.LAYOUTS_PAGE.read_text()
    assert table_of_layouts == reference.layouts(table_of_layouts), f"{reference.LAYOUTS_PAGE} {AGAIN}"
    for table in ("Machine", "Clusters", "NetworkTable", "RedisTable", "Ycsb", "MetricsTable", "ProgramTable"):
        keys = json.loads(reference.json_schema())["$defs"][table]["properties"]
        assert keys and all(f"| `{key}` |" in text for key in keys)


def test_page_examples(tmp_path: Path) -> None:
    """every example in docs/deployments.md is a deployment"""
    blocks = [part.split("```")[0] for part in (ROOT / "docs/deployments.md").read_text().split("```toml\n")[1:]]
    (tmp_path / "data").mkdir()
    assert len(blocks) == 5
    made = [parse(block, folder=tmp_path) for block in blocks]
    assert made[1].locks == ("clh", "mcs") and made[1].redis and made[1].redis.cpus == (1, 2, 8, 9)


TEXT = """\
a.b = 1  # line 1
"q x" = [1, [2,
  3], { y = 4,
  z = 5 }]

[one]
two.three = "
"
[[list]]
k = 1
[[list]]
k = 2
[list.inner]
l = '''
[not.a.table]
m = 1'''
n = 2
[one.more]
""".replace('"\n"', '"""\n"""')


def test_places() -> None:
    """every key, table and list item is found at its line"""
    lines = places.find(TEXT, "file").lines
    expected = {
        ("a",): 1, ("a", "b"): 1, ("q x",): 2, ("q x", 0): 2, ("q x", 1): 2, ("q x", 1, 1): 3, ("q x", 2, "y"): 3,
        ("q x", 2, "z"): 4, ("one",): 6, ("one", "two", "three"): 7, ("list",): 9, ("list", 0, "k"): 10,
        ("list", 1): 11, ("list", 1, "k"): 12, ("list", 1, "inner", "l"): 14, ("list", 1, "inner", "n"): 17,
        ("one", "more"): 18,
    }  # fmt: skip
    assert {path: lines.get(path) for path in expected} == expected
    assert ("not",) not in lines and not any("m" in path for path in lines)


def test_declared_once() -> None:
    """each key of a table of programs is declared at the member that it sets, and nowhere again; a default stands in
    one place"""
    for model, table in ((Redis, schema.RedisTable), (Load, schema.Ycsb), (Metrics, schema.MetricsTable),
                         (Program, schema.ProgramTable)):
        assert not table.__annotations__, f"{table.__name__} declares {list(table.__annotations__)} again"
        members = [member for member in fields(model) if "key" in member.metadata]
        assert [member.name for member in members] == list(table.model_fields)
        for member in members:
            declared = member.metadata["key"]
            assert declared.kinds and table.model_fields[member.name].description == declared.doc
    assert list(schema.NetworkTable.__annotations__) == ["switch"]
    literal = re.compile(r"(?:Field\(|^ {8})(\d+|\"[\w-]+\"|True)[,)]", re.MULTILINE)
    assert not literal.findall((ROOT / "deploy/deployment/schema.py").read_text())
    empty = schema.File()
    assert (empty.machine.sockets, empty.machine.cores, empty.machine.threads) == (Shape.sockets, Shape.cores,
        Shape.threads)
    assert (empty.clusters.layout, empty.clusters.lock, empty.shutdown) == (Deployment.layout, Deployment.lock,
                                                                            Deployment.shutdown)
