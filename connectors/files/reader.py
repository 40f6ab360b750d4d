"""Reads every format of replays, as records with snapshots in the wire format.

| file | format |
|---|---|
| `*.jsonl` | search snapshots in the wire format, one per line |
| `*_gcs.jsonl` with `*_qa.jsonl` beside it | a RealTimeQA week |
| `*.json` | one item or a list of them; the members of an item decide its format: |
| an item with `yearly_contexts` | a yearly history |
| an item with `context` | a question with its search results (the RobustRAG family) |
| an item with `adv_texts`, or members with it | attack targets without documents (PoisonedRAG) |

The lab reads all formats except wire snapshots and yearly histories. Names may end in `.gz`. A
directory means its files, in the order of their names.
"""

from collections.abc import Iterator
from dataclasses import replace
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any

from radarstream.connectors.files.json_items import JsonItems
from radarstream.connectors.files.lines import (
    BROKEN_GZIP,
    EXCERPT_BYTES,
    broken_gzip,
    open_bytes,
    read_lines,
)
from radarstream.connectors.files.yearly_history import CONTEXTS, yearly_records
from radarstream.schemas.errors import ConfigurationError, InputError
from radarstream.schemas.plugins import lab_installed, load_plugin
from radarstream.schemas.records import Limits, RawRecord

DEFAULT_LIMITS = Limits()
RESULTS_MARK, QUESTIONS_MARK = "_gcs.jsonl", "_qa.jsonl"  # of a RealTimeQA week


def read_records(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[RawRecord]:
    """Yield every record of a file or directory, also unusable ones.

    Raises ConfigurationError before the first record if the format is unknown.
    """
    if path.is_dir():
        files = [
            file
            for file in sorted(path.iterdir())
            if _plain_name(file).endswith((".json", ".jsonl"))
            and not _plain_name(file).endswith(QUESTIONS_MARK)
        ]
        if not files:
            raise ConfigurationError(f"{path} has no .json or .jsonl file to replay")
        return chain.from_iterable([_read_file(file, limits) for file in files])
    if not path.is_file():
        raise ConfigurationError(f"{path} does not exist")
    return _read_file(path, limits)


def read_json(path: Path, limits: Limits) -> Iterator[RawRecord]:
    """Yield the snapshots of every item, in file order; a file has one item or a list of them.

    Positions count records from 1. An unusable part is a record with its JSON and the reason. After
    broken syntax, the last record has the next 64 KiB.
    """
    source = path.as_posix()
    position = 0
    with TextIOWrapper(open_bytes(path), "utf-8-sig", "replace", "") as stream:
        items = JsonItems(stream, limits.item_characters)
        try:
            for item in items:
                for record in _records(item, limits):
                    position += 1
                    yield replace(record, source=source, position=position)
        except InputError as error:
            rest = items.rest[:EXCERPT_BYTES].encode()[:EXCERPT_BYTES]
            yield RawRecord(source, position + 1, rest, error.reason, error.detail)
        except BROKEN_GZIP as error:
            yield broken_gzip(source, position + 1, error)


def _records(item: Any, limits: Limits) -> Iterator[RawRecord]:
    if isinstance(item, dict) and CONTEXTS not in item and lab_installed():
        found: Iterator[RawRecord] | None = load_plugin("lab", "replay").item_records(item, limits)
        if found is not None:
            return found
    return yearly_records(item, limits)


def _read_file(path: Path, limits: Limits) -> Iterator[RawRecord]:
    name = _plain_name(path)
    if name.endswith(QUESTIONS_MARK):
        raise ConfigurationError(f"{path} has questions only; replay the {RESULTS_MARK} file")
    if name.endswith(RESULTS_MARK):
        weekly: Iterator[RawRecord] = load_plugin("lab", "replay").read_weekly(path, limits)
        return weekly
    if name.endswith(".jsonl"):
        return read_lines(path, limits.record_bytes)
    if name.endswith(".json"):
        return read_json(path, limits)
    raise ConfigurationError(f"{path} is neither .json nor .jsonl, plain or .gz")


def _plain_name(path: Path) -> str:
    return path.name.removesuffix(".gz")
