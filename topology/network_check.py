# SPDX-License-Identifier: BSD-2-Clause
"""Rules about a map's network: addresses, the switch, the NIC driver and what each needs."""

import ipaddress

from topology.clustermap import Application, ClusterMap, Network
from topology.errors import InputError

MAX_PORTS = 120  # of a switch: PROCESS_MAX_PORTS of cluster-manager/lib/include/skerry/process.h
MTU_RANGE = range(576, 1501)
ROLES = ("switch", "nic")


def check_network(cluster_map: ClusterMap) -> None:
    apps = cluster_map.applications
    for app in apps:
        _check_role(app)
    stacks = [a for a in apps if a.ipv4]
    switches = [a for a in apps if a.role == "switch"]
    drivers = [a for a in apps if a.role == "nic"]
    _check_addresses(stacks)
    if len(switches) > 1:
        raise InputError(switches[1].name, f"is a switch, and so is {switches[0].name}")
    if len(drivers) > 1:
        raise InputError(drivers[1].name, f"drives the NIC, and so does {drivers[0].name}")
    if drivers:
        owner = cluster_map.cluster_of(drivers[0].cpu)
        if owner and not owner.devices:
            raise InputError(drivers[0].name, f"drives the NIC, but {owner.name} has no 'devices'")
        if owner and cluster_map.machine_of(owner) != 0:
            raise InputError(drivers[0].name, f"drives the NIC, which machine 0 has, and {owner.name} is of another")
    if not stacks and not drivers:
        return
    if not switches:
        raise InputError((stacks or drivers)[0].name, "needs a network, but no application is the switch")
    if len(stacks) + len(drivers) > MAX_PORTS:
        raise InputError(switches[0].name, f"{len(stacks) + len(drivers)} ports are more than {MAX_PORTS}")
    if stacks and cluster_map.network is None:
        raise InputError(stacks[0].name, "has an address, but the map has no 'network'")
    if cluster_map.network:
        _check_subnet(cluster_map.network, stacks)
    _check_reach(cluster_map, switches[0], stacks + drivers)


def _check_role(app: Application) -> None:
    if app.role is not None and app.role not in ROLES:
        raise InputError(app.name, f"role '{app.role}' is not one of {', '.join(ROLES)}")
    if (app.role == "nic") != bool(app.pci_ids):
        raise InputError(app.name, "a NIC driver has 'pci-id', and nothing else has")
    if (app.ipv4 is None) != (app.mac is None):
        raise InputError(app.name, "has only one of 'ipv4' and 'mac'")
    if app.role and app.ipv4:
        raise InputError(app.name, f"is the {app.role} and can have no address")
    if app.mac is not None and (len(app.mac) != 6 or app.mac[0] & 1 or not any(app.mac)):
        raise InputError(app.name, f"[{app.mac.hex(' ')}] is not the MAC address of a station")


def _check_addresses(stacks: list[Application]) -> None:
    addresses: dict[str, str] = {}
    macs: dict[bytes, str] = {}
    for app in stacks:
        assert app.ipv4 and app.mac
        if app.ipv4 in addresses:
            raise InputError(app.name, f"has the same address as {addresses[app.ipv4]}, {app.ipv4}")
        if app.mac in macs:
            raise InputError(app.name, f"has the same MAC as {macs[app.mac]}, {app.mac.hex(':')}")
        addresses[app.ipv4], macs[app.mac] = app.name, app.name


def _check_subnet(network: Network, stacks: list[Application]) -> None:
    if network.mtu not in MTU_RANGE:
        raise InputError("network", f"mtu {network.mtu} is not in {MTU_RANGE.start}..{MTU_RANGE.stop - 1}")
    try:
        subnet = ipaddress.IPv4Network(f"{network.gateway}/{network.netmask}", strict=False)
    except ValueError:
        raise InputError("network", f"'{network.netmask}' is not a netmask") from None
    reserved = {
        str(subnet.network_address): "the network's own address",
        str(subnet.broadcast_address): "the broadcast address",
        network.gateway: "the gateway's address",
    }
    for app in stacks:
        assert app.ipv4
        if ipaddress.IPv4Address(app.ipv4) not in subnet:
            raise InputError(app.name, f"address {app.ipv4} is outside the network {subnet}")
        if app.ipv4 in reserved:
            raise InputError(app.name, f"{app.ipv4} is {reserved[app.ipv4]}")


def _check_reach(cluster_map: ClusterMap, switch: Application, users: list[Application]) -> None:
    home = cluster_map.cluster_of(switch.cpu)
    assert home
    for app in users:
        cluster = cluster_map.cluster_of(app.cpu)
        assert cluster
        joined = any(set(c.ends) == {home.number, cluster.number} for c in cluster_map.channels)
        if cluster is not home and not joined:
            raise InputError(app.name, f"no channel joins {cluster.name} to {switch.name} in {home.name}")
