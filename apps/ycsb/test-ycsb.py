#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The client against a real Redis on loopback: right answers pass, every kind of wrong one does not.

Usage: test-ycsb.py YCSB REDIS-SERVER
"""
from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

YCSB, REDIS = sys.argv[1:3]
RECORDS = 200


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def redis(port: int, *words: str) -> bytes:
    """One command on a connection of its own; the raw answer, if it is a short one."""
    request = f"*{len(words)}\r\n" + "".join(f"${len(w)}\r\n{w}\r\n" for w in words)
    with socket.create_connection(("127.0.0.1", port), 10) as s:
        s.sendall(request.encode())
        return s.recv(65536)


class Client(unittest.TestCase):
    server: subprocess.Popen[bytes]
    port: int
    directory: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.port = free_port()
        cls.directory = tempfile.TemporaryDirectory()
        cls.server = subprocess.Popen(
            ["redis-server", "--port", str(cls.port), "--bind", "127.0.0.1", "--save", "", "--dir", cls.directory.name],
            executable=REDIS, stdout=subprocess.DEVNULL)
        for _ in range(500):
            try:
                if redis(cls.port, "PING") == b"+PONG\r\n":
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("redis-server does not answer")

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.terminate()
        cls.server.wait(10)
        cls.directory.cleanup()

    def setUp(self) -> None:
        redis(self.port, "FLUSHALL")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [YCSB, "--port", str(self.port), "--records", str(RECORDS), "--operations", "3000", *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process: subprocess.Popen[str]) -> tuple[int, dict[str, Any], list[float]]:
        """Status, result line, and the histogram as all its values."""
        out, _ = process.communicate(timeout=60)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertTrue(all(len(line) <= 900 for line in out.splitlines()))
        *parts, result = lines
        self.assertEqual(len(parts), result["histogram_parts"])
        pairs = [x for part in parts for x in part["pairs"]]
        return process.returncode, result, [v for v, n in zip(pairs[::2], pairs[1::2]) for _ in range(int(n))]

    def run_one(self, *arguments: str) -> tuple[int, dict[str, Any], list[float]]:
        return self.finish(self.start(*arguments))

    def test_read_only(self) -> None:
        status, result, values = self.run_one("--load", "--workload", "c", "--expect", str(RECORDS))
        self.assertEqual((status, result["errors"], result["wrong"]), (0, 0, 0))
        self.assertEqual((result["reads"], result["updates"], result["operations"]), (3000, 0, 3000))
        self.assertEqual(result["load"]["records"], RECORDS)
        self.assertEqual(len(values), 3000)
        for name, percentile in (("p50_us", 50), ("p90_us", 90), ("p99_us", 99), ("p999_us", 99.9)):
            self.assertEqual(result[name], values[int(3000 * percentile / 100 + 0.5) - 1])
        self.assertLessEqual(result["p50_us"], result["p99_us"])
        self.assertGreater(result["ops_per_s"], 0)
        memory = dict(line.split(":", 1) for line in redis(self.port, "INFO", "memory").decode().split("\r\n") if ":" in line)
        for name, key in (("used", "used_memory"), ("resident", "used_memory_rss")):
            self.assertAlmostEqual(result["memory"][name] / int(memory[key]), 1, delta=0.3)

    def test_two_clients_update_the_same_records(self) -> None:
        meet = Path(self.directory.name) / self.id()
        half = str(RECORDS // 2)
        common = ("--workload", "a", "--rendezvous", str(meet), "--parties", "2", "--load-count", half)
        clients = [self.start(*common, "--load-first", first) for first in ("0", half)]
        outcomes = [self.finish(c) for c in clients]
        for status, result, _ in outcomes:
            self.assertEqual((status, result["errors"], result["wrong"]), (0, 0, 0))
            self.assertAlmostEqual(result["updates"] / 3000, 0.5, delta=0.05)
        starts, ends = ([o[1][k] for o in outcomes] for k in ("start_ns", "end_ns"))
        self.assertLess(max(starts), min(ends), "they did not run at the same time")

    def test_second_run_finds_what_the_first_left(self) -> None:
        self.assertEqual(self.run_one("--load", "--workload", "f")[0], 0)
        self.assertEqual(self.run_one("--workload", "a", "--distribution", "uniform", "--pipeline", "16")[0], 0)

    def test_pauses(self) -> None:
        """The mean is kept, and no operation is longer for its pause."""
        status, result, values = self.run_one("--load", "--operations", "100", "--seed", "1", "--think", "2000")
        self.assertEqual((status, result["operations"], len(values)), (0, 100, 100))
        taken_us = (result["end_ns"] - result["start_ns"]) / 1000
        self.assertGreater(taken_us - sum(values), 100 * 2000 / 2)

    def wrong(self, *arguments: str) -> None:
        status, result, _ = self.run_one(*arguments)
        self.assertEqual(status, 1)
        self.assertGreater(result["wrong"] + result["errors"], 0)

    def key(self) -> str:
        return "user6284781860667377211"  # record 0

    def test_missing_record(self) -> None:
        self.run_one("--load", "--operations", "0")
        redis(self.port, "DEL", self.key())
        self.wrong("--distribution", "uniform")
        self.run_one("--load", "--operations", "0")
        redis(self.port, "DEL", self.key())
        self.wrong("--expect", str(RECORDS), "--operations", "0")

    def test_missing_field(self) -> None:
        self.run_one("--load", "--operations", "0")
        redis(self.port, "HDEL", self.key(), "field3")
        self.wrong("--distribution", "uniform")

    def test_foreign_value(self) -> None:
        self.run_one("--load", "--operations", "0")
        redis(self.port, "HSET", self.key(), "field3", "x" * 100)
        self.wrong("--distribution", "uniform")

    def test_wrong_type_is_an_error(self) -> None:
        self.run_one("--load", "--operations", "0")
        redis(self.port, "SET", self.key(), "x")
        status, result, _ = self.run_one("--distribution", "uniform")
        self.assertEqual(status, 1)
        self.assertGreater(result["errors"], 0)

    def test_lost_connection(self) -> None:
        client = self.start("--load", "--operations", "100000000")
        time.sleep(0.5)
        redis(self.port, "CLIENT", "KILL", "TYPE", "normal")
        status, result, _ = self.finish(client)
        self.assertEqual((status, result["errors"]), (1, 1))
        self.assertGreater(result["operations"], 0)

    def test_lost_update(self) -> None:
        """A server that goes back to an older state under a running client."""
        self.run_one("--load", "--records", "1", "--operations", "0")
        old = [redis(self.port, "HGET", self.key(), f"field{i}").split(b"\r\n")[1].decode() for i in range(10)]
        client = self.start("--workload", "a", "--records", "1", "--operations", "100000")
        time.sleep(0.3)  # many updates later
        redis(self.port, "HSET", self.key(), *(word for i in range(10) for word in (f"field{i}", old[i])))
        status, result, _ = self.finish(client)
        self.assertEqual((status, result["errors"]), (1, 0))
        self.assertGreater(result["wrong"], 0)

    def test_usage(self) -> None:
        for arguments in (["--bogus"], ["--port", "x"], ["--records", "0"], ["--value-size", "1001"], ["extra"],
                          ["--field-length", "23"], ["--parties", "2"], ["--workload", "z"], ["--name", "a b"],
                          ["--think", "5", "--pipeline", "2"], ["--think", "99999999"]):
            done = subprocess.run([YCSB, *arguments], capture_output=True, text=True, timeout=10)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), arguments)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
