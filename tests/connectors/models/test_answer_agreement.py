"""Each kind of agreement and disagreement that the embedded scorer must read off two answers.

The examples are general knowledge, none is from the pairs at hand.
"""

from datetime import date

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from radarstream.connectors.models.answer_agreement import AnswerAgreement
from radarstream.connectors.models.answer_agreement.scorer import compare_pair
from radarstream.schemas.prompt import AnswerPair

LEAK = 0.02  # at k=50 RADAR's cut fails at this mean entailment across camps
SCORER = AnswerAgreement()

HOW_MANY = "How many moons has the planet?"
SHARE = "What percentage of voters turned out?"
PRICE = "How much did the bridge cost?"
WHEN = "When did the treaty come into force?"
WHO = "Who won the election in Freedonia?"
WHERE = "In which city is the museum?"
WHICH = "Which mission landed first?"
IS_IT = "Is the harbour open to tankers?"
LAUREATES = "Who won the prize for chemistry?"
LONG = "How long does the licence last?"


def relate(question: str, premise: str, hypothesis: str) -> np.ndarray:
    return SCORER.probabilities([AnswerPair(question, premise, hypothesis)])[0]


AGREE = [
    (SHARE, "62%", "sixty-two percent"),
    (SHARE, "62%", "0.62"),
    (SHARE, "62%", "62 per cent"),
    (SHARE, "62%", "62"),
    (SHARE, "62%", "The answer is 62% of voters"),
    (SHARE, "According to the commission, 62% of voters turned out.", "62 percent"),
    (HOW_MANY, "1,200", "1200"),
    (HOW_MANY, "twelve", "12"),
    (HOW_MANY, "two hundred and five", "205"),
    (HOW_MANY, "XIV", "14"),
    (HOW_MANY, "The planet has 14 moons", "fourteen moons"),
    (PRICE, "$5 million", "5000000"),
    (PRICE, "$5 million", "five million dollars"),
    (PRICE, "$5m", "US$5,000,000"),
    (PRICE, "about $3.7 million", "$3.72 million"),
    (LONG, "24 hours", "1 day"),
    (LONG, "half a decade", "5 years"),
    (LONG, "ten years", "a decade"),
    (WHEN, "7 July 2023", "July 7th, 2023"),
    (WHEN, "7 July 2023", "2023-07-07"),
    (WHEN, "1971", "in 1971"),
    (WHO, "President Rufus Firefly", "Rufus Firefly"),
    (WHO, "R. Firefly", "Rufus Firefly"),
    (WHO, "Rufus T. Firefly", "Rufus Firefly"),
    (WHO, "Joe Smith", "Joseph Smith"),
    (WHO, "Rufus Firefly won the election", "Rufus Firefly"),
    (WHO, "It was Rufus Firefly in 2019.", "Rufus Firefly"),
    (WHO, "Rufus Firefly, not Ambassador Trentino", "Rufus Firefly"),
    ("Who is the Minister of Old Land?", "Minister of Old Land Rufus Firefly", "Rufus Firefly"),
    ("How many won the 2020 cup?", "The won the 2020 cup: 12", "twelve"),
    (WHERE, "\u201cReykjav\u00edk\u201d", "Reykjavik."),
    (WHERE, "NYC", "New York City"),
    (WHICH, "Luna 9", "The Luna 9 mission landed first in 1966"),
    ("Which alliance answered?", "NATO", "North Atlantic Treaty Organization"),
    (LAUREATES, "red, white and blue", "blue, white and red"),
    (IS_IT, "yes", "Yes, it is open."),
    (IS_IT, "no", "The harbour is not open to tankers"),
    (IS_IT, "no", "The answer is no."),
    ("What colour is it?", "grey colours", "Grey color"),
    ("Which letter is it?", "S", "s"),
]

DISAGREE = [
    (SHARE, "62%", "26%"),
    (SHARE, "62% of 2,005 voters", "26% of 2,005 voters"),
    (SHARE, "62%", "Rufus Firefly"),
    (HOW_MANY, "12", "thirteen"),
    (PRICE, "$5 million", "\u00a35 million"),
    (PRICE, "$5 million", "$5 billion"),
    (LONG, "24 hours", "24 days"),
    (WHEN, "7 July 2023", "7 July 2022"),
    (WHEN, "19 of July of 2023", "20 of July of 2023"),
    (WHEN, "July 7", "July 8, 2023"),
    (WHEN, "1971", "It was in 1933"),
    (WHO, "Rufus Firefly", "Ambassador Trentino"),
    (WHO, "President Rufus Firefly", "President Louis Trentino"),
    (WHO, "Rufus Firefly", "Harold Firefly"),
    (WHO, "Rufus Firefly won the election in Freedonia", "Trentino won the election in Freedonia"),
    (WHERE, "Reykjavik", "Oslo"),
    (WHERE, "Oslo, Norway", "Reykjavik, Iceland"),
    ("Which country?", "Austria", "Australia"),
    ("What is old in the New Land?", "in the New Land City", "in the New Land Village"),
    (WHICH, "Luna 9", "Luna 10"),
    (IS_IT, "yes", "no"),
    (IS_IT, "Yes.", "The harbour is not open to tankers"),
    (WHERE, "Oslo", "not Oslo"),
    (WHO, "Rufus T. Firefly", "not Rufus T. Firefly"),
    (WHERE, "It is Oslo, not Bergen", "It is Bergen, not Oslo"),
    (LAUREATES, "Hall & Oates", "Simon & Garfunkel"),
]


@pytest.mark.parametrize(("question", "premise", "hypothesis"), AGREE)
def test_the_same_claim_in_other_words_entails_both_ways(question, premise, hypothesis):
    for pair in ((premise, hypothesis), (hypothesis, premise)):
        entailment, _, contradiction = relate(question, *pair)
        assert entailment >= 0.9, pair
        assert contradiction <= 0.05


@pytest.mark.parametrize(("question", "premise", "hypothesis"), DISAGREE)
def test_different_claims_contradict_and_never_leak(question, premise, hypothesis):
    for pair in ((premise, hypothesis), (hypothesis, premise)):
        entailment, _, contradiction = relate(question, *pair)
        assert entailment <= LEAK, pair
        assert contradiction >= 0.9


@pytest.mark.parametrize(
    ("question", "fuller", "poorer"),
    [
        (WHERE, "Oslo, Norway", "Oslo"),
        (WHEN, "7 July 2023", "July 2023"),
        (LAUREATES, "Ada Byron, Max Born and Lise Meitner", "Max Born"),
        (LAUREATES, "Ada Byron, Max Born and Lise Meitner", "Ada Byron and Lise Meitner"),
        (HOW_MANY, "12 and 14", "14"),
        (WHO, "Rufus Firefly", "Firefly"),
        (LAUREATES, "Daryl Hall and John Oates", "Hall & Oates"),
    ],
)
def test_the_fuller_answer_entails_the_poorer_and_not_as_much_the_reverse(question, fuller, poorer):
    down, up = relate(question, fuller, poorer), relate(question, poorer, fuller)
    assert down[0] >= 0.9
    assert up[0] <= 0.6
    assert max(down[2], up[2]) <= 0.1


def test_part_of_a_list_neither_entails_nor_contradicts_the_list():
    up = relate(LAUREATES, "Max Born", "Max Born and Lise Meitner")
    assert up.argmax() == 1
    assert up[0] <= 0.31


@pytest.mark.parametrize(
    "abstention",
    [
        "I don't know",
        "I don\u2019t know.",
        "",
        "The passage does not mention the winner.",
        "It is not stated.",
        "unknown",
    ],
)
def test_abstentions_are_neutral(abstention):
    for pair in ((abstention, "Rufus Firefly"), ("Rufus Firefly", abstention)):
        assert relate(WHO, *pair).argmax() == 1


@pytest.mark.parametrize(
    ("question", "premise", "hypothesis"),
    [
        (WHERE, "Oslo or Bergen", "Oslo"),
        (WHERE, "not Oslo", "Bergen"),
        (WHEN, "July 7", "2023"),
    ],
)
def test_what_leaves_the_matter_open_is_neutral(question, premise, hypothesis):
    for pair in ((premise, hypothesis), (hypothesis, premise)):
        assert relate(question, *pair).argmax() == 1


def test_words_of_the_question_are_no_evidence_of_agreement():
    question = "Which team won the Freedonian cup final?"
    entailment, _, contradiction = relate(
        question,
        "The Sylvania Rovers won the Freedonian cup final",
        "The Freedonian cup final was won by Harbour Athletic",
    )
    assert entailment <= LEAK
    assert contradiction >= 0.9


def test_alternatives_named_in_the_question_still_differ():
    question = "Who leads the poll, Firefly or Trentino?"
    assert relate(question, "Firefly", "Trentino")[2] >= 0.9
    assert relate(question, "Rufus Firefly", "Firefly")[0] >= 0.9


def test_a_number_of_the_question_is_nothing_that_two_answers_share():
    """A premise that only repeats it does not agree with a word that says nothing."""
    for premise, hypothesis in (("0", "HE"), ("HE", "0")):
        assert relate("0", premise, hypothesis).argmax() == 2


@given(st.text(max_size=60), st.text(max_size=60), st.text(min_size=1, max_size=60))
@example("HE", "0", "0")
def test_any_text_is_scored_and_swapping_keeps_the_contradiction(premise, hypothesis, question):
    forth, back = relate(question, premise, hypothesis), relate(question, hypothesis, premise)
    assert np.isfinite([forth, back]).all()
    if forth.argmax() == 2 and forth[2] > 0.97:
        assert back.argmax() == 2


ATOMS = st.sampled_from(
    ["Oslo", "Oslo, Norway", "1971", "July 1971", "62%", "$5 million", "Rufus Firefly", "not Oslo"]
    + ["Firefly", "Max Born and Lise Meitner", "Oslo or Bergen", "twelve", "yes", "no"]
)


@given(ATOMS, ATOMS, st.sampled_from([WHO, WHEN, WHERE, HOW_MANY, IS_IT]))
def test_swapping_two_answers_mirrors_the_finding(a, b, question):
    mirrored = {
        "PREMISE_ADDS": {"HYPOTHESIS_ADDS", "HYPOTHESIS_LISTS_MORE"},
        "HYPOTHESIS_ADDS": {"PREMISE_ADDS"},
        "HYPOTHESIS_LISTS_MORE": {"PREMISE_ADDS"},
    }
    forth = compare_pair(AnswerPair(question, a, b)).name
    back = compare_pair(AnswerPair(question, b, a)).name
    assert back in mirrored.get(forth, {forth})


FORMS = (str, "{:,}".format, lambda n: f"{n:,}".replace(",", " "))
NUMBERS = st.integers(1_000, 10**9)
DATES = st.dates(date(1800, 1, 1), date(2099, 12, 31))
WRITTEN = ("%d.%m.%Y", "%Y-%m-%d", "%B %d, %Y", "%A, %d %b %Y")
UNITS = st.sampled_from(["", " people", " km", "%", " dollars", " hours", " kg"])


def is_same(question: str, one: str, other: str) -> bool:
    return bool(relate(question, one, other)[0] >= 0.5 and relate(question, other, one)[0] >= 0.5)


@given(NUMBERS, NUMBERS, st.sampled_from(FORMS), st.sampled_from(FORMS), UNITS)
@example(3_456_789, 3_456_798, str, FORMS[2], " people")
def test_a_number_is_the_same_in_every_form_and_no_other_number_is(a, b, form, other, unit):
    assert is_same(HOW_MANY, f"{form(a)}{unit}", f"{other(a)}{unit}")
    assert a == b or not is_same(HOW_MANY, f"{form(a)}{unit}", f"{other(b)}{unit}")


@given(DATES, DATES, st.sampled_from(WRITTEN), st.sampled_from(WRITTEN))
def test_a_day_is_the_same_in_every_form_and_no_other_day_is(a, b, form, other):
    assert is_same(WHEN, a.strftime(form), a.strftime(other))
    assert a == b or not is_same(WHEN, a.strftime(form), b.strftime(other))


@given(st.text(max_size=320), st.sampled_from([WHO, WHEN, HOW_MANY, IS_IT]))
def test_any_text_says_what_itself_says_or_nothing(text, question):
    entailment, neutral, _ = relate(question, text, text)
    assert max(entailment, neutral) >= 0.9
