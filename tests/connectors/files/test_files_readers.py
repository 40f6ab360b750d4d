"""Replay formats: everything in a file comes out, as a snapshot or with the reason why not."""

import gzip
import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from radarstream.connectors.files import json_items
from radarstream.connectors.files.json_items import PARTS, JsonItems
from radarstream.connectors.files.lines import EXCERPT_BYTES
from radarstream.connectors.files.reader import read_records
from radarstream.schemas.codec import decode_record, encode, envelope, structured
from radarstream.schemas.codec.text import capped
from radarstream.schemas.errors import ConfigurationError, InputError, ReasonClass
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import Provenance, Query, SearchSnapshot
from tests.builders import tiny_limits
from tests.hostile_batches import peak_below
from tests.wire_samples import SNAPSHOT

DATA = Path(os.environ.get("RADARSTREAM_DATA", Path(__file__).parents[4] / "shared" / "data"))
LIMITS = Limits()


def outcome(record: RawRecord, limits: Limits = LIMITS) -> SearchSnapshot | ReasonClass:
    try:
        return decode_record(record, limits=limits, now=None)
    except InputError as error:
        assert error.detail.isprintable()
        return error.reason


def outcomes(path: Path, limits: Limits = LIMITS) -> list[SearchSnapshot | ReasonClass]:
    return [outcome(record, limits) for record in read_records(path, limits)]


# --- snapshots in the wire format -------------------------------------------------------------


def test_jsonl_reads_bare_and_enveloped_lines_and_passes_bad_ones_on(tmp_path) -> None:
    path = tmp_path / "snapshots.jsonl"
    bare = encode(SNAPSHOT)
    lines = [b"\xef\xbb\xbf" + bare, b"", b'{"schema":', structured(envelope(SNAPSHOT), bare)]
    path.write_bytes(b"\r\n".join(lines))
    records = list(read_records(path))
    assert [record.position for record in records] == [1, 3, 4]
    assert {record.source for record in records} == {path.as_posix()}
    assert [outcome(record) for record in records] == [
        SNAPSHOT,
        ReasonClass.MALFORMED_JSON,
        SNAPSHOT,
    ]
    assert records[1].payload == b'{"schema":'


def test_damaged_gzip_ends_with_a_record_that_says_so(tmp_path) -> None:
    path = tmp_path / "snapshots.jsonl.gz"
    whole = gzip.compress(os.urandom(3 * EXCERPT_BYTES).hex().encode() + b"\n")
    path.write_bytes(whole[: len(whole) // 2])
    assert outcomes(path)[-1] is ReasonClass.INVALID_ENCODING


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_line_at_the_limit_is_read_and_one_byte_more_is_not(tmp_path, end: bytes) -> None:
    path = tmp_path / "snapshots.jsonl"
    size = len(encode(SNAPSHOT))
    path.write_bytes(encode(SNAPSHOT) + b"\n" + encode(SNAPSHOT) + b" " + end)
    assert outcomes(path, tiny_limits(record_bytes=size)) == [
        SNAPSHOT,
        ReasonClass.OVERSIZED_RECORD,
    ]


def test_oversized_line_is_never_held_in_memory(tmp_path) -> None:
    path = tmp_path / "snapshots.jsonl"
    with path.open("wb") as stream:
        for _ in range(64):
            stream.write(b"x" * 2**20)
        stream.write(b"\n" + encode(SNAPSHOT) + b"\n")
    with peak_below(8 * 2**20):
        records = list(read_records(path, tiny_limits(record_bytes=2**20)))
    assert records[0].payload == b"x" * EXCERPT_BYTES
    assert [outcome(record) for record in records] == [ReasonClass.OVERSIZED_RECORD, SNAPSHOT]


# --- yearly histories -------------------------------------------------------------------------


def year(answer: str, **members: object) -> dict[str, object]:
    page = {"title": "T", "url": "https://example.org", "snippet": "short", "content": answer}
    return {"answer": [answer], "docs": [page], **members}


def written(directory: Path, value: object, name: str = "history.json") -> Path:
    path = directory / name
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def test_yearly_items_cleaned_and_capped(tmp_path) -> None:
    later = year("Ann", incorrect_answer="Bob", incorrect_context=["Bob leads.", "Yes, Bob."])
    later["docs"].append({"title": None, "snippet": "only a snippet", "content": " "})
    item = {"question": "Who leads?", "yearly_contexts": {"2018": later, "2015": year("Cid")}}
    first, second = outcomes(written(tmp_path, item))
    assert first.observed_at == datetime(2015, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert second.observed_at.year == 2018
    assert first.query == second.query == Query.from_text("Who leads?")
    assert first.provenance is Provenance.DATE_RESTRICTED
    assert (first.labels.answers, first.labels.target) == (("Cid",), None)
    assert (second.labels.answers, second.labels.target) == (("Ann",), "Bob")
    assert second.labels.false_passages == ("Bob leads.", "Yes, Bob.")
    assert [(d.rank, d.title, d.text) for d in second.documents] == [
        (1, "T", "Ann"),
        (2, "", "only a snippet"),
    ]
    page = {"content": "a\x00b\x1b[2J\ud83d" + "é" * 100, "url": "u\x07"}
    block = {"answer": "Cid", "docs": [page], "incorrect_context": "Bob leads."}
    item = {"question": "Who?", "provenance": "simulated", "yearly_contexts": {"2015": block}}
    path = written(tmp_path, item)
    (snapshot,) = outcomes(path, tiny_limits(document_bytes=20))
    assert snapshot.documents[0].text == "ab[2J\ufffd" + "é" * 6
    assert snapshot.documents[0].url == "u"
    assert snapshot.provenance is Provenance.SIMULATED
    assert snapshot.labels.answers == ("Cid",)
    assert snapshot.labels.false_passages == ("Bob leads.",)


def test_yearly_bad_parts_leave_the_others_alone(tmp_path) -> None:
    good = {"question": "Who?", "yearly_contexts": {"2015": year("Cid")}}
    mixed = {
        "question": "Who?",
        "yearly_contexts": {"2015": year("Cid"), "2016": {"answer": "x"}, "201x": year("Cid")},
    }
    items = [
        good, 7, {"yearly_contexts": {"2015": year("Cid")}}, {"question": "Who?"},
        {"question": "Who?", "yearly_contexts": {}}, {**good, "provenance": "rumour"},
        {"question": "x" * 2_001, "yearly_contexts": {"2015": year("Cid")}}, mixed, good,
    ]  # fmt: skip
    records = list(read_records(written(tmp_path, items)))
    found = [outcome(record) for record in records]
    assert [f if isinstance(f, ReasonClass) else "read" for f in found] == [
        "read", ReasonClass.WRONG_TYPE, ReasonClass.MISSING_FIELD, ReasonClass.MISSING_FIELD,
        ReasonClass.MISSING_FIELD, ReasonClass.OUT_OF_RANGE, ReasonClass.OUT_OF_RANGE, "read",
        ReasonClass.MISSING_FIELD, ReasonClass.WRONG_TYPE, "read",
    ]  # fmt: skip
    assert [record.position for record in records] == list(range(1, 12))
    assert json.loads(records[1].payload) == 7
    assert json.loads(records[8].payload) == {"2016": {"answer": "x"}}
    assert records[8].detail.startswith("year '2016': ")


def test_a_yearly_document_without_a_known_text_is_no_empty_page(tmp_path) -> None:
    for page, named in [
        ({"title": "T", "url": "u", "text": "Ann leads."}, "but 'title', 'url', 'text'"),
        ({"title": "T", "url": "u"}, "but 'title', 'url'"),
        ({"content": None, "Content": "Ann leads."}, "but 'content', 'Content'"),
        ({}, "but nothing"),
    ]:
        block = {"docs": [{"content": "Bob leads.", "score": 3}, page]}
        item = {"question": "Who?", "yearly_contexts": {"2015": block, "2016": year("Cid")}}
        refused, good = read_records(written(tmp_path, item))
        assert (refused.reason, refused.detail) == (
            ReasonClass.MISSING_FIELD,
            f"year '2015': a document has neither content nor snippet, {named}",
        )
        assert isinstance(outcome(good), SearchSnapshot)


def test_yearly_pages_and_files_may_be_empty(tmp_path) -> None:
    block = {"docs": [{"content": "", "source": "CNN"}, {"snippet": " ", "content": None}, ""]}
    (snapshot,) = outcomes(
        written(tmp_path, {"question": "Q?", "yearly_contexts": {"2015": block}})
    )
    assert [document.text.strip() for document in snapshot.documents] == [""] * 3
    assert [outcomes(written(tmp_path, text)) for text in ("", "[]", " [ ] \n")] == [[]] * 3


@pytest.mark.parametrize("tail", ['{"question": "W', "{]", "}", "x", "[" * 100_000, ""])
def test_yearly_broken_syntax_keeps_the_items_before_it(tmp_path, tail: str) -> None:
    good = json.dumps({"question": "Who?", "yearly_contexts": {"2015": year("Cid")}})
    path = written(tmp_path, f"[{good}, {tail}")
    records = list(read_records(path))
    assert isinstance(outcome(records[0]), SearchSnapshot)
    assert outcome(records[1]) is ReasonClass.MALFORMED_JSON
    assert records[1].payload == tail.encode()[:EXCERPT_BYTES]
    assert len(records) == 2


def test_items_before_the_damage_of_a_gzip_file_are_read(tmp_path) -> None:
    pages = [os.urandom(4 * EXCERPT_BYTES // 10).hex() for _ in range(10)]
    items = [
        {"question": f"Which page {n}?", "yearly_contexts": {"2015": {"docs": [{"content": page}]}}}
        for n, page in enumerate(pages)
    ]
    whole = gzip.compress(json.dumps(items).encode())
    path = tmp_path / "history.json.gz"
    path.write_bytes(whole[: len(whole) * 3 // 4])
    *read, last = outcomes(path)
    assert last is ReasonClass.INVALID_ENCODING
    assert len(read) >= 6
    assert [s.documents[0].text for s in read] == pages[: len(read)]


def test_json_items_one_at_a_time_and_across_chunk_borders(tmp_path, monkeypatch) -> None:
    path = tmp_path / "large.json"
    item = json.dumps({"text": "x" * 2**20})
    path.write_text("[" + ",".join([item] * 64) + "]")
    with peak_below(24 * 2**20), path.open() as stream:
        assert sum(1 for _ in JsonItems(stream, 2**25)) == 64
    monkeypatch.setattr(json_items, "CHUNK_CHARACTERS", 1)
    values = [{"a": [1, {"b": "]},{"}]}, {}, "text", 12345, [], None, {"c": "é"}]
    path = written(tmp_path, json.dumps(values, indent=1) + "\n{}\n" + json.dumps({"d": 1}))
    with path.open(encoding="utf-8") as stream:
        assert list(JsonItems(stream, 2**25)) == [*values, {}, {"d": 1}]


def zeros_gz(path: Path, megabytes: int, before: bytes = b"", piece: bytes = bytes(2**20)) -> Path:
    with gzip.open(path, "wb", compresslevel=6) as stream:
        stream.write(before)
        for _ in range(megabytes):
            stream.write(piece)
    return path


def test_items_that_never_end_are_cut_and_brackets_are_not_parsed(tmp_path) -> None:
    path = zeros_gz(tmp_path / "history.json.gz", 60, b'["', b"x" * 2**20)
    with peak_below(40 * 2**20):
        (record,) = read_records(path, Limits(item_characters=4 * 2**20))
    assert record.reason is ReasonClass.OVERSIZED_RECORD
    assert record.detail == "an item of more than 4194304 characters (limits.item_characters)"
    path = tmp_path / "history.json"
    path.write_text('{"a":[' + "{}," * 2**20)
    (record,) = read_records(path)
    assert record.detail == f"an item of more than {PARTS} objects and lists"


def test_capped_cuts_between_characters() -> None:
    text = "aé漢👍b"
    for size in range(12):
        head = capped(text, size)
        assert text.startswith(head)
        assert len(head.encode()) <= size
        assert head == text or len(text[: len(head) + 1].encode()) > size


# --- RealTimeQA weeks -------------------------------------------------------------------------


def week(directory: Path, results: list[object], questions: list[object]) -> Path:
    path = directory / "20230707_gcs.jsonl"
    for target, rows in ((path, results), (directory / "20230707_qa.jsonl", questions)):
        target.write_text(
            "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
        )
    return path


def question(identity: str = "20230707_0", **members: object) -> dict[str, object]:
    return {
        "question_id": identity, "question_sentence": "Which country?",
        "choices": ["Denmark", "Sweden", "Norway"], "answer": ["2"], "evidence": "unused",
    } | members  # fmt: skip


def results(identity: str = "20230707_0", **members: object) -> dict[str, object]:
    article = {"url": "u", "title": "t", "text": "Nor\x00way", "publish_date": "2023/07/05"}
    return {
        "question_id": identity,
        "search_time": "2023/07/08/01:58",
        "search_result": [article, article | {"publish_date": ""}],
    } | members


def test_weekly_rows(tmp_path) -> None:
    (snapshot,) = outcomes(week(tmp_path, [results()], [question()]))
    assert snapshot.query == Query("20230707_0", "Which country?")
    assert snapshot.observed_at == datetime(2023, 7, 8, 1, 58, tzinfo=UTC)
    assert snapshot.provenance is Provenance.ARCHIVED
    assert snapshot.labels.answers == ("Norway",)
    assert [(d.rank, d.text, d.published_at) for d in snapshot.documents] == [
        (1, "Norway", datetime(2023, 7, 5, tzinfo=UTC)),
        (2, "Norway", None),
    ]
    path = week(
        tmp_path,
        [
            "{torn", results("unknown"), results(search_time=""),
            results(search_time="2023-07-08"), results(search_result={}), results("b"), results(),
        ],
        ["[", question("b", answer=["3"]), question("c", answer=["x"]), question()],
    )  # fmt: skip
    records = list(read_records(path))
    found = [outcome(record) for record in records]
    assert found[:-1] == [
        ReasonClass.MALFORMED_JSON, ReasonClass.OUT_OF_RANGE, ReasonClass.WRONG_TYPE,
        ReasonClass.MALFORMED_JSON, ReasonClass.MISSING_FIELD, ReasonClass.MISSING_TIME,
        ReasonClass.WRONG_TYPE, ReasonClass.WRONG_TYPE, ReasonClass.MISSING_FIELD,
    ]  # fmt: skip
    assert isinstance(found[-1], SearchSnapshot)
    assert (records[3].payload, records[3].position) == (b"{torn", 1)
    assert len({(record.source, record.position) for record in records}) == len(records)


def test_weekly_without_questions_is_refused_before_reading(tmp_path) -> None:
    path = week(tmp_path, [results()], [question()])
    questions = path.with_name("20230707_qa.jsonl")
    with pytest.raises(ConfigurationError, match="questions only"):
        read_records(questions)
    questions.unlink()
    with pytest.raises(ConfigurationError, match="20230707_qa.jsonl"):
        read_records(path)


# --- detection --------------------------------------------------------------------------------


def test_directory_stands_for_its_files_in_order(tmp_path) -> None:
    week(tmp_path, [results()], [question()])
    written(tmp_path, encode(SNAPSHOT).decode(), "a.jsonl")
    written(tmp_path, {"question": "Who?", "yearly_contexts": {"2015": year("Cid")}}, "z.json")
    written(tmp_path, "not data", "notes.txt")
    found = outcomes(tmp_path)
    assert [snapshot.query.text for snapshot in found] == [
        "Which country?",
        SNAPSHOT.query.text,
        "Who?",
    ]


def test_unknown_paths_are_refused_before_reading(tmp_path) -> None:
    for path in (tmp_path, tmp_path / "absent.json", written(tmp_path, "x", "notes.txt")):
        with pytest.raises(ConfigurationError, match=path.name):
            read_records(path)


# --- real files -------------------------------------------------------------------------------


def test_real_weeks_are_read_whole() -> None:
    weeks = DATA / "realtimeqa_weekly"
    if not weeks.is_dir():
        pytest.skip(f"no RealTimeQA weeks in {weeks}; set RADARSTREAM_DATA to their parent")
    found = outcomes(weeks)
    lines = sum(len(p.read_bytes().splitlines()) for p in weeks.glob("*_gcs.jsonl"))
    assert len(found) == lines
    assert all(isinstance(snapshot, SearchSnapshot) for snapshot in found)
    assert all(snapshot.labels.answers for snapshot in found)
    assert len({snapshot.id for snapshot in found}) == lines
    assert max(len(d.text) for s in found for d in s.documents) > 50_000
