"""Stands between a worker and a server, and breaks their connection at a chosen request."""

import re
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

Address = tuple[str, int] | str  # TCP, or the path of a Unix socket
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: a closed connection tells of no orderly end
WRITES = re.compile(r"(INSERT INTO|UPDATE|DELETE FROM) \w+")


@dataclass(frozen=True)
class Cut:
    """Breaks the connection of the next request whose name the pattern matches.

    The server never sees that request; or, if `answered`, it does and its answer is thrown away.
    """

    name: re.Pattern[str]
    answered: bool
    done: Event = field(default_factory=Event)


class Wire:
    """The requests and answers of one connection, a frame at a time."""

    def request(self, read: Callable[[int], bytes]) -> tuple[bytes, str]:
        """The next frame of the client, and what it is; empty where that matters to nobody."""
        raise NotImplementedError

    def answer(self, read: Callable[[int], bytes]) -> tuple[bytes, bool]:
        """The next frame of the server, and whether it ends its answer to the last request."""
        raise NotImplementedError


class KafkaWire(Wire):
    """Frames of a length and a body. A request is named by the number of its kind."""

    def __init__(self) -> None:
        self.last = b""

    def request(self, read: Callable[[int], bytes]) -> tuple[bytes, str]:
        frame = self._frame(read)
        kind, _version, self.last = struct.unpack_from(">hh4s", frame, 4)
        return frame, f"kafka {kind}"

    def answer(self, read: Callable[[int], bytes]) -> tuple[bytes, bool]:
        frame = self._frame(read)
        return frame, frame[4:8] == self.last

    @staticmethod
    def _frame(read: Callable[[int], bytes]) -> bytes:
        head = read(4)
        return head + read(int.from_bytes(head))


class PostgresqlWire(Wire):
    """Frames of a type, a length and a body. A request is named by its SQL.

    A COMMIT is named with the first thing that its transaction wrote, as "COMMIT INSERT INTO …".
    """

    def __init__(self) -> None:
        self.begun = False
        self.prepared: dict[bytes, str] = {}
        self.written = ""

    def request(self, read: Callable[[int], bytes]) -> tuple[bytes, str]:
        kind = read(1) if self.begun else b""  # the first frame has no type
        self.begun = True
        head = read(4)
        body = read(int.from_bytes(head) - 4)
        return kind + head + body, self._named(kind, body)

    def answer(self, read: Callable[[int], bytes]) -> tuple[bytes, bool]:
        kind, head = read(1), read(4)
        return kind + head + read(int.from_bytes(head) - 4), kind == b"Z"

    def _named(self, kind: bytes, body: bytes) -> str:
        first, _, rest = body.partition(b"\0")
        sql = ""
        if kind == b"P":
            self.prepared[first] = rest.partition(b"\0")[0].decode()
        elif kind == b"B":
            sql = self.prepared.get(rest.partition(b"\0")[0], "")
        elif kind == b"Q":
            sql = first.decode()
        if sql == "COMMIT":
            sql, self.written = f"COMMIT {self.written}", ""
        elif found := WRITES.match(sql):
            self.written = self.written or found[0]
        elif sql in ("BEGIN", "ROLLBACK"):
            self.written = ""
        return sql


class Proxy:
    """Listens on one address and connects each client to another; `arm` lets it break one."""

    def __init__(self, listen: Address, target: Address, wire: Callable[[], Wire]) -> None:
        self.listen, self.target, self.wire = listen, target, wire
        self._cut: Cut | None = None
        self._lock = Lock()
        family = socket.AF_UNIX if isinstance(listen, str) else socket.AF_INET
        self._door = socket.socket(family)
        self._door.bind(listen)
        self._door.listen()
        Thread(target=self._accept, daemon=True).start()

    def arm(self, cut: Cut | None) -> None:
        """Break the next connection that matches; None: no more."""
        with self._lock:
            self._cut = cut

    def close(self) -> None:
        """Take no more clients."""
        self._door.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._door.accept()[0]
                with suppress(OSError):  # the server is down
                    Connection(self, client, _connected(self.target), self.wire())

    def taken(self, name: str) -> Cut | None:
        """The cut that a request of this name meets; it happens once."""
        with self._lock:
            cut = self._cut
            if cut is None or cut.done.is_set() or not cut.name.search(name):
                return None
            cut.done.set()
            self._cut = None
            return cut


class Connection:
    """One client and its server, in two threads."""

    def __init__(
        self, proxy: Proxy, client: socket.socket, server: socket.socket, wire: Wire
    ) -> None:
        self.proxy, self.client, self.server, self.wire = proxy, client, server, wire
        self.condemned = False
        for work in (self._ask, self._answer):
            Thread(target=self._until_closed, args=(work,), daemon=True).start()

    def _ask(self) -> None:
        while True:
            frame, name = self.wire.request(_reader(self.client))
            cut = self.proxy.taken(name) if name and not self.condemned else None
            if cut is not None and not cut.answered:
                return
            self.condemned = self.condemned or cut is not None
            self.server.sendall(frame)

    def _answer(self) -> None:
        while True:
            frame, complete = self.wire.answer(_reader(self.server))
            if not self.condemned:
                self.client.sendall(frame)
            elif complete:
                return

    def _until_closed(self, work: Callable[[], None]) -> None:
        with suppress(OSError):
            work()
        for end in (self.client, self.server):
            with suppress(OSError):
                if end.family == socket.AF_INET:
                    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                end.shutdown(socket.SHUT_RDWR)
            end.close()


def _connected(target: Address) -> socket.socket:
    end = socket.socket(socket.AF_UNIX if isinstance(target, str) else socket.AF_INET)
    end.connect(target)
    return end


def _reader(end: socket.socket) -> Callable[[int], bytes]:
    """A function that reads so many bytes; ConnectionError at the end."""

    def read(count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = end.recv(count - len(parts))
            if not part:
                raise ConnectionError("the other side has closed")
            parts += part
        return bytes(parts)

    return read
