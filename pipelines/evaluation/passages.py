"""Texts that rows of a study name by their ids."""

from dataclasses import dataclass

from radarstream.schemas.snapshot import Document


@dataclass(frozen=True, slots=True)
class PassageRow:
    """The text of a candidate or of a document that was found, once for all."""

    id: str
    document: Document

    @property
    def key(self) -> str:
        """What tells a text from all others."""
        return self.id

    @property
    def author(self) -> str:
        """What it is found for has authors."""
        return ""

    @property
    def error(self) -> None:
        """No text has one."""
        return
