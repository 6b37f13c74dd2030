# SPDX-License-Identifier: BSD-2-Clause
"""A little of gdb's remote protocol: stops QEMU's cores and breaks one, as no program inside could."""

import socket
import struct
import time

# Places in gdb's x86-64 register list: 16 general registers, then rip, eflags (4 bytes), cs, ...
RAX, RSP, RIP, EFLAGS = 0, 7, 16, 17
CS_OFFSET = 8 * 17 + 4
KERNEL_HALF = 1 << 63
NOWHERE = 0x10  # no kernel maps the first page
PATIENCE = 1000.0  # seconds of the host's time; a test's own limit is of given time, and ends it before


class Debugger:
    """Attached to a machine that waits before its first instruction."""

    def __init__(self, port: int) -> None:
        self.socket = self._connect(port)
        self.socket.settimeout(PATIENCE)
        self.command("qSupported:multiprocess-")

    def close(self) -> None:
        self.socket.close()

    @staticmethod
    def _connect(port: int, timeout: float = PATIENCE) -> socket.socket:
        """QEMU opens this port last of all."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                return socket.create_connection(("127.0.0.1", port), PATIENCE)
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _send(self, text: str) -> None:
        self.socket.sendall(f"${text}#{sum(text.encode()) & 0xFF:02x}".encode())

    def _byte(self) -> bytes:
        byte = self.socket.recv(1)
        if not byte:
            raise ConnectionError("QEMU closed the debugger's connection")
        return byte

    def _answer(self) -> str:
        while self._byte() != b"$":
            pass
        text = b""
        while (byte := self._byte()) != b"#":
            text += byte
        self._byte(), self._byte()
        self.socket.sendall(b"+")
        return text.decode()

    def command(self, text: str) -> str:
        self._send(text)
        return self._answer()

    def go_on(self) -> None:
        self._send("c")  # the answer comes when the machine stops

    def stop(self) -> None:
        self.socket.sendall(b"\x03")
        self._answer()

    def run_to(self, address: int) -> None:
        """Lets the machine run until a core is about to execute what is there, in whichever address space."""
        assert self.command(f"Z1,{address:x},1") == "OK"
        self._send("c")
        self._answer()
        assert self.command(f"z1,{address:x},1") == "OK"
        assert self._program_counter()[0] == address

    def set_register(self, number: int, value: int) -> None:
        size = 4 if number == EFLAGS else 8
        assert self.command(f"P{number:x}={value.to_bytes(size, 'little').hex()}") == "OK"

    def flags(self) -> int:
        registers = bytes.fromhex(self.command("g").replace("x", "0"))
        return struct.unpack_from("<I", registers, 8 * EFLAGS)[0]

    def _program_counter(self) -> tuple[int, int]:
        """rip and the privilege level."""
        registers = bytes.fromhex(self.command("g").replace("x", "0"))
        return struct.unpack_from("<Q", registers, 8 * RIP)[0], registers[CS_OFFSET] & 3

    def make_kernel_fault(self, core: int, stack: int = NOWHERE, attempts: int = 200) -> None:
        """Takes the stack away from a core that is in its kernel, or gives it another, and lets the machine go on.

        Not its program counter: an idle core that is interrupted never returns to where it was.
        """
        for _ in range(attempts):
            self.stop()
            assert self.command(f"Hg{core + 1:x}") == "OK"
            address, level = self._program_counter()
            if level == 0 and address & KERNEL_HALF:
                assert self.command(f"P{RSP:x}={struct.pack('<Q', stack).hex()}") == "OK"
                self.go_on()
                return
            self.go_on()
            time.sleep(0.05)
        raise AssertionError(f"core {core} is never in its kernel")
