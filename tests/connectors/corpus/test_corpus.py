"""The corpus: what is added is found, what goes is gone, whoever writes and whatever they say."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, event, func, select

from radarstream.connectors.corpus.options import CorpusOptions
from radarstream.connectors.corpus.store import Corpus
from radarstream.connectors.models.scripted import ScriptedEmbedder
from radarstream.connectors.state_table.corpus import texts as writing
from radarstream.connectors.state_table.corpus import vectors as corpus_vectors
from radarstream.connectors.state_table.corpus.listing import newest, read, statistics
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.tables import (
    CORPUS_QUERIES,
    CORPUS_TEXTS,
    CORPUS_VECTORS,
)
from radarstream.connectors.state_table.database.transfer import import_file
from radarstream.connectors.state_table.forgetting import forget
from radarstream.connectors.state_table.incidents import quarantine
from radarstream.schemas.errors import ConfigurationError, ModelError, ModelOutageError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.incidents import text_key
from radarstream.schemas.snapshot import Document, Query, SearchSnapshot

DAY_MS = 86_400_000
START = datetime(2025, 1, 1, tzinfo=UTC)
EMBEDDER = ScriptedEmbedder()


def snapshot(query: str, texts: Sequence[str], day: int = 0) -> SearchSnapshot:
    found = tuple(Document(rank, text) for rank, text in enumerate(texts, start=1))
    return SearchSnapshot(Query(query, f"{query}?"), START + timedelta(days=day), found)


def archive(engine: Engine, corpus: Corpus, taken: SearchSnapshot) -> writing.Added:
    with engine.begin() as connection:
        return corpus.archive(connection, taken)


def id_of(text: str) -> str:
    return Document(1, text).content_id


def found(corpus: Corpus, question: str, m: int = 1_000, **options: object) -> list[str]:
    texts = corpus.search(question, m, EMBEDDER, **options)  # type: ignore[arg-type]
    assert [text.document.rank for text in texts] == list(range(1, len(texts) + 1))
    return [text.document.text for text in texts]


def naive(texts: Sequence[str], question: str, m: int) -> list[str]:
    (row,) = EMBEDDER.embed([question])
    rows = {text: EMBEDDER.embed([text])[0].astype(np.float32) for text in texts}
    near = {text: float((rows[text].astype(np.float64) * row).sum()) for text in texts}
    return sorted(texts, key=lambda text: (-near[text], id_of(text)))[:m]


# --- one process ------------------------------------------------------------------------------


def test_what_is_nearest_comes_first_with_its_cosine(engine: Engine) -> None:
    corpus = Corpus(engine)
    texts = [f"text {i}" for i in range(30)]
    assert corpus.add([Document(1, text) for text in texts], 5) == (30, 0)
    assert corpus.add([Document(7, text) for text in texts[:3]], 6) == (0, 3)
    assert found(corpus, "text 3", 4) == naive(texts, "text 3", 4)
    (best,) = corpus.search("text 3", 1, EMBEDDER)
    assert (best.id, best.similarity) == (id_of("text 3"), pytest.approx(1.0))
    assert found(corpus, "text 3", 1, exclude={best.id, "unknown"}) != ["text 3"]
    assert Corpus(engine).search("text 3", 1, EMBEDDER) == [best]


def test_nothing_is_found_in_nothing_and_every_document_has_its_id(engine: Engine) -> None:
    corpus = Corpus(engine)
    assert found(corpus, "anything") == []
    corpus.add([Document(1, " \n"), Document(1, "")], 1)
    assert statistics(engine).texts == 0
    corpus.add([Document(1, "one")], 1)
    assert found(corpus, "anything", exclude=[id_of("one")]) == []
    words = ["", "a", "b", "\0", "a\0b", "\ud800"]
    ids = {Document(1, a, title=b, url=c).content_id for a in words for b in words for c in words}
    assert len(ids) == len(words) ** 3


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 11)),
        st.tuples(st.just("remove"), st.integers(0, 11)),
        st.tuples(st.just("search"), st.integers(0, 11)),
        st.tuples(st.just("elsewhere"), st.integers(0, 11)),
    ),
    max_size=25,
)


@given(STEPS, st.integers(1, 13))
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_life_equals_a_naive_one(tmp_path_factory, steps, m):
    engine = open_engine(f"sqlite:///{tmp_path_factory.mktemp('life') / 's.db'}")
    here, other, alive = Corpus(engine), Corpus(engine), set[str]()
    for deed, number in steps:
        text = f"text {number}"
        if deed == "add":
            here.add([Document(1, text)], number)
            alive.add(text)
        elif deed == "elsewhere":
            other.add([Document(1, text), Document(1, "more")], number)
            alive |= {text, "more"}
            other.embed(EMBEDDER)
        elif deed == "remove":
            assert other.remove([id_of(text)]) == (text in alive)
            alive.discard(text)
        else:
            assert found(here, text, m) == naive(sorted(alive), text, m)
    assert found(here, "end") == naive(sorted(alive), "end", 99)
    engine.dispose()


def test_equal_vectors_go_by_id_and_none_is_lost(engine: Engine) -> None:
    class Same(ScriptedEmbedder):
        def embed(self, texts: Sequence[str]) -> FloatArray:
            return np.tile(ScriptedEmbedder().embed(["same"]), (len(texts), 1))

    corpus = Corpus(engine)
    corpus.add([Document(1, f"text {i}") for i in range(100)], 1)
    ids = [text.id for text in corpus.search("x", 7, Same())]
    assert ids == sorted(id_of(f"text {i}") for i in range(100))[:7]


HOSTILE = ["nul \0 byte", "lone \ud800 surrogate", "x" * 2_000_000, "\x1b[2J\u202e", "'; DROP--"]


def test_hostile_texts_are_kept_as_they_are(engine: Engine) -> None:
    corpus = Corpus(engine)
    pages = [Document(1, text, title=text[:40], url="\0\ud800" + text[:9]) for text in HOSTILE]
    corpus.add(pages, 1)
    texts = corpus.search("x", 10, EMBEDDER)
    assert {text.document.text for text in texts} == set(HOSTILE)
    assert read(engine, [pages[0].content_id])[pages[0].content_id].document == pages[0]
    assert corpus.remove_url_prefix("\0\ud800nul") == 1
    assert corpus.remove_url_prefix("\0") == 4


# --- a user's own ids -------------------------------------------------------------------------


def test_a_new_text_under_a_users_id_takes_the_place_of_the_old(engine: Engine) -> None:
    corpus = Corpus(engine)
    corpus.add([("k1", Document(1, "old")), ("k2", Document(1, "other"))], 1)
    corpus.add([("k1", Document(1, "draft")), ("k1", Document(1, "new"))], 2)
    assert sorted(found(corpus, "x")) == ["new", "other"]
    corpus.add([("k1", Document(1, "other")), ("k2", Document(1, "new"))], 3)
    names = {text.document.text: text.name for text in newest(engine, 9)}
    assert names == {"other": "k1", "new": "k2"}
    assert corpus.remove(["k1", "k1", "nobody"]) == 1
    assert found(corpus, "x") == ["new"]


# --- what queries found -----------------------------------------------------------------------


def test_quarantine_hides_nothing_from_a_search(engine: Engine) -> None:
    """It leaves texts out of answers; who looks into the corpus sees what is there."""
    corpus = Corpus(engine)
    archive(engine, corpus, snapshot("q", ["a lie", "a truth"]))
    held = Document(1, "a lie")
    row = {"incident": "m", "text_key": text_key(held), "query_id": "q"}
    row |= {"content_id": held.content_id, "url": "", "title": "", "excerpt": "", "updated_ms": 0}
    with engine.begin() as connection:
        quarantine.put(connection, [row])
        quarantine.switch(connection, "m", active=True, everywhere=True, now_ms=1)
    assert quarantine.count_active(engine) == 1
    assert sorted(found(corpus, "a lie")) == ["a lie", "a truth"]


def test_archived_twice_is_archived_once(engine: Engine) -> None:
    corpus = Corpus(engine)
    assert archive(engine, corpus, snapshot("a", ["one", "two"])) == (2, 0)
    assert archive(engine, corpus, snapshot("a", ["one", "two"])) == (0, 2)
    archive(engine, corpus, snapshot("b", ["two"], day=3))
    archive(engine, corpus, snapshot("b", ["two"], day=2))
    two = read(engine, [id_of("two")])[id_of("two")]
    start_ms = snapshot("a", []).observed_at_ms
    assert (two.first_seen_ms, two.last_seen_ms) == (start_ms, start_ms + 3 * DAY_MS)
    assert two.queries == ("a", "b")
    assert [text.document.text for text in newest(engine, 5) if "b" in text.queries] == ["two"]


def test_a_snapshot_without_documents_waits_for_no_other(state_url: str, engine: Engine) -> None:
    """Else it would wait for the database behind a lock of the process, unseen by the database."""
    corpus = Corpus(engine)
    other = open_engine(state_url, busy_timeout_s=10.0)
    with other.begin() as holding, ThreadPoolExecutor(1) as pool:
        corpus_vectors.locked(holding, new=1)
        with engine.connect() as unwritten:
            empty = pool.submit(corpus.archive, unwritten, snapshot("q", []))
            assert empty.result(timeout=20.0) == (0, 0)
    other.dispose()


def test_a_text_names_the_queries_that_found_it_last(engine: Engine) -> None:
    corpus = Corpus(engine)
    for day in range(20):
        archive(engine, corpus, snapshot(f"q{day:02}", ["one"], day=day))
    (text,) = newest(engine, 5)
    assert text.queries == tuple(f"q{day:02}" for day in range(4, 20))


def test_the_archive_stays_within_its_bounds_and_spares_a_users_texts(engine: Engine) -> None:
    corpus = Corpus(engine, CorpusOptions(max_texts=20, retention_days=30))
    corpus.add([("mine", Document(1, "my own"))], 0)
    for day in range(15):
        archive(engine, corpus, snapshot("q", [f"page {day}/{i}" for i in range(5)], day=day))
        assert statistics(engine).texts <= 21
    kept = {text.document.text for text in newest(engine, 99)}
    assert {"my own", *(f"page 14/{i}" for i in range(5))} <= kept
    archive(engine, corpus, snapshot("q", ["late page"], day=100))
    assert sorted(found(corpus, "x")) == ["late page", "my own"]
    assert corpus.prune(2**60) == 1
    assert found(corpus, "x") == ["my own"]


def test_an_archived_text_that_a_user_adds_stays(engine: Engine) -> None:
    corpus = Corpus(engine)
    archive(engine, corpus, snapshot("q", ["both", "page"]))
    corpus.add([Document(1, "both")], 5)
    archive(engine, corpus, snapshot("q", ["both"]))
    assert forget(engine, "q", None)["corpus_texts"] == 1
    assert found(corpus, "x") == ["both"]
    assert newest(engine, 5)[0].queries == ()


def test_forgetting_deletes_what_this_query_alone_had_found(engine: Engine) -> None:
    corpus = Corpus(engine)
    archive(engine, corpus, snapshot("mine", ["only mine", "shared"]))
    archive(engine, corpus, snapshot("other", ["shared", "not mine"]))
    assert sorted(found(corpus, "x")) == ["not mine", "only mine", "shared"]
    assert forget(engine, "mine", None)["corpus_texts"] == 1
    assert sorted(found(corpus, "x")) == ["not mine", "shared"]
    assert forget(engine, "mine", None)["corpus_texts"] == 0
    assert forget(engine, "other", None)["corpus_texts"] == 2
    assert [rows_of(engine, t) for t in (CORPUS_TEXTS, CORPUS_QUERIES, CORPUS_VECTORS)] == [0, 0, 0]


def rows_of(engine: Engine, table: object) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()  # type: ignore[arg-type]


# --- embedders --------------------------------------------------------------------------------


def test_another_embedder_is_refused_until_the_vectors_are_made_anew(engine: Engine) -> None:
    corpus, other = Corpus(engine), ScriptedEmbedder(dimensions=8, model_id="other/1")
    corpus.add([Document(1, "one"), Document(1, "two")], 1)
    watching = Corpus(engine)
    found(watching, "one")
    with pytest.raises(ConfigurationError, match="embedded by scripted.*--rebuild"):
        corpus.search("one", 1, other)
    with pytest.raises(ConfigurationError):
        corpus_vectors.store(engine, other.model_id, {id_of("one"): b""})
    assert corpus.rebuild(other) == 2
    assert corpus.rebuild(other) == 0
    assert [text.document.text for text in corpus.search("one", 1, other)] == ["one"]
    with pytest.raises(ConfigurationError, match="embedded by other/1"):
        found(watching, "one")
    assert watching.search("one", 1, other) == corpus.search("one", 1, other)


def test_vectors_made_anew_by_the_first_embedder_count_once(engine: Engine) -> None:
    watching, other = Corpus(engine), ScriptedEmbedder(dimensions=8, model_id="other/1")
    watching.add([Document(1, "one"), Document(1, "two")], 1)
    before = found(watching, "one")
    for embedder in (other, EMBEDDER):
        Corpus(engine).rebuild(embedder)
        Corpus(engine).embed(embedder)
    assert found(watching, "one", 2) == before


class Choosy(ScriptedEmbedder):
    """Cannot embed one text; or is ill in this way and can embed none."""

    ill: ModelError | None = None

    def embed(self, texts: Sequence[str]) -> FloatArray:
        if self.ill or any("poison" in text for text in texts):
            self.begin(texts)
            raise self.ill or ModelError("cannot embed")
        return super().embed(texts)


def test_a_failing_model_marks_nothing_and_one_bad_text_stops_no_other(engine: Engine) -> None:
    """An outage is not asked about every text."""
    corpus, embedder = Corpus(engine), Choosy()
    corpus.add([Document(1, f"text {i}") for i in range(9)], 1)
    for embedder.ill in (ModelError("cannot embed"), ModelOutageError("down")):
        embedder.log.clear()
        with pytest.raises(type(embedder.ill)):
            corpus.embed(embedder)
        assert (len(embedder.log) == 1) == isinstance(embedder.ill, ModelOutageError)
        assert len(corpus_vectors.pending_ids(engine)) == 9
    embedder.ill = None
    corpus.add([Document(1, "poison")], 1)
    assert len(corpus.search("x", 99, embedder)) == 9
    assert statistics(engine)[2:4] == (9, 1)
    assert corpus_vectors.pending_ids(engine) == []


@pytest.mark.parametrize("rows", [np.full((1, 4), np.nan), np.zeros((1, 4)), np.ones((2, 4))])
def test_a_question_without_a_direction_is_an_error(engine: Engine, rows: FloatArray) -> None:
    class Broken(ScriptedEmbedder):
        def embed(self, texts: Sequence[str]) -> FloatArray:
            return rows

    with pytest.raises(ModelError):
        Corpus(engine).search("x", 1, Broken())


def test_a_limited_search_embeds_the_rest_later(engine: Engine) -> None:
    corpus = Corpus(engine)
    corpus.add([Document(1, f"text {i}") for i in range(5)], 1)
    assert len(found(corpus, "x", embed_at_most=2)) == 2
    assert len(found(corpus, "x", embed_at_most=0)) == 2
    assert len(found(corpus, "x", embed_at_most=2)) == 4
    assert len(found(corpus, "x")) == 5


# --- several processes ------------------------------------------------------------------------


def test_readers_miss_nothing_that_several_writers_add_and_delete(state_url: str) -> None:
    engines = [open_engine(state_url, busy_timeout_s=30.0) for _ in range(4)]
    numbers = count()

    def write(engine: Engine) -> None:
        corpus = Corpus(engine)
        for batch in range(6):
            mine = [Document(1, f"{next(numbers)} by {id(engine)}") for _ in range(5)]
            corpus.add(mine, batch)
            corpus.embed(EMBEDDER)
            corpus.remove([mine[0].content_id])

    reader = Corpus(engines[0])
    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(write, engine) for engine in engines[1:]]
        while not all(future.done() for future in running):
            found(reader, "x")
        for future in running:
            future.result()
    there = {text.document.text for text in newest(engines[0], 999)}
    assert len(there) == 3 * 6 * 4
    assert set(found(reader, "x")) == there
    for engine in engines:
        engine.dispose()


def test_a_transaction_that_breaks_off_leaves_a_sound_corpus(state_url, engine) -> None:
    corpus, other, pages = Corpus(engine), open_engine(state_url), [f"text {i}" for i in range(80)]
    Corpus(other).add([Document(1, text) for text in pages[:40]], 1)
    assert len(found(corpus, "x")) == 40

    def break_off(_c: object, _u: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT INTO corpus_texts"):
            raise InterruptedError

    event.listen(other, "after_cursor_execute", break_off)
    with pytest.raises(InterruptedError):
        Corpus(other).add([Document(1, text) for text in pages], 2)
    assert statistics(engine)[:3] == (40, 40, 40)
    event.remove(other, "after_cursor_execute", break_off)
    Corpus(other).add([Document(1, text) for text in pages], 2)
    assert set(found(corpus, "x")) == set(pages)  # this process follows the other
    other.dispose()


# --- export and import ------------------------------------------------------------------------


def test_texts_move_to_another_database_and_are_embedded_there(engine, other_engine, export):
    corpus = Corpus(engine)
    archive(engine, corpus, snapshot("q", HOSTILE[:2]))
    corpus.add([("k", Document(1, "mine", published_at=START))], 1)
    found(corpus, "x")
    file = export(engine)
    there = Corpus(other_engine)
    found(there, "x")
    import_file(other_engine, file)
    assert found(there, "x") == found(corpus, "x")
    assert newest(other_engine, 9) == newest(engine, 9)
