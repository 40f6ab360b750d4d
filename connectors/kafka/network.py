"""The client's network, which remembers why it could not connect.

kafka-python retries until a timeout, and then does not say why it failed. Here a refused password
or an untrusted certificate ends the attempts; other reasons are reported at the timeout.
"""

import ssl
from typing import Any

from kafka.errors import (
    IllegalSaslStateError,
    KafkaError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
)
from kafka.net.compat import KafkaNetClient
from kafka.net.manager import KafkaConnectionManager
from kafka.net.selector import NetworkSelector

# OpenSSL's codes for certificates that are not yet, or no longer, valid. Others may repair these
# while we retry; a wrong name or authority needs other settings.
OUT_OF_DATE = (9, 10)


class UntrustedBrokerError(KafkaError):  # type: ignore[misc]
    """The broker's certificate has another name or an unknown authority."""


REFUSED = (
    IllegalSaslStateError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    UntrustedBrokerError,
)


class ReportingManager(KafkaConnectionManager):  # type: ignore[misc]
    """The connections of a client, and the last `failure` to make one."""

    failure: Exception | None = None

    def get_connection(self, node_id: Any, *given: Any, **named: Any) -> Any:
        """Return a connection as the client does; raise a failure that retrying cannot repair."""
        if isinstance(self.failure, REFUSED):
            raise self.failure
        known = node_id in self._conns
        connection = super().get_connection(node_id, *given, **named)
        if not known:
            self._watch(connection)
        return connection

    def _watch(self, connection: Any) -> None:
        """Note why a new connection fails.

        After a refusal the broker disconnects. The client may notice that first; if it reads the
        refusal, it passes it to `close`.
        """
        close = connection.close

        def noting(error: Exception | None = None) -> None:
            if isinstance(error, REFUSED):
                self._note(error)
            close(error)

        connection.close = noting
        connection.init_future.add_errback(self._note)

    def _note(self, failure: Exception) -> None:
        untrusted = distrusts_broker(failure)
        if not isinstance(self.failure, REFUSED):  # later failures say less
            self.failure = UntrustedBrokerError(*failure.args) if untrusted else failure


class ReportingClient(KafkaNetClient):  # type: ignore[misc]
    """The network of one client."""

    def __init__(self, **configs: Any) -> None:
        selector = NetworkSelector(**configs)
        self.manager = ReportingManager(selector, **configs)
        super().__init__(net=selector, manager=self.manager, **configs)


def distrusts_broker(error: BaseException) -> bool:
    """Whether a connection failed at the broker's certificate, and not because of its dates."""
    cause = error.__context__
    return isinstance(cause, ssl.SSLCertVerificationError) and cause.verify_code not in OUT_OF_DATE
