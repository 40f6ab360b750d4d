"""What `radarstream state forget` says when it is done."""

from collections.abc import Iterable

from rich.table import Table

from radarstream.connectors.state_table.queries.forgetting import Forgotten
from radarstream.pipelines.cli.terminal import stdout

QUESTION_UNKNOWN = "the question is not on record; give it with --question"
NOT_REWRITTEN = (
    "the bytes of deleted rows in the database's files, and in its write-ahead log: run the "
    "command again with --if-exists, without --no-rewrite"
)


def anything(forgotten: Forgotten) -> bool:
    """Whether something about the query was there: embeddings go with any question."""
    certain = (forgotten.memory, forgotten.unsent_events, forgotten.watchlist, forgotten.incidents)
    beside = (forgotten.source_events, forgotten.corpus_texts, forgotten.cached_answers)
    return any((*certain, *beside, forgotten.dead_letters, forgotten.elsewhere))


def remainder(forgotten: Forgotten, in_files: Iterable[str], *, retracted: bool) -> list[str]:
    """Say in sentences what is left of a forgotten query, and where."""
    kept = []
    if forgotten.cached_answers is None:
        kept.append(f"cached model answers: {QUESTION_UNKNOWN}")
    kept += in_files
    kept.append(
        "published answers and attributions: tombstones were sent, the brokers delete the records "
        "when they compact the topics or retention ends"
        if retracted
        else "published answers and attributions in their topics: --retract sends tombstones"
    )
    kept.append(
        "search snapshots, complaints and dead letters in their topics, until their retention ends"
    )
    kept.append("exports, replay directories, logs of consumers and backups of the database")
    kept.append("your own documents, pages that other queries found too, and the names of sites")
    kept.append(
        "a watchlist file that still names the query brings it back, and so does a snapshot of "
        "it that was not yet answered"
    )
    return kept


def print_forgotten(forgotten: Forgotten, kept: list[str]) -> None:
    """Print what was deleted and what was not."""
    table = Table("deleted", "rows")
    for name, rows in forgotten._asdict().items():
        table.add_row(name.replace("_", " "), "not looked for" if rows is None else str(rows))
    stdout.print(table)
    stdout.print("not deleted:")
    for sentence in kept:
        stdout.print(f"- {sentence}", markup=False, highlight=False, soft_wrap=True)
