"""`radarstream corpus`: fill, search, list and prune the documents that were kept."""

from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.progress import Progress
from typer import Argument, Option

from radarstream.connectors.corpus.jsonl import BadLine, Line, read_corpus
from radarstream.connectors.state_table.corpus.listing import newest, statistics
from radarstream.connectors.state_table.corpus.vectors import pending_ids
from radarstream.pipelines.build import build_embedder, existing_engine, shared_corpus
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.terminal import (
    agree,
    cell,
    note,
    print_json,
    print_table,
    print_values,
    printed,
    say,
    stderr,
)
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError, RadarstreamError
from radarstream.schemas.snapshot import Document
from radarstream.schemas.times import milliseconds, now_ms, stored_time
from radarstream.schemas.wording import counted_noun

LINES_AT_ONCE: Final = 500  # added in one transaction
BAD_LINES_SHOWN: Final = 20


app = typer.Typer(help="Store documents and search them.", no_args_is_help=True)


class NothingUsableError(RadarstreamError):
    """Not one line of the file could be used, or nothing was found to delete."""


@app.command()
def add(
    file: Annotated[Path, Argument(help='JSON lines {"text", "title", "url", "id"}.')],
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Add a file of texts; they stay until removed. Bad lines are reported and left out."""
    settings = load_settings(config)
    seen_ms = now_ms()
    corpus, bad, new, known = shared_corpus(settings), list[BadLine](), 0, 0
    lines = read_corpus(file, settings.limits)
    while batch := list(islice(lines, LINES_AT_ONCE)):
        bad += [line for line in batch if isinstance(line, BadLine)]
        good = [line for line in batch if isinstance(line, Line)]
        added = corpus.add(good, seen_ms)
        repeated = len(good) - len({line.document.content_id for line in good})
        new, known = new + added.new, known + added.known + repeated
    shown = bad[:BAD_LINES_SHOWN]
    if as_json:
        found = [line._asdict() for line in shown]
        print_json({"new": new, "known": known, "bad_lines": len(bad), "bad": found})
    else:
        say(f"{new} new texts, {known} known, {len(bad)} bad lines")
        for line in shown:
            note(f"line {line.number}: {line.reason}", 200)
        if len(bad) > len(shown):
            note(f"… and {len(bad) - len(shown)} more")
    if bad and not new + known:
        raise NothingUsableError("no line of the file holds a text")


@app.command()
def embed(
    config: Config = None,
    rebuild: Annotated[
        bool, Option("--rebuild", help="First delete the vectors of another embedder.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Embed the texts that are not embedded yet; otherwise the first search does it."""
    settings = load_settings(config)
    existing_engine(settings)
    corpus, embedder = shared_corpus(settings), build_embedder(settings.embedder)
    dropped = corpus.rebuild(embedder) if rebuild else 0
    with Progress(console=stderr, transient=True) as progress:
        task = progress.add_task("embedding", total=None)
        count = corpus.embed(
            embedder, tell=lambda done, total: progress.update(task, completed=done, total=total)
        )
    if not printed({"embedded": count, "dropped": dropped, "model": embedder.model_id}, as_json):
        say(f"{counted_noun(count, 'text')} embedded, {counted_noun(dropped, 'vector')} deleted")


@app.command()
def search(
    question: Annotated[str, Argument(help="The texts nearest to it are found.")],
    config: Config = None,
    k: Annotated[int, Option("--k", "-k", min=1, max=10_000, help="How many texts.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Show the texts nearest to a question."""
    if not question.strip():
        raise ConfigurationError("the question is empty")
    settings = load_settings(config)
    engine = existing_engine(settings)
    if waiting := len(pending_ids(engine)):
        note(f"embedding {counted_noun(waiting, 'text')} first")
    nearest = shared_corpus(settings).search(question, k, build_embedder(settings.embedder))
    if as_json:
        texts = [
            {"rank": text.document.rank, "similarity": text.similarity, "id": text.id}
            | words_of(text.document)
            for text in nearest
        ]
        print_json({"question": question, "texts": texts})
        return
    rows = (
        (d.rank, f"{text.similarity:.3f}", text.id, cell(d.passage, limit=120), cell(d.url))
        for text in nearest
        for d in (text.document,)
    )
    print_table(("rank", "similarity", "id", "text", "url"), rows)


@app.command("list")
def list_texts(
    config: Config = None,
    limit: Annotated[int, Option(min=1, help="Show at most this many.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List texts, the last seen first."""
    texts = newest(existing_engine(load_settings(config)), limit)
    if as_json:
        values = [
            {name: getattr(text, name) for name in ("id", "name", "own")}
            | {"first_seen": stored_time(text.first_seen_ms)}
            | {"last_seen": stored_time(text.last_seen_ms), "queries": list(text.queries)}
            | words_of(text.document)
            for text in texts
        ]
        print_json({"texts": values})
        return
    rows = (
        (
            text.id,
            stored_time(text.last_seen_ms).replace("T", " "),
            cell(text.name or "added" if text.own else "found", limit=30),
            *(len(text.queries), cell(text.document.passage), cell(text.document.url)),
        )
        for text in texts
    )
    print_table(("id", "seen", "from", "queries", "text", "url"), rows)


@app.command()
def stats(config: Config = None, as_json: AsJson = False) -> None:
    """Count texts, vectors and queries."""
    figures = statistics(existing_engine(load_settings(config)))
    values: dict[str, Any] = figures._asdict()
    for name in ("first_seen", "last_seen"):
        time_ms = values.pop(f"{name}_ms")
        values[name] = None if time_ms is None else stored_time(time_ms)
    values["waiting_for_embedding"] = figures.texts - figures.embedded - figures.unusable
    if not printed(values, as_json):
        print_values({name.replace("_", " "): value for name, value in values.items()})


@app.command()
def remove(
    ids: Annotated[
        list[str] | None, Argument(help="Ids as `corpus list` shows them, or your own ids.")
    ] = None,
    config: Config = None,
    url_prefix: Annotated[
        str, Option(help="Delete all texts whose address begins with this.")
    ] = "",
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete texts for good. Pages that a query finds again come back, if they are archived."""
    if bool(ids) == bool(url_prefix):
        raise ConfigurationError("give ids, or --url-prefix")
    settings = load_settings(config)
    existing_engine(settings)
    corpus = shared_corpus(settings)
    if url_prefix:
        agree(f"delete all texts whose address begins with {url_prefix}?", "delete", yes=yes)
        count = corpus.remove_url_prefix(url_prefix)
    else:
        count = corpus.remove(ids or [])
    _print_deleted(count, as_json=as_json)
    if not count:
        raise NothingUsableError("there is no such text")


@app.command()
def prune(config: Config = None, as_json: AsJson = False) -> None:
    """Delete the oldest pages above corpus.max_texts, and those that no query found for
    corpus.retention_days.
    """
    settings = load_settings(config)
    existing_engine(settings)
    before = datetime.now(UTC) - timedelta(days=settings.corpus.retention_days)
    _print_deleted(shared_corpus(settings).prune(milliseconds(before)), as_json=as_json)


def _print_deleted(count: int, *, as_json: bool) -> None:
    if not printed({"deleted": count}, as_json):
        say(f"{counted_noun(count, 'text')} deleted")


def words_of(document: Document) -> dict[str, Any]:
    """What a document says and where."""
    return {"title": document.title, "text": document.text, "url": document.url}
