"""An HTTP endpoint on loopback that records what it is sent and answers as it is told."""

from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager
from ssl import SSLContext
from threading import Condition

from tests.replies import Reply, Request, Service, serving

TAKEN = Reply(status=204)


class Receiver(Service):
    """Answers with `replies` in turn, then with `last` for ever."""

    path = "/hook"

    def __init__(self, replies: Sequence[Reply], last: Reply) -> None:
        super().__init__()
        self.replies, self.last = deque(replies), last
        self.received: list[Request] = []
        self._changed = Condition()

    def wait_for(self, count: int, timeout_s: float = 60.0) -> list[Request]:
        """What was received, once there are so many requests."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.received) >= count, timeout_s), (
                f"{len(self.received)} of {count} requests"
            )
            return list(self.received)

    def reply_to(self, request: Request) -> Reply:
        with self._changed:
            self.received.append(request)
            self._changed.notify_all()
            return self.replies.popleft() if self.replies else self.last


def receiving(
    replies: Sequence[Reply] = (), last: Reply = TAKEN, tls: SSLContext | None = None
) -> AbstractContextManager[Receiver]:
    """Serve until the block ends."""
    return serving(Receiver(replies, last), tls)
