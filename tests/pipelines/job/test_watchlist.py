"""The watchlist file: what it may say, and that every mistake is named."""

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.pipelines.job.collecting.watchlist import (
    parse_watchlist,
    read_watchlist,
    watchlist_schema,
)
from radarstream.pipelines.settings.watched import Watched, cadence_seconds, entry_of, table_entries
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Query

EXAMPLE = Path(__file__).parents[3] / "infra" / "settings" / "watchlist.yaml"


def refusal(text: str | bytes) -> str:
    with pytest.raises(ConfigurationError) as caught:
        parse_watchlist(text if isinstance(text, bytes) else text.encode(), "list.yaml")
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_the_example_is_valid_also_for_its_schema() -> None:
    entries = read_watchlist(EXAMPLE)
    assert (len(entries), sum(entry.active for entry in entries)) == (5, 4)
    plain = json.loads(json.dumps(yaml.safe_load(EXAMPLE.read_text()), default=str))
    jsonschema.Draft202012Validator.check_schema(watchlist_schema())
    jsonschema.validate(plain, watchlist_schema())
    plain["queries"][0]["cadense"] = "1d"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(plain, watchlist_schema())


def test_entries_win_over_defaults_and_defaults_over_ours() -> None:
    text = b"""defaults: {k: 30, cadence: 6h, tags: [a], country: ch}
queries: [{question: "Who?", id: who, k: 5, tags: []}, {question: "Where?"}]"""
    first, second = parse_watchlist(text, "list.yaml")
    assert (first.query, first.k, first.cadence) == (Query("who", "Who?"), 5, "6h")
    assert (second.k, second.tags, second.country, second.language) == (30, ("a",), "ch", "")
    assert second.query == Query(Query.from_text("Where?").id, "Where?", ("a",))
    assert second.request.k == 30


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("queries:\n- question: a\n  k: 0\n", "query 1.k must be greater"),
        ("queries:\n- {question: a, cadenc: 1d}", "query 1.cadenc is not a setting"),
        ("queries:\n- question: a\n- questio: b\n", "query 2.question is not given"),
        ("queries:\n- question: a\n\n- question: ' A'\n", "query 2: the same id as query 1"),
        ("queries:\n- question: a\n  country: no\n", "query 1.country .*in quotes"),
        ("queries:\n- {question: a, cadence: 5s}", "query 1.cadence is refused: must be a span"),
        ("queries:\n- {question: a, cadence: 400d}", "at most 366d"),
        ("queries:\n- {question: a, k: true}", "query 1.k"),
        ("queries:\n- {question: a, jitter: .nan}", "query 1.jitter"),
        ("queries:\n- {question: a, id: a/b}", "query 1.id"),
        ('queries:\n- {question: "a\\e[2J"}', "query 1.question"),
        ("queries:\n- {question: a, dates: {first: 2024-02-01, last: 2023-01-01}}", "lies after"),
        ("queries:\n- {question: a, dates: {first: 2024-02-30, last: 2024-03-01}}", "not YAML"),
        ("defaults:\n  kk: 1\nqueries: []\n", "defaults.kk is not a setting"),
        ("queries:\n- question: a\n  k: 1\n  k: 2\n", "line 4: not YAML: the key 'k' is repeated"),
        ("queries: [", "line 1: not YAML"),
        ("!!python/object/apply:os.system [true]", "line 1: not YAML"),
        ("queries: [5]", "query 1"),
        ("- a", "holds `queries:`"),
        ("", "holds `queries:`"),
        ("other: 1\nqueries: []", "other is not a setting"),
        ("[" * 5_000 + "]" * 5_000, "not YAML"),
        (b"\xff\xfe\x00", "not YAML"),
        ("queries:" + "\n- {question: a, k: 0}" * 50, "and 20 more$"),
    ],
)  # fmt: skip
def test_mistakes_are_named(text: str | bytes, says: str) -> None:
    assert re.search(says, refusal(text))


def test_a_file_that_is_too_large_or_not_there(tmp_path: Path) -> None:
    file = tmp_path / "list.yaml"
    with pytest.raises(ConfigurationError, match="No such file"):
        read_watchlist(file)
    file.write_bytes(b"#" * (4 * 2**20 + 1))
    with pytest.raises(ConfigurationError, match="over"):
        read_watchlist(file)


@given(
    st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace"))
)
def test_any_bytes_give_a_list_or_a_complaint(data: bytes) -> None:
    try:
        parse_watchlist(data, "list.yaml")
    except ConfigurationError:
        return


leaves: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers() | st.text(max_size=5)


@given(st.dictionaries(st.sampled_from([*Watched.model_fields, "x"]), leaves, max_size=5))
@settings(deadline=None)
def test_any_entry_gives_a_list_or_a_complaint(entry: dict[str, Any]) -> None:
    data = yaml.safe_dump({"queries": [entry]}, allow_unicode=True).encode("utf-8", "replace")
    try:
        (read,) = parse_watchlist(data, "list.yaml")
    except ConfigurationError:
        return
    ((query_id, text),) = table_entries((read,)) or ((read.query.id, read.model_dump_json()),)
    assert (entry_of(text), query_id) == (read, read.query.id)


def test_an_entry_that_says_the_same_is_the_same_text() -> None:
    with pytest.raises(ConfigurationError, match="damaged"):
        entry_of('{"question": 5}')
    one = parse_watchlist(b"queries: [{question: a, k: 10, cadence: 1d}]", "one")
    other = parse_watchlist(b"defaults: {k: 10}\nqueries: [{cadence: 1d, question: a}]", "other")
    assert table_entries(one) == table_entries(other)
    assert table_entries(parse_watchlist(b"queries: [{question: a, active: false}]", "x")) == []


@given(
    st.integers(0, 10**13),
    st.sampled_from(["1m", "6h", "1d", "2w"]),
    st.floats(0.0, 0.5),
    st.text("abc", min_size=1, max_size=5),
)
def test_jitter_is_bounded_and_the_same_for_everybody(fetched, cadence, jitter, name) -> None:
    entry = Watched(question="a", id=name, cadence=cadence, jitter=jitter)
    wait = entry.next_due_ms(fetched) - fetched
    whole = cadence_seconds(cadence) * 1000
    assert abs(wait - whole) <= jitter * whole + 1
    other = Watched(question="b", id=name, cadence=cadence, jitter=jitter)
    assert wait == other.next_due_ms(fetched) - fetched


def test_a_query_says_what_it_wants_of_an_answer() -> None:
    text = b"defaults: {withstand: 3}\nqueries: [{question: a}, {question: b, withstand: 0}]"
    first, second = parse_watchlist(text, "list.yaml")
    assert (first.query.withstand, second.query.withstand) == (3, 0)
    assert first.request.query == first.query
    ((_, entry), *_) = table_entries((first, second))
    assert entry_of(entry) == first
    for wrong in ("withstand: -1", "withstand: many", "withstand: true"):
        assert "query 1" in refusal(f"queries:\n- {{question: a, {wrong}}}")
