"""`radarstream corpus`: fill, search, list and prune the documents that were kept."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import Progress
from sqlalchemy import Engine

from radarstream.connectors.corpus.jsonl import BadLine, Line, read_corpus
from radarstream.connectors.state_table.corpus.listing import (
    StoredText,
    ids_beginning,
    newest,
    statistics,
)
from radarstream.connectors.state_table.corpus.vectors import pending_ids
from radarstream.pipelines.build import build_embedder, existing_engine, shared_corpus
from radarstream.pipelines.cli.moments import moment
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.terminal import (
    agree,
    cell,
    empty_table,
    note,
    print_json,
    print_values,
    stderr,
    stdout,
)
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.attribution import RankedText
from radarstream.schemas.errors import ConfigurationError, RadarstreamError
from radarstream.schemas.snapshot import Document
from radarstream.schemas.times import milliseconds, stored_time

LINES_AT_ONCE: Final = 500
BAD_LINES_TOLD: Final = 20

app = typer.Typer(help="Store documents and search them.", no_args_is_help=True)


class NothingUsableError(RadarstreamError):
    """Not one line of the file could be used, or nothing was found to delete."""


@app.command()
def add(
    file: Annotated[Path, typer.Argument(help='JSON lines {"text", "title", "url", "id"}.')],
    config: Config = None,
    seen_at: Annotated[
        str, typer.Option(help="When the texts were seen: a time, or a span before now.")
    ] = "0s",
    as_json: AsJson = False,
) -> None:
    """Add a file of texts; they stay until removed. Bad lines are reported and left out."""
    settings, now = load_settings(config), datetime.now(UTC)
    seen_ms = milliseconds(moment(seen_at, "--seen-at", now))
    corpus, bad, new, known = shared_corpus(settings), list[BadLine](), 0, 0
    for batch in batches(read_corpus(file, settings.limits)):
        bad += [line for line in batch if isinstance(line, BadLine)]
        good = [line for line in batch if isinstance(line, Line)]
        added = corpus.add(good, seen_ms)
        repeated = len(good) - len({line.document.content_id for line in good})
        new, known = new + added.new, known + added.known + repeated
    if as_json:
        told = [line._asdict() for line in bad[:BAD_LINES_TOLD]]
        print_json({"new": new, "known": known, "bad_lines": len(bad), "bad": told})
    else:
        stdout.print(f"{new} new texts, {known} known, {len(bad)} bad lines", highlight=False)
        for line in bad[:BAD_LINES_TOLD]:
            note(f"line {line.number}: {line.reason}", 200)
        if len(bad) > BAD_LINES_TOLD:
            stderr.print(f"… and {len(bad) - BAD_LINES_TOLD} more", highlight=False)
    if bad and not new + known:
        raise NothingUsableError("no line of the file holds a text")


@app.command()
def embed(
    config: Config = None,
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="First delete the vectors of another embedder.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Embed what is not yet embedded, which the first search does otherwise."""
    settings = load_settings(config)
    existing_engine(settings)
    corpus, embedder = shared_corpus(settings), build_embedder(settings.embedder)
    dropped = corpus.rebuild(embedder) if rebuild else 0
    with Progress(console=stderr, transient=True) as progress:
        task = progress.add_task("embedding", total=None)
        count = corpus.embed(
            embedder, tell=lambda done, total: progress.update(task, completed=done, total=total)
        )
    if as_json:
        print_json({"embedded": count, "dropped": dropped, "model": embedder.model_id})
    else:
        told = f"{counted_noun(count, 'text')} embedded, {counted_noun(dropped, 'vector')} dropped"
        stdout.print(told, highlight=False)


@app.command()
def search(
    question: Annotated[str, typer.Argument(help="The texts nearest to it are found.")],
    config: Config = None,
    k: Annotated[int, typer.Option("--k", "-k", min=1, max=10_000, help="How many texts.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Show the texts nearest to a question."""
    if not question.strip():
        raise ConfigurationError("the question is empty")
    settings = load_settings(config)
    engine = existing_engine(settings)
    corpus, embedder = shared_corpus(settings), build_embedder(settings.embedder)
    if waiting := len(pending_ids(engine)):
        stderr.print(f"embedding {counted_noun(waiting, 'text')} first", highlight=False)
    found = corpus.search(question, k, embedder)
    if as_json:
        print_json({"question": question, "texts": [described_near(text) for text in found]})
        return
    table = empty_table("rank", "similarity", "id", "text", "url")
    for text in found:
        document = text.document
        near = "" if text.similarity is None else f"{text.similarity:.3f}"
        words = (cell(text.id), cell(document.passage, limit=120), cell(document.url))
        table.add_row(str(document.rank), near, *words)
    stdout.print(table)


@app.command("list")
def list_texts(
    config: Config = None,
    limit: Annotated[int, typer.Option(min=1, help="Number of texts, newest first.")] = 20,
    query: Annotated[str | None, typer.Option(help="Only pages that this query id found.")] = None,
    url_prefix: Annotated[str, typer.Option(help="Only addresses that begin with this.")] = "",
    as_json: AsJson = False,
) -> None:
    """List texts, those seen last first."""
    engine = existing_engine(load_settings(config))
    texts = newest(engine, limit, query_id=query, url_prefix=url_prefix)
    if as_json:
        print_json({"texts": [described(text) for text in texts]})
        return
    table = empty_table("id", "seen", "from", "queries", "text", "url")
    for text in texts:
        origin = text.name or "added" if text.own else "found"
        table.add_row(
            cell(text.id),
            stored_time(text.last_seen_ms).replace("T", " "),
            cell(origin, limit=30),
            str(len(text.queries)),
            cell(text.document.passage),
            cell(text.document.url),
        )
    stdout.print(table)


@app.command()
def stats(config: Config = None, as_json: AsJson = False) -> None:
    """Count texts, vectors and queries."""
    figures = statistics(existing_engine(load_settings(config)))
    values: dict[str, Any] = figures._asdict()
    for name in ("first_seen_ms", "last_seen_ms"):
        moment_ms = values.pop(name)
        values[name.removesuffix("_ms")] = None if moment_ms is None else stored_time(moment_ms)
    values["waiting_for_embedding"] = figures.texts - figures.embedded - figures.unusable
    if as_json:
        print_json(values)
        return
    print_values({name.replace("_", " "): value for name, value in values.items()}, limit=200)


@app.command()
def remove(
    ids: Annotated[
        list[str] | None, typer.Argument(help="Ids, beginnings of ids, or your own ids.")
    ] = None,
    config: Config = None,
    url_prefix: Annotated[str, typer.Option(help="All addresses that begin with this.")] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete texts for good. Pages that a query finds again come back, if they are archived."""
    if bool(ids) == bool(url_prefix):
        raise ConfigurationError("give ids, or --url-prefix")
    settings = load_settings(config)
    engine, corpus = existing_engine(settings), shared_corpus(settings)
    if url_prefix:
        agree(f"delete all texts whose address begins with {url_prefix}?", "delete", yes=yes)
        count = corpus.remove_url_prefix(url_prefix)
    else:
        count = corpus.remove([whole_id(engine, part) for part in ids or []])
    tell_deleted(count, as_json=as_json)
    if not count:
        raise NothingUsableError("there is no such text")


@app.command()
def prune(
    config: Config = None,
    older_than: Annotated[
        str | None,
        typer.Option(help="A time, or a span before now; default: corpus.retention_days."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Delete found texts that were not seen for long, and the oldest above corpus.max_texts."""
    settings, now = load_settings(config), datetime.now(UTC)
    existing_engine(settings)
    span = older_than or f"{settings.corpus.retention_days}d"
    before_ms = milliseconds(moment(span, "--older-than", now))
    tell_deleted(shared_corpus(settings).prune(before_ms), as_json=as_json)


def whole_id(engine: Engine, part: str) -> str:
    """The one id that begins so, or the same, if that is an id or nothing begins so."""
    found = ids_beginning(engine, part)
    if len(found) > 1:
        several = ", ".join(found)
        raise ConfigurationError(f"several ids begin with {part}: {several}")
    return found[0] if found else part


def tell_deleted(count: int, *, as_json: bool) -> None:
    """Print how many texts are gone."""
    if as_json:
        print_json({"deleted": count})
    else:
        stdout.print(f"{counted_noun(count, 'text')} deleted", highlight=False)


def batches(lines: Iterator[Line | BadLine]) -> Iterator[list[Line | BadLine]]:
    """Split into lists, each of which is added in one transaction."""
    while batch := list(islice(lines, LINES_AT_ONCE)):
        yield batch


def described(text: StoredText) -> dict[str, Any]:
    """A text of the corpus as JSON values."""
    return {
        "id": text.id,
        "name": text.name,
        "own": text.own,
        "first_seen": stored_time(text.first_seen_ms),
        "last_seen": stored_time(text.last_seen_ms),
        "queries": list(text.queries),
        **words_of(text.document),
    }


def described_near(text: RankedText) -> dict[str, Any]:
    """A found text as JSON values."""
    rank = text.document.rank
    return {"rank": rank, "similarity": text.similarity, "id": text.id, **words_of(text.document)}


def words_of(document: Document) -> dict[str, str]:
    """What a document says and where."""
    return {"title": document.title, "text": document.text, "url": document.url}
