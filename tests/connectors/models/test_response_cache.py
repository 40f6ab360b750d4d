"""The response cache: what was answered once is never asked again, whatever happens between."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select

from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import (
    Scripted,
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
    ScriptedTokens,
)
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.tables import RESPONSE_CACHE
from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.prompt import AnswerPair, Completion, ContinuationQuery, Prompt, Task
from tests.clocks import at_once
from tests.scripted_models import FixedRows, last_words


def make_prompt(text: str) -> Prompt:
    return Prompt(Task.ATOMIC_ANSWER, "Answer.", (), "Who?", (text,), 16)


class Priced(ScriptedGenerator):
    """Every reply depends on model and prompt alone, and tells its tokens."""

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        super().complete(prompts)
        return [Completion(f"<{self.model_id} {p.passages[0]}>", 7, 3) for p in prompts]


def asked(model: Scripted) -> list[object]:
    return [request for batch in model.log for request in batch]


@pytest.fixture
def cache(engine: Engine) -> ResponseCache:
    return ResponseCache(engine)


def entries(engine: Engine) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(RESPONSE_CACHE)).scalar_one()


def test_a_repeated_prompt_costs_no_call(engine: Engine) -> None:
    model = Priced()
    first = Cached(model, ResponseCache(engine))
    prompts = [make_prompt(t) for t in ("a", "b", "a", "\ud800 lone", "nul \x00", "北京")]
    answers = first.complete(prompts)
    assert answers == Priced().complete(prompts)
    assert (first.calls, first.hits, len(asked(model))) == (5, 1, 5)
    again = Cached(model, ResponseCache(engine))  # as another process would open it
    assert again.complete(list(reversed(prompts))) == list(reversed(answers))
    assert (again.calls, again.hits, len(asked(model))) == (0, 6, 5)
    assert again.model_id == model.model_id


def test_relations_and_embeddings_keep_their_numbers(engine: Engine) -> None:
    relations, embedder = ScriptedRelations(), ScriptedEmbedder()
    pairs = [AnswerPair("q", a, b) for a in "abc" for b in "abc"]
    for hits in (0, 9):
        scorer = Cached(relations, ResponseCache(engine), chunk=4)
        np.testing.assert_array_equal(
            scorer.probabilities(pairs), ScriptedRelations().probabilities(pairs)
        )
        assert (scorer.hits, scorer.calls) == (hits, 9 - hits)
    assert [len(batch) for batch in relations.log] == [4, 4, 1]
    assert scorer.probabilities([]).shape == (0, 3)
    texts = ["a", "bb", "ccc", "a"]
    told, found = (Cached(embedder, ResponseCache(engine)).embed(texts) for _ in range(2))
    assert asked(embedder) == texts[:3]
    np.testing.assert_array_equal(told, found)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, ScriptedEmbedder().embed(texts), atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-6)
    assert Cached(embedder, ResponseCache(engine)).embed([]).shape == (0, 32)


def test_log_probabilities_are_what_the_model_gives_and_are_asked_once(cache):
    red, blue, rose = (make_prompt(f"The colour: {word}") for word in ("red", "blue", "rose"))
    inner, plain = (ScriptedTokens(ScriptedGenerator(script=last_words)) for _ in range(2))
    queries = [
        ContinuationQuery((red, blue), "red"),
        ContinuationQuery((), "red"),
        ContinuationQuery((blue, red, blue), "rose"),
    ]
    expected = plain.log_probs(queries)
    for calls in (3, 0):
        tokens = Cached(inner, cache)
        for rows, right in zip(tokens.log_probs(queries), expected, strict=True):
            assert len(rows) == len(right)
            if len(right):
                np.testing.assert_array_equal(rows, right)
        assert (tokens.hits, tokens.calls) == (3 - calls, calls)
    assert [query.prompts for batch in inner.log for query in batch] == [q.prompts for q in queries]


def test_impossible_tokens_are_kept_and_what_is_no_number_is_not(cache: ResponseCache) -> None:
    class Odd(ScriptedTokens):
        def log_probs(self, queries):
            rows = super().log_probs(queries)
            rows[0][0, 0] = value
            return rows

    query = [ContinuationQuery((make_prompt("The colour: red"),), "red")]
    value = np.nan
    with pytest.raises(ModelError, match="not a number"):
        Cached(Odd(), cache).log_probs(query)
    value = -np.inf
    Cached(Odd(), cache).log_probs(query)
    inner = ScriptedTokens()
    assert Cached(inner, cache).log_probs(query)[0][0, 0] == -np.inf
    assert inner.log == []


def test_keys_differ_by_every_field_and_may_be_many(cache: ResponseCache) -> None:
    prompt = make_prompt("a")
    variants = [
        prompt, replace(prompt, task=Task.SYNTHESISE_ANSWERS),
        replace(prompt, instruction="Answer!"), replace(prompt, question="Who"),
        replace(prompt, passages=("a", "")), replace(prompt, max_tokens=17),
    ]  # fmt: skip
    for name in ("m/1", "m/2"):
        generator = Cached(Priced(model_id=name), cache)
        generator.complete(variants)
        assert generator.calls == len(variants)
    pairs = [AnswerPair("q", "ab", "c"), AnswerPair("q", "a", "bc"), AnswerPair("qa", "b", "c")]
    scorer = Cached(ScriptedRelations(model_id="m/1"), cache)
    scorer.probabilities(pairs)
    assert scorer.calls == 3
    embedder = Cached(ScriptedEmbedder(model_id="m/1"), cache)
    embedder.embed(["a"])
    assert embedder.calls == 1
    values = {i.to_bytes(32, "big"): str(i).encode() for i in range(1_203)}
    put(cache, values)
    assert cache.get(list(values)) == values


def test_a_failed_call_stores_only_the_chunks_before_it(engine: Engine) -> None:
    prompts = [make_prompt(str(i)) for i in range(10)]
    broken = Cached(Priced(fail_on_calls=frozenset({2})), ResponseCache(engine), chunk=4)
    with pytest.raises(ModelError, match="call 2"):
        broken.complete(prompts)
    assert entries(engine) == 4
    assert (broken.calls, broken.hits) == (8, 0)
    model = Priced()
    Cached(model, ResponseCache(engine), chunk=4).complete(prompts)
    assert asked(model) == prompts[4:]


def test_a_prompt_that_failed_on_its_own_costs_the_others_nothing(engine: Engine) -> None:
    """Also from a model that gives its batch as a whole."""

    class Partial(Priced):
        def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
            outcomes: list[object] = list(super().complete(prompts))
            bad = [i for i, p in enumerate(prompts) if p.passages == ("bad",)]
            for index in bad:
                outcomes[index] = ModelError("no answer")
            if bad:
                raise PartialModelError(outcomes)
            return outcomes  # type: ignore[return-value]

    prompts = [make_prompt(text) for text in ("a", "bad", "b", "c")]
    model = Cached(Partial(), ResponseCache(engine), chunk=2)
    with pytest.raises(PartialModelError) as raised:
        model.complete(prompts)
    failed = [isinstance(outcome, ModelError) for outcome in raised.value.outcomes]
    assert failed == [False, True, False, False]
    assert entries(engine) == 3
    assert (
        model.complete([prompts[0], *prompts[2:]])
        == raised.value.outcomes[:1] + (raised.value.outcomes[2:])
    )
    assert (model.calls, model.hits) == (4, 3)


def test_answers_that_are_none_are_not_stored(engine: Engine, cache: ResponseCache) -> None:
    pairs = [AnswerPair("q", "a", "b"), AnswerPair("q", "b", "a")]
    for rows in (np.full((2, 3), np.nan), np.ones((2, 2)), np.full((2, 3), 1.5), np.ones((1, 3))):
        with pytest.raises(ModelError):
            Cached(FixedRows(rows), cache).probabilities(pairs)
    for rows in (np.full((2, 3), np.inf), np.ones(2), np.ones((3, 3))):
        with pytest.raises(ModelError):
            Cached(FixedRows(rows), cache).embed(["a", "b"])
    assert entries(engine) == 0


def put(cache: ResponseCache, values: Mapping[bytes, bytes]) -> None:
    cache.put(values, dict.fromkeys(values, b"subject"))


def keys_of(numbers: Sequence[int]) -> list[bytes]:
    return [n.to_bytes(32, "big") for n in numbers]


def test_the_cache_is_bounded_and_drops_the_oldest(engine: Engine) -> None:
    with pytest.raises(ValueError, match="max_entries"):
        ResponseCache(engine, max_entries=0)
    cache = ResponseCache(engine, max_entries=50)
    for number in range(200):
        put(cache, dict.fromkeys(keys_of([number]), b"v"))
        assert entries(engine) <= 50
    assert len(cache.get(keys_of(range(200)))) >= 45
    assert set(cache.get(keys_of(range(155, 200)))) == set(keys_of(range(155, 200)))
    put(cache, dict.fromkeys(keys_of(range(1_000, 1_120)), b"v"))  # more than fits at once
    assert entries(engine) <= 50


@pytest.fixture(scope="module")
def shared_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = open_engine(f"sqlite:///{tmp_path_factory.mktemp('cache') / 'state.db'}")
    yield engine
    engine.dispose()


_numbers = count()


@settings(max_examples=60, deadline=None)
@given(
    batches=st.lists(st.lists(st.text(max_size=3), max_size=8), max_size=4), chunk=st.integers(1, 5)
)
def test_caching_never_changes_an_answer(shared_engine, batches, chunk):
    name = f"model {next(_numbers)}"  # every example starts with nothing stored
    model = Priced(model_id=name)
    generator = Cached(model, ResponseCache(shared_engine), chunk=chunk)
    for batch in batches:
        prompts = [make_prompt(text) for text in batch]
        assert generator.complete(prompts) == Priced(model_id=name).complete(prompts)
    requests = [text for batch in batches for text in batch]
    assert generator.calls == len(asked(model)) == len(set(requests))
    assert generator.calls + generator.hits == len(requests)
    assert all(len(batch) <= chunk for batch in model.log)


# --- processes -------------------------------------------------------------------------------


def test_two_that_ask_at_once_share_one_database(state_url: str) -> None:
    prompts = [make_prompt(f"p{i}") for i in range(60)]
    engines = [open_engine(state_url, busy_timeout_s=30.0) for _ in range(2)]

    def ask(number: int) -> list[Completion]:
        cache = ResponseCache(engines[number], max_entries=20)
        return Cached(Priced(), cache, chunk=8).complete(prompts)

    assert at_once(ask, 2) == [Priced().complete(prompts)] * 2
    for engine in engines:
        engine.dispose()
