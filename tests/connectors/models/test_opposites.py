"""Answers that differ in a sign, unit, bound, era, half of the day or direction contradict.

The questions are of every kind that answers are read differently for; none is from evaluation data.
"""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from radarstream.connectors.models.answer_agreement import AnswerAgreement
from radarstream.connectors.models.answer_agreement.meanings import opposed
from radarstream.schemas.prompt import AnswerPair

SCORER = AnswerAgreement()
LEAK = 0.02

GROWTH = "What was the growth rate of the economy?"
HOW_MUCH = "How much did the economy grow?"
DOSE = "What is the daily dose of the drug?"
HOW_MUCH_DRUG = "How much of the drug may adults take?"
WHEN = "When was the city founded?"
LEAVES = "When does the train leave?"
WHICH_WAY = "Which way does the river flow?"
WHAT = "Which one is it?"
MANY = "How many people came?"
EVERY = (GROWTH, HOW_MUCH, DOSE, HOW_MUCH_DRUG, WHEN, LEAVES, WHICH_WAY, WHAT, MANY)


def relate(question: str, premise: str, hypothesis: str) -> np.ndarray:
    return SCORER.probabilities([AnswerPair(question, premise, hypothesis)])[0]


def assert_opposite(one: str, other: str, questions: tuple[str, ...] = EVERY) -> None:
    for question in questions:
        for pair in ((one, other), (other, one)):
            entailment, _, contradiction = relate(question, *pair)
            assert entailment <= LEAK, (question, pair)
            assert contradiction >= 0.9, (question, pair)


OPPOSITES = [
    # signs
    ("0.3 %", "\u20130.3 %"),
    ("0.3%", "(0.3)%"),
    ("$5 million", "($5 million)"),
    ("$5", "$-5"),
    ("five degrees", "minus five degrees"),
    ("5 degrees above zero", "5 degrees below zero"),
    ("400 m above sea level", "400 m below sea level"),
    ("0.3 % in spring and 0.5 % in autumn", "0.3 % in spring and -0.5 % in autumn"),
    ("10^5", "10^-5"),
    ("10\u2075", "10\u207b\u2075"),
    ("A+", "A-"),
    ("AB positive", "AB negative"),
    # directions
    ("0.3 %", "fell 0.3 %"),
    ("rose by 0.3 %", "fell by 0.3 %"),
    ("a 0.3 % increase", "a 0.3 % decrease"),
    ("a gain of $5 million", "a loss of $5 million"),
    ("It flows north-east", "It flows north-west"),
    ("northeast", "northwest"),
    ("Eastern District", "Western District"),
    ("from north to south", "from south to north"),
    ("from 3 to 5", "from 5 to 3"),
    ("clockwise", "anticlockwise"),
    # bounds
    ("5 or more", "5 or fewer"),
    ("\u2265 5", "\u2264 5"),
    ("up to 500 mg", "at least 500 mg"),
    ("5", "more than 5"),
    ("5", "fewer than five"),
    ("1971", "before 1971"),
    ("more than half", "less than half"),
    # units
    ("500 mg", "500 \u00b5g"),
    ("500 mg", "500 IU"),
    ("a dose of 500 mg", "a dose of 200 ml"),
    ("500 mg per day", "500 mg per hour"),
    ("500 mg daily", "500 mg weekly"),
    ("500 mg daily", "500 g"),
    ("60 km/h", "60 mph"),
    ("60 km/h", "60 m"),
    ("20 degrees Celsius", "20 degrees Fahrenheit"),
    ("5 mW", "5 MW"),
    ("5%", "5\u2030"),
    ("$5", "\u20ac5"),
    ("US$5", "C$5"),
    ("HK$5", "US$5"),
    ("5 dollars", "5 cents"),
    # eras
    ("44 BC", "44"),
    ("1500 BC", "1500"),
    ("March 15, 44 BC", "March 15, 44 AD"),
    ("5th century BC", "5th century AD"),
    # halves of the day
    ("09:30", "21:30"),
    ("9 in the morning", "9 in the evening"),
    ("noon", "midnight"),
    # signs in the spellings of others
    ("0.3%", "\uff0d\uff10\uff0e\uff13\uff05"),
    ("0.3%", "\u20150.3%"),
    ("0.3%", "\u27960.3%"),
    ("0.3%", "\u02d70.3%"),
    ("0.3%", "\u20430.3%"),
    ("0.3%", "-\u200b0.3%"),
    ("0.3%", "0.3%-"),
    ("0.3%", "neg. 0.3%"),
    ("0.3%", "negative growth of 0.3%"),
    ("0,3 %", "-0,3 %"),
    ("\u20ac5", "\u20ac(5)"),
    ("zero point three percent", "minus zero point three percent"),
    *(
        ("0.3%", fall)
        for fall in (
            "shrinking by 0.3%",
            "a recession of 0.3%",
            "a fall of just 0.3%",
            "fell slightly, by 0.3%",
            "0.3% less",
            "a 0.3-percent downturn",
            "a 0.3% quarterly decline",
        )
    ),
    # units in the spellings of others
    ("500 mg", "500 G"),
    ("500 mg", "500 gms"),
    ("500 mg", "500 I.U."),
    ("500 mg", "500 units"),
    ("500 mg once daily", "500 mg once weekly"),
    ("10-15 mg", "10\u201315 g"),
    ("5 kPa", "5 MPa"),
    ("5 ft", "5 in"),
    ("5 light years", "5 years"),
    ("5 lakh", "5 crore"),
    ("5 mil", "5 bil"),
    # bounds and times in the spellings of others
    ("\u2a7e18", "\u2a7d18"),
    ("min. 18", "max. 18"),
    ("a floor of 18", "a ceiling of 18"),
    ("within 5 days", "after 5 days"),
    ("pre 1990", "post 1990"),
    ("nine in the morning", "nine at night"),
    ("9 this morning", "9 tonight"),
    ("half past nine am", "half past nine pm"),
    ("a quarter to nine", "a quarter past nine"),
    ("44 B.C", "44 A.D"),
    ("44 before the common era", "44 of the common era"),
    ("third century BC", "third century AD"),
    ("07/07/2023", "08/07/2023"),
    # the same words the other way round
    ("30\u00b0N", "30\u00b0 S"),
    ("France beat Spain", "Spain beat France"),
    ("Spain defeated France 3-1", "France defeated Spain 3-1"),
    ("World War I", "World War II"),
    ("vegetarian", "non-vegetarian"),
    ("with food", "without food"),
    ("voted for the bill", "voted against the bill"),
]

EQUAL = [
    ("-0.3 %", "minus 0.3 percent"),
    ("-0.3 %", "\u22120.3 %"),
    ("-0.3 %", "\u20130.3 %"),
    ("-0.3 %", "(0.3)%"),
    ("-0.3 %", "negative 0.3 per cent"),
    ("-0.3 %", "fell by 0.3 %"),
    ("+0.3 %", "0.3 %"),
    ("$-5", "-$5"),
    ("-5 \u00b0C", "minus five degrees Celsius"),
    ("-5 \u00b0C", "5 \u00b0C below zero"),
    ("20 \u00b0C", "68 \u00b0F"),
    ("500 mg", "0.5 g"),
    ("0.5 kg", "500 g"),
    ("500mg", "500 milligrams"),
    ("5 km", "5,000 metres"),
    ("60 km/h", "60 kilometres per hour"),
    ("60 mph", "60 miles an hour"),
    ("500 mg daily", "0.5 g a day"),
    ("five miles an hour", "5 mph"),
    ("20 degrees", "20 \u00b0C"),
    ("5 MW", "5 megawatts"),
    ("at least 5", "no fewer than five"),
    ("at least 5", "5 or more"),
    ("no more than 5", "at most 5"),
    ("\u2264 5", "<=5"),
    ("over $3.7 million", "more than 3.7 million dollars"),
    ("44 BC", "44 B.C.E."),
    ("AD 79", "79 CE"),
    ("79 AD", "79"),
    ("9:30 p.m.", "21:30"),
    ("9 pm", "9 o'clock in the evening"),
    ("9.30 am", "9:30 AM"),
    ("2015-2017", "2015\u20132017"),
    ("2015-2017", "2015 to 2017"),
    ("2023-07-07", "7 July 2023"),
    ("A+", "A positive"),
    ("C$5 million", "5 million Canadian dollars"),
    ("5 to 10", "5-10"),
    ("5 mg to 10 mg", "5\u201310 mg"),
    ("3-1", "3\u20131"),
    ("19th century", "nineteenth century"),
    ("half past four in the evening", "4:30 pm"),
    ("1,5 km", "1500 m"),
]

IN_SENTENCES = [
    ("approved", "rejected"),
    ("passed", "vetoed"),
    ("allowed", "banned"),
    ("legal", "illegal"),
    ("safe", "unsafe"),
    ("effective", "ineffective"),
    ("guilty", "innocent"),
    ("convicted", "acquitted"),
    ("alive", "dead"),
    ("open", "closed"),
    ("mandatory", "optional"),
    ("largest", "smallest"),
    ("bought", "sold"),
    ("raised", "cut"),
    ("upheld", "overturned"),
    ("male", "female"),
]


@pytest.mark.parametrize(("one", "other"), IN_SENTENCES)
@pytest.mark.parametrize(
    "sentence",
    [
        "It was {} by the senate on Tuesday after a long debate in Washington",
        "The European Medicines Agency says that the drug is {} for children and adults",
    ],
)
def test_a_long_sentence_does_not_hide_the_word_that_turns_it(sentence, one, other) -> None:
    questions = ("What happened to the bill?", "What is the status of the drug?", WHAT)
    assert_opposite(sentence.format(one), sentence.format(other), questions)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("World War I", "World War 1"),
        ("07/08/2023", "08/07/2023"),
        ("a vaccine for measles", "a vaccine against measles"),
        ("Sharks ate Spain and France", "Sharks ate France and Spain"),
        ("It lies in the land", "It lies inland"),
        # words that have opposites elsewhere in the other sentence, not in their place
        ("He stepped down over the scandal", "He gave up his post over the scandal"),
        ("It pulled out of the agreement", "It withdrew in 2017 from the agreement"),
        ("Spain won the final against England", "Spain defeated England, who lost the final"),
        ("Twitter was bought by Elon Musk", "The former board sold Twitter to Elon Musk"),
        ("He was found guilty on all counts", "He was convicted; none of the counts was dropped"),
        ("He died on 8 September 2022", "He was alive until 8 September 2022"),
        ("Labour won the most seats", "Labour, with the Conservatives losing most seats"),
        ("It was closed to traffic", "It was shut off to cars, not open to traffic"),
    ],
)
def test_other_wordings_are_no_opposites(one: str, other: str) -> None:
    assert not opposed(one, other)
    assert not opposed(other, one)


@pytest.mark.parametrize(
    ("question", "one", "other"),
    [
        # no bound: "in" is no currency
        ("When did the war end?", "It ended in 1945", "It was over in 1945"),
        # levels, no changes
        ("How high is the price?", "The price fell below $20,000", "under $20,000"),
        ("How high is inflation?", "It rose above 5%", "more than 5%"),
    ],
)
def test_words_beside_a_number_are_not_always_its_marks(question, one, other) -> None:
    assert relate(question, one, other)[0] >= 0.9
    assert relate(question, other, one)[0] >= 0.9


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
def test_opposites_contradict_whatever_is_asked(one: str, other: str) -> None:
    assert_opposite(one, other)


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_values_in_other_words_agree_whatever_is_asked(one: str, other: str) -> None:
    for question in EVERY:
        for pair in ((one, other), (other, one)):
            entailment, _, contradiction = relate(question, *pair)
            assert entailment >= 0.9, (question, pair)
            assert contradiction <= 0.05


def test_a_time_without_its_half_of_the_day_follows_from_the_exact_one_and_not_the_reverse() -> (
    None
):
    down, up = relate(LEAVES, "9:30 pm", "9:30"), relate(LEAVES, "9:30", "9:30 pm")
    assert down[0] >= 0.9
    assert up.argmax() == 1
    assert up[0] <= LEAK


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5", "at least 5"),
        ("5", "5 or fewer"),
        ("9001", "over 9000"),
        ("at least 5 in 2 hours", "5 in at least 2 hours"),
        ("a crowd of at least 5 at 9:30 pm", "a crowd of 5 at 9:30"),
        ("about 300", "over 300"),
    ],
)
def test_answers_that_each_leave_something_open_are_neutral(one: str, other: str) -> None:
    for pair in ((one, other), (other, one)):
        assert relate(MANY, *pair).argmax() == 1


def test_an_open_bound_does_not_hide_other_words() -> None:
    assert_opposite("Oslo with 5 piers", "Bergen with at least 6 piers", (WHAT,))
    for pair in (("Oslo, 5 piers", "Bergen, at least 5 piers"), ("Oslo 5", "Bergen at least 5")):
        assert relate(WHAT, *pair)[0] <= 0.2
        assert relate(WHAT, *pair[::-1])[0] <= 0.2


def test_a_question_that_names_the_unit_gives_it_to_bare_numbers() -> None:
    question = "How many milligrams may adults take?"
    assert relate(question, "500", "500 mg")[0] >= 0.9
    assert_opposite("500", "500 g", (question,))


def test_a_question_about_a_fall_makes_a_rise_the_opposite() -> None:
    question = "By how much did the index fall?"
    assert relate(question, "0.3 %", "it fell by 0.3 %")[0] >= 0.9
    assert_opposite("0.3 %", "it rose by 0.3 %", (question,))
    assert relate(GROWTH, "it fell to 0.3 %", "0.3 %")[2] <= 0.5  # fell to, not by


def test_different_rules_are_different_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Relations in the cache go by `model_id`, which covers every file of the rules."""
    before = AnswerAgreement().model_id
    from radarstream.schemas import answer_text

    monkeypatch.setattr(answer_text, "__file__", __file__)
    assert AnswerAgreement().model_id != before


NUMBERS = st.one_of(
    st.integers(1, 10**6).map(str),
    st.integers(1, 10**6).map("{:,}".format),
    st.decimals("0.01", "99999", places=2).map(str),
)
UNITS = ["mg", "g", "kg", "km", "miles", "ml", "litres", "%", "hours", "days", "\u00b0C", "\u00b0F"]
UNITS += ["dollars", "euros", "MW", "percentage points", "million", "billion"]
FRAMES = [
    "{}",
    "The answer is {}.",
    "It was {}",
    "{} in total",
    "According to the report, it is {}.",
]
FRAMES += ["the value is {} this year"]
frames, questions = st.sampled_from(FRAMES), st.sampled_from(EVERY)


@given(
    NUMBERS,
    st.sampled_from(["", *UNITS]),
    st.sampled_from(["-", "\u2212", "minus "]),
    frames,
    questions,
)
def test_a_flipped_sign_is_never_the_same_answer(number, unit, minus, frame, question) -> None:
    assume(float(number.replace(",", "")) != 0)
    value = f"{number} {unit}".strip()
    assert_opposite(frame.format(value), frame.format(minus + value), (question,))


@given(
    NUMBERS,
    st.lists(st.sampled_from(UNITS), min_size=2, max_size=2, unique=True),
    frames,
    questions,
)
@example("500", ["mg", "g"], "{}", HOW_MUCH_DRUG)
def test_another_unit_is_never_the_same_answer(number, units, frame, question) -> None:
    one, other = (frame.format(f"{number} {unit}") for unit in units)
    assert_opposite(one, other, (question,))


BOUNDS = [
    ("at least {}", "at most {}"),
    ("more than {}", "less than {}"),
    ("over {}", "under {}"),
    ("{} or more", "{} or less"),
    ("not less than {}", "not more than {}"),
    ("> {}", "< {}"),
]


@given(NUMBERS, st.sampled_from(["", *UNITS]), st.sampled_from(BOUNDS), frames, questions)
def test_a_flipped_bound_is_never_the_same_answer(number, unit, bounds, frame, question) -> None:
    one, other = (frame.format(bound.format(f"{number} {unit}".strip())) for bound in bounds)
    assert_opposite(one, other, (question,))


@given(st.integers(1, 3000), st.sampled_from([" BC", " BCE", " B.C."]), frames, questions)
def test_a_flipped_era_is_never_the_same_answer(year, era, frame, question) -> None:
    for other in (f"{year} AD", f"{year} CE", f"AD {year}"):
        assert_opposite(frame.format(f"{year}{era}"), frame.format(other), (question,))


@given(st.integers(1, 12), st.none() | st.integers(0, 59), frames, questions)
def test_a_flipped_half_of_the_day_is_never_the_same_answer(hour, minute, frame, question) -> None:
    time = str(hour) if minute is None else f"{hour}:{minute:02d}"
    assert_opposite(frame.format(f"{time} am"), frame.format(f"{time} pm"), (question,))
    assert_opposite(frame.format(f"{time} a.m."), frame.format(f"{time} p.m."), (question,))


DIRECTIONS = [("north", "south"), ("east", "west"), ("left", "right"), ("up", "down")]
DIRECTIONS += [("rose", "fell"), ("gained", "lost"), ("an increase", "a decrease")]
DIRECTIONS += [("growth", "decline"), ("before the war", "after the war"), ("higher", "lower")]


@given(st.sampled_from(DIRECTIONS), frames, questions)
def test_a_flipped_direction_is_never_the_same_answer(directions, frame, question) -> None:
    assert_opposite(*(frame.format(direction) for direction in directions), (question,))


TEXTS = st.sampled_from([text for pair in (*OPPOSITES, *EQUAL) for text in pair])


@given(TEXTS, TEXTS, questions)
def test_a_contradiction_is_one_both_ways(one: str, other: str, question: str) -> None:
    forth, back = relate(question, one, other), relate(question, other, one)
    assert (forth.argmax() == 2) == (back.argmax() == 2)
