"""Reads the top-level items of a JSON document one at a time.

A data set with page contents has gigabytes; only one item is in memory.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

from radarstream.connectors.files.lines import BROKEN_GZIP
from radarstream.schemas.errors import InputError, ReasonClass

CHUNK_CHARACTERS = 2**20
PIECE = 2**13
PARTS = 2**18  # most objects and lists of an item; each takes a hundred bytes
_NOT_BLANK = re.compile(r"[^ \t\r\n]")


class JsonItems:
    """Iterates over the items of top-level lists and over other top-level values.

    Raises InputError for broken syntax and for an item of more than `most` characters, after the
    items before it; `rest` is then the text from there on.
    """

    def __init__(self, stream: TextIO, most: int) -> None:
        self._stream = stream
        self._most = most
        self._text = ""
        self._start = 0

    def __iter__(self) -> Iterator[Any]:
        while character := self._next_character():
            if character == "[":
                self._start += 1
                yield from self._list_items()
            else:
                yield self._value()

    @property
    def rest(self) -> str:
        """The text that was read and not yet delivered."""
        return self._text[self._start :]

    def _list_items(self) -> Iterator[Any]:
        if self._next_character() == "]":
            self._start += 1
            return
        while True:
            yield self._value()
            character = self._next_character()
            if character not in ("]", ","):
                raise InputError(ReasonClass.MALFORMED_JSON, "a list of items breaks off")
            self._start += 1
            if character == "]":
                return
            self._next_character()

    def _next_character(self) -> str:
        while not (found := _NOT_BLANK.search(self._text, self._start)):
            self._start = len(self._text)
            if not self._read_more():
                return ""
        self._start = found.start()
        return found.group()

    def _value(self) -> Any:
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._start)
            except RecursionError:
                raise InputError(ReasonClass.MALFORMED_JSON, "nested too deeply") from None
            except ValueError as error:
                if not self._read_more():
                    raise InputError(ReasonClass.MALFORMED_JSON, str(error)) from None
            else:
                if end < len(self._text) or not self._read_more():
                    self._start = end
                    return value

    def _read_more(self) -> bool:
        """Double the text in memory, so that all attempts to parse cost at most twice the last."""
        held = self.rest
        if len(held) > self._most:
            raise InputError(
                ReasonClass.OVERSIZED_RECORD,
                f"an item of more than {self._most} characters (limits.item_characters)",
            )
        if held.count("{") + held.count("[") > PARTS:
            raise InputError(
                ReasonClass.OVERSIZED_RECORD, f"an item of more than {PARTS} objects and lists"
            )
        room = self._most + 1 - len(held)
        more = self._read(min(max(CHUNK_CHARACTERS, len(held)), room))
        if more:
            self._text, self._start = held + more, 0
        return bool(more)

    def _read(self, characters: int) -> str:
        """Read in pieces, to keep the text before the damage of a damaged stream."""
        pieces: list[str] = []
        try:
            while characters > 0 and (piece := self._stream.read(min(characters, PIECE))):
                pieces.append(piece)
                characters -= len(piece)
        except BROKEN_GZIP:
            if not pieces:
                raise  # the next read of a damaged stream fails again
        return "".join(pieces)


_DECODER = json.JSONDecoder()
