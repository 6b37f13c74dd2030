#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The endpoint on this machine: what it tells, and that bad clients and a bad Redis get no further than that.

    test-metrics.py METRICS-HOST
"""

import http.client
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

PATIENCE = 100.0  # seconds: more than anything takes on a busy machine
INFO = b"# Stats\r\ntotal_commands_processed:%d\r\nconnected_clients:3\r\nused_memory:917504\r\nkeyspace_hits:x\r\n"


class Redis:
    """Answers INFO as `answer` says; None: not at all."""

    def __init__(self) -> None:
        self.answer: bytes | None = bulk(INFO % 41)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.held: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            self.held = self.held[-4:] + [connection]
            if self.answer is not None:
                try:
                    connection.settimeout(PATIENCE)
                    connection.recv(1000)
                    connection.sendall(self.answer)
                except OSError:
                    pass


def bulk(text: bytes) -> bytes:
    return b"$%d\r\n%s\r\n" % (len(text), text)


def ask(port: int, method: str = "GET", path: str = "/metrics") -> tuple[int, str, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request(method, path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, {name.lower(): value for name, value in answer.getheaders()}


def raw(port: int, request: bytes) -> bytes:
    """All that is answered, to its end."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


def values(text: str) -> dict[str, float]:
    return {m[1]: float(m[2]) for m in re.finditer(r"^([a-z_]+\{.*\}|[a-z_]+) (\S+)$", text, re.MULTILINE)}


UP = 'skerry_redis_up{application="redis@1",program="redis-server",cluster="0",cpu="1"}'


def ask_until_up(port: int) -> tuple[int, str, dict[str, str]]:
    """On a busy machine the Redis may be too late for a scrape."""
    deadline = time.monotonic() + PATIENCE
    while values((answer := ask(port))[1])[UP] != 1:
        assert time.monotonic() < deadline, answer[1]
    return answer


def check_text(port: int) -> None:
    status, text, headers = ask_until_up(port)
    assert status == 200 and headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8", headers
    assert int(headers["content-length"]) == len(text.encode())
    told = values(text)
    assert len(told) == len([line for line in text.splitlines()
                             if not line.startswith("#")]), "each line is a sample, once"
    assert told['skerry_cluster_up{cluster="0"}'] == 1 and told['skerry_cluster_up{cluster="1"}'] == 0
    restarts = {name: value for name, value in told.items() if name.startswith("skerry_cluster_restarts_total")}
    assert restarts == {f'skerry_cluster_restarts_total{{cluster="{n}"}}': value
                        for n, value in ((0, 0), (1, 2))}, "what is not known is not told"
    lost = {name for name in told if name.startswith("skerry_cluster_lost")}
    assert lost == {f'skerry_cluster_lost{{cluster="{n}",reason="{why}"}}'
                    for n, why in ((1, "manager"), (2, "unknown"))}, lost
    assert told['skerry_cluster_info{cluster="0",kernel="clh\\"\\\\??{}"}'] == 1, "a hostile name is quoted"
    assert told['skerry_core_entries_total{cluster="0",cpu="1"}'] == 2.0**64
    assert not any('cluster="1",cpu="2"} ' in name for name in told), "what is gone does not stand still"
    locks = [name for name in told if name.startswith("skerry_lock_acquisitions_total")]
    assert len(locks) == 2 and all('class="kernel"' in name for name in locks), "classes that the kernel has"
    assert told['skerry_locks{cluster="0",class="kernel"}'] == 1
    one = '{application="redis@1",program="redis-server",cluster="0",cpu="1"}'
    assert told[f"skerry_redis_commands_processed_total{one}"] == 41
    assert f"skerry_redis_keyspace_hits_total{one}" not in told, "what is no number is not told"
    gone = '{application="valkey@2",program="valkey-server",cluster="1",cpu="2"}'
    assert told[f"skerry_redis_up{gone}"] == 0 and told[f"skerry_application_up{gone}"] == 0
    for family in re.findall(r"^# TYPE (\S+)", text, re.MULTILINE):
        assert text.count(f"# TYPE {family} ") == 1 == text.count(f"# HELP {family} ")
    time.sleep(0.01)
    later = values(ask(port)[1])
    assert (
        later['skerry_core_seconds_total{cluster="0",cpu="0"}'] > told['skerry_core_seconds_total{cluster="0",cpu="0"}']
    )


def check_requests(port: int) -> None:
    assert "/metrics" in ask(port, path="/")[1]
    assert ask(port, path="/nothing")[0] == 404
    status, _, headers = ask(port, "POST")
    assert status == 405 and headers["allow"] == "GET, HEAD"
    status, text, headers = ask(port, "HEAD")
    assert status == 200 and text == "" and int(headers["content-length"]) > 1000
    for request, status in {
        b"PING\r\n": 400, b"\0" * 100: 400, b"GET /metrics HTTP/1.1\r\n\r\n": 400, b"GET / HTTP/3.0\r\n\r\n": 505,
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 5000: 431, b"GET /metrics HTTP/1.0\r\n\r\n": 200,
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200000: 405,
    }.items():  # fmt: skip
        answer = raw(port, request)
        assert answer.startswith(b"HTTP/1.1 %d " % status), (request[:60], answer[:60])
    pieces = socket.create_connection(("127.0.0.1", port), PATIENCE)
    for byte in b"GET / HTTP/1.0\r\n\r\n":
        pieces.sendall(bytes([byte]))
    assert pieces.recv(100).startswith(b"HTTP/1.1 200 ")
    pieces.close()


def check_junk(port: int) -> None:
    generator = random.Random(3)
    for _ in range(100):
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
            try:
                connection.sendall(generator.randbytes(generator.randrange(1, 6000)))
            except OSError:
                pass
            if generator.random() < 0.5:  # a reset instead of an end
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    assert ask(port)[0] == 200


def check_slow(port: int) -> None:
    """Connections that say nothing, or half of a request, or do not take their answer: others get theirs."""
    held = [socket.create_connection(("127.0.0.1", port), PATIENCE) for _ in range(60)]
    for number, connection in enumerate(held):
        if number % 3:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + b"\r\n" * (number % 3 == 2))
    begin = time.monotonic()
    assert ask(port)[0] == 200
    assert time.monotonic() - begin < PATIENCE
    for connection in held:
        connection.close()


def check_many(port: int) -> None:
    """Many at once get what there is, each whole."""
    found: list[int] = []

    def one() -> None:
        for _ in range(3):
            found.append(ask(port)[0])

    threads = [threading.Thread(target=one) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [200] * 60, found


def most_memory(process: int) -> int:
    """KiB that the server has had."""
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())[0])


def check_bad_redis(port: int, redis: Redis, server: int) -> None:
    bad = [b"$-1\r\n", b"-NOAUTH Authentication required.\r\n", b"*1000000000\r\n", b"$999999999999\r\n",
           b"$100000\r\n" + b"x" * 99999,
           b"\xff" * 50000, b"*1\r\n" * 2000, b"*1\r\n" * 1000000, b"%1\r\n" * 1000000, b":5\r\n", None]  # fmt: skip
    for answer in bad:
        redis.answer = answer
        begin = time.monotonic()
        status, text, _ = ask(port)
        assert status == 200 and values(text)[UP] == 0, answer and answer[:40]
        assert answer is not None or time.monotonic() - begin > 0.9, "it waits for a while"
    assert most_memory(server) < 32 << 10, "endless answers take no memory without end"
    redis.answer = bulk(INFO % 42)
    ask_until_up(port)


def main() -> None:
    redis = Redis()
    holder = socket.socket()  # nobody else gets its port meanwhile, but the server, which sets SO_REUSEADDR, too
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    port = holder.getsockname()[1]
    for wrong in (["--port", "0"], ["--port", "9x"], ["extra"], ["--what"]):
        assert subprocess.run([sys.argv[1], *wrong], capture_output=True).returncode == 2
    server = subprocess.Popen([sys.argv[1], "--port", str(port), "--redis-port", str(redis.port)])
    try:
        while server.poll() is None:
            try:
                ask(port, path="/")
                break
            except OSError:
                time.sleep(0.02)
        check_text(port)
        check_requests(port)
        check_junk(port)
        check_slow(port)
        check_many(port)
        check_bad_redis(port, redis, server.pid)
        assert server.poll() is None, f"the server ended: {server.returncode}"
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    main()
