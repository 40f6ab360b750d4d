"""Messages to people through Apprise: mail, Slack, Teams, ntfy and many other services."""

import logging
import re
from collections.abc import Callable
from threading import Event
from typing import Any

from radarstream.connectors.webhook import Attempt, insistently
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.plugins import naming_extra
from radarstream.schemas.section import read_secret

PAUSES_S = 1.0, 60.0  # the first and the longest between tries
SECRET_PARTS = re.compile(r"[^\s/:@?&=,]{5,}")  # of an address; hosts are among them
REASON_CHARACTERS = 200


class Notifier:
    """One channel: the addresses in an environment variable, such as `mailto://…` or `slack://…`.

    Several addresses are separated by blanks. https://github.com/caronc/apprise lists the services
    and how each is addressed. Addresses hold secrets: they are never logged.
    """

    def __init__(self, variable: str, stop: Event | None = None) -> None:
        """Read the addresses; ConfigurationError if there are none, if one is not understood, or if
        Apprise is not installed. `stop` ends waiting early.
        """
        with naming_extra():
            from apprise import Apprise

        self._variable = variable
        self._stop = stop or Event()
        self._addresses = read_secret(variable).split()
        self._services = []
        logging.getLogger("apprise").propagate = False  # its messages may name addresses
        for number, address in enumerate(self._addresses, 1):
            service = Apprise()
            if not service.add(address):
                raise ConfigurationError(f"{variable}: address {number} is none of Apprise's")
            self._services.append(service)

    def deliver(self, title: str, text: str) -> Attempt:
        """Send to every address until each has accepted it.

        A service that fails is tried again without end, with growing pauses: nothing is dropped.
        Only when `stop` is set may the returned attempt be `temporary`. Addresses that accepted
        before may get the message again after a restart.
        """
        for number in range(len(self._services)):
            attempt = insistently(
                self._sending(number, title, text), self._stop, PAUSES_S, channel=self._variable
            )
            if attempt.temporary:
                return attempt
        return Attempt()

    def try_once(self, title: str, text: str) -> Attempt:
        """Send to every address once; the first failure, if there is one."""
        attempts = [self._sending(n, title, text)() for n in range(len(self._services))]
        return next((attempt for attempt in attempts if not attempt.accepted), Attempt())

    def _sending(self, number: int, title: str, text: str) -> Callable[[], Attempt]:
        from apprise import LogCapture, NotifyFormat

        service: Any = self._services[number]

        def send() -> Attempt:
            with LogCapture(level=logging.WARNING, fmt="%(message)s") as lines:  # type: ignore[no-untyped-call]
                sent = service.notify(text, title=title, body_format=NotifyFormat.TEXT)
                said = lines.getvalue()
            return Attempt() if sent else Attempt(failure=self._reason(number, said))

        return send

    def _reason(self, number: int, said: str) -> str:
        """What Apprise said last, without the parts of the address."""
        last = (said.strip().splitlines() or ["refused"])[-1]
        for part in SECRET_PARTS.findall(self._addresses[number]):
            last = last.replace(part, "…")
        return last[:REASON_CHARACTERS]
