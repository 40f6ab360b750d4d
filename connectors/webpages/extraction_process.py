"""The process that finds the text of pages: `python -m` this module, SOCKET, PageOptions as JSON.

Reads a charset and a page from the socket, and answers with a mark and the text or the word of a
PageError. It has no secrets, writes no files, and may be killed at any time.
"""

import resource
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from radarstream.connectors.files.web_json import capped
from radarstream.connectors.webpages.errors import PageError
from radarstream.connectors.webpages.extraction import page_text
from radarstream.connectors.webpages.options import PageOptions
from radarstream.connectors.webpages.sandbox import OVERLOADED, READY, REFUSED, TEXT


def serve(connection: Connection, options: PageOptions) -> None:
    """Answer until the other side closes, or memory ran out: then a fresh process is better."""
    limit_memory(options.parse_bytes)
    connection.send_bytes(READY)
    while True:
        try:
            charset, page = connection.recv_bytes().decode(), connection.recv_bytes()
        except EOFError:
            return
        limit_time(options.parse_seconds)
        try:
            text = capped(page_text(page, charset, options), options.text_bytes)
        except PageError as error:
            connection.send_bytes(REFUSED + str(error).encode())
        except MemoryError:
            connection.send_bytes(OVERLOADED)
            return
        else:
            connection.send_bytes(TEXT + text.encode())


def limit_memory(most_bytes: int) -> None:
    """Let the process take so much more than it has now; no file, no core dump."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    lower(resource.RLIMIT_AS, pages * resource.getpagesize() + most_bytes)
    lower(resource.RLIMIT_FSIZE, 0)
    lower(resource.RLIMIT_CORE, 0)


def limit_time(seconds: int) -> None:
    """Have the kernel end the process after so many more seconds of processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + seconds)


def lower(which: int, limit: int) -> None:
    """Set a limit of this process, if it is not lower already."""
    _, hard = resource.getrlimit(which)
    resource.setrlimit(which, (limit if hard < 0 else min(limit, hard), hard))


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])), PageOptions.model_validate_json(sys.argv[2]))
