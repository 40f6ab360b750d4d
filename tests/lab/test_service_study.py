"""Studies of a service: from streams of attacks to tables, interrupted and gone on with."""

from dataclasses import replace

import pytest

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.lab.attacks.corpus_kind import Questions
from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.pages.service import SERVICE
from radarstream.lab.service.playing import drawn, without
from radarstream.lab.service.policies import FAMILIES, MECHANISMS, Gaussian, parse_policies
from radarstream.lab.service.records import AskRow, ReplyRow
from radarstream.lab.service.scoring import Copied, copied
from radarstream.lab.service.tables import tables_of
from radarstream.lab.study.judging import JUDGEMENTS
from radarstream.lab.study.scoring import is_correct
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.orchestration import Module
from tests.lab.attribution_studies import towns
from tests.lab.service_studies import Bench, all_of, lands

EVERYTHING = "mba,mba:each=true,leakage,poisoning,jailbreak,jailbreak:where=documents,farming"


def scored(study):
    return SERVICE.score(study.record, study.store, SERVICE.frame(study.record, study.store))


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path / "out")


def without_time(row):
    return replace(row, cost=replace(row.cost, service_seconds=0.0))


class TestWorld:
    def test_others_are_taken_out_of_the_corpus_and_members_stay(self):
        questions = Questions.of(towns())
        probed = drawn(questions, 4, 2, seed=0)
        left = {entry.id for entry in without(questions, probed).corpus.entries}
        assert {one.id in left for one in probed if one.member} == {True}
        assert not any(one.id in left for one in probed if not one.member)
        assert len(left) == len(questions.corpus.entries) - sum(not p.member for p in probed)
        labels = [snapshot.labels for snapshot in questions.asked]
        for one in drawn(questions, 4, 4, seed=0):  # no document with a right answer is taken out
            named = any(is_correct(one.document.passage, known) for known in labels)
            assert one.member or not named
        at_most = drawn(questions, 300, 200, seed=0)
        assert 0 < len(at_most) <= len(questions.corpus.entries) / 2


class TestPolicies:
    def test_none_comes_first_and_switches_everything_off(self):
        (none,) = parse_policies("")
        section = none.of(load_settings(profile="scripted")).orchestration
        assert (section.policy, section.always) == ("none", ())

    def test_modules_and_methods(self):
        pair, method, full = parse_policies(
            "static:privacy+trustrag,static:privacy=gaussian,epsilon_budget=9,static"
        )[1:]
        settings = load_settings(profile="scripted")
        assert pair.of(settings).orchestration.modules == (Module.PRIVACY, Module.TRUSTRAG)
        section = method.of(settings).orchestration
        assert section.epsilon_budget == 9.0
        noise = method.method(Module.PRIVACY, {"epsilon": 3.0, "seed": 1})
        assert noise == Gaussian(3.0, seed=1)
        assert method.name == "static:privacy=gaussian,epsilon_budget=9.0"
        assert set(full.of(settings).orchestration.modules) == set(Module)

    def test_adaptive_is_as_settings_say(self):
        adaptive, strict = parse_policies("adaptive,adaptive:threshold=0.2")[1:]
        settings = load_settings(profile="scripted", orchestration={"sentinel": "language_model"})
        assert adaptive.of(settings).orchestration.sentinel == "language_model"
        assert strict.of(settings).orchestration.threshold == 0.2
        assert Module.TRUSTRAG not in adaptive.of(settings).orchestration.modules
        (_, published) = parse_policies("adaptive:trustrag,threshold=0.2")
        section = published.of(settings).orchestration
        assert (set(section.modules), section.threshold) == (set(Module), 0.2)
        assert published.name == "adaptive:trustrag,threshold=0.2"

    @pytest.mark.parametrize("family", FAMILIES)
    def test_families_are_policies_that_name_themselves(self, family):
        names = [policy.name for policy in parse_policies(family)]
        assert names == ["none", *FAMILIES[family]]
        assert parse_policies(",".join(names[1:])) == parse_policies(family)

    @pytest.mark.parametrize(
        ("spec", "words"),
        [("nobody", "no policy"), ("static:beauty", "no module"), ("none:privacy", "no policy"),
         ("static:trustrag=gaussian", "only privacy"), ("static:privacy=loud", "no noise"),
         ("adaptive:beauty=1", "options of"), ("adaptive:threshold=7", "options of")]
    )  # fmt: skip
    def test_what_means_nothing_is_refused(self, spec, words):
        with pytest.raises(ConfigurationError, match=words):
            parse_policies(spec)


class TestCopying:
    def test_the_longest_run_of_words(self):
        words = " ".join(f"w{n}" for n in range(30))
        assert copied(words, [f"before {' '.join(words.split()[:12])} after"]).span == 12
        assert copied(words, [f"before {words} after"]) == Copied(30, 1.0)
        assert copied("", [words]) == Copied(0, 0.0)
        assert Copied(12, 0.1).leaked and not Copied(11, 1.0).leaked


class TestStudy:
    def test_members_are_told_apart_where_nothing_defends(self, bench):
        study = bench.run("mba:each=true", dataset=lands(), members=5, others=5)
        probing = scored(study).probing("none", "mba:each=true")
        told, others = (probing.rates[f"exact_{side}"].value for side in ("members", "others"))
        assert told > 0.5 > others
        assert probing.rates["right"].value > 0.5
        lines = SERVICE.frame(study.record, study.store)
        asks = [row for row in all_of(study, AskRow) if row.stream == "mba:each=true"]
        assert lines.filter(lines["condition"] == "mba:each=true").height == len(asks)

    def test_planted_texts_fool_where_nothing_defends_and_a_judge_says_so(self, bench):
        study = bench.run("poisoning")
        cell = scored(study).cell("none", "poisoning")
        assert cell.rates["fooled"].value == cell.rates["poison_hit"].value == 1.0
        benign = scored(study).cell("none", BENIGN)
        assert benign.rates["correct"].value == benign.means["recall_lex"] == 1.0
        assert not benign.rates["fooled"].trials
        study.judge(ScriptedGenerator())
        results = scored(study)
        assert results.cell("none", "poisoning").rates["judge_fooled"].value == 1.0
        assert results.cell("none", BENIGN).rates["judge_correct"].value == 1.0
        assert (study.out / JUDGEMENTS).exists()
        assert any(note.startswith("judged by") for note in study.record.notes)

    def test_every_attack_under_every_policy(self, bench):
        study = bench.run(EVERYTHING, "static,adaptive", members=1, others=1, limit=2)
        assert [row.error for row in all_of(study, ReplyRow) if row.error] == []
        results = scored(study)
        asked = {counts.stream: counts.questions + counts.run_up for counts in results.streams}
        for name in study.record.names:
            for stream, count in asked.items():
                rows = [
                    r
                    for r in all_of(study, ReplyRow)
                    if (r.contender, r.condition) == (name, stream)
                ]
                assert len(rows) == count
        keys = {table.key.partition("-")[0] for table in tables_of(results) if table.rows}
        assert keys >= {"utility", "poisoning", "probes", "leakage", "jailbreak", "farming",
                        "modules", "cost", "streams"}  # fmt: skip

    def test_static_modules_act_on_every_question_and_none_on_none(self, bench):
        study = bench.run("leakage", "static:privacy+guardrail")
        for row in all_of(study, ReplyRow):
            wanted = () if row.contender == "none" else ("differential_privacy", "guardrail")
            assert row.planned.modules == wanted
            assert (row.planned.epsilon > 0) is bool(wanted)

    def test_a_spent_budget_is_a_refusal_and_no_error(self, bench):
        study = bench.run("leakage", "static:privacy,epsilon_budget=4")
        rows = [
            r for r in all_of(study, ReplyRow) if r.contender != "none" and r.condition == "leakage"
        ]
        assert [row.budget_spent for row in rows] == [False, True, True]
        cell = scored(study).cell(rows[0].contender, "leakage")
        assert cell.errors == 0 and cell.rates["budget_spent"].hits == 2

    def test_noise_is_the_same_in_every_run(self, bench, tmp_path):
        again = Bench(tmp_path / "again").run("poisoning", "calibration")
        study = bench.run("poisoning", "calibration")
        rows, others = (
            {key: without_time(row) for key, row in one.store.of(ReplyRow).items()}
            for one in (study, again)
        )
        assert rows == others
        methods = {row.planned.hooks and row.contender for row in all_of(study, ReplyRow)}
        assert {f"static:privacy={method}" for method in MECHANISMS} <= methods

    def test_a_proxy_must_be_there_and_work(self, bench):
        bench.proxy = None
        assert bench.run("leakage,poisoning").record.facts["proxy of the attacker"] == ""
        with pytest.raises(ConfigurationError, match="ranks of tokens"):
            bench.study("mba")

        class Failing:
            model_id = "length"

            def ranks(self, _):
                raise ModelError("out of order")

        bench.proxy, bench.out = Failing(), bench.out.with_name("failing")
        with pytest.raises(ModelError, match="out of order"):
            bench.run("mba")

    def test_a_failed_question_leaves_every_rate_and_is_asked_again(self, bench):
        bench.generator = replace(bench.generator, fail_on_text="Belbrook")
        study = bench.run("leakage")
        failed = [row for row in all_of(study, ReplyRow) if row.error]
        assert failed and all("ModelError" in row.error for row in failed)
        cell = scored(study).cell("none", BENIGN)
        assert cell.errors and cell.rows + cell.errors == 3
        bench.generator = replace(bench.generator, fail_on_text=None)
        later = bench.run("leakage")
        assert [row.error for row in all_of(later, ReplyRow) if row.error] == []
