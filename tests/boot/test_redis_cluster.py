# SPDX-License-Identifier: BSD-2-Clause
"""A Redis Cluster of a machine's instances, made from outside and used through ports of the host."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest
import redis
from redis.cluster import RedisCluster

from deploy.deployment import Redis
from deploy.machine.redis_cluster import commands, instances
from deploy.machine.run import Run
from tests.boot.machine import ANSWER, assert_no_fault, machine, with_redis
from topology.units import MIB

KEYS = 200


def cluster_of(count: int) -> Run:
    redis_table = Redis(heap=64 * MIB, instances=count, args=(*Redis.args, "--cluster-enabled", "yes"))
    return machine(replace(with_redis(cores=3), redis=redis_table))


def at(port: int) -> redis.Redis:
    return redis.Redis(port=port, socket_timeout=ANSWER, socket_connect_timeout=ANSWER)


def is_ok(port: int) -> bool:
    with at(port) as node:
        return "cluster_state:ok" in str(node.execute_command("CLUSTER", "INFO"))


@pytest.mark.limit(200)
def test_the_commands_that_run_prints() -> None:
    """they make a cluster whose redirections lead a client of the host to each instance"""
    with cluster_of(3) as run:
        run.wait_serving()
        found = instances(run.plan, run.forwards)
        for line in commands(found):
            _, _, port, *words = line.split()
            with at(int(port)) as node:
                assert node.execute_command(*words) in (True, b"OK"), line
        run.wait_for(lambda: all(is_ok(forward.host_port) for forward in found), "a cluster that all agree about")
        with RedisCluster(host="127.0.0.1", port=found[0].host_port, socket_timeout=ANSWER) as client:
            for key in range(KEYS):
                assert client.set(f"key:{key}", key)
            assert [int(client.get(f"key:{key}")) for key in range(KEYS)] == list(range(KEYS))
            ports = {forward.host_port for forward in found}
            assert {node.port for node in client.get_nodes()} == ports
            assert sum(client.dbsize(target_nodes=node) for node in client.get_nodes()) == KEYS
            assert all(client.dbsize(target_nodes=node) for node in client.get_nodes())
        assert_no_fault(run)


@pytest.mark.limit(150)
@pytest.mark.skipif(not shutil.which("redis-cli"), reason="redis-cli is not installed (redis-tools)")
def test_create_with_addresses_of_the_host() -> None:
    """redis-cli --cluster create, which has the instances meet at addresses of the host, is refused at once in place of waiting for ever"""
    with cluster_of(3) as run:
        run.wait_serving()
        addresses = [forward.address for forward in instances(run.plan, run.forwards)]
        command = ["redis-cli", "--cluster", "create", *addresses, "--cluster-yes"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            run.wait_for(lambda: process.poll() is not None, "its end")
            assert process.stdout
            said = process.stdout.read()
        assert process.returncode and "CLUSTER MEET needs an address within the machine" in said, said
        assert_no_fault(run)
