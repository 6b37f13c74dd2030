# SPDX-License-Identifier: BSD-2-Clause
from dataclasses import replace
from pathlib import Path

import pytest

from deploy import deployment
from deploy.base.paths import ROOT
from deploy.cli.options import load_plan
from deploy.deployment import Deployment, Load, Metrics, Program, Redis, parse
from deploy.deployment.planner import plan, plan_map
from topology.errors import InputError
from topology.machines.machine import Shape
from topology.maps.clustermap import COARSE, FINE
from topology.maps.dts import write_dts
from topology.maps.reader import read_dts
from topology.units import GIB, MIB

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


@pytest.mark.parametrize("milliseconds,fits", [(100, True), (60000, True), (99, False), (60001, False), (0, False)])
def test_patience(milliseconds: int, fits: bool) -> None:
    """how long a cluster may be silent reaches the map, and survives its text; without the key the loader chooses"""
    text = f"[redis]\n[clusters]\npatience = {milliseconds}"
    if not fits:
        with pytest.raises(InputError, match="patience.*100 to 60000"):
            parse(text)
        return
    made = plan(parse(text)).cluster_map
    assert made.patience == milliseconds and read_dts(write_dts(made)).patience == milliseconds
    assert plan(parse("[redis]")).cluster_map.patience is None


def test_what_does_not_fit_the_machine_is_refused() -> None:
    with pytest.raises(InputError, match="heaps of"):
        plan(Deployment(redis=Redis(heap=2 * GIB)))
    with pytest.raises(InputError, match="cpu 9"):
        plan(Deployment(programs=(Program("posixtest", cpu=9),)))
    with pytest.raises(InputError, match="runs on one core"):
        plan(Deployment(lock="none"))
    with pytest.raises(InputError, match="--layout"):
        plan(Deployment(layout="per-planet"))


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
    """each kernel that has a choice of locks gets the deployment's, also where the command line names the lock, and a map says so"""
    mixed = plan(parse("[redis]\n[clusters]\nlock = ['clh', 'dynamic']\ngranularity = 'fine'"))
    assert [cluster.granularity for cluster in mixed.cluster_map.clusters] == [COARSE, FINE]
    assert read_dts(write_dts(mixed.cluster_map)) == mixed.cluster_map
    named = parse("[redis]\n[clusters]\ngranularity = 'fine'").with_clusters(None, "dynamic")
    assert [cluster.granularity for cluster in plan(named).cluster_map.clusters] == [FINE, FINE]
    assert [cluster.granularity for cluster in plan(Deployment(lock="dynamic", redis=Redis())).cluster_map.clusters] == [COARSE, COARSE]
    with pytest.raises(InputError, match=r"\[clusters\] granularity: 'fine' is for lock dynamic, and the lock is fine"):
        plan(named.with_clusters(None, "fine"))


def test_homes() -> None:
    """layout homed is one kernel, fine unless the deployment says coarse, whose objects have homes; and of no other regime"""
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
    assert [app for app, _ in load_plan(path, metrics=True).forwards] == ["redis@2", "metrics@3"]
    path.write_text("[redis]\ninstances = 1\n[metrics]\nport = 9999")
    assert ("metrics@3", 9999) in load_plan(path, metrics=True).forwards
    path.write_text("network = false\n[[program]]\nprogram = 'posixtest'")
    with pytest.raises(InputError, match="--metrics: needs a network"):
        load_plan(path, metrics=True)
    (tmp_path / "a.dts").write_text(write_dts(plan(parse("[redis]")).cluster_map))
    with pytest.raises(InputError, match="--metrics: is not for a cluster map"):
        load_plan(tmp_path / "a.dts", metrics=True)


def test_clients_have_cables_to_their_redis() -> None:
    made = plan(Deployment(redis=Redis(), load=Load(clients=2)))
    clients = [app for app in made.cluster_map.applications if app.program == "ycsb"]
    assert clients and all(app.cables == app.awaits for app in clients)
    assert read_dts(write_dts(made.cluster_map)) == made.cluster_map
    without = plan(parse("[redis]\n[ycsb]\nclients = 2\ncables = false"))
    assert not any(app.cables for app in without.cluster_map.applications)


PAIR = "[redis]\ncpus = [0, 1, 2]\n[[program]]\nprogram = 'posixtest'\nnetwork = true\nname = 'a'\n"


def test_programs_have_cables_to_those_of_their_cluster_that_they_name() -> None:
    made = plan(parse(PAIR + "cables = ['redis', 'b']\n[[program]]\nprogram = 'posixtest'\nnetwork = true\nname = 'b'\ncables = ['a']"))
    by_name = {app.base_name: app for app in made.cluster_map.applications}
    near = [app.name for app in made.cluster_map.applications if app.base_name == "redis" and app.cpu < 2]
    assert by_name["a"].cables == [*near, by_name["b"].name] and len(near) == 2
    assert by_name["b"].cables == []  # the other end names it


@pytest.mark.parametrize(
    "text, problem",
    [
        ("cables = ['nobody']", "there is no other program 'nobody' with an address"),
        ("cables = ['a']", "there is no other program 'a' with an address"),
        ("cables = ['b']\n[[program]]\nprogram = 'posixtest'\nnetwork = true\nname = 'b'\ncpu = 2", "'b' is in another cluster"),
        ("cables = ['b']\n[[program]]\nprogram = 'posixtest'\nname = 'b'", "there is no other program 'b' with an address"),
    ],
)
def test_cables_to_nobody_name_their_line(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        plan(parse(PAIR + text))
    assert refused.value.place and refused.value.place.line == 7


def test_cables_need_a_network_and_have_an_end() -> None:
    with pytest.raises(InputError, match="has cables, but no network"):
        parse("[redis]\n[[program]]\nprogram = 'posixtest'\ncables = ['redis']")
    with pytest.raises(InputError, match="one too many for redis"):
        plan(parse("[redis]\ncpus = [0]\n[ycsb]\nclients = 16\n[[program]]\nprogram = 'posixtest'\nnetwork = true\ncables = ['redis']"))
