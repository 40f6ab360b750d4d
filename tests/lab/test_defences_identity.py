"""A directory of results belongs to one experiment; its files survive crashes."""

from dataclasses import replace
from pathlib import Path

import pytest

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.lab.defences.records import EVIDENCE, ROWS
from radarstream.lab.defences.study import reference_among
from radarstream.lab.study import kind
from radarstream.lab.study.record import RECORD, write_record
from radarstream.lab.study.rows import RowFile
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.job.replaying import record as replay_record
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.prompt import Task
from tests.lab.defence_studies import (
    Bench,
    make_dataset,
    make_history,
    read_rows,
    static_dataset,
    stored_record,
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path / "out")
    bench.run(static_dataset(2))
    return bench


def test_another_place_of_attacks_is_refused_by_name(bench: Bench) -> None:
    rows = (bench.out / ROWS).read_bytes()
    with pytest.raises(ConfigurationError, match="place that attacks.*--no-resume"):
        bench.experiment(static_dataset(2), conditions=["pia@m2"])
    assert (bench.out / ROWS).read_bytes() == rows


def test_a_name_keeps_its_meaning(bench: Bench) -> None:
    other = Spec("radar", "radar", (("pair_scale", 0.3),))
    with pytest.raises(ConfigurationError, match="radar: options"):
        bench.experiment(static_dataset(2), [other])


def test_only_the_wording_of_prompts_that_were_asked_counts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = stored_record(bench.out)
    assert set(record.prompts) == {Task.ATOMIC_ANSWER, Task.ANSWER_FROM_DOCUMENTS}
    digests = replay_record.prompt_digests()
    with monkeypatch.context() as patched:
        changed = digests | {Task.SYNTHESISE_ANSWERS.value: "other"}
        patched.setattr(replay_record, "prompt_digests", lambda: changed)
        bench.experiment(static_dataset(2))
    bench.run(static_dataset(2))  # which asks nothing and forgets nothing
    again = stored_record(bench.out)
    assert again.prompts == record.prompts
    with monkeypatch.context() as patched:
        changed = digests | {Task.ATOMIC_ANSWER.value: "other"}
        patched.setattr(replay_record, "prompt_digests", lambda: changed)
        with pytest.raises(ConfigurationError, match="wording of the prompts atomic_answer"):
            bench.experiment(static_dataset(2))


def test_a_new_judge_takes_the_place_of_the_old(bench: Bench) -> None:
    experiment = bench.experiment(static_dataset(2))
    for judge in ("small", "large"):
        experiment.results(ScriptedGenerator(model_id=judge))
    record = stored_record(bench.out)
    assert record.notes == ("judged by large",)


def test_what_was_noted_of_other_questions_is_forgotten(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "notes")
    data = make_dataset(make_history(0, ["Rome", "Bern"]), make_history(1, ["Oslo"] * 3))
    whole = bench.run(data, "vanilla", ["benign", "stale@1"])
    noted = [note for note in whole.record.notes if "without 1 of the questions" in note]
    assert len(noted) == 1
    part = bench.run(data, "vanilla", ["benign"], limit=1)
    assert not set(noted) & set(part.record.notes)
    again = bench.run(data, "vanilla", ["stale@1"])
    assert set(noted) <= set(again.record.notes)


def test_a_torn_last_line_is_removed_and_a_damaged_one_named(bench: Bench) -> None:
    path = bench.out / ROWS
    whole = path.read_bytes()
    first = whole.splitlines(keepends=True)[0]
    path.write_bytes(whole + first[:50])
    assert len(read_rows(bench.out)) == 8
    RowFile(path).close()
    assert path.read_bytes() == whole
    path.write_bytes(whole.replace(b'"contender":"radar"', b'"contender":7', 1))
    with pytest.raises(ConfigurationError, match=r"rows.jsonl line 1 is damaged \(contender"):
        read_rows(bench.out)
    path.write_bytes(b"{\n" + whole)
    with pytest.raises(ConfigurationError, match="line 1 is damaged"):
        read_rows(bench.out)
    for damaged in ("{}", "[" * 50_000, "9" * 5_000):
        (bench.out / RECORD).write_text(damaged)
        with pytest.raises(ConfigurationError, match=r"json is damaged \(.*--no-resume"):
            bench.experiment(static_dataset(2))
    assert (bench.out / EVIDENCE).exists()


def test_the_reference_takes_part() -> None:
    contenders = [Spec("vanilla", "vanilla"), Spec("radar", "radar")]
    assert reference_among(contenders, None) == "radar"
    assert reference_among(contenders[:1], None) == "vanilla"
    assert reference_among(contenders, "vanilla") == "vanilla"
    with pytest.raises(ConfigurationError, match="no contender 'astute_rag'"):
        reference_among(contenders, "astute_rag")


def test_contenders_that_only_failed_may_be_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Bench(tmp_path / "out")
    bench.generator.fail_on_text = "Page"
    bench.run(static_dataset(1), "vanilla", ["benign"])
    bench.generator.fail_on_text = None
    monkeypatch.setattr(kind, "code_digest", lambda parts: "other")
    study = bench.run(static_dataset(1), "vanilla", ["benign"])
    assert [row.error for row in study.answered] == [None]
    assert stored_record(bench.out).code == "other"


def test_every_run_is_remembered(bench: Bench) -> None:
    bench.run(static_dataset(2))
    bench.run(static_dataset(2), command="radarstream evaluate --again")
    record = stored_record(bench.out)
    assert [run.command for run in record.runs] == ["", "radarstream evaluate --again"]
    assert record.runs[0].settings == record.settings
    assert {run.revision for run in record.runs} == {record.revision}


def test_a_study_of_another_kind_is_refused_by_name(bench: Bench) -> None:
    made = bench.experiment(static_dataset(2)).record
    write_record(bench.out, replace(made, kind="sources"))
    with pytest.raises(ConfigurationError, match="holds a study of sources. .*--no-resume"):
        bench.experiment(static_dataset(2))
