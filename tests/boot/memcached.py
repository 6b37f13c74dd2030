# SPDX-License-Identifier: BSD-2-Clause
"""A client of memcached's text protocol."""

from __future__ import annotations

import socket
from types import TracebackType

from tests.boot.machine import ANSWER


class Memcached:
    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self._socket = socket.create_connection(address, timeout=ANSWER)
        self._file = self._socket.makefile("rb")

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def __enter__(self) -> Memcached:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _line(self) -> bytes:
        line = self._file.readline()
        assert line.endswith(b"\r\n"), "the server has closed the connection"
        return line[:-2]

    def call(self, request: bytes) -> bytes:
        """A request with one line as its answer."""
        self._socket.sendall(request + b"\r\n")
        return self._line()

    def set(self, key: str, value: bytes, expires: int = 0) -> bytes:
        return self.call(b"set %s 0 %d %d\r\n%s" % (key.encode(), expires, len(value), value))

    def _values(self) -> dict[str, tuple[bytes, int]]:
        values = {}
        while (line := self._line()) != b"END":
            word, key, _, size, *unique = line.split()
            assert word == b"VALUE", line
            value = self._file.read(int(size) + 2)
            assert value.endswith(b"\r\n") and key.decode() not in values
            values[key.decode()] = (value[:-2], int(unique[0]) if unique else 0)
        return values

    def get(self, *keys: str) -> dict[str, bytes]:
        self._socket.sendall(f"get {' '.join(keys)}\r\n".encode())
        return {key: value for key, (value, _) in self._values().items()}

    def gets(self, key: str) -> int:
        """Returns what `cas` takes for this key's present value."""
        self._socket.sendall(f"gets {key}\r\n".encode())
        return self._values()[key][1]

    def stats(self) -> dict[str, str]:
        self._socket.sendall(b"stats\r\n")
        figures = {}
        while (line := self._line()) != b"END":
            _, name, value = line.decode().split(maxsplit=2)
            figures[name] = value
        return figures

    def flush(self) -> None:
        assert self.call(b"flush_all") == b"OK"
