"""Settings of the webhook of alerts."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from radarstream.schemas.section import Pauses, is_loopback


class WebhookOptions(Pauses):
    """Where alerts are sent. The signing secret comes from the environment."""

    url: str
    """where alerts are posted"""
    secret_variable: str = "WEBHOOK_SECRET"  # noqa: S105 the name of a variable
    """environment variable with the signing secret"""
    allow_http: bool = False
    """permit http:// to other hosts than this one"""
    ca_file: Path | None = None
    """file of certificates to trust instead of the system's"""
    timeout_s: Annotated[float, Field(gt=0.0)] = 10
    """seconds to connect, send and receive the response"""

    @model_validator(mode="after")
    def check_url(self) -> Self:
        """Refuse addresses without TLS and addresses with a password, which might be logged."""
        import httpx  # here, because settings without a webhook do not need it

        try:
            url = httpx.URL(self.url)
        except httpx.InvalidURL as error:
            raise ValueError(f"not a URL: {error}") from None
        if url.scheme not in {"http", "https"} or not url.host:
            raise ValueError("the webhook's url must begin with https:// and name a host")
        if url.userinfo:
            raise ValueError("the webhook's url must not have a password")
        if url.scheme == "http" and not (self.allow_http or is_loopback(url.host)):
            raise ValueError("the webhook's url must begin with https:// (or set allow_http)")
        return self
