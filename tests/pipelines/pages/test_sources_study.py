"""The page of a study of sources: what a ledger changes, also where texts are hostile."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from radarstream.pipelines.evaluation.rates import Rate
from radarstream.pipelines.evaluation.sources.results import Results
from radarstream.pipelines.evaluation.sources.study import SourcesRecord
from radarstream.pipelines.evaluation.sources.worlds import Campaign
from radarstream.pipelines.evaluation.study.row_files import RowStore
from radarstream.pipelines.evaluation.table import Table, TableCell, TableRow
from radarstream.pipelines.pages.sources_study import SOURCES
from tests.pipelines.pages.attribution_pages import HOSTILE
from tests.pipelines.pages.page_checks import Page, check_inert
from tests.pipelines.pages.report_run import IMAGE


@dataclass(frozen=True)
class Result:
    world: str
    contender: str
    attacked: tuple[Rate, ...]
    oracle: str = "exact"


def written(out: Path, *results: Result, words: str = "Attack success") -> str:
    table = Table("t", words, "defence", ("t=0", "after 2"), (
        TableRow(words, (TableCell("100"), TableCell("-"))),
    ))  # fmt: skip
    record = SourcesRecord(
        dataset=words, dataset_digest="0", k=2, seed=0, models={}, settings={}, command=words,
        revision=words, campaign=Campaign(), priors=(1.0,), rules={}, worlds=(), contenders=(),
    )  # fmt: skip
    kind = replace(
        SOURCES,
        frame=lambda *_: None,
        score=lambda *_: Results(results, ()),
        tables=lambda *_: (table,),
    )
    kind.report(out, record, RowStore(out, kind.files))
    return (out / "report.html").read_text("utf-8")


def rates(*hits: int) -> tuple[Rate, ...]:
    return tuple(Rate(hit, 10) for hit in hits)


def test_the_page_opens_with_what_a_ledger_changes(tmp_path):
    text = written(
        tmp_path,
        Result("sparse", "radar", rates(10, 10)),
        Result("sparse", "radar, prior 1", rates(10, 2)),
        Result("sparse", "radar, prior 1", rates(10, 9), oracle="5 % mistaken"),
    )
    shown = Page(text).text
    assert (
        "With a source ledger (radar, prior 1) the attack success at the last snapshot falls from "
        "100% to 20% in the world “sparse”." in shown
    )
    assert "radar, prior 1, sparse, with a ledger: 20%" in shown
    assert "90%" not in shown  # the mistaken oracle is in the tables
    assert "after 2" not in shown  # an empty column
    assert "t=0" in shown


@pytest.mark.parametrize("attacked", [(), (Rate(0, 0),)])
def test_nothing_measured_is_said(tmp_path, attacked):
    text = written(
        tmp_path, Result("w", "radar", attacked), Result("w", "radar, prior 1", attacked)
    )
    assert "Nothing was compared with and without a ledger." in Page(text).text


@pytest.mark.parametrize("words", [*HOSTILE, IMAGE])
def test_hostile_text_is_inert(tmp_path, words):
    bare, ledger = Result(words, words, rates(9)), Result(words, f"{words}, prior 1", rates(1))
    check_inert(written(tmp_path, bare, ledger, words=words))
