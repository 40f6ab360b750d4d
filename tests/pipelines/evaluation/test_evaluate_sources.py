"""A patient liar with and without a ledger, on scripted models: promises, and their cost."""

import json
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from radarstream.pipelines import build
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.evaluation.scoring import is_correct
from radarstream.pipelines.evaluation.sources.playing import Contender, Oracle, Played, Stage
from radarstream.pipelines.evaluation.sources.plays import (
    FLAGS,
    HONEST_DAYS,
    Attack,
    Flags,
    honest_losses,
)
from radarstream.pipelines.evaluation.sources.results import Results
from radarstream.pipelines.evaluation.sources.study import (
    SourcesPlugin,
    SourcesRequest,
    SourcesStudy,
)
from radarstream.pipelines.evaluation.sources.tables import tables_of
from radarstream.pipelines.evaluation.sources.worlds import (
    WORLDS,
    Campaign,
    attacked_histories,
    honest_histories,
    liar_of,
)
from radarstream.pipelines.evaluation.study import answering_code
from radarstream.pipelines.evaluation.study.harness import Study, start_over
from radarstream.pipelines.pages.sources_study import SOURCES
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.sites import key_of
from radarstream.schemas.sources import LedgerRules
from tests.pipelines.evaluation.attribution_studies import WordEmbedder
from tests.scripted_models import scripted_models

MANY, SPARSE, DUEL = WORLDS
CAMPAIGN = Campaign(questions=4, steps=8)
RULES = LedgerRules()
LEDGER = Contender("ledger", source_prior=1.0)


@pytest.fixture(scope="module")
def models() -> Models:
    return scripted_models(script=None)


@pytest.fixture(scope="module")
def sparse(models: Models) -> Stage:
    return Stage(attacked_histories(SPARSE, CAMPAIGN), models)


@pytest.fixture(scope="module")
def defended(sparse: Stage) -> Played:
    return sparse.play(LEDGER, RULES, oracle=Oracle())


def hits(play: Played, *, at_least: int = 0) -> int:
    return sum(s.fooled for s in play.steps if s.confirmed >= at_least and not s.alone)


class TestHistories:
    def test_the_same_lie_from_the_same_site_at_rank_one_of_every_step(self):
        for number, history in enumerate(attacked_histories(SPARSE, CAMPAIGN)):
            assert len(history) == 8
            first = [snapshot.documents[0] for snapshot in history]
            assert {key_of(document) for document in first} == {liar_of(number)}
            assert len({document.text for document in first}) == 1
            for snapshot in history:
                assert [d.rank for d in snapshot.documents] == [1, 2, 3]
                assert snapshot.labels.target in snapshot.documents[0].text
                assert not is_correct(snapshot.labels.target, snapshot.labels)

    def test_the_honest_rest_is_that_of_the_clean_history_a_week_apart(self):
        pairs = zip(
            attacked_histories(DUEL, CAMPAIGN), honest_histories(DUEL, CAMPAIGN), strict=True
        )
        for attacked, honest in pairs:
            for lied, clean in zip(attacked, honest, strict=True):
                moved = [replace(d, rank=d.rank + 1) for d in clean.documents]
                assert list(lied.documents[1:]) == moved
            times = [snapshot.observed_at for snapshot in honest]
            assert {(b - a).days for a, b in zip(times, times[1:], strict=False)} == {7}

    @pytest.mark.parametrize(
        "wrong", [{"steps": 1}, {"steps": 14}, {"days": 0.0}, {"days": float("nan")}, {"days": 1e9}]
    )
    def test_campaigns_that_cannot_be(self, wrong: dict[str, float]):
        with pytest.raises(ConfigurationError):
            Campaign(**wrong)


class TestTarget:
    def test_where_truth_is_sparse_the_liar_wins_without_a_ledger(self, sparse: Stage):
        play = sparse.play(Contender("radar"), RULES, oracle=Oracle())
        assert all(step.fooled for step in play.steps)
        assert not any(step.correct for step in play.steps)

    def test_with_it_the_liar_wins_never_after_two_confirmed_events(self, defended: Played):
        assert hits(defended) > 0
        assert hits(defended, at_least=2) == 0
        assert max(s.confirmed for s in defended.steps if not s.alone) <= 2
        assert sum(s.correct for s in defended.steps) > len(defended.steps) // 4

    def test_honest_sites_lose_nothing_to_a_liar_who_is_told_apart(
        self, sparse: Stage, defended: Played
    ):
        losses = honest_losses(defended, sparse.histories, RULES)
        assert len(losses) > 3
        assert max(losses) == 0.0

    def test_among_many_honest_pages_the_liar_never_wins_anyway(self, models: Models):
        campaign = replace(CAMPAIGN, questions=2, steps=3)
        stage = Stage(attacked_histories(MANY, campaign), models)
        assert hits(stage.play(Contender("radar"), RULES, oracle=Oracle())) == 0

    def test_learning_does_not_help_the_liar(self, sparse: Stage):
        play = sparse.play(replace(LEDGER, learn=True), RULES, oracle=Oracle())
        assert hits(play, at_least=2) == 0

    def test_without_an_oracle_nothing_is_learnt(self, sparse: Stage):
        assert all(step.fooled for step in sparse.play(LEDGER, RULES).steps)

    def test_the_same_play_gives_the_same_answers(self, sparse: Stage, defended: Played):
        assert sparse.play(LEDGER, RULES, oracle=Oracle()) == defended


class TestCosts:
    def test_mistaken_blame_costs_honest_sites_and_depends_on_nothing_but_the_seed(
        self, sparse: Stage
    ):
        oracle = Oracle(0.5, seed=3)
        found = [Attack(LEDGER, SPARSE, oracle).play(sparse, RULES) for _ in range(2)]
        assert found[0] == found[1]
        assert found[0][1].honest_loss > 0.0
        assert found[0][1].worst_loss < 1.0
        snapshots = [snapshot for history in sparse.histories for snapshot in history]
        blamed = [
            [o.blamed(s, step) for step, s in enumerate(snapshots)]
            for o in (oracle, replace(oracle, seed=4))
        ]
        assert blamed[0] != blamed[1]
        assert all(s.documents[0] in names for s, names in zip(snapshots, blamed[0], strict=True))

    def test_false_flags_cost_the_unknown_and_hardly_the_known(self, models: Models):
        campaign = replace(CAMPAIGN, questions=2, steps=2)
        stage = Stage(honest_histories(DUEL, campaign), models)
        unknown, known = (
            [Flags(LEDGER, DUEL, flags, days).play(stage, RULES)[1] for flags in FLAGS]
            for days in (0, HONEST_DAYS)
        )
        assert [row.flags for row in (*unknown, *known)] == [*FLAGS, *FLAGS]
        assert unknown[1].weight == pytest.approx(1 / (1 + 2 ** (-1 / 90)))
        assert [r.weight for r in known[:3]] == [1.0, 1.0, 1.0]
        for before, after in zip(unknown, unknown[1:], strict=False):
            assert after.weight < before.weight
        for stranger, friend in zip(unknown[1:], known[1:], strict=True):
            assert friend.weight > stranger.weight > 0.0


SMALL = Campaign(questions=1, steps=2)


def study(out: Path, models: Models, *priors: float, campaign: Campaign = SMALL) -> SourcesStudy:
    out.mkdir(exist_ok=True)
    settings = load_settings(profile="scripted")
    request = SourcesRequest.of([DUEL], campaign, priors or (1.0,))
    return Study(SourcesPlugin(request, settings, models), models, out)


def lines(out: Path) -> dict[str, list[str]]:
    return {path.name: path.read_text().splitlines() for path in sorted(out.glob("*.jsonl"))}


@pytest.fixture(scope="module")
def played_once(tmp_path_factory: pytest.TempPathFactory, models: Models) -> Path:
    out = tmp_path_factory.mktemp("sources") / "out"
    study(out, models).run()
    return out


@pytest.fixture
def whole(played_once: Path, tmp_path: Path) -> Path:
    """The directory of a study that was played to its end."""
    return Path(copytree(played_once, tmp_path / "whole"))


class TestResuming:
    def test_the_work_is_counted_and_done(self, tmp_path: Path, models: Models):
        first = study(tmp_path, models)
        expected = dict(first.progress.expected)
        assert expected["evidence"] == 4 and expected["radar, prior 1"] == 2 + 10
        first.run()
        assert first.progress.done == first.progress.total and first.progress.seconds_left() == 0.0
        counts = {name: len(rows) for name, rows in lines(tmp_path).items()}
        assert counts == {"attacks.jsonl": 6, "flags.jsonl": 10, "rows.jsonl": 16 * 2}
        assert first.progress.answered == first.progress.wanted == 16 * 2

    def test_a_second_run_plays_nothing(self, whole: Path, models: Models):
        written = lines(whole)
        again = study(whole, models)
        assert again.progress.total == 0
        assert again.progress.answered == again.progress.wanted == len(written["rows.jsonl"])
        again.run()
        assert lines(whole) == written

    def test_an_interrupted_study_goes_on_to_the_same_results(
        self, tmp_path: Path, whole: Path, models: Models, monkeypatch: pytest.MonkeyPatch
    ):
        cut = study(tmp_path / "cut", models)
        original, played = Stage.play, []

        def stopped(self: Stage, *args: object, **options: object) -> Played:
            played.append(args)
            if len(played) == 4:
                raise KeyboardInterrupt
            return original(self, *args, **options)

        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(Stage, "play", stopped)
            cut.run()
        with (cut.out / "rows.jsonl").open("ab") as file:
            file.write(b'{"contender": "rad')  # what a crash leaves of a line
        assert len(lines(cut.out)["attacks.jsonl"]) == 3
        later = study(cut.out, models)
        assert later.progress.total == cut.progress.total - 3
        later.run()
        results, uncut = scored(later), study(whole, models)
        assert results == scored(uncut)
        assert len(results.attacks) == 6 and len(results.flags) == 10

    def test_more_priors_may_come_later(self, whole: Path, models: Models):
        later = study(whole, models, 1.0, 2.0)
        later.run()
        found = scored(later)
        names = list(dict.fromkeys(result.contender for result in found.attacks))
        assert names == [contender.name for contender in later.record.contenders]
        assert {"radar, prior 1, learning", "radar, prior 2, learning"} <= set(names)
        assert {result.contender for result in found.flags} == {"radar, prior 1", "radar, prior 2"}
        headings = [row.heading for row in tables_of(later.record, found)[1].rows]
        assert len(set(headings)) == len(headings) == 20

    def test_another_study_is_refused_until_it_starts_over(self, whole: Path, models: Models):
        slow = replace(SMALL, days=1.0)
        with pytest.raises(ConfigurationError, match="campaign: .* there, .* here"):
            study(whole, models, campaign=slow)
        with pytest.raises(ConfigurationError, match="models: "):
            study(whole, replace(models, embedder=WordEmbedder()))
        start_over(whole, study(whole, models).plugin)
        assert not lines(whole)
        assert study(whole, models, campaign=slow).progress.answered == 0

    def test_other_code_is_refused(
        self, whole: Path, models: Models, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(answering_code, "source_of", lambda name: b"changed")
        with pytest.raises(ConfigurationError, match="vanilla, radar, .* by other code"):
            study(whole, models)

    def test_a_failing_model_ends_the_run_and_is_asked_again(self, tmp_path: Path):
        failing = scripted_models(script=None, fail_on_calls=frozenset(range(99)))
        with pytest.raises(ModelError):
            study(tmp_path, failing).run()
        assert not lines(tmp_path)["attacks.jsonl"]
        assert study(tmp_path, failing).progress.answered == 0


def scored(played: SourcesStudy) -> Results:
    return SOURCES.score(played.record, played.store, SOURCES.frame(played.record, played.store))


def run(*words: object) -> Result:
    build._engine.cache_clear()
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_command_writes_tables_and_results_and_resumes(tmp_path: Path):
    out = tmp_path / "out"
    command = ("evaluate-sources", "--dry-run", "--questions", 1, "--steps", 2, "--priors", 1,
               "--attack", "pia", "--out", out)  # fmt: skip
    result = run(*command)
    assert result.exit_code == 0, (result.output, result.exception)
    written = json.loads((out / "results.json").read_text())
    assert json.loads((out / "study.json").read_text())["campaign"]["attack"] == "pia"
    assert len(written["attacks"]) == 3 * 6
    tables = (out / "tables.md").read_text()
    assert tables.count("| defence |") == 3
    assert "k=2, one honest answer: attack success" in result.stdout
    rows = lines(out)
    (out / "tables.md").unlink()
    again = run(*command, "--table", tmp_path / "answers.parquet")
    assert again.exit_code == 0, (again.output, again.exception)
    assert "96 of 96 answers" in again.stderr
    assert again.stdout == result.stdout and lines(out) == rows
    table = pl.read_parquet(tmp_path / "answers.parquet")
    assert table.height == len(rows["rows.jsonl"]) == 96
    assert table.columns[:4] == ["contender", "condition", "query_id", "step"]
    refused = run(*command, "--days", 3)
    assert "campaign" in str(refused.exception)
    (out / "tables.md").unlink()
    shown = run("report", out)
    assert shown.exit_code == 0, (shown.output, shown.exception)
    assert "report: " in shown.output and (out / "report.html").exists()
    assert (out / "tables.md").read_text() == tables


@pytest.mark.parametrize("priors", ["", "x", "0", "-1", "11", "nan"])
def test_priors_that_cannot_be(tmp_path: Path, priors: str):
    command = ["evaluate-sources", "--dry-run", "--priors", priors, "--out", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, ConfigurationError)
