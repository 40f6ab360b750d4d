"""The client's network, which remembers why it could not connect.

kafka-python tries again until its time is up, and then only says that it could not. Here a refused
password or a certificate of somebody else ends the attempts; other reasons are told at their end.
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

# Numbers of OpenSSL: a certificate that is not valid yet, or no longer. The broker's, or the clock,
# may be mended while we wait; a wrong name or authority is a matter of our settings.
OUT_OF_DATE = (9, 10)


class UntrustedBrokerError(KafkaError):  # type: ignore[misc]
    """The broker's certificate has another name, or is of an authority that we do not know."""


REFUSED = (
    IllegalSaslStateError,
    SaslAuthenticationFailedError,
    UnsupportedSaslMechanismError,
    UntrustedBrokerError,
)


class ReportingManager(KafkaConnectionManager):  # type: ignore[misc]
    """Connections, and the last `failure` to make one."""

    failure: Exception | None = None

    def get_connection(self, node_id: Any, *given: Any, **named: Any) -> Any:
        """As the client's; raises the failure where trying again is no use."""
        if isinstance(self.failure, REFUSED):
            raise self.failure
        known = node_id in self._conns
        connection = super().get_connection(node_id, *given, **named)
        if not known:
            self._watch(connection)
        return connection

    def _watch(self, connection: Any) -> None:
        """Note why a new connection fails.

        A broker refuses and hangs up. The end may be noticed before the refusal; if that is read at
        all, the connection is closed with it.
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
        if not isinstance(self.failure, REFUSED):  # later ones say less
            self.failure = UntrustedBrokerError(*failure.args) if untrusted else failure


class ReportingClient(KafkaNetClient):  # type: ignore[misc]
    """The network of one client."""

    def __init__(self, **configs: Any) -> None:
        selector = NetworkSelector(**configs)
        self.manager = ReportingManager(selector, **configs)
        super().__init__(net=selector, manager=self.manager, **configs)


def distrusts_broker(error: BaseException) -> bool:
    """Whether a connection failed at the broker's certificate, although it is not out of date."""
    cause = error.__context__
    return isinstance(cause, ssl.SSLCertVerificationError) and cause.verify_code not in OUT_OF_DATE
