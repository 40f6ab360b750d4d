"""The page of a study of rerankers: its figures, its pools, hostile texts inert."""

from dataclasses import replace

import polars as pl
import pytest

from radarstream.defenses import registry
from radarstream.lab.pages.retrieval import RETRIEVAL, view_of
from radarstream.lab.retrieval.records import RerankingRow
from radarstream.lab.retrieval.scoring import ATTACKS
from radarstream.lab.retrieval.study import RetrievalStudy
from tests.lab.pages.attribution_pages import hostile_data
from tests.lab.retrieval_studies import METHODS, Bench, results
from tests.pipelines.pages.page_checks import ParsedPage, check_inert
from tests.pipelines.pages.report_run import IMAGE


@pytest.fixture(scope="module", autouse=True)
def methods():
    with pytest.MonkeyPatch.context() as patch:
        for name, method in METHODS.items():
            patch.setitem(registry.RERANKERS, name, method)
        yield


def written(study: RetrievalStudy) -> str:
    RETRIEVAL.report(study.out, study.record, study.store)
    return (study.out / "report.html").read_text("utf-8")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> RetrievalStudy:
    bench = Bench(tmp_path_factory.mktemp("study") / "out")
    return bench.run("poisonedrag,hijack", "drop,grada", defences=("vanilla", "radar"))


def test_the_page_opens_with_what_rerankers_let_in(study):
    shown = ParsedPage(written(study)).text
    assert "Under all attacks together 100% of the questions have a planted text" in shown
    assert "Questions with a planted text among the first 3: undefended ○, reranked ●" in shown
    for words in ("What it costs", "before vanilla", "before radar", "clean recall",
                  "Cost of one pool"):  # fmt: skip
        assert words in shown


def test_a_study_of_few_questions_by_rules_is_called_a_trial(study):
    shown = ParsedPage(written(study)).text
    assert "Rules stand in the place of models" in shown
    assert "With 3 questions even large differences may not be significant" in shown


def with_difference(
    study: RetrievalStudy, name: str, group: str, quantity: str, value: float
) -> str:
    """The page's words where one difference is significant and there is no other."""
    found = results(study)
    cells = []
    for cell in found.cells:
        kept = {}
        if (cell.contender, cell.condition) == (name, group):
            kept = {quantity: replace(cell.differences[quantity], value=value, p_holm=0.001)}
        cells.append(replace(cell, differences=kept))
    changed = replace(found, cells=tuple(cells))
    view = view_of(study.record, study.store, changed, pl.DataFrame())
    return " ".join([view.sentence, *view.more])


def test_the_verdict_names_only_a_reranker_that_lets_fewer_in_and_tells_costs(study):
    more, fewer = (with_difference(study, "grada", ATTACKS, "poison_hit", v) for v in (0.5, -0.5))
    assert "no reranker lowers this significantly" in more
    assert "where nobody reranks, and" in fewer and "behind grada, which keeps" in fewer
    for value, words in ((-0.5, "fewer"), (0.5, "more")):
        shown = with_difference(study, "grada", "benign", "clean_kept", value)
        assert f"significantly {words} than the undefended order" in shown


def test_every_pool_shows_its_candidates_in_both_orders(study):
    text = written(study)
    page = ParsedPage(text)
    assert len([1 for tag, attrs in page.tags if tag == "details" and attrs.get("id")]) == 3 * 3
    row = next(r for r in study.store.of(RerankingRow).values()
               if r.condition == "poisonedrag" and r.contender == "grada")  # fmt: skip
    scores = [f"score {one.score:.3g}" for one in row.candidates if one.score is not None]
    assert scores and any(score in page.text for score in scores)
    for words in ("planted", "suspect", "outranked", "attacker's aim", "Ben South", "Ada North"):
        assert words in page.text


def test_without_an_attack_nothing_was_planted(tmp_path):
    text = written(Bench(tmp_path / "out").run("", "drop"))
    assert "No text was planted." in ParsedPage(text).text


def test_a_failed_reranking_is_told(tmp_path):
    bench = Bench(tmp_path / "out")
    bench.generator = replace(bench.generator, fail_on_text="Belbrook")
    shown = ParsedPage(
        written(bench.run("injection", "drop:asks=true", defences=("vanilla",)))
    ).text
    assert "1 failed" in shown and "failed: ModelError" in shown


def test_hostile_texts_are_inert(tmp_path):
    options = {"dataset": hostile_data(), "command": IMAGE, "notes": (IMAGE,)}
    bench = Bench(tmp_path / "out")
    check_inert(written(bench.run("poisonedrag", "drop", defences=("vanilla",), **options)))
