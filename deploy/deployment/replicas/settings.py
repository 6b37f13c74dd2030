# SPDX-License-Identifier: BSD-2-Clause
"""Settings of the instances of a Redis Cluster with replicas (`masters` of `[redis]`)."""

BUS = 10_000  # from an instance's port to that of its cluster bus
LAST_PORT = 65535 - BUS
LOOPBACK = "127.0.0.1"


def defaults(replicas: int) -> list[str]:
    """Returns options of redis-server, to stand before the deployment's own, which then hold.

    A shard that is lost stops no other one, and a replica gets its data without a wait for others.
    """
    return ["--cluster-require-full-coverage", "no", *(["--repl-diskless-sync-delay", "0"] if replicas else [])]


def settings(node_timeout: int, forward: bool) -> list[str]:
    """Returns options of redis-server, to stand behind all others: they hold.

    `node_timeout`: milliseconds. `forward`: clients are sent to ports of the host's loopback, the same as within.
    Replicas stay with the shard to which the placement has given them.
    """
    told = ["--cluster-announce-hostname", LOOPBACK, "--cluster-preferred-endpoint-type", "hostname"]
    return ["--cluster-enabled", "yes", "--cluster-node-timeout", str(node_timeout),
            "--cluster-allow-replica-migration", "no", *(told if forward else [])]
