"""What the pages of all studies share: how rows become results, and results a page and tables. The
same page as Markdown, without plots and questions, is for papers.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import polars as pl
from markupsafe import Markup

from radarstream.connectors.files.directories import write_json
from radarstream.lab.pages.cases import Cases
from radarstream.lab.pages.leads import Lead, costs, opening, trade_offs
from radarstream.lab.pages.report import (
    Tier,
    limits,
    model_card,
    model_facts,
    model_sentence,
    render,
    tier_of,
)
from radarstream.lab.study.frame import words_of
from radarstream.lab.study.harness import REPORT, RESULTS, TABLES
from radarstream.lab.study.rates import Rate
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.results import Results
from radarstream.lab.study.rows import RowStore
from radarstream.lab.study.table import Table, TableCell, TableRow, escaped, markdown
from radarstream.pipelines.pages.frame import Page
from radarstream.pipelines.pages.safe_text import shorten, visible
from radarstream.schemas.wording import counted_noun

FEW_QUESTIONS: Final = 30
LINE_CHARACTERS: Final = 1_000
MOST_LEADS: Final = 3  # sentences
TRADE_OFF: Final = (
    "Every point is a method, with its 95 % intervals. The upper left corner is best. Where "
    "intervals overlap, read no order into the points."
)

ResultsT = TypeVar("ResultsT", bound=Results)


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
class Display(Generic[ResultsT]):
    """How the rows of a kind of study become a table, a table results, and results tables and a
    page: `title`, a sentence and plots of its `leads`, panels of its own, tables, questions one by
    one. `name` is that of the kind.

    Tables whose keys begin with one of `long` are for the page alone, and not for a terminal.
    """

    name: str
    title: str
    files: Mapping[type[Any], str]
    frame: Callable[[StudyRecord, RowStore], pl.DataFrame]
    score: Callable[[StudyRecord, RowStore, pl.DataFrame], ResultsT]
    tables: Callable[[ResultsT], Sequence[Table]]
    leads: Callable[[ResultsT], Sequence[Lead]]
    panels: Callable[[ResultsT], Sequence[Panel]] = lambda _: ()
    cases: Callable[[StudyRecord, RowStore, pl.DataFrame], Cases] | None = None
    long: tuple[str, ...] = ()

    def report(self, out: Path, record: StudyRecord, store: RowStore) -> "Report[ResultsT]":
        """Score what a directory holds; write the results, the tables and the page."""
        table = self.frame(record, store)
        results = self.score(record, store, table)
        tables = tuple(named_reader(record, (*self.tables(results), data_table(record))))
        stored = {"language_model": model_card(record.models), **plain_values(results)}
        write_json(out / RESULTS, stored)
        cases = self.cases(record, store, table) if self.cases else None
        leads = self.leads(results)
        plots = [*trade_offs(leads, results.methods), *costs(results, leads[0])]
        last = Panel("trade-off", "Trade-off and cost", TRADE_OFF, plots)
        panels = [*self.panels(results), last]
        page = self.page(record, results, panels, cases)
        values = {"panels": panels, "tables_found": tables, "cases": cases}
        (out / REPORT).write_text(render("study.html.j2", page, **values), encoding="utf-8")
        (out / TABLES).write_text(as_markdown(record, page, tables), encoding="utf-8")
        shown = tuple(one for one in tables if not one.key.startswith((*self.long, "data")))
        return Report(results, table, stored, shown, page)

    def page(
        self, record: StudyRecord, results: ResultsT, panels: Sequence[Panel], cases: Cases | None
    ) -> Page:
        """The page, with what every study says of its data, models and code."""
        models, leads = record.models, self.leads(results)
        first = results.reference if results.reference in results.methods else results.methods[0]
        sentence, *more = [lead.said(first) for lead in leads[:MOST_LEADS]]
        links = [
            *((f"#{panel.anchor}", panel.title, panel.plots) for panel in panels),
            ("#tables", "Tables", True),
            ("#cases", "Questions", cases and cases.shown),
        ]
        return Page(
            title=f"{self.title} {record.dataset}",
            sentence=sentence,
            words=words_of(self.name)["words"],
            more=(*more, *cautions(record, results)),
            plot=opening(leads, first),
            links=links,
            heads=(
                ("questions", len(record.asked)),
                ("documents each", record.k),
                ("methods", len(results.methods)),
                ("conditions", len(record.conditions)),
                ("half", record.half),
                ("language model", tier_of(models.get("generator", ""))),
            ),
            provenance=[
                ("digest of the data", record.dataset_digest),
                ("revision", record.revision),
                ("seed", record.seed),
                ("seconds", f"{record.seconds:.0f}"),
                *((f"threshold of {name}", f"{t:.6g}") for name, t in record.thresholds.items()),
                *model_facts(models),
                *record.versions.items(),
                *((f"prompt {task}", digest) for task, digest in sorted(record.prompts.items())),
            ],
            notes=(*limits(models), *record.notes),
            command=record.command,
            settings=record.settings,
        )


def data_table(record: StudyRecord) -> Table:
    """What the data set holds, what of it was asked, and what else all runs share."""
    held = {f"in the data set: {name}": value for name, value in record.data.items()}
    facts = {"questions asked": len(record.asked), **record.facts, **held}
    rows = [
        TableRow(shorten(name, LINE_CHARACTERS), (TableCell(shorten(str(value), LINE_CHARACTERS)),))
        for name, value in facts.items()
    ]
    return Table("data", "Data", "quantity", ("value",), tuple(rows))


def named_reader(record: StudyRecord, tables: Sequence[Table]) -> Iterator[Table]:
    """The tables that hold anything; a reader by labels is in every title."""
    reader = record.models.get("generator", "")
    more = f"; reader: {reader}" if tier_of(reader) is Tier.LABELS else ""
    return (replace(table, title=f"{table.title}{more}") for table in tables if table.rows)


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


def cautions(record: StudyRecord, results: Results) -> Iterator[str]:
    """What keeps the figures from being a measurement."""
    if any(model.startswith("scripted") for model in record.models.values()):
        yield "Rules stand in the place of models, to try the machinery out."
    if len(record.asked) < FEW_QUESTIONS:
        yield (
            f"With {counted_noun(len(record.asked), 'question')} even large differences may not be "
            "significant; this run is a trial, not a measurement."
        )
    if errors := sum(cell.errors for cell in results.alone):
        there = errors + sum(cell.rows for cell in results.alone)
        yield f"{errors} of {there} rows failed; they are shown, and scored nowhere."
    if record.left:
        yield "The run was cut short: the same command goes on."


def as_markdown(record: StudyRecord, page: Page, tables: Sequence[Table]) -> str:
    """The page as Markdown: what was found, all tables, definitions and provenance."""
    origin = "; ".join(f"{name} {value}" for name, value in page.provenance) + "."
    parts = [
        f"# {plain(page.title)}",
        " ".join(map(plain, (page.sentence, *page.more))),
        plain(record.asked_in_words),
        plain(model_sentence(record.models)),
        *(markdown(table, plain).strip() for table in tables),
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
