"""Pages on loopback, and how web servers keep their readers waiting."""

from contextlib import AbstractContextManager
from email.message import Message

from tests.replies import Reply, Request, Service, serving

ENDLESS = {"Content-Type": "text/html", "Content-Length": "1000000000000"}


class PageServer(Service):
    """Pages by path, and the headers of who asked; it never answers at /hang."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = {"/hang": Reply(hang=True), "/endless": Reply(b"x" * 20_000, headers=ENDLESS)}
        self.headers: list[Message] = []

    @property
    def port(self) -> str:
        return self.url.rpartition(":")[2]

    @property
    def hosts(self) -> list[str]:
        return [headers["host"] for headers in self.headers]

    def add(self, path: str, body: bytes | str, status: int = 200, **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        kind = named.pop("content-type", "text/html; charset=utf-8")
        content = body.encode() if isinstance(body, str) else body
        self.pages[path] = Reply(content, status, kind, named)

    def reply_to(self, request: Request) -> Reply:
        self.headers.append(request.headers)
        return self.pages.get(request.path, Reply(status=404))


def serve_pages() -> AbstractContextManager[PageServer]:
    return serving(PageServer())
