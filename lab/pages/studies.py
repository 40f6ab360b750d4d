"""What the pages of all studies share: how rows become results, and results a page and tables.

A kind of study brings a `Kind`. Its page has a sentence, an opening plot, panels, tables and
questions one by one; the same page as Markdown, without plots and questions, is for papers.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import polars as pl
from markupsafe import Markup

from radarstream.connectors.files.directories import write_json
from radarstream.connectors.models.tiers import (
    limits,
    model_card,
    model_facts,
    model_sentence,
    tier_of,
)
from radarstream.lab.pages.cases import Cases
from radarstream.lab.pages.report import render
from radarstream.lab.study.harness import REPORT, RESULTS, TABLES
from radarstream.lab.study.rates import Rate
from radarstream.lab.study.record import RecordT, StudyRecord
from radarstream.lab.study.rows import RowStore
from radarstream.lab.study.table import Table, escaped, markdown
from radarstream.pipelines.pages.frame import Page
from radarstream.pipelines.pages.safe_text import shorten, visible
from radarstream.schemas.wording import counted_noun

FEW_QUESTIONS: Final = 30
LINE_CHARACTERS: Final = 1_000

ResultsT = TypeVar("ResultsT")


@dataclass(frozen=True, slots=True)
class Panel:
    """Plots that belong together, under their address, their title and a note; hidden where there
    are none.
    """

    anchor: str
    title: str
    note: str
    plots: Sequence[Markup]


@dataclass(frozen=True)
class View:
    """What one kind of study shows: a sentence, an opening plot, panels, then all tables, then
    questions one by one: `cases`, or what a template of its own shows of `values` at `#cases`.

    Of `more` sentences, `heads` and `provenance` those that are not in every study.
    """

    title: str
    sentence: str
    words: Mapping[str, str]
    more: Sequence[str] = ()
    plot: Markup | None = None
    panels: Sequence[Panel] = ()
    heads: Sequence[tuple[str, Any]] = ()
    provenance: Sequence[tuple[str, Any]] = ()
    cases: Cases | None = None
    template: str = "study.html.j2"
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind(Generic[RecordT, ResultsT]):
    """How the rows of a directory become a table, a table results, and results tables and a page.

    Tables whose keys begin with one of `long` are for the page alone, and not for a terminal.
    """

    record: type[RecordT]
    files: Mapping[type[Any], str]
    frame: Callable[[RecordT, RowStore], pl.DataFrame]
    score: Callable[[RecordT, RowStore, pl.DataFrame], ResultsT]
    tables: Callable[[RecordT, ResultsT], Sequence[Table]]
    view: Callable[[RecordT, RowStore, ResultsT, pl.DataFrame], View]
    long: tuple[str, ...] = ()

    def report(self, out: Path, record: RecordT, store: RowStore) -> "Report[ResultsT]":
        """Score what a directory holds; write the results, the tables and the page."""
        table = self.frame(record, store)
        results = self.score(record, store, table)
        tables = tuple(self.tables(record, results))
        stored = {"language_model": model_card(record.models), **plain_values(results)}
        write_json(out / RESULTS, stored)
        view = self.view(record, store, results, table)
        page = page_of(record, view)
        values = {"panels": view.panels, "tables_found": tables, "cases": view.cases, **view.values}
        (out / REPORT).write_text(render(view.template, page, **values), encoding="utf-8")
        (out / TABLES).write_text(as_markdown(record, page, tables), encoding="utf-8")
        shown = tuple(one for one in tables if not one.key.startswith(self.long))
        return Report(results, table, stored, shown, page)


@dataclass(frozen=True)
class Report(Generic[ResultsT]):
    """What was written: `stored` is what results.json holds, `tables` are for a terminal."""

    results: ResultsT
    frame: pl.DataFrame
    stored: dict[str, Any]
    tables: tuple[Table, ...]
    page: Page


def plain_values(value: Any) -> Any:
    """Results as JSON has them; a rate with its share and its 95 % interval."""
    if isinstance(value, Rate):
        low, high = value.interval
        return {"hits": value.hits, "trials": value.trials, "value": value.value,
                "low": low, "high": high}  # fmt: skip
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain_values(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {key: plain_values(held) for key, held in value.items()}
    return [plain_values(held) for held in value] if isinstance(value, tuple | list) else value


def page_of(record: StudyRecord, view: View) -> Page:
    """The page, with what every study says of its data, models and code."""
    models = record.models
    links = [
        *((f"#{panel.anchor}", panel.title, panel.plots) for panel in view.panels),
        ("#tables", "Tables", True),
        ("#cases", "Questions", view.cases.shown if view.cases else view.values),
    ]
    return Page(
        title=view.title,
        sentence=view.sentence,
        words=view.words,
        more=(*view.more, *cautions(record)),
        plot=view.plot,
        links=links,
        heads=(
            *view.heads,
            ("half", record.half),
            ("language model", tier_of(models.get("generator", ""))),
        ),
        provenance=[
            ("digest of the data", record.dataset_digest),
            *view.provenance,
            ("revision", record.revision),
            ("seed", record.seed),
            ("seconds", f"{record.seconds:.0f}"),
            *model_facts(models),
            *record.versions.items(),
            *((f"prompt {task}", digest) for task, digest in sorted(record.prompts.items())),
        ],
        notes=(*limits(models), *record.notes),
        command=record.command,
        settings=record.settings,
    )


def cautions(record: StudyRecord) -> Iterator[str]:
    """What keeps the figures from being a measurement."""
    if any(model.startswith("scripted") for model in record.models.values()):
        yield "Rules stand in the place of models, to try the machinery out."
    if len(record.asked) < FEW_QUESTIONS:
        yield (
            f"With {counted_noun(len(record.asked), 'question')} even large differences may not be "
            "significant; this run is a trial, not a measurement."
        )


def as_markdown(record: StudyRecord, page: Page, tables: Sequence[Table]) -> str:
    """The page as Markdown: what was found, all tables, definitions and provenance."""
    origin = "; ".join(f"{name} {value}" for name, value in page.provenance) + "."
    parts = [
        f"# {plain(page.title)}",
        " ".join(map(plain, (page.sentence, *page.more))),
        plain(record.asked_in_words),
        plain(model_sentence(record.models)),
        *(markdown(_visible(table)).strip() for table in tables),
        "### Definitions",
        "\n".join(f"- **{term}**: {meaning}" for term, meaning in page.words.items()),
        "### Provenance",
        f"{plain(origin)}\n\n{fenced(record.command)}",
    ]
    return "\n\n".join(parts) + "\n"


def plain(value: str) -> str:
    """One line of untrusted text that Markdown shows as it is, hidden characters shown."""
    return escaped(shorten(value, LINE_CHARACTERS))


def fenced(value: str) -> str:
    """A block of code that its content cannot end."""
    shown = str(visible(value))
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{shown}\n{fence}"


def _visible(value: Any) -> Any:
    """A table, or a part of one, with hidden characters of names and errors shown."""
    if isinstance(value, tuple):
        return tuple(_visible(part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: _visible(getattr(value, field.name)) for field in fields(value)}
        return type(value)(**parts)
    return shorten(value, LINE_CHARACTERS) if isinstance(value, str) else value
