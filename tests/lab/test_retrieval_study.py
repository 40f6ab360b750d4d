"""Studies of rerankers: from planted texts to tables, interrupted and gone on with."""

from dataclasses import replace

import pytest

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.defenses import registry
from radarstream.lab.models.scripted_words import ScriptedWords
from radarstream.lab.retrieval.pools import parse_conditions
from radarstream.lab.retrieval.records import GuardedRow, PoolRow, RerankingRow
from radarstream.lab.retrieval.rerankers import parse_rerankers, relevant_pairs, served
from radarstream.lab.retrieval.tables import tables_of
from radarstream.lab.study.datasets import Dataset, digest_of
from radarstream.lab.study.halves import Split
from radarstream.lab.study.rows import PassageRow
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Labels
from tests.lab.attribution_studies import obedient, towns
from tests.lab.retrieval_studies import METHODS, Bench, all_of, cell, results
from tests.lab.test_whitebox_hotflip import Shelf
from tests.scripted_models import scripted_models

SECONDS = [f"{stage}_seconds" for stage in ("atomic", "relation", "selection", "generation")]


@pytest.fixture(autouse=True)
def methods(monkeypatch):
    for name, method in METHODS.items():
        monkeypatch.setitem(registry.RERANKERS, name, method)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path / "out")


TUNING = "Who is the mayor of Tethra in year 1?"
NOT_TUNING = ("Who is the mayor of Belbrook?", "Who is the mayor of Corvane?")


def asked_of(*questions):
    """Towns in which these questions are asked."""
    histories = tuple(
        (replace(history[0], query=replace(history[0].query, text=question)),)
        for history, question in zip(towns(len(questions)).histories, questions, strict=True)
    )
    return Dataset("asked", histories, digest_of(histories))


class TestPools:
    def test_the_nearest_clean_passages_and_everything_that_was_planted(self, bench):
        study = bench.run("poisonedrag", "none", pool=4)
        for pool in all_of(study, PoolRow):
            planted = [one for one in pool.candidates if one.planted]
            assert len(planted) == (5 if pool.condition == "poisonedrag" else 0)
            assert len(pool.candidates) - len(planted) == 4
            near = [one.similarity for one in pool.candidates]
            assert near == sorted(near, reverse=True)

    def test_planted_texts_are_pooled_however_far_they_are(self, bench):
        study = bench.run("injection", "none", pool=1)
        assert {len(pool.candidates) for pool in all_of(study, PoolRow)} == {1, 6}

    def test_right_passages_are_clean_ones_that_name_a_right_answer(self, bench):
        study = bench.run("injection", "none", pool=18)
        texts = {row.id: row.document.text for row in all_of(study, PassageRow)}
        for pool in all_of(study, PoolRow):
            right = {texts[one.id] for one in pool.candidates if one.right}
            assert len(right) == 6
            assert all(pool.labels.answers[0] in text for text in right)

    def test_a_question_that_cannot_be_attacked_says_why_and_is_left_out(self, bench):
        whole = towns()
        first = whole.histories[0][0]
        spared = replace(first, labels=Labels(first.labels.answers))
        histories = ((spared,), *whole.histories[1:])
        study = bench.run("injection", dataset=Dataset("t", histories, digest_of(histories)))
        (left,) = (pool for pool in all_of(study, PoolRow) if not pool.candidates)
        assert (left.condition, left.query_id) == ("injection", "q-0")
        assert "no target" in left.detail
        keys = [(row.contender, row.query_id) for row in all_of(study, RerankingRow)
                if row.condition == "injection"]  # fmt: skip
        assert keys == [(name, id_) for name in ("none", "drop") for id_ in ("q-1", "q-2")]
        assert results(study).pools[1].unattackable == 1


class TestStudy:
    def test_a_reranker_that_knows_keeps_planted_texts_out(self, bench):
        study = bench.run("poisonedrag", "drop", defences=("vanilla",))
        bare, knows = (cell(study, name, "poisonedrag") for name in ("none", "drop"))
        assert bare.rates["poison_hit"].value == 1.0 and knows.rates["poison_hit"].value == 0.0
        assert knows.rates["clean_kept"].value == 1.0 > bare.rates["clean_kept"].value
        fooled, right = (cell(study, n, "poisonedrag", "vanilla") for n in ("none", "drop"))
        assert fooled.rates["fooled"].value == right.rates["correct"].value == 1.0
        benign = cell(study, "drop", "benign")
        assert benign.rates["poison_hit"].value is None and benign.rates["clean_kept"].value == 1.0

    def test_every_reranker_of_the_registry_before_two_defences(self, bench):
        study = bench.run("injection", "all", defences=("vanilla", "radar"), limit=2)
        names = [name for name in registry.RERANKERS if name not in METHODS]
        rows, answers = all_of(study, RerankingRow), all_of(study, GuardedRow)
        assert {row.contender for row in rows} >= set(names)
        assert [row.error for row in (*rows, *answers) if row.error] == []
        assert len(rows) == len(registry.RERANKERS) * 2 * 2
        assert len(answers) == 2 * len(rows)
        tables = {table.key for table in tables_of(results(study))}
        assert {"poison", "clean", "order", "before_vanilla", "before_radar", "cost"} <= tables
        assert set(study.record.models) >= {"gradients", "masked", "attention"}

    def test_rows_are_keyed_and_kept_documents_are_answered_from_in_their_new_order(self, bench):
        study = bench.run("poisonedrag", "prog_rank,drop", defences=("vanilla",))
        for row in all_of(study, RerankingRow):
            pool = study.store.of(PoolRow)[row.condition, row.query_id]
            assert sorted(one.found_rank for one in row.candidates) == list(
                range(1, len(pool.candidates) + 1)
            )
            assert len(row.kept) <= 3
            snapshot = study.kind.searched(row.condition, row.query_id, row.kept)
            texts = study.store.of(PassageRow)
            said = [texts[pool.candidates[rank - 1].id].document.text for rank in row.kept]
            assert [document.text for document in snapshot.documents] == said

    def test_costs_are_counted_and_clean_passages_are_probed_once(self, bench):
        study = bench.run("injection", "prog_rank:runs=4,gmtp", pool=6)
        rows = [r for r in all_of(study, RerankingRow) if r.contender == "prog_rank:runs=4"]
        assert {row.cost.passes for row in rows} == {4 * 6, 4 * 11}
        (saliences,) = {r.cost.passes for r in all_of(study, RerankingRow)
                        if r.contender == "gmtp" and r.condition == "benign"}  # fmt: skip
        assert saliences == 6
        bare = [row for row in all_of(study, RerankingRow) if row.contender == "none"]
        assert {row.cost.passes + row.cost.calls for row in bare} == {0}

    def test_what_fails_is_a_row_with_an_error_and_tried_again(self, bench):
        bench.generator = ScriptedGenerator(script=obedient, fail_on_text="Belbrook")
        study = bench.run("injection", "drop:asks=true", defences=("vanilla",))
        failing = cell(study, "drop:asks=true", "injection")
        assert (failing.rows, failing.errors) == (2, 1)
        assert failing.differences["poison_hit"].pairs == 2
        assert cell(study, "none", "injection", "vanilla").errors == 1
        bench.generator = ScriptedGenerator(script=obedient)
        study = bench.run("injection", "drop:asks=true", defences=("vanilla",))
        assert [r for r in all_of(study, RerankingRow) if r.error] == []
        assert [r for r in all_of(study, GuardedRow) if r.error] == []


class TestThresholds:
    def test_a_reference_is_fitted_on_the_tuning_split_and_kept(self, bench):
        data = asked_of(TUNING, *NOT_TUNING)
        assert [Split.TUNING.holds(h[0].query.text) for h in data.histories] == [True, False, False]
        study = bench.run("injection", "gmtp", dataset=data, split=Split.TEST)
        assert (
            set(study.record.asked) == {"q-1", "q-2"}
            and study.record.facts["questions for thresholds"] == 1
        )
        probed = [query for batch in bench.gradients.log for query in batch]
        tuning = {q.passage for q in probed if Split.TUNING.holds(q.question)}
        first = data.histories[0][0]
        assert tuning == {document.passage for document in first.documents}
        assert 0.0 < study.record.thresholds["gmtp"] < 1.0
        again = bench.run("injection,hijack", "gmtp", dataset=data, split=Split.TEST)
        assert again.record.thresholds == study.record.thresholds

    def test_without_a_tuning_question_the_pool_is_its_own_reference_and_this_is_said(self, bench):
        study = bench.run("injection", "gmtp", dataset=asked_of(*NOT_TUNING))
        assert study.record.thresholds == {}
        assert any("gmtp takes its threshold from each pool" in n for n in study.record.notes)
        bench.out = bench.out.with_name("given")
        assert bench.run("injection", "gmtp:reference=0.5").record.thresholds == {}

    def test_relevant_passages_name_a_right_answer_to_their_own_question(self):
        snapshots = [history[0] for history in towns(wrong=[1]).histories]
        found = relevant_pairs(snapshots, 0)
        assert [question for question, _ in found] == [
            *[snapshots[0].query.text] * 6, *[snapshots[2].query.text] * 6
        ]  # fmt: skip
        assert all("Ada North" in passage for _, passage in found[:6])


class TestLists:
    def test_rerankers(self):
        (bare, one, other) = parse_rerankers("prog_rank:runs=4,gate_temperature=0.1,grada")
        assert (bare.name, other.name) == ("none", "grada")
        assert one.name == "prog_rank:runs=4,gate_temperature=0.1"
        assert dict(one.options)["gate_temperature"] == 0.1
        assert {s.name for s in parse_rerankers("all")} == {*registry.RERANKERS}

    def test_conditions(self):
        assert parse_conditions("") == ("benign",)
        every = parse_conditions("all,poisonedrag-benign")
        assert every[0] == "benign" and every[-1] == "poisonedrag-benign"
        assert {"poisonedrag", "injection", "hijack"} < set(every) and "pia" not in every
        with pytest.raises(ConfigurationError, match=r"no attack.* hotflip.* black-box"):
            parse_conditions("sabotage")

    def test_rerankers_that_models_cannot_serve_are_left_out(self):
        specs = parse_rerankers("all")
        kept, _, notes = served(specs, lambda _: scripted_models(), insisted="all")
        assert "grada" in [spec.name for spec in kept]
        assert any(note.startswith("prog_rank is left out") for note in notes)
        with pytest.raises(ConfigurationError, match="ProgRank needs gradients"):
            served(parse_rerankers("prog_rank"), lambda _: scripted_models(), insisted="prog_rank")


class TestRefusals:
    def test_no_document(self, bench):
        histories = tuple((replace(h[0], documents=()),) for h in towns().histories)
        with pytest.raises(ConfigurationError, match="bring no documents"):
            bench.study("injection", dataset=Dataset("t", histories, digest_of(histories)))


class TestWhiteBox:
    @pytest.fixture
    def armed(self, bench):
        bench.words = ScriptedWords()
        bench.kept = Shelf()
        return bench

    def test_texts_are_written_beforehand_and_kept(self, armed):
        study = armed.run("hotflip:steps=2,candidates=4", "drop")
        (pools,) = {tuple(one.id for one in pool.candidates if one.planted)
                    for pool in all_of(study, PoolRow)
                    if pool.condition != "benign" and pool.query_id == "q-0"}  # fmt: skip
        assert len(pools) == 5
        assert all(id_.startswith("hotflip:steps=2,candidates=4/q-0/") for id_ in pools)
        before = len(armed.words.log)
        armed.out = armed.out.with_name("again")
        assert armed.run("hotflip:steps=2,candidates=4", "drop").store.of(PoolRow)
        assert len(armed.words.log) == before

    def test_budgets_are_conditions_of_their_own(self, armed):
        study = armed.run("hotflip:steps=0,hotflip:steps=3", "none")
        texts = study.store.of(PassageRow)
        short, long = (texts[f"hotflip:steps={n}/q-0/1"].document.text for n in (0, 3))
        assert short != long
        assert {p.condition for p in all_of(study, PoolRow)} == set(study.record.conditions)

    def test_a_budget_is_given_to_attacks_that_know_it_and_say_nothing_else(self):
        found = parse_conditions("white-box,hotflip:steps=9", {"steps": 2, "candidates": 3})
        assert "hotflip:steps=2,candidates=3" in found
        assert "hotflip:steps=9,candidates=3" in found
        assert parse_conditions("liar", {"steps": 9})[1] == "liar:cycles=2"
        with pytest.raises(ConfigurationError, match="options of .*hotflip"):
            parse_conditions("hotflip:nothing=1")

    def test_without_weights_it_is_refused(self, bench):
        with pytest.raises(ConfigurationError, match="needs the weights of the retriever"):
            bench.run("hotflip", "none")
