"""A patient liar with and without a ledger, on scripted models: promises, and their cost."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from radarstream.pipelines.cli.app import app
from radarstream.pipelines.evaluation.scoring import is_correct
from radarstream.pipelines.evaluation.sources.playing import Contender, Oracle, Played, Stage
from radarstream.pipelines.evaluation.sources.study import (
    FLAGS,
    flagged,
    honest_losses,
    played,
)
from radarstream.pipelines.evaluation.sources.worlds import (
    WORLDS,
    Campaign,
    attacked_histories,
    honest_histories,
    liar_of,
)
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.sites import key_of
from radarstream.schemas.sources import LedgerRules
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
    return sum(s.hit for s in play.steps if s.confirmed >= at_least and not s.alone)


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

    @pytest.mark.parametrize("wrong", [{"steps": 1}, {"steps": 14}, {"days": 0.0}])
    def test_campaigns_that_cannot_be(self, wrong: dict[str, float]):
        with pytest.raises(ConfigurationError):
            Campaign(**wrong)


class TestTarget:
    def test_where_truth_is_sparse_the_liar_wins_without_a_ledger(self, sparse: Stage):
        play = sparse.play(Contender("radar"), RULES, oracle=Oracle())
        assert all(step.hit for step in play.steps)
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
        assert all(step.hit for step in sparse.play(LEDGER, RULES).steps)

    def test_the_same_play_gives_the_same_answers(self, sparse: Stage, defended: Played):
        assert sparse.play(LEDGER, RULES, oracle=Oracle()) == defended


class TestCosts:
    def test_mistaken_blame_costs_honest_sites_and_depends_on_nothing_but_the_seed(
        self, sparse: Stage
    ):
        oracle = Oracle(0.5, seed=3)
        found = [played(sparse, SPARSE, LEDGER, RULES, oracle) for _ in range(2)]
        assert found[0] == found[1]
        assert found[0].honest_loss > 0.0
        assert found[0].worst_loss < 1.0
        snapshots = [snapshot for history in sparse.histories for snapshot in history]
        blamed = [
            [o.blamed(s, step) for step, s in enumerate(snapshots)]
            for o in (oracle, replace(oracle, seed=4))
        ]
        assert blamed[0] != blamed[1]
        assert all(s.documents[0] in names for s, names in zip(snapshots, blamed[0], strict=True))

    def test_false_flags_cost_the_unknown_and_hardly_the_known(self, models: Models):
        campaign = replace(CAMPAIGN, questions=2, steps=2)
        results = flagged(Stage(honest_histories(DUEL, campaign), models), DUEL, 1.0, RULES)
        assert [r.flags for r in results] == [*FLAGS, *FLAGS]
        unknown, known = results[: len(FLAGS)], results[len(FLAGS) :]
        assert unknown[1].weight == pytest.approx(1 / (1 + 2 ** (-1 / 90)))
        assert [r.weight for r in known[:3]] == [1.0, 1.0, 1.0]
        for before, after in zip(unknown, unknown[1:], strict=False):
            assert after.weight < before.weight
        for stranger, friend in zip(unknown[1:], known[1:], strict=True):
            assert friend.weight > stranger.weight > 0.0


def test_the_command_writes_tables_and_results(tmp_path: Path):
    small = ["--questions", "1", "--steps", "2", "--priors", "1", "--attack", "pia"]
    command = ["evaluate-sources", "--dry-run", *small, "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    written = json.loads((tmp_path / "out" / "results.json").read_text())
    assert written["record"]["campaign"]["attack"] == "pia"
    assert len(written["results"]["attacks"]) == 3 * 9
    tables = (tmp_path / "out" / "tables.md").read_text()
    assert tables.count("| defence |") == 3
    assert "k=2, one honest answer: attack success" in result.stdout


@pytest.mark.parametrize("priors", ["", "x", "0", "-1", "11", "nan"])
def test_priors_that_cannot_be(tmp_path: Path, priors: str):
    command = ["evaluate-sources", "--dry-run", "--priors", priors, "--out", str(tmp_path)]
    result = CliRunner().invoke(app, command)
    assert isinstance(result.exception, ConfigurationError)
