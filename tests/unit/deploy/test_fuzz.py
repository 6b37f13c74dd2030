# SPDX-License-Identifier: BSD-2-Clause
"""The fuzzer's command without the fuzzer, and its inputs."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.base.errors import Failure
from deploy.base.parallel import Call
from deploy.base.paths import BUILD
from deploy.tools.fuzz import jobs, minimise as minimising, seeds
from deploy.tools.fuzz.minimise import kind_of, shrink, split
from deploy.tools.fuzz.run import Limits, read_state, reason_of
from deploy.tools.fuzz.target import KERNEL, NAMES, NET, Target
from lib.fuzz.corpus import Unsound, inputs_of, main, read, write
from topology import regimes

from .test_parallel import Elsewhere

# ---- The fuzzer's command, without the fuzzer ----

FIRST = """\
#446\tINITED cov: 707 ft: 2398 corp: 441/125Kb exec/s: 223 rss: 190Mb
#6381\tREDUCE cov: 745 ft: 2726 corp: 768/302Kb lim: 2401 exec/s: 147 rss: 237Mb L: 85/2401 MS: 1 CustomCrossOver-
"""
SECOND = "#100\tNEW    cov: 750 ft: 2700 corp: 7/3Kb lim: 2401 exec/s: 3 rss: 237Mb L: 85/2401 MS: 1 Custom-\n"


def test_state() -> None:
    """what several fuzzers print is one state"""
    state = read_state([FIRST, SECOND, ""])
    assert (state.runs, state.per_second, state.coverage, state.features, state.corpus) == (6481, 150, 750, 2726, 768)
    assert read_state([FIRST + "stat::number_of_executed_units: 7000\n"]).runs == 7000


def test_reason() -> None:
    """the telling line is what a fuzzer is said to have found, numbers aside"""
    text = "==1== ERROR: libFuzzer: deadly signal\ncheck.c:103: kernel_check: two objects overlap (0x1000, 0xff)\n"
    assert reason_of(text) == "kernel_check: two objects overlap (0x1000, 0xff)"
    assert kind_of(reason_of(text)) == kind_of("kernel_check: two objects overlap (0x2000, 0x3)")
    assert kind_of(reason_of(text)) != kind_of("kernel_check: an object is not aligned (0x2000, 0x3)")
    assert reason_of("==1== ERROR: AddressSanitizer: heap-use-after-free on x").startswith("ERROR: AddressSanitizer")


def test_shrink() -> None:
    """an input that fails is cut down to the records that it needs"""
    header, records = split(bytes([2]) + b"".join(bytes([i]) * 12 for i in range(100)), 1, 12)
    needed = [records[3], records[50], records[97]]
    assert header == bytes([2])
    assert shrink(records, lambda some: all(record in some for record in needed)) == needed
    assert shrink(records[:1], lambda some: True) == records[:1]


def test_limits() -> None:
    """runs are shared between the jobs, time is not"""
    assert Limits(60, 1000).options(4) == ["-runs=250"]
    assert Limits(60, None).options(4) == ["-max_total_time=60"]


def test_replays() -> None:
    """the build has a program that replays what a fuzzer finds, for each regime"""
    done = subprocess.run(["ninja", "-C", str(BUILD), "-t", "targets", "all"], capture_output=True, text=True,
                          check=True)
    targets = {line.split(":")[0] for line in done.stdout.splitlines()}
    known = {name for name in regimes.names() if Target(KERNEL, name).replay.relative_to(BUILD).as_posix() in targets}
    assert known == set(regimes.names())


RUNS = """\
seed 7, 120000 steps, loss,late: 167 connections (161 accepted), 3886 KB, 29397 frames (0 lost, 0 late), 21 lent, 4 deaths, 436 s; hash db2c81582a979562
seed 9, 120000 steps, none: 3 connections (3 accepted), 2000 KB, 3 frames (0 lost, 0 late), 21 lent, 4 deaths, 436 s; hash db2c81582a979562
"""
END = "seed 11 failed; repeat: build/net/test/fuzz/fuzz-net --seed 11 --steps 120000 --modes words\n"


def test_progress_of_seeds() -> None:
    """runs of all jobs are counted together"""
    assert str(seeds.read_progress([RUNS, "",
                                    RUNS.splitlines()[0]])) == "3 seeds, 337 connections, 58797 frames, 9 MB read"


def test_failed_seed() -> None:
    """a find names its seed, the reason, and the command that repeats it"""
    find = seeds.failed_seed(RUNS + "net fuzz: seed 11, step 79: a lost byte\n" + END)
    assert (find.seed, find.reason, find.repeat) == (11, "a lost byte",
                                                     "build/net/test/fuzz/fuzz-net --seed 11 --steps 120000 --modes "
                                                     "words")
    assert seeds.failed_seed("==1==ERROR: AddressSanitizer: SEGV on x\n"
                             + END).reason == "ERROR: AddressSanitizer: SEGV on x"
    assert seeds.failed_seed("lwIP: nothing is lent (x.c:3)\n" + END).reason == "lwIP: nothing is lent (x.c:3)"
    assert seeds.failed_seed(END.replace("failed", "failed, without an end")).reason == "it ended, without an end"
    with pytest.raises(Failure):
        seeds.failed_seed(RUNS)


def test_seeds_of_jobs() -> None:
    """jobs take seeds in turn, as many together as were asked for"""
    target = Target(NET)
    shares = [seeds.command(target, Limits(60, 7), 3, 100, number) for number in range(3)]
    assert [(share[2], share[4], share[-1]) for share in shares] == [("100", "3", "3"), ("101", "3", "2"),
                                                                     ("102", "3", "2")]
    assert seeds.command(target, Limits(60, None), 1, 5, 0)[-2:] == ["--time", "60"]


# ---- A fuzzer's inputs as one text file (lib/fuzz/corpus.py), and how a campaign's find their way into it ----

INPUTS = {"a-word": bytes(range(256)), "empty": b"", "0" * 40: b"\n \0#"}


def test_round_trip(tmp_path: Path) -> None:
    """each input comes back to the byte, sorted by name, and what else stood in the folder goes"""
    file, folder = tmp_path / "x.corpus", tmp_path / "x.inputs"
    write(file, INPUTS)
    folder.mkdir()
    (folder / "stale").write_text("from before")
    assert main(["unpack", str(file), str(folder)]) == 0 and inputs_of(folder) == INPUTS == read(file)
    again = tmp_path / "again.corpus"
    assert main(["pack", str(folder), str(again)]) == 0 and again.read_bytes() == file.read_bytes()
    names = [line.split(" ")[0] for line in file.read_text().splitlines() if line[0] != "#"]
    assert names == sorted(INPUTS)


def test_add(tmp_path: Path) -> None:
    """an input that is added changes one line of the file"""
    file, fresh = tmp_path / "x.corpus", tmp_path / "what-was-wrong"
    write(file, INPUTS)
    before = file.read_text().splitlines()
    fresh.write_bytes(b"\xff" * 300)
    assert main(["add", str(file), str(fresh)]) == 0
    after = file.read_text().splitlines()
    assert [line for line in after if line not in before] == [line for line in after
                                                              if line.startswith("what-was-wrong ")]
    assert len(after) == len(before) + 1 and read(file)["what-was-wrong"] == b"\xff" * 300


@pytest.mark.parametrize("line", ["name not-base64!", "name Zg", "../up Zg==", ".hidden Zg==", "name Zg== Zg==", "",
                                  " Zg=="])
def test_unsound(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a line that is no input is refused with its place, and nothing is unpacked"""
    file, folder = tmp_path / "x.corpus", tmp_path / "x.inputs"
    file.write_text(f"# a comment\nsound Zg==\n{line}\n")
    assert main(["unpack", str(file), str(folder)]) == 2 and not folder.exists()
    assert capsys.readouterr().err.startswith(f"corpus: {file}:3: ")


def test_unsound_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """a name that stands twice is refused, and so is one that is no file's"""
    file = tmp_path / "x.corpus"
    file.write_text("one Zg==\none Zw==\n")
    assert main(["unpack", str(file), str(tmp_path / "x")]) == 2
    assert "the name one stands twice" in capsys.readouterr().err
    with pytest.raises(Unsound, match="rename it"):
        write(file, {"two words": b""})
    assert main(["unpack"]) == 2 and main(["add", str(file)]) == 2


def test_the_tree_s() -> None:
    """each target that has a corpus finds it, and none is empty"""
    for name in NAMES:
        if name != NET:
            target = Target(name, "clh" if name == KERNEL else "")
            assert len(read(target.corpus)) > 20, target
            assert target.inputs in target.programs


@dataclass(frozen=True)
class Somewhere(Target):
    place: Path = Path()

    @property
    def corpus(self) -> Path:
        return self.place


def test_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """what libFuzzer chose is in the file afterwards, what it no longer needs is not, and what people named stays"""
    target = Somewhere("map", "", tmp_path / "map.corpus")
    needed, not_needed, fresh = "1" * 40, "2" * 40, "3" * 40
    write(target.corpus, {needed: b"1", not_needed: b"2", "a-word": b"w"})

    def libfuzzer(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        chosen, kept, _learned = (Path(word) for word in command[-3:])
        assert inputs_of(kept) == read(target.corpus)
        (chosen / needed).write_bytes(b"1")
        (chosen / fresh).write_bytes(b"3")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(minimising.subprocess, "run", libfuzzer)
    merged = minimising.merge(target, tmp_path)
    assert (merged.inputs, merged.bytes, merged.fresh, merged.gone) == (2, 2, 1, 1)
    assert read(target.corpus) == {needed: b"1", fresh: b"3", "a-word": b"w"}


FUZZER = """
grep -q "an input" "$1/known" || exit 9
echo learned > "$1/new"
echo found > "$2/crash-1"
echo "ERROR: libFuzzer: deadly signal; Test unit written to $2/crash-1; repeat: $0"
exit 1
"""


def test_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a fuzzer in a pool has the folders as they are, in folders of its own; what it learns and finds comes back, and
    its log names the places here"""
    build, corpus, finds = tmp_path / "build", tmp_path / "build" / "corpus", tmp_path / "build" / "finds"
    for folder in (corpus, finds):
        folder.mkdir(parents=True)
    (corpus / "known").write_text("an input\n")
    there = tmp_path / "there"
    there.mkdir()
    (there / "fuzzer").write_text(f"#!/bin/sh\n{FUZZER}")
    (there / "fuzzer").chmod(0o755)
    monkeypatch.setattr(jobs, "BUILD", build)

    def elsewhere(call: Call) -> object:
        monkeypatch.setattr(jobs, "BUILD", there)
        return call()

    commands = [[str(build / "fuzzer"), str(corpus), str(finds)]]
    logs, find = jobs.run(tmp_path / "logs", commands, lambda texts: None, jobs.read, (corpus, finds),
                          Elsewhere(elsewhere))
    assert (corpus / "new").read_text() == "learned\n" and (finds / "crash-1").read_text() == "found\n"
    assert find == logs[0] == (f"ERROR: libFuzzer: deadly signal; Test unit written to {finds}/crash-1; repeat: "
                               f"{build}/fuzzer\n")
