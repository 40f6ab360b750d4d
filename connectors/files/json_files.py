"""Files of JSON items: which format an item has is told by what it holds, not by its file's name.

| an item has | format |
|---|---|
| `yearly_contexts` | a yearly history |
| `context` | a question with its search results (the RobustRAG family) |
| `adv_texts`, itself or its members | attack targets without documents (PoisonedRAG) |
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from radarstream.connectors.files.json_items import JsonItems, bytes_of, text_of
from radarstream.connectors.files.lines import BROKEN_GZIP, EXCERPT_BYTES, broken_gzip, open_bytes
from radarstream.connectors.files.poisoned_rag import is_targets, target_records
from radarstream.connectors.files.robust_rag import CONTEXT, question_records
from radarstream.connectors.files.yearly_history import CONTEXTS, yearly_records
from radarstream.schemas.errors import InputError
from radarstream.schemas.records import Limits, RawRecord


def read_json(path: Path, limits: Limits) -> Iterator[RawRecord]:
    """Yield the snapshots of every item, in file order; a file holds one item or a list of them.

    Positions count records from 1. What cannot be used comes with its bytes, decompressed, and the
    reason. Broken syntax ends the file with one record that keeps 64 KiB from there.
    """
    source = path.as_posix()
    position = 0
    with text_of(open_bytes(path)) as stream:
        items = JsonItems(stream, limits.item_characters)
        try:
            for item in items:
                for record in _records(item, items.item, limits):
                    position += 1
                    yield replace(record, source=source, position=position)
        except InputError as error:
            rest = bytes_of(items.rest[:EXCERPT_BYTES])[:EXCERPT_BYTES]
            yield RawRecord(source, position + 1, rest, error.reason, error.detail)
        except BROKEN_GZIP as error:
            yield broken_gzip(source, position + 1, error)


def _records(item: Any, original: str, limits: Limits) -> Iterator[RawRecord]:
    if isinstance(item, dict) and CONTEXTS not in item:
        if CONTEXT in item:
            return question_records(item, original, limits)
        if is_targets(item):
            return target_records(item, original, limits)
    return yearly_records(item, original, limits)
