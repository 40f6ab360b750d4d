"""Sends messages to people by Apprise: mail, Slack, Teams, ntfy and many other services."""

import logging
import re
from collections.abc import Callable
from threading import Event
from typing import Any

from radarstream.connectors.webhook import Attempt, insistently
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.plugins import naming_extra
from radarstream.schemas.section import read_secret

PAUSES_S = 1.0, 60.0  # the first and the longest between attempts
SECRET_PARTS = re.compile(r"[^\s/:@?&=,]{5,}")  # possible secrets in an address, also its host
REASON_CHARACTERS = 200


class Notifier:
    """One channel: the addresses in an environment variable, such as `mailto://…` or `slack://…`.

    Blanks separate addresses. https://github.com/caronc/apprise lists services and the forms of
    their addresses. Addresses have secrets and are never logged.
    """

    def __init__(self, variable: str, stop: Event | None = None) -> None:
        """Read the addresses. Raises ConfigurationError without addresses, for an invalid one, and
        if Apprise is not installed. `stop` ends waiting early.
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
                raise ConfigurationError(f"{variable}: Apprise does not accept address {number}")
            self._services.append(service)

    def deliver(self, title: str, text: str) -> Attempt:
        """Send to every address until each has accepted it.

        A service that fails is tried again without end, with growing pauses. The returned attempt
        is `temporary` only if `stop` is set. After a restart, addresses that accepted the message
        may get it again.
        """
        for number in range(len(self._services)):
            attempt = insistently(
                self._sending(number, title, text), self._stop, PAUSES_S, channel=self._variable
            )
            if attempt.temporary:
                return attempt
        return Attempt()

    def try_once(self, title: str, text: str) -> Attempt:
        """Send to every address once; return the first failure, if any."""
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
        """Return the last message of Apprise, without parts of the address."""
        last = (said.strip().splitlines() or ["refused"])[-1]
        for part in SECRET_PARTS.findall(self._addresses[number]):
            last = last.replace(part, "…")
        return last[:REASON_CHARACTERS]
