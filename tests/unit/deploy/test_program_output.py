# SPDX-License-Identifier: BSD-2-Clause
"""Lines from a machine: programs', the console's, captured ones."""

from __future__ import annotations

import json
import random
import re
import shlex
import subprocess
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from deploy.base.paths import ROOT
from deploy.base.symbols import Image
from deploy.base.terminal import Output
from deploy.bench.lines.measure import KERNEL_DIRECT_BASE, Names, byte_ranges
from deploy.bench.lines.table import cores_text
from deploy.cli.commands.domains import logs
from deploy.cli.commands.machine.image import _options, qemu_command, write_command
from deploy.cli.main import main
from deploy.deployment import DEFAULT, Deployment, Load, Program, Redis, modules
from deploy.deployment.planner import Plan, plan
from deploy.machine import backtrace, image
from deploy.machine.console import ConsoleText, ProgramOutput
from deploy.machine.console_lines import SEAL_LETTERS, By, ConsoleLines, Line, lines, lines_by, seal
from deploy.machine.crashes import death, lost_reporter, telling
from deploy.machine.events import Event
from deploy.results import serial_log
from topology.errors import InputError
from topology.machines.machine import Shape, emulated
from topology.maps.dts import compile_dts, write_dts
from topology.units import GIB

# ---- What `run` shows of the programs of a user's ----

Text = TypeVar("Text", str, bytes)
CONSOLE = """\
skerry loader: 4 cores up, leaving
[manager 0] the run is over
[own@0] fir\x02kernel: thread stopped
st
[redis@2] * Ready to accept connections
[own@0]   indented \x1b[31mred
[own@0x] is nobody
[other@1] [own@0] second-hand
own@0] no mark
[own@0] without an end"""


@pytest.fixture
def what(tmp_path: Path) -> Plan:
    (tmp_path / "own.elf").write_bytes(b"\x7fELF")
    own = Program("own", 0, elf=tmp_path / "own.elf", name="own", barrier=False)
    return plan(Deployment(redis=Redis(), programs=(own, Program("crash", 1, args=("null",), name="other"))))


def pieces(text: Text, seed: int, below: int = 20) -> list[Text]:
    """Cuts a text into pieces of random sizes less than `below`."""
    dice, cut = random.Random(seed), []
    while text:
        size = dice.randrange(1, below)
        cut.append(text[:size])
        text = text[size:]
    return cut


def test_lines(what: Plan) -> None:
    """lines of own programs are said whole and once, however the console comes, without what a terminal would obey"""
    own = next(a.name for a in what.cluster_map.applications if a.base_name == "own")
    console = CONSOLE.replace("own@0]", f"{own}]")
    for seed in range(20):
        printed: list[str] = []
        output = ProgramOutput(what, printed.append)
        for piece in pieces(console, seed, 30):
            output.feed(piece)
        output.end()
        assert printed == [f"[{own}] first", f"[{own}]   indented ?[31mred", f"[{own}] without an end"]


def test_console() -> None:
    """the whole console is shown without what a terminal would obey, however it comes: nothing clears the screen"""
    console = "\x1b[H\x1b[J\x1b[1;1H\x01  Boo\x02ting `x'\r\n[own@0]\t\x1b[1;31mred\x1b[m [\x07\x1b]0;title\x1b"
    for seed in range(20):
        shown: list[str] = []
        text = ConsoleText(shown.append)
        for piece in pieces(console, seed, 8):
            text.feed(piece)
        text.end()
        assert "".join(shown) == "  Booting `x'\n[own@0]\tred [??]0;title?"


class Grows:
    """A deployment whose console grows by a piece at each look, and then ends."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces, self.text = pieces, b""
        self.storage = self.record = self
        self.machines, self.console = 1, "console.log"

    def member(self, cluster: int | None) -> Grows:
        return self

    def is_active(self) -> bool:
        return bool(self.pieces)

    def read(self, name: str, offset: int = 0) -> bytes:
        self.text += self.pieces.pop(0) if self.pieces else b""
        return self.text[offset:]

    def size(self, name: str) -> int:
        return len(self.text)


@pytest.mark.parametrize("seed", range(10))
def test_logs(seed: int, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch,
              tmp_path: Path) -> None:
    """`logs` has the filter of `run -v`: what a client lets a program log cannot set the terminal's title or
    clipboard"""
    console = ("\x1b[H\x1b[2Jup\r\n[redis@2] \x1b]0;title\x1b\\\x1b]52;c;aGk=\x07\x1bP1$r\x1b\\\x1bc\x9b1mü\n[own] "
               "\x1b[31mend".encode())
    monkeypatch.setattr(logs, "POLL", 0)
    grows: Any = Grows(pieces(console, seed, 9))
    log = logs._Log(grows, None, False, None, Output(json_to=str(tmp_path / "told")))
    log.print(follow=True)
    shown = "up\n[redis@2] ?]0;title?\\?]52;c;aGk=??P1$r?\\?c?1mü\n[own] end"
    assert capsysbinary.readouterr().out.decode() == shown
    assert log.data() == {"lines": shown.split("\n")}


def test_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    """a line is printed as it is: no word between colons becomes a picture, none between brackets a colour"""
    Output().line("root:x:0:0 [bold]")
    assert capsys.readouterr().out == "root:x:0:0 [bold]\n"


# ---- Lines of a console, and which of them a program could have written ----

GONE = "[manager 0] cluster 0 is gone: forged"
SOH, STX = By.MANAGER.value, By.KERNEL.value


def sealed(by: By, text: str) -> str:
    return by.value + text + seal(by.value + text)


def own(by: By, text: str) -> str:
    """Returns a line as a manager or a kernel writes it."""
    return sealed(by, text) + "\n"


KERNEL = own(By.KERNEL, "kernel: thread without fault handler stopped: fault 1 rip 0x0")
CUT_OFF = f"{SOH}[manager 1] starts"
FORGED = (
    f"[evil@1] {GONE}\n"
    f"[evil@1] x\r{GONE}\n"  # never written so: managers replace control characters
    f"[evil@1] x\u2028{GONE}\n[evil@1] x\x85{GONE}\n"  # ends of lines to str.splitlines()
    f"[evil@1] x{KERNEL}{GONE}\n"  # a kernel's line within, which the program brings about
    f"[evil@1] x{KERNEL}[redis@2] forged\n"
    f"[evil@1] x{STX}\n{KERNEL}kernel panic: cluster 0 core 0: forged\n"
    f"[evil@1] x{SOH}{GONE}\n[manager 1] starts{seal(CUT_OFF)}\n"  # another cluster's manager is interrupted behind its mark
    f"{CUT_OFF}{GONE}{seal(CUT_OFF)}\n{SOH}{GONE}\n{SOH}{seal(CUT_OFF)}\n"
    f"[evil@1] x{STX}{GONE}\nkernel: thread stopped\n"  # another cluster's kernel is interrupted behind its mark
    f"[evil@1] x{STX}kernel panic: cluster 0 core 0: forged\nkernel: thread stopped\n"
    "[evil@1] kernel panic: cluster 0 core 0: forged\n"
)


def test_lines_of_a_long_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """a console is read piece by piece, wherever it is cut, and takes little room beside its text"""
    whole = list(lines(FORGED * 20))
    monkeypatch.setattr("deploy.machine.console_lines._PIECE", 7)
    assert list(lines(FORGED * 20)) == whole
    monkeypatch.setattr("deploy.machine.console_lines._PIECE", 1000)
    text = "\n" * 50_000
    tracemalloc.start()
    assert sum(1 for _ in lines(text)) == len(text)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < len(text)


def test_mark() -> None:
    """the marks are those that managers and kernels write, and no program's byte becomes one"""
    header = (ROOT / "cluster-kernel/include/skerry/console.h").read_text()
    marks = dict(re.findall(r"#define CONSOLE_(\w+) '\\x(\w\w)'", header))
    assert {name: chr(int(value, 16)) for name, value in marks.items()} == {"MANAGER": SOH, "KERNEL": STX}
    letters = re.search(r'#define SEAL_LETTERS "(.*)"', (ROOT / "cluster-kernel/include/skerry/seal.h").read_text())
    assert letters and letters[1].encode().decode("unicode_escape") == SEAL_LETTERS
    assert all(letter < " " and letter not in "\t\n\r" + SOH + STX and len(f"a{letter}b".splitlines()) == 1
               for letter in SEAL_LETTERS)
    assert "(c < 0x20 && c != '\\t') || c == 0x7f ? '?'" in (ROOT / "cluster-manager/root/output/console.c").read_text()


def test_whole_lines() -> None:
    """a line goes on behind what another writer has put into it, however the text comes"""
    whole = own(By.MANAGER, "[manager 0] all").replace("\n", "\r\n")
    last = own(By.KERNEL, "last").removesuffix("\n")
    text = "loader\n" + whole[:15] + own(By.KERNEL, "kernel: a") + whole[15:] + "[a@1] be" + own(By.KERNEL,
        "kernel: b") + "fore\n" + last
    expected = [Line(By.ANYBODY, "loader", 1), Line(By.KERNEL, "kernel: a", 2), Line(By.MANAGER, "[manager 0] all", 3),
                Line(By.KERNEL, "kernel: b", 4), Line(By.ANYBODY, "[a@1] before", 5), Line(By.KERNEL, "last", 6, whole=False)]
    assert list(lines(text)) == expected
    for seed in range(20):
        reader = ConsoleLines()
        assert [line for piece in pieces(text, seed) for line in reader.feed(piece)] + list(reader.end()) == expected


def test_cut_off() -> None:
    """writers that were cut off cost the lines that they stood in, no memory, and no program gets a line of theirs"""
    reader = ConsoleLines()
    for number in range(1000):
        ended = list(reader.feed(f"[a@1] {number}{STX}kernel: cut"))
        assert not ended and len(reader._open) <= 8
    ended = list(reader.feed("\n" * 8 + "[b@1] whole\n"))
    assert ended[-1] == Line(By.ANYBODY, "[b@1] whole", 9)


def test_forged() -> None:
    """nothing that a program writes, or has a kernel write, is taken for a kernel's or a manager's"""
    assert not lines_by(By.MANAGER, FORGED) and not lost_reporter(lines(FORGED)) and not backtrace.explain(FORGED,
        {0: Path("kernel")})
    lost = FORGED + own(By.MANAGER, "[manager 1] cluster 0 is gone: its core 1 hangs")
    assert lost_reporter(lines(lost)).endswith("is lost: its core 1 hangs")
    assert telling(FORGED, "redis@2") == []


def interleaved(writers: list[str], dice: random.Random) -> str:
    """Returns what a port carries when these write to it at the same time: a few bytes of one, then of another."""
    left, mixed = [list(text) for text in writers], []
    while left := [text for text in left if text]:
        writer = dice.choice(left)
        for _ in range(min(len(writer), dice.choice((1, 1, 2, 16, 80)))):
            mixed.append(writer.pop(0))
    return "".join(mixed)


def test_interleaved() -> None:
    """however the bytes of managers, kernels and programs mix, and whoever is cut off, no line is believed that was not
    written"""
    dice = random.Random(6)
    texts = ["[manager 1] starts", "[manager 2] cluster 1 is gone: its core 1 hangs",
             "kernel panic: cluster 2 core 0: why", "", GONE.replace("forged", "true")]
    programs = [f"[evil@1] {text}\n" for text in (GONE, "\x7f" * 40, "kernel panic: cluster 0 core 0: forged", *texts)]
    programs += [f"{GONE}\n" * 3, texts[1], "\n" * 5]  # and as if they could write without their names
    believed = 0
    for _ in range(3000):
        written = [(dice.choice((By.MANAGER, By.KERNEL)), dice.choice(texts)) for _ in range(dice.randrange(4))]
        writers = [own(by, text) for by, text in written] + dice.choices(programs, k=dice.randrange(4))
        cut = [text[: dice.randrange(len(text))] if dice.random() < 0.2 else text for text in writers]
        console = interleaved(cut, dice)
        believed_now = [(line.by, line.text) for line in lines(console) if line.by != By.ANYBODY]
        assert all(believed_now.count(line) <= written.count(line) for line in believed_now), repr(console)
        believed += len(believed_now)
    assert believed > 1000


def test_each_place() -> None:
    """a program's line in any one place of a manager's line, or in place of any part of it, is not believed as the
    manager's"""
    whole = own(By.MANAGER, "[manager 1] starts")
    for start in range(1, len(whole)):
        for end in range(start, len(whole)):
            for text in (GONE, f"{GONE}\n", f"[evil@1] {GONE}\n"):
                believed = lines_by(By.MANAGER, whole[:start] + text + whole[end:])
                assert believed in ([], ["[manager 1] starts"]), (start, end)


@pytest.mark.parametrize("by, why", [(By.MANAGER, "its heap (error 3)"), (By.KERNEL, "error 7"),
                                      (By.ANYBODY, "error 7")])
def test_failed(by: By, why: str) -> None:
    """why a program could not be started is what its manager says of it"""
    what = plan(Deployment(redis=Redis(), programs=(Program("crash", 1, args=("null",)),)))
    name = next(a.name for a in what.cluster_map.applications if a.base_name == "crash")
    console = own(by, f"[manager 0] {name} cannot be started: its heap (error 3)")
    assert str(death(Event("failed", {"app": name, "error": 7}), what,
                     console)) == f"{name} could not be started: {why}"


def test_panic() -> None:
    """a kernel's panic is told with its backtrace, whatever line it came into"""
    report = ("", "kernel panic: cluster 1 core 2: why", "  core 0: idle", f"  backtrace: 0x{1:016x}")
    console = "[a@1] wo" + "".join(own(By.KERNEL, line) for line in report) + "rd\n"
    assert backtrace.explain(console, {1: Path("none")}) == ["kernel panic in cluster 1, core 2: why"]
    assert list(lines(console))[-1] == Line(By.ANYBODY, "[a@1] word", 5)


# ---- Lines that move between cores, in words ----

KERNEL_LINES, PROGRAM = Image(modules.module_path("kernel-clh")), Image(modules.module_path("pingpong"))


def test_bytes() -> None:
    """bench lines: bytes of a line as stretches, cores likewise"""
    assert byte_ranges(0) == []
    assert byte_ranges(0xFF00_0000_0000_000F) == [[0, 3], [56, 63]]
    assert byte_ranges((1 << 64) - 1) == [[0, 63]]
    assert cores_text([0, 1, 2, 5, 7, 8]) == "0..2, 5, 7..8"


def test_names() -> None:
    """bench lines: a line is named by the variable in it, or by the core whose struct cpu it is in"""
    at = KERNEL_DIRECT_BASE + 0x100000
    names = Names(KERNEL_LINES, PROGRAM, [at + 0x4000, at, 0])
    kernel = KERNEL_LINES.symbol("kernel")
    assert names.line(kernel.address + 0x40) == "kernel+0x40"
    assert names.line(kernel.address + kernel.size + 0x100000) == f"kernel {kernel.address + kernel.size + 0x100000:#x}"
    assert names.line(at + 0x4040) == "core 0's struct cpu+0x40"
    assert names.line(at + 0x3FC0) == "core 1's struct cpu+0x3fc0"
    assert names.line(at + 0x8000) == "memory 0x108000"
    assert names.line(0x7F00_0000_0000) == "program 0x7f0000000000"


def test_sources() -> None:
    """bench lines: an instruction that was inlined has the line of the function that it is from, not of the file that
    is compiled"""
    entry = min(s.address for s in KERNEL_LINES.symbols if s.name == "kernel_enter")
    sources = {place.source.split(":")[0] for place in KERNEL_LINES.places(range(entry, entry + 0x20)).values()}
    assert sources == {"clh_lock.h", "kernel.h"}  # the lock's, and where the kernel has it


@pytest.mark.parametrize("words,says", [
    (["--lock", "none", "--cores", "2"], "--lock none"),
    (["--machine", "pdp11"], "--machine pdp11"),
    (["--cores", "29"], "--cores: 29 cores; 2 x 14 Xeon"),
    (["--layout", "homed", "--lock", "dynamic"], "--layout: 'homed' is for programs that managers start"),
])
def test_refused(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """bench lines: what cannot be is refused before anything is built"""
    assert main(["bench", "lines", *words]) != 0
    assert says in capsys.readouterr().err


# ---- Images for this machine, and results from what a machine wrote on its serial port ----

MACHINE = '{"event":"machine","cpu":"A processor","hypervisor":""}'
DEPLOYMENT = Deployment(redis=Redis(), load=Load(clients=1), shape=Shape(2, 1, GIB))


def log(folder: Path, *lines: str) -> Path:
    """Reports come from managers."""
    path = folder / "log"
    marked = (sealed(By.MANAGER, line) if line.startswith('{"event":') else line for line in lines)
    path.write_bytes(b"\0\0" + "\r\n".join(marked).encode() + b"\r\n")
    return path


def test_metal_has_no_network_card() -> None:
    """on real hardware there is a switch and no driver, and no host that forwards ports to it"""
    machine = emulated(Shape(2, 1, GIB))
    programs = [app.program for app in plan(DEPLOYMENT, metal=machine).cluster_map.applications]
    assert "switch" in programs and "virtio-net" not in programs
    assert "virtio-net" in [app.program for app in plan(DEPLOYMENT).cluster_map.applications]


def test_image_knows_its_plan(tmp_path: Path) -> None:
    """an image tells its map, layout, lock and load again"""
    target = plan(DEPLOYMENT)
    (tmp_path / "loader").write_bytes(b"loader")
    files = {"map": compile_dts(write_dts(target.cluster_map))}
    image.make_iso(tmp_path / "x.iso", files, tmp_path / "loader", "t", "console=0x2f8", serial_log.notes(target))
    read = serial_log.read_plan(tmp_path / "x.iso")
    assert (read.layout, read.lock, read.load) == (target.layout, target.lock, target.load)
    assert [c.cpus for c in read.cluster_map.clusters] == [c.cpus for c in target.cluster_map.clusters]
    assert b"multiboot2 /boot/loader console=0x2f8\n" in image.read_iso(tmp_path / "x.iso", "grub/grub.cfg")[0]


def test_links_of_an_image(tmp_path: Path) -> None:
    """a link in an image leads to no file of this host"""
    (tmp_path / "tree" / "boot").mkdir(parents=True)
    (tmp_path / "tree" / "boot" / "map").symlink_to(Path(__file__))
    subprocess.run(["xorriso", "-as", "mkisofs", "-R", "-quiet", "-o", tmp_path / "x.iso", tmp_path / "tree"],
                   check=True, capture_output=True)
    with pytest.raises(InputError, match="x.iso: is not an image that skerry image has written"):
        image.read_iso(tmp_path / "x.iso", "map")


def test_not_an_image(tmp_path: Path) -> None:
    """a file that is no image of ours is refused by name"""
    (tmp_path / "x.iso").write_bytes(bytes(100_000))
    for name, why in (("x.iso", "is not an image"), ("y.iso", "no such file")):
        with pytest.raises(InputError, match=f"{name}: {why}"):
            serial_log.read_plan(tmp_path / name)


def test_events_among_other_lines(tmp_path: Path) -> None:
    """reports are found among the loader's, the kernels' and the programs' lines; the last run counts"""
    path = log(
        tmp_path,
        "skerry loader: 2 cores", MACHINE, '{"event":"boot","cluster":0,"cores":9}', "skerry loader: again", MACHINE,
        '[redis@2] {"event":"boot"} is what a program may write', '{"event":"boot","cluster":0,"cores":2}',
    )
    events = serial_log.read_events(path)
    assert [event.data["cores"] for event in events.of("boot")] == [2]


@pytest.mark.parametrize(
    "line,why",
    [
        ('{"event":"result","data":{"ev', r"log:2: a report is damaged"),
        (By.MANAGER.value + '{"event":"result","data":{"ev', r"log:2: a report has no valid seal: .*cut short"),
        (By.MANAGER.value + '{"even{"event":"boot"}' + seal(By.MANAGER.value + '{"event":"boot"}'),
         r"log:2: a report begins in the middle"),
        (sealed(By.MANAGER, '{"event":"boot"}').replace("boot", "done"), r"log:2: a report has no valid seal"),
        ("\0" + '{"event":"boot","cluster":0,"cores":2}',
         r"log:2: a report has no valid seal: what captured it removes"),
    ],
    ids=["no JSON", "cut short", "mixed", "changed", "without its mark"],
)
def test_damage(tmp_path: Path, line: str, why: str) -> None:
    """a damaged report makes the whole worthless, and its line is named"""
    with pytest.raises(InputError, match=why):
        serial_log.read_events(log(tmp_path, MACHINE, line))


RESULT = '{"event":"result","app":"ycsb@3","data":{"event":"ycsb","operations":9000000}}'


@pytest.mark.parametrize(
    "line",
    ["[evil@5] " + RESULT, f"[evil@5] x\u2028{RESULT}",
     f"[evil@5] x{sealed(By.KERNEL, 'kernel: thread stopped')}\r\n{RESULT}", '[evil@5] {"event":"result","da'],
    ids=["named", "another end of line", "within it a kernel's line", "damaged"],
)
def test_forged_captured(tmp_path: Path, line: str) -> None:
    """a program's line is no report, whatever stands in it, and does no harm to the others"""
    path = log(tmp_path, MACHINE, line, '{"event":"done","status":0}')
    assert [event.kind for event in serial_log.read_events(path).events] == ["machine", "done"]


def test_no_beginning(tmp_path: Path) -> None:
    """a log that begins in the middle is refused"""
    with pytest.raises(InputError, match="capture from power-on"):
        serial_log.read_events(log(tmp_path, '{"event":"done","status":0}'))


def test_other_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """a log of another image is refused, and one that ends too early"""
    monkeypatch.setattr(serial_log, "read_plan", lambda path: plan(DEPLOYMENT))
    boots = [json.dumps({"event": "boot", "cluster": c, "cores": 1}) for c in (0, 1)]
    with pytest.raises(InputError, match="is not of x.iso"):
        serial_log.evaluate_log(Path("x.iso"), log(tmp_path, MACHINE, boots[0]))
    with pytest.raises(InputError, match="ends before the run does"):
        serial_log.evaluate_log(Path("x.iso"), log(tmp_path, MACHINE, *boots))


@pytest.mark.parametrize("signature, shown, accel",
                         [("", "on hardware", "hardware"), ("TCGTCGTCGTCG", "under TCG", "tcg"),
                          ("KVMKVMKVM", "under KVM", "kvm")])
def test_hypervisor(signature: str, shown: str, accel: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """where a log comes from is said by the name of the hypervisor, not by its signature of CPUID"""
    monkeypatch.setattr(serial_log, "read_plan", lambda path: plan(DEPLOYMENT))
    monkeypatch.setattr(serial_log, "evaluate", lambda what, events, clock: SimpleNamespace(emulated=clock.emulated, cores=2))
    boots = [json.dumps({"event": "boot", "cluster": c, "cores": len(cluster.cpus)})
             for c, cluster in enumerate(plan(DEPLOYMENT).cluster_map.clusters)]
    machine = json.dumps({"event": "machine", "cpu": "A processor", "hypervisor": signature})
    host = serial_log.evaluate_log(Path("x.iso"), log(tmp_path, machine, *boots, '{"event":"done","status":0}')).host
    assert host["mode"].endswith(f", {shown}") and host["accel"] == accel


def test_ports() -> None:
    """serial ports of the command line become the loader's words; others are refused"""
    assert _options(console="mmio:0xfe034000,115200,4", results=None) == "console=mmio:0xfe034000,115200,4"
    assert _options(console="0x3f8", results="none") == "console=0x3f8 results=none"
    for wrong in ("COM1", "0x3f8,", "0x3f8 quiet", "0x3f8,9600,3", ""):
        with pytest.raises(InputError, match="--console"):
            _options(console=wrong, results=None)


def test_qemu_command() -> None:
    """an image of an emulated machine comes with the line that boots it: that machine, a card that the driver knows,
    both ports' words"""
    words = shlex.split(qemu_command(plan(DEFAULT), Path("my image.iso")))
    assert words[0] == "qemu-system-x86_64" and words[words.index("-cdrom")
                                                      + 1] == "my image.iso" and "-nodefaults" in words
    assert "cpus=4,sockets=2,cores=2,threads=1" in words and any(word.startswith("virtio-net-pci,netdev=net")
                                                                 for word in words)


def test_write_command() -> None:
    """the line to copy survives a name with a space"""
    assert "if='my image.iso' of=/dev/sdX" in write_command(Path("my image.iso"))
