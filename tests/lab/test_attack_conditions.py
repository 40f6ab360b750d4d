"""Conditions: grammar, tables, and what they make of histories on a result list."""

import pickle
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.lab.attacks.conditions import attacked, one_surface, parse_condition, product
from radarstream.lab.attacks.protocol import BENIGN, Condition, Surface
from radarstream.lab.attacks.registry import ATTACKS, attack_named
from radarstream.lab.attacks.schedule import Schedule
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Labels
from tests.builders import make_snapshot

CONDITIONS = (
    *("benign", "pia@1", "poison@9+10", "pia@1:late-3", "pia@top:late-3-4", "stale@1:every-2"),
    *(
        "pia@random:late-1-3",
        "poisonedrag@m5",
        "poisonedrag-benign@m10:early-2",
        "a-or-b@1+2:drift",
    ),
    *("pia@1+2+3:late-2-1", "hijack-removal@m5", "jamming-harm@3:2016,2018"),
    "pia@top:constant-2",
)


def history(number, *answers, target="wrong", documents=5):
    return tuple(
        make_snapshot(
            [f"Page {rank} of {step}." for rank in range(1, documents + 1)],
            question=f"Question {number}?",
            query_id=f"q-{number}",
            observed_at=datetime(2015 + step, 12, 31, tzinfo=UTC),
            labels=Labels((f"Town {answer}",), target=target, false_passages=(f"It is {target}.",)),
        )
        for step, answer in enumerate(answers)
    )


HISTORIES = (history(0, *"AABBC"), history(1, *"AAAAA"), history(2, *"ABABA"))


def ranks(outcome):
    return [[s.labels.poisoned_ranks for s in history] for history in outcome.histories]


def test_grammar():
    for text in CONDITIONS:
        assert parse_condition(text).name == text
    assert parse_condition("pia@9+10:every-3") == Condition("pia", (9, 10), "every-3")
    assert parse_condition("pia@top:late-3-4") == Condition("pia", (), "late-3-4", "top")
    assert parse_condition("poisonedrag@m5") == Condition("poisonedrag", (), "", "m5")
    assert parse_condition("pia@1:all") == parse_condition("pia@1")
    assert parse_condition("benign") == Condition()


@pytest.mark.parametrize(
    "text",
    [
        *("", "pia", "pia@", "pia@0", "pia@1+1", "pia@m0", "pia@-1", "pia@first", "unheard@1"),
        *("pia@1:", "pia@1:sometimes", "pia@1+2:late-1-3", "pia@1 ", "PIA@1", "pia-removal@1"),
        *("benign@1", "pia@1@2", "pia@1+top", "pia@m5+1", "pia@1:late-1-2"),
    ],
)
def test_unreadable_conditions_are_refused(text):
    with pytest.raises(ConfigurationError):
        parse_condition(text)


def test_the_most_texts_of_a_condition():
    for text, peak in {
        "benign": 0, "pia@1": 1, "pia@3+5": 2, "pia@3+5:late-1-1": 1, "pia@top": 1,
        "pia@top:constant-3": 3, "poisonedrag@m5": 5, "poisonedrag@m5:late-1-2": 2,
    }.items():  # fmt: skip
        assert parse_condition(text).peak == peak


def test_surfaces():
    assert attack_named("pia").surface is Surface.LIST
    assert attack_named("poisonedrag-benign").surface is Surface.CORPUS
    assert parse_condition("poisonedrag@1").surface is Surface.LIST
    assert parse_condition("pia@m5").surface is Surface.CORPUS
    assert Condition().surface is Surface.LIST
    assert {name for name, attack in ATTACKS.items() if attack.surface is Surface.LIST} == {
        *("pia", "poison", "claim", "pia-long", "poison-long", "a-or-b", "conditional", "stale")
    }


def test_a_table_is_the_clean_condition_and_every_attack_at_every_position():
    names = [c.name for c in product(["pia", "poison", "a-or-b@3"], ["1", "1+2"], "late-2")]
    assert names == [
        *("benign", "pia@1:late-2", "pia@1+2:late-2", "poison@1:late-2", "poison@1+2:late-2"),
        "a-or-b@3",
    ]
    assert [c.name for c in product(["benign", "pia", "pia@1"], ["1"])] == ["benign", "pia@1"]
    assert product([], []) == (Condition(),)
    made = product(["poisonedrag", "multihop", "pia@m3"], ["1", "10"])
    assert [c.name for c in made] == ["benign", "poisonedrag@m5", "multihop@m4", "pia@m3"]
    assert made[0] == Condition(place="corpus") and made[0].surface is Surface.CORPUS


@pytest.mark.parametrize("names", [["pia", "poisonedrag"], ["poisonedrag@1", "poisonedrag@m5"]])
def test_surfaces_never_share_a_table(names):
    with pytest.raises(ConfigurationError, match="separate runs"):
        product(names, ["1"])
    with pytest.raises(ConfigurationError, match="separate runs"):
        one_surface([parse_condition("pia@1"), parse_condition("pia@m1")])
    with pytest.raises(ConfigurationError, match="no result list"):
        Schedule.parse("poisonedrag@m5")


def test_benign_is_the_very_histories():
    outcome = attacked(Condition(), HISTORIES, k=5)
    for new, old in zip(outcome.histories, HISTORIES, strict=True):
        assert all(one is other for one, other in zip(new, old, strict=True))
    assert not outcome.skipped
    for text in ("pia@1:early-0", "pia@top:late-99", "poison@random:constant-0"):
        assert attacked(parse_condition(text), HISTORIES, k=5) == outcome
    assert attacked(parse_condition("pia@1"), [], k=5).histories == ()
    assert attacked(parse_condition("pia@1:drift"), [()], k=5).histories == ((),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pia@3", [(3,)] * 5),
        ("pia@5+1", [(1, 5)] * 5),
        ("pia@5+1:late-4-1", [(), (), (), (), (5,)]),
        ("pia@top:every-2", [(1,), (), (1,), (), (1,)]),
        ("pia@top:last-2-4", [(), (), (), (1, 2, 3, 4), (1, 2, 3, 4)]),
        ("pia@1+2+3+4:late-3", [(), (), (), (1, 2, 3, 4), (1, 2, 3, 4)]),
        ("pia@1:2016,2019", [(), (1,), (), (), (1,)]),
        ("pia@2:drift", [(), (), (2,), (2,), (2,)]),
        ("stale@2", [(), (), (2,), (2,), (2,)]),
        ("stale@2:every-2", [(), (), (2,), (), (2,)]),
    ],
)
def test_places_over_time(text, expected):
    assert ranks(attacked(parse_condition(text), HISTORIES[:1], k=5)) == [expected]


def test_every_n_rotates_with_the_question():
    outcome = attacked(parse_condition("pia@1:every-3"), HISTORIES, k=5)
    steps = [[step for step, r in enumerate(history) if r] for history in ranks(outcome)]
    assert steps == [[0, 3], [2], [1, 4]]


def test_stale_replay_goes_after_the_newest_former_answer():
    (one,) = attacked(parse_condition("stale@1"), [history(0, *"ABBCA")], k=5).histories
    assert [s.labels.target for s in one] == ["wrong", "Town A", "Town A", "Town B", "Town C"]
    assert [s.labels.attack for s in one] == [None, *["stale"] * 4]


@pytest.mark.parametrize(
    ("text", "spoiled", "reason"),
    [
        ("poison@1", {"false_passages": ()}, "no false passage"),
        ("pia@1", {"target": "Town A and more"}, "contains the right answer"),
        ("pia@1", {"target": None}, "no target"),
        ("pia-rivals@1", {}, "no second question"),
    ],
)
def test_a_question_that_cannot_be_attacked_is_left_out_and_named(text, spoiled, reason):
    first = tuple(replace(s, labels=replace(s.labels, **spoiled)) for s in HISTORIES[1])
    rest = HISTORIES[:1] if spoiled else ()
    outcome = attacked(parse_condition(text), [first, *rest], k=5)
    ((query_id, why),) = outcome.skipped.items()
    assert query_id == "q-1"
    assert reason in why
    assert len(outcome.histories) == len(rest)


@pytest.mark.parametrize("text", ["stale@1", "pia@1:drift"])
def test_a_question_that_never_changes_is_left_out_of_attacks_that_wait_for_it(text):
    outcome = attacked(parse_condition(text), HISTORIES, k=5)
    assert {id_: "never changes" in why for id_, why in outcome.skipped.items()} == {"q-1": True}
    assert [h[0].query.id for h in outcome.histories] == ["q-0", "q-2"]


def test_a_fault_at_a_spared_step_does_no_harm():
    spoiled = [replace(s, labels=None) if i < 3 else s for i, s in enumerate(HISTORIES[1])]
    outcome = attacked(parse_condition("pia@1:late-3"), [tuple(spoiled)], k=5)
    assert not outcome.skipped
    assert sum(bool(s.labels and s.labels.attack) for h in outcome.histories for s in h) == 2


@pytest.mark.parametrize("text", ["pia@6", "pia@1+6", "pia@top:late-1-6", "pia@random:constant-6"])
def test_ranks_beyond_k_are_refused(text):
    with pytest.raises(ConfigurationError, match="beyond k = 5"):
        attacked(parse_condition(text), HISTORIES, k=5)


@given(
    st.sampled_from(["pia", "poison", "a-or-b", "jamming", "pia-mixed", "stale"]),
    st.sampled_from(["1", "2+4", "top", "random"]),
    st.sampled_from(["", "every-2", "late-2", "early-1", "last-2", "drift"]),
    st.integers(0, 3),
)
def test_only_declared_documents_change_whatever_the_condition(attack, place, when, seed):
    condition = parse_condition(f"{attack}@{place}" + (f":{when}" if when else ""))
    before = pickle.dumps(HISTORIES)
    outcome = attacked(condition, HISTORIES, k=5, seed=seed)
    assert pickle.dumps(HISTORIES) == before
    assert outcome == attacked(condition, HISTORIES, k=5, seed=seed)
    clean = {s.id: s for history in HISTORIES for s in history}
    for snapshot in (s for history in outcome.histories for s in history):
        given_ = clean[snapshot.id]
        changed = {
            new.rank
            for new, old in zip(snapshot.documents, given_.documents, strict=True)
            if new != old
        }
        assert changed == set(snapshot.labels.poisoned_ranks)
        assert (snapshot is given_) == (snapshot.labels.attack is None)


def test_random_places_vary_with_the_seed_and_the_step():
    drawn = ranks(attacked(parse_condition("pia@random:constant-2"), HISTORIES, k=5, seed=1))
    assert len({places for history in drawn for places in history}) > 3
    assert drawn != ranks(attacked(parse_condition("pia@random:constant-2"), HISTORIES, k=5))


@pytest.mark.parametrize("text", [c for c in CONDITIONS if "@m" not in c and c != BENIGN])
def test_a_replay_plants_what_an_experiment_plants(text):
    histories = [history(n, *"AABBCCAABB", documents=10) for n in range(3)]
    outcome = attacked(parse_condition(text), histories, k=10)
    assert not outcome.skipped
    streamed = list(Schedule.parse(text).poison([s for h in histories for s in h]))
    assert streamed == [s for h in outcome.histories for s in h]
