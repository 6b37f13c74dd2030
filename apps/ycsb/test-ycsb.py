#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The client against a real Redis on loopback: right answers pass, every kind of wrong one does not.

Usage: test-ycsb.py YCSB REDIS-SERVER
"""
from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

YCSB, REDIS = sys.argv[1:3]
RECORDS = 200
SILENCE = 1e9  # nanoseconds without an answer, after which a server counts as lost (life.c)


BEYOND_WARM = 1000  # reads: more than come before the run (phase_warm())
LARGEST = 16 << 10  # bytes of a new connection's reply buffer
STALL = 0.5  # seconds for which a server stands still
ANSWER = 100.0  # seconds of the host's time for an answer, which takes milliseconds


def reserved() -> socket.socket:
    """A port that nobody else gets for as long as this socket is open, but a server that sets SO_REUSEADDR, too."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    return holder


def connections_waiting(port: int) -> int:
    """How many the server there has not accepted."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        if words[1] == f"0100007F:{port:04X}" and words[3] == "0A":
            return int(words[4].partition(":")[2], 16)
    return 0


def redis(port: int, *words: str) -> bytes:
    """One command on a connection of its own; the raw answer, if it is a short one."""
    request = f"*{len(words)}\r\n" + "".join(f"${len(w)}\r\n{w}\r\n" for w in words)
    with socket.create_connection(("127.0.0.1", port), ANSWER) as s:
        s.sendall(request.encode())
        return s.recv(65536)


class Server:
    """A Redis, which can be ended and started again at its port."""

    def __init__(self) -> None:
        self.holder = reserved()
        self.port = self.holder.getsockname()[1]
        self.directory = tempfile.TemporaryDirectory()
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir",
             self.directory.name],
            executable=REDIS, stdout=subprocess.DEVNULL)
        while self.process.poll() is None:
            try:
                if redis(self.port, "PING") == b"+PONG\r\n":
                    return
            except OSError:
                time.sleep(0.02)
        raise AssertionError(f"redis-server has ended: {self.process.returncode}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        self.kill()
        self.holder.close()
        self.directory.cleanup()


class Client(unittest.TestCase):
    server: Server
    port: int
    directory: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.port, cls.directory = cls.server.port, cls.server.directory

    @classmethod
    def tearDownClass(cls) -> None:
        cls.server.close()

    def setUp(self) -> None:
        redis(self.port, "FLUSHALL")
        redis(self.port, "CONFIG", "RESETSTAT")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [YCSB, "--port", str(self.port), "--records", str(RECORDS), "--operations", "3000", *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self, process: subprocess.Popen[str]) -> tuple[int, dict[str, Any], list[float]]:
        """Status, result line, and the histogram as all its values."""
        out, _ = process.communicate()  # the test's own limit is of given time
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertTrue(all(len(line) <= 900 for line in out.splitlines()))
        *rest, result = lines
        self.others = {kind: [line for line in rest if line["event"] == kind]
                       for kind in ("gap", "survival", "timeline", "ends")}
        parts = [line for line in rest if line["event"] == "histogram"]
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
        memory = dict(line.split(":", 1) for line in redis(self.port, "INFO", "memory").decode().split("\r\n")
                      if ":" in line)
        for name, key in (("used", "used_memory"), ("resident", "used_memory_rss")):
            self.assertAlmostEqual(result["memory"][name] / int(memory[key]), 1, delta=0.3)

    def test_two_clients_update_the_same_records(self) -> None:
        half = str(RECORDS // 2)
        for attempt in range(20):  # a busy host may let the one finish before the other begins
            meet = Path(self.directory.name) / f"{self.id()}-{attempt}"
            common = ("--workload", "a", "--rendezvous", str(meet), "--parties", "2", "--load-count", half)
            clients = [self.start(*common, "--load-first", first) for first in ("0", half)]
            outcomes = [self.finish(c) for c in clients]
            for status, result, _ in outcomes:
                self.assertEqual((status, result["errors"], result["wrong"]), (0, 0, 0))
                self.assertAlmostEqual(result["updates"] / 3000, 0.5, delta=0.05)
            starts, ends = ([o[1][k] for o in outcomes] for k in ("start_ns", "end_ns"))
            if max(starts) < min(ends):
                return
        self.fail("they did not run at the same time")

    def test_second_run_finds_what_the_first_left(self) -> None:
        self.assertEqual(self.run_one("--load", "--workload", "f")[0], 0)
        self.assertEqual(self.run_one("--workload", "a", "--distribution", "uniform", "--pipeline", "16")[0], 0)

    def test_inserts_and_scans(self) -> None:
        """Each client knows its own records, of both kinds; the index has them all."""
        for workload, keys in (("d", RECORDS), ("e", RECORDS + 1)):
            redis(self.port, "FLUSHALL")
            status, result, _ = self.run_one("--load", "--workload", workload, "--writer", "3", "--expect",
                                             str(RECORDS))
            self.assertEqual((status, result["errors"], result["wrong"]), (0, 0, 0))
            self.assertAlmostEqual(result["updates"] / 3000, 0.05, delta=0.02)
            self.assertEqual(redis(self.port, "DBSIZE"), b":%d\r\n" % (keys + result["updates"]))
        self.assertEqual(redis(self.port, "ZCARD", "_indices"), b":%d\r\n" % (RECORDS + result["updates"]))
        redis(self.port, "ZADD", "_indices", "7", "another")
        self.assertEqual(self.run_one("--workload", "e")[0], 1)

    def test_pauses(self) -> None:
        """The mean is kept, and no operation is longer for its pause."""
        status, result, values = self.run_one("--load", "--operations", "100", "--seed", "1", "--think", "2000")
        self.assertEqual((status, result["operations"], len(values)), (0, 100, 100))
        taken_us = (result["end_ns"] - result["start_ns"]) / 1000
        self.assertGreater(taken_us - sum(values), 100 * 2000 / 2)

    def test_rate(self) -> None:
        """Operations arrive at the rate, evenly or not, and no latency is off by more than the histogram's error."""
        for spacing, low, high in (("even", 399, 400), ("poisson", 300, 500)):  # five deviations
            status, result, values = self.run_one("--load", "--operations", "400", "--rate", "2000", "--spacing",
                                                  spacing)
            self.assertEqual((status, result["operations"], result["rate"], len(values)), (0, 400, 2000, 400))
            self.assertTrue(low <= result["arrivals_ns"] / 1e9 * 2000 <= high, result)
            self.assertGreater(result["end_ns"] - result["start_ns"], result["arrivals_ns"])
            mean = sum(values) / len(values)
            self.assertGreaterEqual(mean, result["mean_us"] - 0.1)
            self.assertLessEqual(mean, 1.01 * result["mean_us"] + 0.1)

    def test_same_arrivals(self) -> None:
        """A seed gives one schedule, whatever the server does, and another seed another."""
        self.load()
        common = ("--name", "n", "--operations", "200", "--rate", "5000", "--workload", "a")
        one, same, other = (self.run_one(*common, "--arrivals", seed)[1]["arrivals_ns"] for seed in "113")
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def stalled(self, *arguments: str) -> tuple[dict[str, Any], list[float]]:
        """Returns result and latencies of a client. Its server stands still midway."""
        client = self.stopped_midway(lambda: self.calls("hgetall") > 100, 6000, *arguments)
        self.server.process.send_signal(signal.SIGSTOP)
        try:
            client.send_signal(signal.SIGCONT)
            time.sleep(STALL)
        finally:
            self.server.process.send_signal(signal.SIGCONT)
        status, result, values = self.finish(client)
        self.assertEqual((status, result["operations"]), (0, 6000))
        self.assertGreater(result["max_us"], STALL * 1e6 / 2)
        return result, values

    def test_stalled_server(self) -> None:
        """A stall is in the latency of each operation that was to arrive in it. A closed loop, which sends nothing
        meanwhile, has it in one (coordinated omission)."""
        self.load()
        long = STALL * 1e6 / 2
        result, values = self.stalled("--rate", "2000", "--spacing", "even")
        self.assertGreater(result["p999_us"], long)
        self.assertGreaterEqual(sum(value > long for value in values), 2000 * STALL / 2 - 1)
        for _ in range(20):  # a busy host may let the closed loop wait for itself
            result, values = self.stalled()
            if result["p999_us"] < long:
                return
        self.fail("the closed loop does not hide the stall: the test above shows nothing")

    def test_warm(self) -> None:
        """Operations that warm up are not measured, and each other one's end is reported."""
        status, result, values = self.run_one("--load", "--operations", "200", "--warm", "50", "--think", "100")
        self.assertEqual((status, result["operations"], result["reads"], len(values)), (0, 200, 200, 200))
        self.assertGreaterEqual(self.calls("hgetall"), 250)
        ends = [end for part in self.others["ends"] for end in part["us"]]
        self.assertEqual((result["warm"], len(self.others["ends"]), len(ends)), (50, result["ends_parts"], 200))
        self.assertEqual(ends, sorted(ends))
        self.assertAlmostEqual(ends[-1], (result["end_ns"] - result["start_ns"]) / 1000, delta=1000)
        self.assertGreater(ends[0], 0)

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
        self.wait_for_calls(client, "hgetall", BEYOND_WARM)
        redis(self.port, "CLIENT", "KILL", "TYPE", "normal")
        status, result, _ = self.finish(client)
        self.assertEqual((status, result["errors"]), (1, 1))
        self.assertGreater(result["operations"], 0)

    def test_reply_buffer(self) -> None:
        """When a client meets the others, the server has fitted its reply buffer to a read's answer, and it holds one."""
        met = Path(self.directory.name, "met")
        client = self.start("--load", "--rendezvous", str(met), "--parties", "2")
        while not met.exists() or not met.stat().st_size:
            self.assertIsNone(client.poll())
            time.sleep(0.005)
        (line,) = [line for line in redis(self.port, "CLIENT", "LIST").decode().splitlines() if "cmd=hgetall" in line]
        client.kill()
        client.communicate()
        met.unlink()
        size, peak = (int(word[1]) for key in ("rbs", "rbp") if (word := re.search(rf" {key}=(\d+)", line)))
        self.assertLess(size, LARGEST)
        self.assertGreater(size, 10 * len("$6\r\nfield0\r\n$100\r\n\r\n") + 10 * 100)
        self.assertLess(peak, size)

    def test_lost_update(self) -> None:
        """A server that goes back to an older state under a running client, whether that survives its loss or not."""
        for arguments in ([], ["--survive", "600"]):
            with self.subTest(arguments):
                self.setUp()
                self.lost_update(*arguments)

    def lost_update(self, *arguments: str) -> None:
        self.run_one("--load", "--records", "1", "--operations", "0")
        old = [redis(self.port, "HGET", self.key(), f"field{i}").split(b"\r\n")[1].decode() for i in range(10)]
        client = self.stopped_midway(lambda: self.calls("hset") > 100, 100000, "--workload", "a", "--records", "1",
                                     *arguments)
        redis(self.port, "HSET", self.key(), *(word for i in range(10) for word in (f"field{i}", old[i])))
        client.send_signal(signal.SIGCONT)
        status, result, _ = self.finish(client)
        self.assertEqual((status, result["errors"]), (1, 0))
        self.assertGreater(result["wrong"], 0)

    def wait_for_calls(self, client: subprocess.Popen[str], command: str, count: int) -> None:
        while self.calls(command) < count:
            self.assertIsNone(client.poll())
            time.sleep(0.02)

    def stopped_midway(self, condition: Callable[[], bool], operations: int, *arguments: str) -> subprocess.Popen[str]:
        """A client that is stopped, by SIGSTOP, where the condition holds and half of its operations are still to
        come."""
        for _ in range(20):  # a busy host may let it come to its end before it is looked at
            redis(self.port, "CONFIG", "RESETSTAT")
            client = self.start("--operations", str(operations), *arguments)
            while client.poll() is None and not condition():
                time.sleep(0.005)
            client.send_signal(signal.SIGSTOP)
            if client.poll() is None and self.calls("hgetall") + self.calls("hset") < operations / 2:
                return client
            client.kill()
            client.communicate()
        raise AssertionError("it was always over before")

    def survivor(self, *arguments: str, condition: Callable[[], bool] | None = None) -> subprocess.Popen[str]:
        """Stopped, and under way for long enough that the server can be disturbed; it has had answers."""
        has_begun = condition or (lambda: self.calls("hgetall") > 0)
        return self.stopped_midway(has_begun, 6000, "--workload", "a", "--writer", "7", "--survive", "600", "--think",
                                   "300", *arguments)

    def calls(self, command: str) -> int:
        """How often the server carried it out since its statistics were reset."""
        found = re.search(rf"cmdstat_{re.escape(command)}:calls=(\d+)",
                          redis(self.port, "INFO", "commandstats").decode())
        return int(found[1]) if found else 0

    def survived(self, client: subprocess.Popen[str], lives: int) -> dict[str, Any]:
        """All operations are accounted for, and the gap was seen. What it tells of it. A host that is busy makes more
        gaps."""
        status, result, _ = self.finish(client)
        self.assertEqual((status, result["errors"], result["wrong"]), (0, 0, 0))
        (told,) = self.others["survival"]
        self.assertEqual(result["operations"] + told["reads"] + told["updates"], 6000)
        gaps = self.others["gap"]
        lengths = [gap["end_ns"] - gap["start_ns"] for gap in gaps]
        self.assertEqual((told["gaps"], told["lives"], told["longest_ns"]), (len(gaps), lives, max(lengths)))
        self.assertGreaterEqual(sum(length > SILENCE for length in lengths), len(gaps) - 1, lengths)
        self.assertEqual(len(self.others["timeline"]), told["timeline_parts"])
        counts = [count for part in self.others["timeline"] for count in part["counts"]]
        self.assertEqual(sum(counts), result["operations"])
        for gap in gaps:
            first, last = ((gap[end] - told["start_ns"]) // told["slot_ns"] for end in ("start_ns", "end_ns"))
            self.assertEqual(sum(counts[first + 1 : last]), 0, "answers within the gap")
        return told

    def load(self) -> None:
        self.assertEqual(self.run_one("--load", "--operations", "0")[0], 0)

    def test_survives_a_lost_connection(self) -> None:
        self.load()
        client = self.survivor()
        redis(self.port, "CLIENT", "KILL", "TYPE", "normal")
        client.send_signal(signal.SIGCONT)
        self.assertEqual(self.survived(client, 1)["forgotten"], 0)

    def test_survives_a_silent_server(self) -> None:
        """It has the old connection closed, so that what waits there is not carried out after what comes over the new
        one."""
        self.load()
        client = self.survivor()
        self.assertEqual(self.calls("client|kill"), 0)
        self.server.process.send_signal(signal.SIGSTOP)
        client.send_signal(signal.SIGCONT)
        while not connections_waiting(self.port):  # it has given up the old connection
            self.assertIsNone(client.poll())
            time.sleep(0.02)
        self.server.process.send_signal(signal.SIGCONT)
        self.assertGreater(self.survived(client, 1)["longest_ns"], SILENCE)
        self.assertGreater(self.calls("client|kill"), 0)

    def test_survives_a_restart(self) -> None:
        self.load()
        client = self.survivor()
        self.server.kill()
        client.send_signal(signal.SIGCONT)
        time.sleep(0.3)  # in which it tries in vain, if the host lets it
        self.server.start()
        self.assertGreater(self.survived(client, 2)["forgotten"], 0, "an empty server has lost the records")

    def test_survives_a_restart_with_the_records(self) -> None:
        """Somebody has loaded them again, before this client returns: they are older than what it saw, and right."""
        self.load()
        client = self.survivor()
        self.server.kill()
        self.server.start()
        self.load()
        client.send_signal(signal.SIGCONT)
        self.assertEqual(self.survived(client, 2)["forgotten"], 0)

    def test_former_life(self) -> None:
        """What was written before the server started again may not come back."""
        self.load()
        names = [f"field{i}" for i in range(10)]

        def values() -> list[str]:
            return [redis(self.port, "HGET", self.key(), name).split(b"\r\n")[1].decode() for name in names]

        # stopped, else it may have written newer ones before these
        client = self.survivor("--records", "1", condition=lambda: any(value.startswith("007") for value in values()))
        former = values()
        self.server.kill()
        self.server.start()
        redis(self.port, "HSET", self.key(), *(word for pair in zip(names, former) for word in pair))
        client.send_signal(signal.SIGCONT)
        status, result, _ = self.finish(client)
        self.assertEqual((status, result["errors"]), (1, 0))
        self.assertGreater(result["wrong"], 0)

    def test_gone_for_good(self) -> None:
        self.load()
        client = self.survivor("--survive", "1")
        self.server.kill()
        client.send_signal(signal.SIGCONT)
        status, result, _ = self.finish(client)
        self.server.start()
        self.assertEqual((status, result["errors"], result["wrong"]), (1, 1, 0))
        self.assertGreaterEqual(len(self.others["gap"]), 1)

    def test_usage(self) -> None:
        for arguments in (["--bogus"], ["--port", "x"], ["--records", "0"], ["--value-size", "1001"], ["extra"],
                          ["--field-length", "23"], ["--parties", "2"], ["--workload", "z"],
                          ["--workload", "e", "--pipeline", "2"],
                          ["--workload", "d", "--survive", "1"], ["--name", "a b"],
                          ["--think", "5", "--pipeline", "2"], ["--warm", "5", "--survive", "1"],
                          ["--think", "99999999"], ["--rate", "0"], ["--rate", "9", "--think", "1"],
                          ["--rate", "9", "--pipeline", "2"], ["--spacing", "even"], ["--arrivals", "2"],
                          ["--rate", "9", "--spacing", "odd"]):
            done = subprocess.run([YCSB, *arguments], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (2, "", 1), arguments)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
