# SPDX-License-Identifier: BSD-2-Clause
"""Subnets and fixed ports of the host: from a deployment file to the map and QEMU's words."""

import socket

import pytest

from deploy.base.errors import Failure
from deploy.deployment import parse
from deploy.deployment.addresses import INSIDE, mac
from deploy.deployment.planner import plan
from deploy.machine.qemu import Forward, user_network
from deploy.machine.run import check_ports
from tests.ports import reserved_port
from topology.errors import InputError
from topology.maps.clustermap import Network

PROGRAM = "[[program]]\nprogram = 'posixtest'\nnetwork = true\n"


def test_a_subnet() -> None:
    """every address is in the file's subnet, and so are the map's gateway and MTU"""
    made = plan(parse("[redis]\n[ycsb]\nclients = 1\n[network]\nsubnet = '192.168.7.0/24'\ngateway = '192.168.7.1'\nmtu = 1400"))
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
    assert made.host_ports == {
        ("redis@2", 6379): 16379, ("redis@3", 6379): 16380, ("redis@4", 6379): 16381,
        ("metrics@5", 9100): 19100, ("posixtest@6", 8080): 18080,
    }  # fmt: skip
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
    assert user_network(None, forwards) == "net=10.0.2.0/24,host=10.0.2.2,ipv6=off,restrict=on,hostfwd=tcp:127.0.0.1:8080-10.0.2.101:80"
    assert forwards[1].address == "10.0.2.102:80"
    assert user_network(Network("255.255.0.0", "10.9.0.3"), []) == "net=10.9.0.0/16,host=10.9.0.3,ipv6=off,restrict=on,dns=10.9.0.4"
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
    "[redis]\n[network]\nsubnet = '10.0.3.7/24'": "3: [network] subnet: '10.0.3.7/24' names an address in a subnet; the subnet is 10.0.3.0/24",
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
    "[redis]\nhost-port = 65534": "2: [redis] host-port: redis@4 would need port 65536 of the host, and 65535 is the last",
    "[redis]\nhost-port = 7000\n[metrics]\nhost-port = 7001": "4: [metrics] host-port: port 7001 of the host is redis@3's already",
    "[redis]\nhost-port = 7000\n[network]\nforward = false": "2: [redis] host-port: contradicts forward = false of [network]",
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
    said = str(caught.value)
    assert said.startswith(f"file:{WRONG[text]}") and "\n" not in said, said
