#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""SETs and GETs of three bytes, as redis-benchmark sends them, for a Redis that is trained.

    short-values.py limits     the limits that a deployment gives a Redis with the default heap, as its options
    short-values.py load PORT  50 connections on the loopback interface that ask one after the other, then 16 commands
    at once
"""

import socket
import sys
from pathlib import Path

CONNECTIONS = 50
ROUNDS = ((1, 160), (16, 20))  # commands at once, and how often each connection sends so many
KEY, VALUE = b"key:000000000001", b"xxx"


def command(*words: bytes) -> bytes:
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def ask(sockets: list[socket.socket], request: bytes, reply: bytes) -> None:
    """Every connection sends `request`, then each reads its reply."""
    for each in sockets:
        each.sendall(request)
    for each in sockets:
        got = b""
        while len(got) < len(reply):
            got += each.recv(len(reply) - len(got)) or sys.exit("the Redis that is trained closed a connection")
        if got != reply:
            sys.exit(f"the Redis that is trained answered {got!r} to {request[:40]!r}")


def load(port: int) -> None:
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(CONNECTIONS)]
    for request, reply in ((command(b"SET", KEY, VALUE), b"+OK\r\n"),
                           (command(b"GET", KEY), b"$%d\r\n%s\r\n" % (len(VALUE), VALUE))):
        for at_once, times in ROUNDS:
            for _ in range(times):
                ask(sockets, request * at_once, reply * at_once)
    for each in sockets:
        each.close()


def main() -> None:
    match sys.argv[1:]:
        case ["limits"]:
            sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
            from deploy.deployment import Redis
            from deploy.deployment.redis_memory import limits

            print(*limits(Redis.heap, ()))
        case ["load", port]:
            load(int(port))
        case _:
            sys.exit("usage: short-values.py limits | load PORT")


if __name__ == "__main__":
    main()
