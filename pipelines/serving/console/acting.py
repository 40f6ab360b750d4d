"""Actions of operators: proposed with their consequence, confirmed once, written down in one
transaction.

A confirmation carries how things stood when it was shown (`seen`). That is compared while the row
is held: of two operators one acts, and a form sent twice acts once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Protocol

from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.serving.action_log import (
    LoggedAction,
    last_action_on,
    write_action,
)
from radarstream.pipelines.pages.safe_text import minute
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import RadarstreamError, StateConflictError


@dataclass(frozen=True, slots=True)
class Target:
    """The thing that is acted on: what names it in an address, and where it is. `chosen` are the
    keys of the texts that a person ticked, None where nothing was to tick.
    """

    engine: Engine
    settings: Settings
    named: Mapping[str, str]
    chosen: tuple[str, ...] | None = None

    def __getitem__(self, name: str) -> str:
        """A name of the thing; "" for one that is not given."""
        return self.named.get(name, "")


class NothingToDoError(RadarstreamError):
    """What was asked for holds already; the message says since when."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What an operator is asked to confirm: `about` (names and values), `consequences` (sentences),
    how things stand (`seen`), further inputs (`fields`: note, everywhere), and why nothing is left
    to do.
    """

    title: str
    about: tuple[tuple[str, str], ...]
    consequences: tuple[str, ...]
    button: str
    seen: str
    back: str
    fields: tuple[str, ...] = ()
    needless: str = ""


@dataclass(frozen=True, slots=True)
class Confirmed:
    """A confirmation: by whom, when (ms since 1970), what they had seen and typed."""

    user: str
    at_ms: int
    seen: str
    typed: Mapping[str, str] = field(default_factory=dict)


class Action(Protocol):
    """Something that an operator does to one thing."""

    @property
    def name(self) -> str:
        """What addresses and the action log call it."""

    def propose(self, target: Target) -> Proposal:
        """What would follow. Raises RadarstreamError, as where there is no such thing."""

    def carry_out(self, target: Target, confirmed: Confirmed) -> str:
        """Do it, write it down, and return it in words. Raises StateConflictError after a change by
        somebody else, NothingToDoError where it holds already.
        """


SO_ALREADY: Final = "It is so already; nothing was done."
CHANGED: Final = "Somebody else changed this meanwhile; nothing was done."


@dataclass(frozen=True, slots=True)
class Witness:
    """Compares how things stand, and writes an action down, in the transaction of the action."""

    action: str
    target: str
    confirmed: Confirmed

    def insist(self, connection: Connection, stands: str, *, holds: bool) -> None:
        """Raise NothingToDoError if it `holds`, StateConflictError if things are not as they were
        seen.
        """
        if holds:
            raise NothingToDoError(self.with_last(connection, SO_ALREADY))
        if stands != self.confirmed.seen:
            raise StateConflictError(self.with_last(connection, CHANGED))

    def with_last(self, connection: Connection, words: str) -> str:
        """The words, with who acted on the thing last."""
        last = last_action_on(connection, self.target)
        return f"{words} {in_words(last)}" if last else words

    def write(self, connection: Connection, detail: str) -> None:
        """Write the action down."""
        at_ms, user = self.confirmed.at_ms, self.confirmed.user
        write_action(
            connection,
            at_ms=at_ms,
            user=user,
            action=self.action,
            target=self.target,
            detail=detail,
        )


def in_words(action: LoggedAction) -> str:
    """Who did what last, and when (UTC)."""
    at = minute(action.at_ms)
    return f"The last action on it was {action.action} by {action.user} on {at}."


def fingerprint(*parts: object) -> str:
    """How things stand, as 16 hexadecimal digits."""
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
