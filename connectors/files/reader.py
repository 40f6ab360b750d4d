"""One way to read every replay format: records whose payloads the one decoder understands.

| file | format |
|---|---|
| `*.jsonl` | search snapshots in the wire format, one a line |
| `*_gcs.jsonl` with `*_qa.jsonl` beside it | a RealTimeQA week |
| `*.json` | yearly histories, questions with results, or attack targets: see `json_files` |

Each may end in `.gz`. A directory stands for its files, in the order of their names.
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from radarstream.connectors.files.json_files import read_json
from radarstream.connectors.files.lines import read_lines
from radarstream.connectors.files.weekly_realtimeqa import QUESTIONS_MARK, RESULTS_MARK, read_weekly
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.records import Limits, RawRecord

DEFAULT_LIMITS = Limits()


def read_records(path: Path, limits: Limits = DEFAULT_LIMITS) -> Iterator[RawRecord]:
    """Yield every record of a file or directory, usable or not; nothing is dropped.

    Raises ConfigurationError before the first record when the path holds no known format.
    """
    if path.is_dir():
        files = [
            file
            for file in sorted(path.iterdir())
            if _plain_name(file).endswith((".json", ".jsonl"))
            and not _plain_name(file).endswith(QUESTIONS_MARK)
        ]
        if not files:
            raise ConfigurationError(f"{path} holds no .json or .jsonl file to replay")
        return chain.from_iterable([_read_file(file, limits) for file in files])
    if not path.is_file():
        raise ConfigurationError(f"{path} does not exist")
    return _read_file(path, limits)


def _read_file(path: Path, limits: Limits) -> Iterator[RawRecord]:
    name = _plain_name(path)
    if name.endswith(QUESTIONS_MARK):
        raise ConfigurationError(f"{path} holds questions only; replay the {RESULTS_MARK} file")
    if name.endswith(RESULTS_MARK):
        return read_weekly(path, limits)
    if name.endswith(".jsonl"):
        return read_lines(path, limits.record_bytes)  # as they are: the decoder judges them
    if name.endswith(".json"):
        return read_json(path, limits)
    raise ConfigurationError(f"{path} is neither .json nor .jsonl, plain or .gz")


def _plain_name(path: Path) -> str:
    return path.name.removesuffix(".gz")
