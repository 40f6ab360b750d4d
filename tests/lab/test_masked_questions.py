"""Membership probes: which words are hidden, how replies are read, what is concluded."""

from hypothesis import given
from hypothesis import strategies as st

from radarstream.lab.attacks.service.masked_questions import (
    LEAST_APART,
    MOST_CHARACTERS,
    Fill,
    Hidden,
    candidates,
    chosen,
    cut,
    filled,
    fills,
    is_called_member,
    ranked,
)
from radarstream.lab.attacks.service.protocol import MaskedDocument
from radarstream.lab.attacks.service.registry import service_attack
from radarstream.pipelines.signals.prompts import MAX_QUESTION_CHARACTERS
from tests.lab.service_studies import LengthProxy, world

FIVE = MaskedDocument("d", "one two three four five",
                      ((0, 3), (4, 7), (8, 13), (14, 18), (19, 23)), member=True)  # fmt: skip
ANY = st.text(st.characters(categories=None) | st.sampled_from("[]:Mask_0123456789 \n"))


class TestReading:
    def test_four_of_five_is_a_member(self):
        """The golden number of METHODS E.11."""
        reply = "[Mask_1]: one [Mask_2]: TWO. [Mask_3]: third [Mask_4]: four\n[Mask_5]: five"
        found = fills(FIVE, filled(reply, (1, 2, 3, 4, 5)))
        assert [fill.exact for fill in found] == [True, True, False, True, True]
        assert sum(fill.exact for fill in found) / 5 == 0.8
        assert is_called_member(found)
        assert not is_called_member([Fill(True, True), Fill(False, False)])
        assert not is_called_member([])

    def test_what_cannot_be_read_is_all_wrong(self):
        for reply in ("", None, "one two three four five", "[Mask_9]: one", "Mask_1: one",
                      "[Mask_1]: one [Mask_1]: two"):  # fmt: skip
            assert not any(fill.exact for fill in fills(FIVE, filled(reply, (1, 2, 3, 4, 5))))

    def test_one_word_may_stand_alone_or_twice(self):
        assert filled("[mask_1]: One, [Mask_1]: one", (1, 2)) == {1: "one"}
        assert filled('"Three."', (3,)) == filled("[Mask_3]: three", (3,)) == {3: "three"}

    def test_parts_of_words_count_as_published_and_never_as_exact(self):
        (first, *_) = fills(FIVE, {1: "someone"})
        assert (first.exact, first.contained) == (False, True)
        assert not fills(FIVE, {1: ""})[0].contained

    def test_fewer_words_than_masks_change_the_denominator(self):
        short = MaskedDocument("d", "one two", ((0, 3),), member=True)
        assert is_called_member(fills(short, {1: "one"}))

    @given(ANY, st.lists(st.integers(1, 6), min_size=1, max_size=6, unique=True))
    def test_any_reply_can_be_read(self, reply, masks):
        found = filled(reply, tuple(masks))
        assert set(found) <= set(masks)
        assert all(word == word.casefold() for word in found.values())


class TestHiding:
    def test_one_word_of_each_section_the_hardest(self):
        easy, hard = "simple words go here", "extraordinary"
        text = " ".join([f"{easy} {hard} {easy}"] * 5)
        spans = chosen(text, ranked(text, LengthProxy()))
        assert [text[start:end] for start, end in spans] == [hard] * 5

    def test_words_far_apart_are_filled_up_from_what_is_left(self):
        words = [
            Hidden(start, start + 3, rank) for start, rank in ((0, 9), (4, 8), (60, 1), (99, 2))
        ]
        assert chosen("x" * 100, words, 3) == ((0, 3), (60, 63), (99, 102))
        words = [Hidden(start, start + 3, 1.0) for start in (10, 40, 70)]  # the first of equals
        assert chosen("x" * 100, words, 1) == ((10, 13),)

    @given(
        st.text(st.sampled_from("abc déß.,'-1\n "), max_size=400), st.integers(1, 6),
        st.randoms(use_true_random=False)
    )  # fmt: skip
    def test_hidden_words_are_candidates_and_apart(self, text, masks, random):
        words = [Hidden(*span, random.random()) for span in candidates(text)]
        spans = chosen(text, words, masks)
        assert len(spans) <= masks and list(spans) == sorted(spans)
        assert set(spans) <= {(w.start, w.end) for w in words}
        starts = [start for start, _ in spans]
        assert all(b - a >= LEAST_APART for a, b in zip(starts, starts[1:], strict=False))

    def test_candidates_are_plain_words_that_are_not_common(self):
        text = "The 3rd (old) mayor's well-known UK city is Rome, which won't e4 go."
        assert [text[s:e] for s, e in candidates(text)] == ["city", "Rome"]

    def test_the_proxy_reads_the_text_before_each_word(self):
        proxy = LengthProxy()
        words = ranked("Some long river flows", proxy)
        assert [word.start for word in words] == [5, 10, 16]
        assert proxy.asked == ["Some", "Some long", "Some long river"]
        assert [word.rank for word in words] == [4.0, 5.0, 5.0]

    def test_a_long_document_is_cut_to_what_can_be_asked(self):
        assert len(cut("word " * 3_000)) <= MOST_CHARACTERS
        text = cut("abcdefgh " * 3_000)
        spans = tuple((n * 36, n * 36 + 8) for n in range(5))
        document = MaskedDocument("d", text, spans, member=True)
        for name in ("mba", "mba:each=true"):
            for ask in service_attack(name).stream(world(masked=(document,))).asks:
                assert len(ask.text) <= MAX_QUESTION_CHARACTERS


def test_many_accounts_ask_one_question_each():
    asks = service_attack("mba:each=true,users=many").stream(world()).asks
    assert len({ask.user for ask in asks}) == len(asks) == 8


def test_next_words_are_asked_for_without_a_sign_of_a_gap():
    asks = service_attack("mba:wording=next").stream(world()).asks
    assert [ask.masks for ask in asks] == [(2,), (3,), (4,)] * 2  # nothing stands before the first
    assert asks[0].text == "Which single word comes next after this: alpha bravo charlie"
    assert not any("mask" in ask.text.casefold() for ask in asks)
