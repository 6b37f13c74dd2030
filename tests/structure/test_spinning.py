# SPDX-License-Identifier: BSD-2-Clause
"""No waiting loop of a kernel (an innermost loop with PAUSE) goes on by how often it has turned: modelled machines skip
turns of such loops (emulator/modelled/pause.c)."""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.deployment import modules
from tests.structure import flow
from tests.structure.flow import Instruction, Listing
from tests.structure.test_transactions import listing

RELAX = "kernel_relax"  # executes PAUSE for its caller
_REGISTER = re.compile(r"%(\w+)")
_MEMORY = re.compile(r"[-\w:%]*\([^)]*\)")
_NAMES = {
    **{name: f"r{base}" for base in ("ax", "bx", "cx", "dx")
       for name in (f"r{base}", f"e{base}", base, f"{base[0]}l", f"{base[0]}h")},
    **{name: f"r{base}" for base in ("si", "di", "bp", "sp") for name in (f"r{base}", f"e{base}", base, f"{base}l")},
    **{f"r{n}{part}": f"r{n}" for n in range(8, 16) for part in ("", "d", "w", "b")},
}
_UPDATES = re.compile(r"(add|sub|inc|dec|adc|sbb)[bwlq]?$")
_SETS_FLAGS = re.compile(r"(cmp|test|bt|add|sub|inc|dec|and|or|xor|neg|sh[lr]|sa[lr]|adc|sbb|x?add|cmpxchg)[bwlq]?$")
_COMPARES = re.compile(r"(cmp|test|bt)[bwlq]?$")


def _operands(text: str) -> list[str]:
    return [part for part in re.split(r",(?![^(]*\))", text) if part]


def _register(operand: str) -> str | None:
    match = re.fullmatch(r"%(\w+)", operand)
    return _NAMES.get(match[1]) if match else None


@dataclass(frozen=True)
class Step:
    """An instruction: what it reads and writes. Memory is named by its operand; what an address is made of is not
    read."""

    address: int
    name: str
    reads: frozenset[str]
    writes: frozenset[str]
    counts: bool  # writes a sum with a constant
    flags: bool


def step(address: int, instruction: Instruction) -> Step:
    operands = _operands(instruction.operands)
    places = [_register(operand) or (operand if _MEMORY.fullmatch(operand) else None) for operand in operands]
    name = instruction.name
    written = places[-1] if places and not _COMPARES.match(name) and name[0] != "j" and name != "call" else None
    reads = {place for place in places if place}
    if written and name.startswith(("mov", "set", "cmov", "pop", "lea")):
        reads = {place for place in places[:-1] if place}
    constant = len(operands) == 1 or operands[:1] and operands[0].startswith("$")
    counts = bool(_UPDATES.match(name) and constant)
    if name.startswith("lea"):  # an address that is computed, not memory
        of = re.fullmatch(r"(-?0x[0-9a-f]+)?\((%\w+)\)", operands[0])
        reads = {_NAMES[word] for word in _REGISTER.findall(operands[0]) if word in _NAMES}
        counts = bool(of)
    return Step(address, name, frozenset(reads), frozenset({written} if written else ()), counts,
                bool(_SETS_FLAGS.match(name)))


def _is_padding(instruction: Instruction) -> bool:
    return instruction.name.startswith("nop") or (instruction.name, instruction.operands) == ("xchg", "%ax,%ax")


class _Function:
    """Its instructions that are reached, from its entry and from whatever only a table or another function leads to."""

    def __init__(self, listing: Listing, addresses: list[int]) -> None:
        self.listing, self.addresses = listing, set(addresses)
        self.before: dict[int, set[int]] = defaultdict(set)
        self.entries: set[int] = set()
        reached: set[int] = set()
        for address in addresses:
            if address in reached or _is_padding(listing.code[address]):
                continue
            self.entries.add(address)
            todo = [address]
            while todo:
                if (at := todo.pop()) not in reached:
                    reached.add(at)
                    for to in self.after(at):
                        self.before[to].add(at)
                        todo.append(to)
        self.addresses = reached

    def after(self, address: int) -> Iterator[int]:
        instruction = self.listing.code[address]
        goals = [] if instruction.name in ("ret", "jmp", "ud2", "iretq", "sysretq") else [instruction.next]
        if instruction.name.startswith("j") and instruction.target is not None:
            goals.append(instruction.target)
        return (goal for goal in goals if goal in self.addresses)

    def loops(self) -> Iterator[set[int]]:
        """Natural loops: of all jumps back to an instruction that all ways to the jump lead through."""
        order = sorted(self.addresses)
        above = {address: set(order) for address in order}
        changed = True
        while changed:
            changed = False
            for address in order:
                ways = [above[way] for way in self.before[address]]
                now = ({address} | set.intersection(*ways)) if ways and address not in self.entries else {address}
                changed |= now != above[address]
                above[address] = now
        ends: dict[int, list[int]] = defaultdict(list)
        for last in order:
            for head in self.after(last):
                if head in above[last]:
                    ends[head].append(last)
        return (self._body(head, of) for head, of in ends.items())

    def _body(self, head: int, todo: list[int]) -> set[int]:
        body = {head}
        while todo:
            address = todo.pop()
            if address not in body:
                body.add(address)
                todo += self.before[address]
        return body


@dataclass(frozen=True)
class Wait:
    function: str
    body: frozenset[int]
    counted: int | None  # where it decides by its count


def _counters(steps: list[Step]) -> set[str]:
    """Places whose value is made of what they held in the turn before, and a constant that is added."""
    made: dict[str, set[str]] = defaultdict(set)
    for one in steps:
        for place in one.reads:
            made[place] |= one.writes

    def of(place: str) -> set[str]:
        within, todo = set(), [place]
        while todo:
            for to in made[todo.pop()] - within:
                within.add(to)
                todo.append(to)
        return within

    return {place for one in steps if one.counts for place in one.writes if one.reads & of(place)}


def _deciding(listing: Listing, body: set[int]) -> int | None:
    """Follows what is made of counters through registers; returns a conditional jump that depends on one."""
    steps = [step(address, listing.code[address]) for address in sorted(body)]
    known = _counters(steps)
    size = -1
    while size != len(known):
        size, flags = len(known), False
        for one in steps:
            counted = bool(one.reads & known) or (one.counts and bool(one.writes & known))
            if one.name.startswith("j"):
                if one.name != "jmp" and flags:
                    return one.address
                continue
            if one.name.startswith(("set", "cmov", "adc", "sbb")):
                counted |= flags
            if one.flags:
                flags = counted
            if counted:
                known |= one.writes
    return None


def waits(listing: Listing) -> Iterator[Wait]:
    """Yields for each PAUSE in a loop, and each call of kernel_relax() in one, the innermost loop."""
    functions: dict[str, list[int]] = defaultdict(list)
    bounds = [address for address, _ in listing.symbols] + [2**64]
    addresses, at = sorted(listing.code), 0
    for index, (_, name) in enumerate(listing.symbols):
        while at < len(addresses) and addresses[at] < bounds[index + 1]:
            functions[f"{name}@{bounds[index]:x}"].append(addresses[at])
            at += 1
    for name, inside in functions.items():
        sites = [address for address in inside if _spins(listing, listing.code[address])]
        if not sites:
            continue
        loops = list(_Function(listing, inside).loops())
        for site in sites:
            around = [loop for loop in loops if site in loop]
            if around:
                body = min(around, key=len)
                yield Wait(name.split("@")[0].split(".")[0], frozenset(body), _deciding(listing, body))


def _spins(listing: Listing, instruction: Instruction) -> bool:
    if instruction.name == "call" and instruction.target is not None:
        return listing.function(instruction.target) == RELAX
    return instruction.name == "pause"


# ---- No waiting loop of a kernel goes on by a count ----

KERNELS = [modules.module_path(f"kernel-{name}")
           for name in (*(f"{lock}{stat}" for lock in modules.REGIMES for stat in ("", "+stat")), modules.MODELLED_RTM)]

# Loops that do, and why their turns are not skipped.
COUNTED = {
    "uart_put": "reads a port in each turn, and such a loop is not parked",
    "uart_drain": "reads a port in each turn, and such a loop is not parked",
    "rtm_aborted": "a modelled machine's transactions always commit; their waits are modelled (transactions.c)",
}
# Some of those that must have been found, if any have been.
WAITING = {"clh": "clh_wait", "ticket": "ticket_wait", "mcs": "mcs_wait", "fine": "ticket_wait", "rtm": "clh_wait",
           "dynamic": "clh_wait"}


@pytest.mark.parametrize("image", KERNELS, ids=lambda path: path.stem)
def test_image(image: Path) -> None:
    """no loop with PAUSE in the kernel goes on by a count of its turns"""
    found = list(waits(flow.read(image)))
    functions = {wait.function for wait in found}
    regime = image.stem.removeprefix("kernel-").split("+")[0]
    assert {"remote_request", "arch_finish", WAITING.get(regime, "remote_request")} <= functions, sorted(functions)
    wrong = [f"{wait.function}: {wait.counted:#x}" for wait in found if wait.counted and wait.function not in COUNTED]
    assert not wrong, f"{image.name} goes on by a count: {', '.join(wrong)}"


def test_known() -> None:
    """each exception is one"""
    counted = {wait.function for image in KERNELS for wait in waits(flow.read(image)) if wait.counted}
    assert counted == set(COUNTED)


def decides(*lines: str) -> list[bool]:
    return [wait.counted is not None for wait in waits(listing("f:", *lines))]


WAIT = ("pause", "mov (%rdi),%eax", "cmp %esi,%eax", "jne 1000 <f>", "ret")


def test_waits() -> None:
    """a loop that only counts is told from one that goes on by its count"""
    assert decides(*WAIT) == [False]
    assert decides("pause", "add $0x1,%rbx", "mov (%rdi),%eax", "cmp %esi,%eax", "jne 1000 <f>", "mov %rbx,%rax",
                   "ret") == [False]
    assert decides("pause", "addq $0x1,0x8(%rsp)", "mov (%rdi),%eax", "test %eax,%eax", "jne 1000 <f>",
                   "ret") == [False]
    assert decides("pause", "mov (%rdi,%rcx,8),%eax", "test %eax,%eax", "jne 1000 <f>", "add $0x1,%ecx",
                   "cmp %edx,%ecx", "jne 1000 <f>", "ret")[0]


@pytest.mark.parametrize("lines", [
    ("pause", "dec %ecx", "jne 1000 <f>", "ret"),
    ("pause", "sub $0x1,%r12d", "mov (%rdi),%eax", "cmp $0x5,%r12", "jne 1000 <f>", "ret"),
    ("pause", "lea -0x1(%rbx),%edx", "mov %edx,%ebx", "cmp $0xffffffff,%ebx", "jne 1000 <f>", "ret"),
    ("pause", "addl $0x1,0x8(%rsp)", "mov 0x8(%rsp),%eax", "cmp $0x64,%eax", "jne 1000 <f>", "ret"),
    ("pause", "add $0x1,%ecx", "mov %ecx,%eax", "and $0xff,%eax", "test %eax,%eax", "jne 1000 <f>", "ret"),
    ("pause", "add $0x1,%ecx", "cmp $0x64,%ecx", "sete %dl", "test %dl,%dl", "je 1000 <f>", "ret"),
], ids=lambda lines: lines[1])
def test_counts(lines: tuple[str, ...]) -> None:
    """each way to go on by a count is found"""
    assert decides(*lines) == [True]


def test_called() -> None:
    """a call of kernel_relax() is a PAUSE, and only the innermost loop counts"""
    relax = ("kernel_relax:", "pause", "ret")
    assert decides("call @kernel_relax", "dec %ecx", "jne 1000 <f>", "ret", *relax) == [True]
    assert decides("push %rbx", "call @kernel_relax", "mov (%rdi),%eax", "test %eax,%eax", "jne 1010 <f>", "dec %ecx",
                   "jne 1000 <f>", "ret", *relax) == [False]
