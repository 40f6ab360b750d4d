"""Questions with results (the RobustRAG family) and attack targets (PoisonedRAG), by content."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from radarstream.connectors.files.reader import read_records
from radarstream.lab.files import robust_rag
from radarstream.lab.files.robust_rag import LONG_FORM, UNDATED, literal
from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.records import Limits
from radarstream.schemas.snapshot import Provenance, Query, SearchSnapshot
from tests.connectors.files.test_files_readers import DATA, outcome


def outcomes(
    directory: Path, value: object, limits: Limits | None = None
) -> list[SearchSnapshot | ReasonClass]:
    path = directory / "file.json"
    text = value if isinstance(value, str) else json.dumps(value)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    limits = limits or Limits()
    return [outcome(record, limits) for record in read_records(path, limits)]


def item(**members: object) -> dict[str, object]:
    return {
        "question": "What share sleeps apart?",
        "correct answer": ["15%"],
        "expanded answer": ["fifteen percent", "not 32%", "15%"],
        "incorrect answer": "32%",
        "incorrect_context": ["It is 32%.", "Yes, 32%."],
        "context": [
            {"title": "T", "text": "15% do.", "link": "https://a.example"},
            {"title": "No text", "link": "https://b.example"},
        ],
        "question id": "20231013_1",
    } | members


def test_question_with_results(tmp_path) -> None:
    (snapshot,) = outcomes(tmp_path, [item()])
    assert snapshot.query == Query.from_text("What share sleeps apart?")
    assert snapshot.observed_at == datetime(2023, 10, 13, tzinfo=UTC)
    assert snapshot.provenance is Provenance.ARCHIVED
    assert [(d.rank, d.title, d.text, d.url) for d in snapshot.documents] == [
        (1, "T", "15% do.", "https://a.example"),
        (2, "No text", "", "https://b.example"),
    ]
    assert snapshot.labels.answers == ("15%", "fifteen percent")
    assert snapshot.labels.target == "32%"
    assert snapshot.labels.false_passages == ("It is 32%.", "Yes, 32%.")


def test_lists_written_as_text_read_the_same(tmp_path) -> None:
    names = ("context", "incorrect_context", "correct answer", "expanded answer")
    as_text = item() | {name: repr(item()[name]) for name in names}
    assert outcomes(tmp_path, [as_text]) == outcomes(tmp_path, [item()])


def test_item_without_id_or_expansions(tmp_path) -> None:
    bare = item(**{"correct answer": "15%"})
    del bare["expanded answer"], bare["question id"]
    items = [item(**{"question id": identity}) for identity in ("20239999_1", "abc", "2023_1", 7)]
    found = outcomes(tmp_path, [bare, *items])
    assert [snapshot.observed_at for snapshot in found] == [UNDATED] * 5
    assert (found[0].labels.answers, found[0].query.tags) == (("15%",), ())


def test_biography_is_tagged(tmp_path) -> None:
    (snapshot,) = outcomes(tmp_path, [item(long_gen="biogen")])
    assert snapshot.query.tags == (LONG_FORM,)
    assert snapshot.query.id == Query.from_text("What share sleeps apart?").id


def test_unusable_items_leave_the_others_alone(tmp_path) -> None:
    found = outcomes(
        tmp_path,
        [
            item(), item(question=None) | {"question": ""}, item(context="plain text"),
            item(context="[1, 2"), item(context="[__import__('os').getcwd()]"),
            item(context=[["no object"]]), {"context": []}, item(context=[]),
        ],
    )  # fmt: skip
    assert found[1:-1] == [
        ReasonClass.OUT_OF_RANGE, ReasonClass.WRONG_TYPE, ReasonClass.WRONG_TYPE,
        ReasonClass.WRONG_TYPE, ReasonClass.WRONG_TYPE, ReasonClass.MISSING_FIELD,
    ]  # fmt: skip
    assert isinstance(found[0], SearchSnapshot)
    assert found[-1].documents == ()


def test_literal_parses_lists_only_and_never_evaluates() -> None:
    for text, value in [
        ("['a', 'b\\d']", ["a", "b\\d"]), (" ['a']\n", ["a"]), ("[Redacted]", "[Redacted]"),
        ("[" * 5000, "[" * 5000), ("[" + "-" * 90_000 + "1]", "[" + "-" * 90_000 + "1]"),
        ("['\x00']", "['\x00']"), ("plain", "plain"), ("open('x')", "open('x')"), (["a"], ["a"]),
    ]:  # fmt: skip
        assert literal(text) == value


def test_literal_is_bounded(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(robust_rag, "LITERAL_CHARACTERS", 20)
    assert literal("[" + "1," * 9 + "]") == [1] * 9
    found = outcomes(tmp_path, [item(context="[" + "1," * 10 + "]")])
    assert found == [ReasonClass.OVERSIZED_RECORD]


MEMBERS = st.sampled_from([*item(), "adv_texts", "yearly_contexts", "title", "text", "2015"])


def target(**members: object) -> dict[str, object]:
    return {
        "id": "test1", "question": "How many episodes?", "correct answer": "23",
        "incorrect answer": "24", "adv_texts": ["There are 24.", "It has 24."],
    } | members  # fmt: skip


def test_targets_are_labels_without_documents(tmp_path) -> None:
    first, second = outcomes(tmp_path, {"test1": target(), "test2": target(question="Who?")})
    assert first.query == Query.from_text("How many episodes?")
    assert (first.documents, first.observed_at) == ((), UNDATED)
    assert first.labels.answers == ("23",)
    assert first.labels.target == "24"
    assert first.labels.false_passages == ("There are 24.", "It has 24.")
    assert second.query.text == "Who?"
    assert outcomes(tmp_path, [target()]) == [first]


def test_bad_targets_leave_the_others_alone(tmp_path) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps({"a": target(), "b": target(adv_texts=3), "c": 5, "d": target()}))
    records = list(read_records(path))
    assert [record.position for record in records] == [1, 2, 3, 4]
    assert [record.reason for record in records[1:3]] == [ReasonClass.WRONG_TYPE] * 2
    assert records[2].payload == b"5"
    assert records[3].payload == records[0].payload


def test_formats_may_share_a_file_and_gzip(tmp_path) -> None:
    year = {"answer": ["Cid"], "docs": ["Cid leads."]}
    history = {"question": "Who leads?", "yearly_contexts": {"2015": year}, "context": "ignored"}
    path = tmp_path / "file.json.gz"
    path.write_bytes(gzip.compress(json.dumps([item(), history, target()]).encode()))
    found = [outcome(record, Limits()) for record in read_records(path)]
    assert [snapshot.observed_at.year for snapshot in found] == [2023, 2015, 1970]


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.text("a[]'\x00\ud800,", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MEMBERS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON_VALUES)
def test_no_json_breaks_the_reader(tmp_path, value) -> None:
    for found in outcomes(tmp_path, value):
        assert isinstance(found, SearchSnapshot | ReasonClass)


@pytest.mark.parametrize(
    ("name", "items", "documents"),
    [("realtimeqa_dev", 50, 2356), ("biogen_dev", 10, 269), ("poisonedrag_nq", 100, 0)],
)
def test_real_files_are_read_whole(name, items, documents) -> None:
    path = DATA / f"{name}.json"
    if not path.is_file():
        pytest.skip(f"{path} is absent; set RADARSTREAM_DATA to its directory")
    found = [outcome(record, Limits()) for record in read_records(path)]
    assert all(isinstance(snapshot, SearchSnapshot) for snapshot in found)
    assert (len(found), sum(len(s.documents) for s in found)) == (items, documents)
    assert all(s.labels.answers and s.labels.target for s in found)
    assert all(s.labels.false_passages for s in found)
