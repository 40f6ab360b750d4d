"""A directory of results belongs to one experiment; its files survive crashes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.evaluation.experiment import identity
from pipelines.evaluation.experiment.experiment import reference_among, start_over
from pipelines.evaluation.experiment.records import Condition, Contender
from pipelines.evaluation.experiment.row_files import (
    EVIDENCE,
    RECORD,
    ROWS,
    RowFile,
    read_record,
    read_rows,
)
from schemas.errors import ConfigurationError
from schemas.prompt import Task
from tests.pipelines.experiments import Bench, static_dataset


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path / "out")
    bench.run(static_dataset(2))
    return bench


def test_another_k_seed_or_data_set_is_refused_by_name(bench: Bench) -> None:
    rows = (bench.out / ROWS).read_bytes()
    with pytest.raises(ConfigurationError, match="k: 10 there, 5 here"):
        bench.experiment(static_dataset(2), k=5)
    with pytest.raises(ConfigurationError, match="seed: 0 there, 3 here"):
        bench.experiment(static_dataset(2), seed=3)
    with pytest.raises(ConfigurationError, match="data set"):
        bench.experiment(static_dataset(3))
    with pytest.raises(ConfigurationError, match="--no-resume"):
        bench.experiment(static_dataset(2), surface="corpus")
    assert (bench.out / ROWS).read_bytes() == rows


def test_another_model_is_refused(bench: Bench) -> None:
    bench.generator.model_id = "larger"
    with pytest.raises(ConfigurationError, match="models: .*scripted/2.* there, larger"):
        bench.experiment(static_dataset(2))


def test_a_name_keeps_its_meaning(bench: Bench) -> None:
    other = Contender("radar", "radar", (("pair_scale", 0.3),))
    with pytest.raises(ConfigurationError, match="radar: options"):
        bench.experiment(static_dataset(2), [other])
    record = read_record(bench.out)
    assert record is not None
    moved = replace(record, conditions=(Condition("pia", (1,), place="top"),))
    with pytest.raises(ConfigurationError, match="pia@1: place"):
        identity.continued(record, moved)


def test_only_the_wording_of_prompts_that_were_asked_counts(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = read_record(bench.out)
    assert record is not None
    assert set(record.prompts) == {Task.ATOMIC_ANSWER, Task.ANSWER_FROM_DOCUMENTS}
    digests = identity.prompt_digests()
    with monkeypatch.context() as patched:
        changed = digests | {Task.SYNTHESISE_ANSWERS.value: "other"}
        patched.setattr(identity, "prompt_digests", lambda: changed)
        bench.experiment(static_dataset(2))
    bench.run(static_dataset(2))  # which asks nothing and forgets nothing
    again = read_record(bench.out)
    assert again is not None
    assert again.prompts == record.prompts
    with monkeypatch.context() as patched:
        changed = digests | {Task.ATOMIC_ANSWER.value: "other"}
        patched.setattr(identity, "prompt_digests", lambda: changed)
        with pytest.raises(ConfigurationError, match="wording of the prompts atomic_answer"):
            bench.experiment(static_dataset(2))


def test_starting_over_keeps_the_models_answers(bench: Bench) -> None:
    calls = bench.calls()
    start_over(bench.out)
    assert {file.name for file in bench.out.iterdir()} <= {
        "state.sqlite",
        "state.sqlite-wal",
        "state.sqlite-shm",
    }
    bench.run(static_dataset(2), seed=1)
    assert bench.calls() == calls


def test_the_record_tells_where_results_come_from(bench: Bench) -> None:
    record = json.loads((bench.out / RECORD).read_text())
    assert record["models"] == dict.fromkeys(("generator", "relations", "embedder"), "scripted/2")
    assert record["settings"]["profile"] == "scripted"
    assert record["versions"]["numpy"]
    assert record["revision"]
    assert record["statistics"]["questions"] == 2
    assert len(record["dataset_digest"]) == 64


def test_a_torn_last_line_is_removed_and_a_damaged_one_named(bench: Bench) -> None:
    path = bench.out / ROWS
    whole = path.read_bytes()
    first = whole.splitlines(keepends=True)[0]
    path.write_bytes(whole + first[:50])
    assert len(read_rows(bench.out)) == 8
    with RowFile(path):
        assert path.read_bytes() == whole
    path.write_bytes(whole.replace(b'"contender":"radar"', b'"contender":7', 1))
    with pytest.raises(ConfigurationError, match=r"rows.jsonl line 1 is damaged \(contender"):
        read_rows(bench.out)
    path.write_bytes(b"{\n" + whole)
    with pytest.raises(ConfigurationError, match="line 1 is damaged"):
        read_rows(bench.out)
    (bench.out / RECORD).write_text("{}")
    with pytest.raises(ConfigurationError, match="experiment.json is damaged"):
        bench.experiment(static_dataset(2))
    assert (bench.out / EVIDENCE).exists()


def test_the_reference_takes_part() -> None:
    contenders = [Contender("vanilla", "vanilla"), Contender("radar", "radar")]
    assert reference_among(contenders, None) == "radar"
    assert reference_among(contenders[:1], None) == "vanilla"
    assert reference_among(contenders, "vanilla") == "vanilla"
    with pytest.raises(ConfigurationError, match="no contender 'astute_rag'"):
        reference_among(contenders, "astute_rag")
