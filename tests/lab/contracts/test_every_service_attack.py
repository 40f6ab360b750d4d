"""What every attack on a service of the registry must do."""

import pickle

import pytest

from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.attacks.service.registry import (
    EVERY,
    SERVICE_ATTACKS,
    parse_streams,
    service_attack,
)
from radarstream.pipelines.asking.known import LONGEST
from radarstream.schemas.errors import ConfigurationError
from tests.lab.service_studies import masked_document, world

NAMES = tuple(dict.fromkeys((*SERVICE_ATTACKS, *EVERY)))


@pytest.mark.parametrize("name", NAMES)
class TestEveryServiceAttack:
    def test_questions_have_ids_and_subjects_and_can_be_asked(self, name):
        asked = world()
        stream = service_attack(name).stream(asked)
        asks = stream.asks
        assert asks
        assert len({ask.id for ask in asks}) == len(asks)
        for ask in asks:
            assert 0 < len(ask.text) <= LONGEST and ask.user and ask.gap_s >= 0.0
        known = {s.query.id for s in asked.questions.asked} | {d.id for d in asked.masked}
        assert {one.about for one in (*asks, *stream.planted)} <= known

    def test_masks_are_those_of_the_document_and_it_says_whether_it_needs_them(self, name):
        asked, attack = world(), service_attack(name)
        by_id = {document.id: document for document in asked.masked}
        asks = attack.stream(asked).asks
        assert attack.needs_masks or not any(ask.masks for ask in asks)
        assert not any(ask.masks for ask in attack.stream(world(masked=())).asks)
        for ask in asks:
            for number in ask.masks:
                assert (f"[Mask_{number}]" in ask.text) is ("wording=next" not in name)
                start, end = by_id[ask.about].spans[number - 1]
                assert by_id[ask.about].text[start:end] not in ask.text

    def test_a_pair_is_asked_by_two_users_with_the_same_aim(self, name):
        asks = {ask.id: ask for ask in service_attack(name).stream(world()).asks}
        for ask in asks.values():
            if ask.same_as is not None:
                bare = asks[ask.same_as]
                assert (bare.about, bare.masks, bare.labels) == (ask.about, ask.masks, ask.labels)
                assert bare.user != ask.user and bare.same_as is None

    def test_a_run_up_comes_first_and_looks_like_readers(self, name):
        readers = {ask.text for ask in service_attack(BENIGN).stream(world()).asks}
        stream = service_attack(name).stream(world()).asks
        run_up = [ask for ask in stream if ask.run_up]
        assert list(stream[: len(run_up)]) == run_up
        assert {ask.text for ask in run_up} <= readers

    def test_it_can_be_pickled_is_its_own_spec_and_does_the_same_again(self, name):
        attack = service_attack(name)
        assert pickle.loads(pickle.dumps(attack)) == attack
        assert attack.stream(world()) == service_attack(name).stream(world())
        assert parse_streams(name) == tuple(dict.fromkeys((BENIGN, name)))


@pytest.mark.parametrize(
    ("spec", "words"),
    [("nobody", "there are benign, mba"), ("mba:beauty=1", "service 'mba'"),
     ("mba:each=maybe", "service 'mba'"), ("farming:pace=never", "service 'farming'"),
     ("jailbreak:where=elsewhere", "service 'jailbreak'"), ("poisoning:several=0", "options of")]
)  # fmt: skip
def test_specs_that_mean_nothing_are_refused(spec, words):
    with pytest.raises(ConfigurationError, match=words):
        parse_streams(spec)


@pytest.mark.parametrize("texts", ["pia", "poisonedrag-benign-removal"])
def test_poisoning_only_adds_texts_to_a_corpus(texts):
    with pytest.raises(ConfigurationError, match="does not add texts"):
        service_attack(f"poisoning:texts={texts}").stream(world())


def test_poisoning_plants_ten_texts_a_question():
    stream = service_attack("poisoning").stream(world())
    assert len(stream.planted) == 10 * len(stream.asks) == 30
    assert all(ask.labels.target for ask in stream.asks)


def test_farming_runs_up_as_fast_as_it_is_told():
    slow, fast = (service_attack(f"farming:pace={pace},run_up=2").stream(world()).asks
                  for pace in ("slow", "fast"))  # fmt: skip
    assert [ask.gap_s for ask in slow if ask.run_up] == [3600.0] * 2
    assert [ask.gap_s for ask in fast if ask.run_up] == [60.0] * 2
    assert [ask.text for ask in slow] == [ask.text for ask in fast]


def test_orders_in_documents_are_planted_for_the_second_of_each_pair():
    stream = service_attack("jailbreak:where=documents").stream(world())
    plain, ordered = ([t for t in stream.planted if t.variant == n] for n in (0, 1))
    assert len(plain) == len(ordered) == 30
    for bare, told in zip(plain, ordered, strict=True):
        assert told.document.text.startswith(bare.document.text)
        assert told.document.content_id != bare.document.content_id
    assert {ask.variant for ask in stream.asks if ask.same_as} == {1}


def test_masking_numbers_words_in_the_order_of_the_text():
    document = masked_document()
    assert document.words == ("alpha", "dover", "golf", "juliett")
    assert document.masked((2,)).count("[Mask_") == 1
    assert document.masked().startswith("[Mask_1] bravo charlie [Mask_2] echo")
