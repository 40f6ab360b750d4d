"""Data sets of every format as histories, and what they hold."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from radarstream.lab.files.robust_rag import UNDATED
from radarstream.lab.study.datasets import changes_of, digest_of, load_dataset
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Query
from tests.builders import make_snapshot

DATA = Path(os.environ.get("RADARSTREAM_DATA", Path(__file__).parents[3] / "shared" / "data"))


def written(directory: Path, value: object, name: str = "set.json") -> Path:
    path = directory / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def year(answer: str, **members: object) -> dict[str, object]:
    return {"answer": [answer], "docs": [{"title": "T", "content": f"{answer} leads."}]} | members


def history(question: str, **years: dict[str, object]) -> dict[str, object]:
    contexts = {name.removeprefix("y"): block for name, block in years.items()}
    return {"question": question, "yearly_contexts": contexts}


def listed(question: str, **members: object) -> dict[str, object]:
    return {
        "question": question,
        "correct answer": "Ann",
        "incorrect answer": "Bob",
        "incorrect_context": ["Bob leads."],
        "context": [{"title": "T", "text": "Ann leads.", "link": "u"}],
    } | members


def test_yearly_file_is_one_history_per_question(tmp_path) -> None:
    path = written(
        tmp_path,
        [
            history("Who leads?", y2018=year("Ann"), y2015=year("Cid")),
            history("Who follows?", y2016=year("Dan")),
        ],
    )
    data = load_dataset(path)
    assert (data.name, data.snapshots, data.static) == ("set", 3, False)
    assert [s.observed_at.year for s in data.histories[0]] == [2015, 2018]
    assert [s.observed_at.year for s in data.histories[1]] == [2016]
    assert (data.skipped, data.complaint) == ((), None)


def test_snapshots_of_one_question_meet_across_files(tmp_path) -> None:
    early = written(tmp_path, history("Who leads?", y2015=year("Cid")), "early.json")
    late = written(tmp_path, history("who  leads?", y2018=year("Ann")), "late.json")
    data = load_dataset([late, early])
    assert data.name == "late+early"
    ((one, other),) = data.histories
    assert (one.observed_at.year, other.observed_at.year) == (2015, 2018)
    assert load_dataset(tmp_path).histories == data.histories
    assert load_dataset(tmp_path).name == tmp_path.name


def test_static_list(tmp_path) -> None:
    data = load_dataset(written(tmp_path, [listed("Who?"), listed("Whose?")]))
    assert data.static
    assert [len(h) for h in data.histories] == [1, 1]
    assert not data.histories[0][0].query.long_form
    biography = written(tmp_path, [listed("Who?", long_gen="biogen")], "bio.json")
    assert load_dataset(biography).histories[0][0].query.long_form


def test_snapshot_lines(tmp_path) -> None:
    moments = [datetime(2025, 1, day, tzinfo=UTC) for day in (3, 1, 2)]
    lines = [encode(make_snapshot(["a"], observed_at=m)).decode() for m in moments]
    data = load_dataset(written(tmp_path, "\n".join(lines), "days.jsonl"))
    assert [s.observed_at.day for s in data.histories[0]] == [1, 2, 3]
    assert data.name == "days"


def test_what_is_not_usable_is_counted_with_its_reason(tmp_path) -> None:
    items = [listed("Who?"), listed("Whose?", context=3), {"x": 1}, listed("who?")]
    data = load_dataset(written(tmp_path, items))
    assert len(data.histories) == 1
    assert [reason for reason, _ in data.skipped] == ["wrong_type", "missing_field", "repeated"]
    assert [words.split(":")[0].split()[-1] for _, words in data.skipped] == ["2", "3", "4"]
    assert data.complaint.startswith("3 items skipped: 1 wrong_type, 1 missing_field, 1 repeated")
    assert "set.json item 2: context: Input should be a valid tuple" in data.complaint
    one = load_dataset(written(tmp_path, items[:2]))
    assert one.complaint.startswith("1 item skipped: 1 wrong_type")


def test_nothing_usable_is_refused(tmp_path) -> None:
    with pytest.raises(ConfigurationError, match="no usable item.*set.json item 1.*nor context"):
        load_dataset(written(tmp_path, [{"question": "Who?"}]))
    with pytest.raises(ConfigurationError, match="does not exist"):
        load_dataset(tmp_path / "absent.json")
    with pytest.raises(ConfigurationError, match="no usable item"):
        load_dataset([])


def test_attack_targets_lend_their_labels_to_snapshots_without_one(tmp_path) -> None:
    targets = {
        "t1": {
            "question": "Who won the cup?",
            "correct answer": "Ann",
            "incorrect answer": "Bob",
            "adv_texts": ["Bob won.", "It was Bob."],
        },
        "t2": {"question": "Who else?", "correct answer": "Cid", "adv_texts": ["x"]},
    }
    snapshot = make_snapshot(["Ann won."], query_id=Query.from_text("Who won the cup?").id)
    lines = written(tmp_path, encode(snapshot).decode(), "s.jsonl")
    data = load_dataset([lines, written(tmp_path, targets, "t.json")])
    (won,), (bare,) = data.histories
    assert won.documents == snapshot.documents
    assert won.labels.answers == ("Ann",)
    assert won.labels.target == "Bob"
    assert won.labels.false_passages == ("Bob won.", "It was Bob.")
    assert (bare.documents, bare.observed_at) == ((), UNDATED)


def test_attack_targets_never_replace_labels(tmp_path) -> None:
    item = history("Who leads?", y2015=year("Cid", incorrect_answer="Dan"), y2016=year("Cid"))
    targets = {"question": "Who leads?", "incorrect answer": "Bob", "adv_texts": ["Bob."]}
    data = load_dataset(written(tmp_path, [item, targets]))
    ((first, second),) = data.histories
    assert (first.labels.target, first.labels.answers) == ("Dan", ("Cid",))
    assert (second.labels.target, second.labels.answers) == ("Bob", ("Cid",))


def test_a_search_that_found_nothing_and_undated_results_are_no_targets(tmp_path) -> None:
    empty = year("Cid", docs=[], incorrect_answer="Dan")
    dated = load_dataset(written(tmp_path, history("Who?", y2015=empty, y2016=year("Ann"))))
    assert [s.labels.target for s in dated.histories[0]] == ["Dan", None]
    undated = written(tmp_path, [listed("Who?"), history("Who?", y2016=year("Ann"))], "b.json")
    assert [s.labels.target for s in load_dataset(undated).histories[0]] == ["Bob", None]


def test_digest_is_of_the_histories(tmp_path) -> None:
    one = load_dataset(written(tmp_path, [listed("Who?"), listed("Whose?")]))
    spaced = written(tmp_path, json.dumps([listed("Who?"), listed("Whose?")], indent=3), "b.json")
    other = load_dataset(spaced)
    assert one.digest == other.digest == digest_of(one.histories)
    assert len(one.digest) == 64
    changed = load_dataset(written(tmp_path, [listed("Who?"), listed("Whose")], "c.json"))
    assert changed.digest != one.digest


def test_statistics_of_histories_as_published(tmp_path) -> None:
    """AAA, ABB, ABC, ABA: 1, 1, 2, 2 questions change never, once or more than once."""
    items = [
        history(f"Q{i}?", y2015=year(h[0]), y2017=year(h[1]), y2018=year(h[2]))
        for i, h in enumerate(("AAA", "ABB", "ABC", "ABA"))
    ]
    found = changes_of(load_dataset(written(tmp_path, items)))
    changes = {n.partition(": ")[2]: text for n, text in found.items() if "changes" in n}
    assert changes == {
        "never": "1 of 4",
        "at least once": "3 of 4",
        "once": "1 of 4",
        "more than once": "2 of 4",
        "adjacent years": "5 of 8",
    }
    assert (found["questions"], found["snapshots"], found["documents"]) == ("4", "12", "12")


def test_statistics_skip_unlabelled_years(tmp_path) -> None:
    items = [history("Q?", y2015=year("A"), y2016={"docs": []}, y2017=year("A"))]
    found = changes_of(load_dataset(written(tmp_path, items)))
    assert found["answer changes: never"] == "1 of 1"


@pytest.mark.parametrize(
    ("name", "questions", "documents"),
    [("realtimeqa_dev.json", 50, 2356), ("realtimeqa_weekly", 80, 576)],
)
def test_real_sets(name, questions, documents) -> None:
    if not (DATA / name).exists():
        pytest.skip(f"{DATA / name} is absent; set RADARSTREAM_DATA to its directory")
    data = load_dataset(DATA / name)
    found = changes_of(data)
    assert data.static
    assert data.complaint is None
    assert (found["questions"], found["documents"]) == (str(questions), str(documents))
    assert not any("changes" in name for name in found)
