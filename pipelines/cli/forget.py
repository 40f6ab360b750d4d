"""`radarstream state forget`: delete a query, and say what is left of it and where."""

from typing import Annotated

from typer import Option

from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.state_table.database.compaction import compact
from radarstream.connectors.state_table.queries.forgetting import KEYED_TOPICS, forget
from radarstream.connectors.state_table.queries.lookup import ANYWHERE, queries_named
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config, QueryName, Yes
from radarstream.pipelines.cli.queries import Named, named_query
from radarstream.pipelines.cli.terminal import agree, note, print_json, print_table, printable, say
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.errors import (
    BrokerError,
    ConfigurationError,
    NotFoundError,
    RadarstreamError,
)

QUESTION_UNKNOWN = "the question is not on record; give it with --question"
NOT_REWRITTEN = (
    "the bytes of deleted rows in the database's files, and in its write-ahead log: run the "
    "command again with --if-exists, without --no-rewrite"
)
OF_ANY_QUESTION = {"cached_embeddings"}  # no sign that the query was there
RETRACTED = (
    "published answers and attributions: tombstones were sent, the brokers delete the records when "
    "they compact the topics or retention ends"
)
NOT_RETRACTED = "published answers and attributions in their topics: --retract sends tombstones"
KEPT = (
    "search snapshots, complaints and dead letters in their topics, until their retention ends",
    "exports, replay directories, logs of consumers and backups of the database",
    "your own documents, pages that other queries found too, and the names of sites",
    "a watchlist file that still names the query brings it back, and so does a snapshot of it that "
    "was not yet answered",
)


def forget_query(
    query: QueryName,
    config: Config = None,
    question: Annotated[
        str | None, Option(help="Its question, if the database does not have it.")
    ] = None,
    retract: Annotated[
        bool, Option("--retract", help="Publish tombstones to the topics of its answers.")
    ] = False,
    if_exists: Annotated[
        bool, Option("--if-exists", help="Exit with 0 if there is nothing to delete.")
    ] = False,
    rewrite: Annotated[
        bool,
        Option(
            "--rewrite/--no-rewrite",
            help="Rewrite the database's files, where the bytes of deleted rows stay otherwise. "
            "Workers wait meanwhile: on PostgreSQL for each table in turn.",
        ),
    ] = True,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete a query with all traces, and say what could not be deleted here.

    Exit code 1 if nothing was found about it: its id may be misspelt.
    """
    settings = load_settings(config)
    engine = existing_engine(settings)
    named = named_query(engine, query, ANYWHERE) or _unrecorded(query, retract=retract)
    if named.query_id != query:
        note(f"the query that asks this: {named.query_id}")
    query, question = named.query_id, question or named.question
    name = repr(printable(query))
    advice = "" if question else f" Cached model answers stay: {QUESTION_UNKNOWN}."
    agree(f"Delete everything about query {name}?{advice}", f"delete query {name}", yes=yes)
    forgotten = forget(engine, query, question)
    deleted = forgotten._asdict()
    found = any(deleted[key] for key in deleted.keys() - OF_ANY_QUESTION)
    in_files = compact(engine).left if rewrite else (NOT_REWRITTEN,)
    failure = _publish_tombstones(settings, query) if retract else None
    topics = RETRACTED if retract and failure is None else NOT_RETRACTED
    kept = [*in_files, topics, *KEPT]
    if forgotten.cached_answers is None:
        kept.insert(0, f"cached model answers: {QUESTION_UNKNOWN}")
    if question and (alike := queries_named(engine, question, ANYWHERE)):
        kept.insert(0, f"queries that ask the same: {', '.join(map(printable, alike))}")
    if as_json:
        print_json({"query_id": query, "deleted": deleted, "kept": kept})
    elif found or retract:
        print_table(
            ("deleted", "rows"),
            (
                (name.replace("_", " "), "not looked for" if rows is None else rows)
                for name, rows in deleted.items()
            ),
        )
        say("not deleted:")
        for sentence in kept:
            say(f"- {sentence}")
    if failure is not None:
        raise failure
    if not (found or retract or if_exists):  # tombstones are also for what was deleted before
        raise NotFoundError(f"nothing was found about query {name}")


def _unrecorded(text: str, *, retract: bool) -> Named:
    """The query of an id or a question of which no row is left.

    Raises ConfigurationError where a tombstone is wanted and its key, the id, is not known.
    """
    if text == "".join(text.split()):
        return Named(text, None)
    if retract:
        raise ConfigurationError(
            f"no query on record asks {printable(text)!r}: --retract needs its id, under which "
            "its answers were published"
        )
    return Named(text, text)


def _publish_tombstones(settings: Settings, query: str) -> RadarstreamError | None:
    """Publish to the topics of answers and attributions that the query was forgotten.

    After the database: an event that was unsent cannot come behind its tombstone. Returns what
    went wrong, so that the command can still say what was deleted.
    """
    try:
        with KafkaSink(settings.kafka) as sink:
            for topic in KEYED_TOPICS:
                sink.retract(topic, query)
    except (BrokerError, ConfigurationError) as error:
        return error
    return None
