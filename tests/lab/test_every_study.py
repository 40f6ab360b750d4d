"""What all kinds of studies have in common: resumed, grown, refused."""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from radarstream.defenses.registry import ATTRIBUTORS, RERANKERS
from radarstream.lab.study import kind as studied
from radarstream.lab.study.halves import Half, Split
from radarstream.lab.study.harness import Study
from radarstream.lab.study.rows import RowFile
from radarstream.schemas.errors import ConfigurationError
from tests.lab import attribution_studies, defence_studies, retrieval_studies, service_studies
from tests.lab.attribution_studies import EVERYBODY, NOBODY, towns
from tests.lab.defence_studies import make_dataset, make_history


class Defences:
    """Studies of defences, called as the others are."""

    class Bench(defence_studies.Bench):
        def study(self, attack: str, contenders: str, **options: Any) -> Study:
            data = options.pop("dataset", HISTORIES)
            asked = {"reference": "radar", **options} if contenders == "radar" else options
            return self.experiment(data, contenders, ("benign", attack), **asked)

        def run(self, attack: str, contenders: str, **options: Any) -> Study:  # type: ignore[override]
            study = self.study(attack, contenders, **options)
            study.run()
            return study


HISTORIES = make_dataset(make_history(0, ["Rome", "Bern"]), make_history(1, ["Oslo"]))

# What is asked, and what comes later.
KINDS: dict[str, tuple[Any, tuple[str, str], tuple[str, str]]] = {
    "defences": (Defences, ("pia@1", "radar"), ("poison@1", "vanilla")),
    "attribution": (attribution_studies, ("injection", NOBODY), ("hijack", EVERYBODY)),
    "retrieval": (retrieval_studies, ("injection", "none,drop"), ("hijack", "grada")),
    "service": (service_studies, ("mba", "static:audit"), ("poisoning", "static:guardrail")),
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for registry, rigs in ((ATTRIBUTORS, attribution_studies), (RERANKERS, retrieval_studies)):
        for name, method in rigs.METHODS.items():
            monkeypatch.setitem(registry, name, method)
    return str(request.param)


def rows_of(study: Any) -> dict[Any, Any]:
    """All rows of a study by their keys, without seconds."""
    found = {}
    for kind in study.kind.files:
        for key, row in study.store.of(kind).items():
            if hasattr(row, "cost"):
                row = without_seconds(replace(row, cost=without_seconds(row.cost)))
            found[kind, key] = row
    return found


def without_seconds(value: Any) -> Any:
    names = [name for name in value.__dataclass_fields__ if "seconds" in name]
    return replace(value, **dict.fromkeys(names, 0.0))


@pytest.mark.parametrize("place", range(4))
def test_an_interrupted_study_goes_on_to_the_same_rows(
    kind: str, place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also between two files of a batch."""
    rigs, asked, _ = KINDS[kind]
    append, calls, cut_at = RowFile.append, count(), -1

    def cut(self: RowFile, lines: Any) -> None:
        if lines and next(calls) == cut_at:
            raise KeyboardInterrupt
        append(self, lines)

    with monkeypatch.context() as patch:
        patch.setattr(RowFile, "append", cut)
        whole = rigs.Bench(tmp_path / "whole").run(*asked)
    appends, calls = next(calls), count()
    cut_at = place * (appends - 1) // 3
    bench = rigs.Bench(tmp_path / "out")

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(RowFile, "append", cut)
        bench.run(*asked)
    file = bench.out / "rows.jsonl"
    if file.exists():
        file.write_bytes(file.read_bytes() + b'{"contender": "mar')  # as a crash would leave it
    later = bench.run(*asked)
    assert later.progress.total > 0
    assert rows_of(later) == rows_of(whole)

    def done() -> tuple[bytes, int, int, list[str]]:
        """What is in the file of rows, and how much models were asked."""
        ranked = bench.proxy.asked if kind == "service" else ()
        embedder = bench.embedder
        embedded = embedder.log if kind == "defences" else embedder.asked
        return file.read_bytes(), len(bench.generator.log), len(embedded), [*ranked]

    before = done()
    again = bench.run(*asked)
    assert (again.progress.total, done()) == (0, before)


def test_more_of_everything_may_come_later(kind: str, tmp_path: Path) -> None:
    rigs, asked, more = KINDS[kind]
    bench = rigs.Bench(tmp_path / "out")
    first = bench.run(*asked).record
    rows = (bench.out / "rows.jsonl").read_bytes()
    record = bench.run(*more).record
    assert (bench.out / "rows.jsonl").read_bytes().startswith(rows)
    assert record.conditions == (*first.conditions, more[0])
    assert record.names == (*first.names, more[1])


def test_the_record_says_how_to_repeat_a_study(kind: str, tmp_path: Path) -> None:
    rigs, asked, _ = KINDS[kind]
    bench = rigs.Bench(tmp_path / "out")
    bench.run(*asked, command="radarstream evaluate ...")
    record = json.loads((bench.out / "study.json").read_text())
    assert (record["kind"], record["command"]) == (kind, "radarstream evaluate ...")
    embedder = "scripted/3" if kind == "defences" else "words"
    ids = {"generator": "scripted/3", "relations": "scripted/3", "embedder": embedder}
    assert record["models"].items() >= ids.items()
    assert record["settings"]["profile"] == "scripted"
    assert record["versions"]["numpy"] and record["revision"] and record["seconds"] > 0
    assert kind != "defences" or record["data"]["questions"] == "2"
    assert (len(record["dataset_digest"]), len(record["code"])) == (64, 12)
    assert kind == "retrieval" or "answer_from_documents" in record["prompts"]


def others(kind: str) -> Iterator[tuple[dict[str, Any], str]]:
    """What makes another study, and what is said of it."""
    yield {"k": 1}, r"k: \d+ there, 1 here"
    yield {"dataset": towns(2)}, r"data set \(its content\)"
    match kind:
        case "attribution":
            yield {"limit": 2}, "texts of the corpus: 18 there, 12 here; questions: 3 there, 2"
        case "retrieval":
            yield {"pool": 4}, "clean passages in a pool"
            yield {"split": Split.TEST}, "split"
            yield {"half": Half.TEST}, "half"
        case "defences":
            yield {"seed": 3}, "seed: 0 there, 3 here"
        case _:
            yield {"members": 1}, "members"
            yield {"limit": 2}, "questions"


def test_another_study_or_other_code_is_refused(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rigs, asked, more = KINDS[kind]
    bench = rigs.Bench(tmp_path / "out")
    bench.run(*asked)
    files = {file: file.read_bytes() for file in bench.out.glob("*.json*")}
    for other, words in others(kind):
        with pytest.raises(ConfigurationError, match=words):
            bench.study(*asked, **other)
    bench.study(*asked)
    for name in ("generator", "gradients") if kind == "retrieval" else ("generator",):
        model = getattr(bench, name)
        setattr(bench, name, replace(model, model_id="larger"))
        with pytest.raises(ConfigurationError, match=f"{name}: scripted/3 there, larger here"):
            bench.study(*asked)
        setattr(bench, name, model)
    monkeypatch.setattr(studied, "code_digest", lambda parts: "changed")
    for wanted in (asked, more):  # a table would show the old rows beside the new
        with pytest.raises(ConfigurationError, match="computed by other code.*--no-resume"):
            bench.study(*wanted)
    assert files == {file: file.read_bytes() for file in bench.out.glob("*.json*")}
