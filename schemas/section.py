"""The base class of settings: frozen, picklable; unknown keys and infinities are errors.

No section has a secret. It names the environment variable that has it, so that settings can be
logged, stored beside results and sent to workers.
"""

import os
from ipaddress import ip_address

from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt

from radarstream.schemas.errors import ConfigurationError


class Section(BaseModel):
    """A frozen group of settings."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, use_attribute_docstrings=True
    )


class Pauses(Section):
    """Pauses between attempts."""

    first_pause_s: PositiveFloat = 1.0
    """seconds before the second attempt; doubles with each further one"""
    longest_pause_s: PositiveFloat = 60.0
    """longest pause between attempts, in seconds, unless the other side asks for more"""


class Attempts(Pauses):
    """Pauses and the number of attempts."""

    attempts: PositiveInt = 4
    """most attempts of one request"""


def read_secret(variable: str) -> str:
    """Return the value of an environment variable that holds a secret.

    Raises ConfigurationError if it is unset or empty.
    """
    secret = os.environ.get(variable, "")
    if not secret:
        unset = ConfigurationError(f"the environment variable {variable} is not set")
        raise unset.mended_by(f"export {variable}=…")
    return secret


def is_loopback(host: str) -> bool:
    """Whether a host is this machine; names are not resolved.

    >>> [is_loopback(host) for host in ("localhost", "127.0.0.9", "::1", "0.0.0.0", "10.0.0.2")]
    [True, True, True, False, False]
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
