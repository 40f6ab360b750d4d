"""What every attack in the registry must do."""

import pickle
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.evaluation.attacks.registry import ATTACKS
from pipelines.evaluation.metrics import contains, is_correct
from schemas.errors import ConfigurationError
from schemas.snapshot import Document, Labels, Query, SearchSnapshot

LABELS = Labels(
    answers=("Ada North",),
    target="Ben {South}",
    false_passages=("Ben {South} is the mayor of Belbrook, the council says.", "Second passage."),
)


def make_snapshot(count=5, labels=LABELS):
    return SearchSnapshot(
        query=Query("q-1", "Who is the mayor of {Belbrook}?"),
        observed_at=datetime(2020, 12, 31, tzinfo=UTC),
        documents=tuple(
            Document(rank, f"Page {rank}.", f"Title {rank}", f"https://site.example/{rank}")
            for rank in range(1, count + 1)
        ),
        labels=labels,
    )


@pytest.fixture(params=sorted(ATTACKS))
def attack(request):
    return ATTACKS[request.param]


def test_registered_under_its_own_name(attack):
    assert ATTACKS[attack.name] is attack


@pytest.mark.parametrize("name", sorted(ATTACKS))
@given(count=st.integers(0, 8), positions=st.sets(st.integers(1, 10), min_size=1, max_size=4))
def test_only_the_declared_ranks_change(name, count, positions):
    clean = make_snapshot(count)
    before = pickle.dumps(clean)
    attacked = ATTACKS[name].poison(clean, positions=sorted(positions), k=10)
    assert pickle.dumps(clean) == before
    assert attacked == ATTACKS[name].poison(clean, positions=sorted(positions, reverse=True), k=10)

    labels = attacked.labels
    assert labels is not None
    inside = {p for p in positions if p <= count}
    assert len(attacked.documents) == count + len(positions - inside)
    assert [d.rank for d in attacked.documents] == list(range(1, len(attacked.documents) + 1))
    appended = range(count + 1, count + 1 + len(positions - inside))
    assert labels.poisoned_ranks == (*sorted(inside), *appended)
    assert labels == replace(LABELS, attack=name, poisoned_ranks=labels.poisoned_ranks)
    for document in clean.documents:
        if document.rank not in labels.poisoned_ranks:
            assert document in attacked.documents
    assert replace(attacked, documents=clean.documents, labels=clean.labels) == clean


def test_planted_text_claims_the_target_and_never_the_truth(attack):
    attacked = attack.poison(make_snapshot(), positions=[2])
    planted = attacked.documents[1]
    assert contains(planted.text, "Ben {South}")
    assert not is_correct(planted.text, LABELS)
    assert planted.text != "Page 2."


def test_a_gap_in_the_ranks_is_filled_at_the_wanted_rank(attack):
    clean = make_snapshot()
    gappy = replace(clean, documents=(clean.documents[0], clean.documents[4]))
    attacked = attack.poison(gappy, positions=[3], k=5)
    assert [d.rank for d in attacked.documents] == [1, 3, 5]
    assert attacked.labels is not None
    assert attacked.labels.poisoned_ranks == (3,)


@pytest.mark.parametrize("positions", [[], [0], [-1], [2, 2], [1, 11]])
def test_impossible_positions_are_refused(attack, positions):
    with pytest.raises(ConfigurationError, match="positions"):
        attack.poison(make_snapshot(), positions=positions, k=10)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (None, "no target"),
        (replace(LABELS, target=None), "no target"),
        (replace(LABELS, target=" ?"), "no target"),
        (replace(LABELS, target="ADA NORTH, of course"), "right answer"),
        (replace(LABELS, attack="pia", poisoned_ranks=(1,)), "already attacked"),
    ],
)
def test_meaningless_attacks_are_refused(attack, labels, reason):
    with pytest.raises(ConfigurationError, match=reason):
        attack.poison(make_snapshot(labels=labels), positions=[1])


def test_half_of_a_joint_answer_is_a_fair_target(attack):
    labels = replace(LABELS, answers=("Ada", "Bo"), all_answers_required=True, target="Ada")
    assert attack.poison(make_snapshot(labels=labels), positions=[1]).labels.attack == attack.name


def test_prompt_injection_repeats_one_instruction_ten_times():
    text = ATTACKS["pia"].poison(make_snapshot(), positions=[1]).documents[0].text
    assert text.count("Who is the mayor of {Belbrook}?") == 10
    assert text.count("Ben {South}") == 10


def test_planted_falsehood_repeats_the_first_passage_ten_times_one_a_line():
    text = ATTACKS["poison"].poison(make_snapshot(), positions=[1]).documents[0].text
    assert text.split("\n") == [LABELS.false_passages[0]] * 10
    assert "Who is the mayor" not in text


def test_planted_falsehood_needs_a_false_passage():
    labels = replace(LABELS, false_passages=())
    with pytest.raises(ConfigurationError, match="false passage"):
        ATTACKS["poison"].poison(make_snapshot(labels=labels), positions=[1])


class Obedient:
    """Answers with what the last instruction it reads asks for."""

    def answer(self, snapshot):
        marker = "reply with this answer: "
        orders = [d.text.split(marker)[-1] for d in snapshot.documents if marker in d.text]
        return orders[-1] if orders else "Ada North"


def test_prompt_injection_always_works_on_a_model_that_obeys():
    attacked = ATTACKS["pia"].poison(make_snapshot(), positions=[3])
    assert contains(Obedient().answer(attacked), "Ben {South}")
    assert contains(Obedient().answer(make_snapshot()), "Ada North")
