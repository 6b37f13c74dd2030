# SPDX-License-Identifier: BSD-2-Clause
"""A little of gdb's remote protocol: writes the memory of a machine that QEMU runs.

QEMU's monitor can read physical memory and not write it. Its debugger can: the machine stands still from the connection
to the end of it, a few milliseconds, and so do its clocks.
"""

import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from deploy.base.errors import Failure
from deploy.base.timeouts import Patience

_PATIENCE = Patience(10.0)  # on the wall: answers take milliseconds, and of a QEMU that does not answer nothing moves

Human = Callable[[str], str]  # a command of the human monitor: what it answers


def write_word(human: Human, address: int, word: int) -> float:
    """Stores eight bytes at a physical address. QEMU runs as this user, or may write to this user's folders.

    Returns time.monotonic() of the moment at which the machine goes on.
    """
    return write_words(human, [(address, word)])


def write_words(human: Human, words: Sequence[tuple[int, int]]) -> float:
    """Writes several words, each at its address; no core does anything between them."""
    with tempfile.TemporaryDirectory(prefix="skerry-debugger-") as folder:
        path = Path(folder, "socket")
        return _write(human, f"unix:{path},server=on,wait=off", socket.AF_UNIX, str(path), words)


def write_word_by_port(human: Human, address: int, word: int) -> float:
    """Writes a word where QEMU runs on this machine as another user, by a free TCP port of 127.0.0.1.

    Hazard: until this connection is taken, another user of this machine may connect to that port, and would have the
    debugger's power over the machine. It serves one connection at a time, so this function then fails.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        place: tuple[str, int] = probe.getsockname()
    return _write(human, f"tcp:127.0.0.1:{place[1]},server=on,wait=off", socket.AF_INET, place, [(address, word)])


def _write(human: Human, device: str, family: int, place: str | tuple[str, int],
           words: Sequence[tuple[int, int]]) -> float:
    answer = human(f"gdbserver {device}").strip()
    try:
        with socket.socket(family) as connection:
            connection.settimeout(_PATIENCE.on_wall())
            deadline = time.monotonic() + _PATIENCE.on_wall()
            while connection.connect_ex(place):
                if time.monotonic() > deadline:
                    raise TimeoutError(answer or "its socket does not come")
                time.sleep(0.01)
            _ask(connection, "?")  # the machine stands still
            _ask(connection, "Qqemu.PhyMemMode:1", "OK")
            for address, word in words:
                _ask(connection, f"M{address:x},8:{word.to_bytes(8, 'little').hex()}", "OK")
            _ask(connection, "D", "OK")  # and goes on
            return time.monotonic()
    except OSError as error:
        raise Failure(f"QEMU's debugger does not answer: {error}") from error
    finally:
        human("gdbserver none")


def _ask(connection: socket.socket, text: str, expected: str | None = None) -> None:
    connection.sendall(f"${text}#{sum(text.encode()) & 0xFF:02x}".encode())
    answer = b""
    while len(answer.partition(b"#")[2]) < 2:
        data = connection.recv(4096)
        if not data:
            raise ConnectionError("it closed the connection")
        answer += data
    connection.sendall(b"+")
    content = answer.partition(b"$")[2].partition(b"#")[0].decode("ascii", "replace")
    if expected is not None and content != expected:
        raise Failure(f"QEMU's debugger answers {content or 'nothing'} to {text.partition(':')[0]}")
