"""What every attack in the registry, and every variation of one, must do on both surfaces."""

import pickle
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.connectors.models.scripted import ScriptedEmbedder
from radarstream.lab.attacks.corpus import corpus_of, inject, searched
from radarstream.lab.attacks.protocol import UnattackableError, aim_of
from radarstream.lab.attacks.registry import ATTACKS, attack_named
from radarstream.lab.study.scoring import is_correct
from radarstream.schemas.answer_text import contains
from radarstream.schemas.snapshot import Labels, Query
from tests.builders import make_snapshot

LABELS = Labels(
    answers=("Ada North",),
    target="Ben {South}",
    false_passages=("Ben {South} is the mayor of Belbrook, the council says.", "Second passage."),
)
ELSEWHERE = Labels(("Rome",), target="Oslo", false_passages=("The capital is Oslo.",))
VARIED = ("pia-benign", "poison-mixed", "injection-rivals", "hijack-paraphrased")
NAMES = (*sorted(ATTACKS), *VARIED)
OWN_TARGET = ("jamming", "jamming-harm", "jamming-information", "stale")
TELLS_THE_TRUTH = ("a-or-b", "conditional", "multihop")


def snapshot_of(count=5, labels=LABELS):
    texts, asked = [f"Page {rank}." for rank in range(1, count + 1)], "the mayor of {Belbrook}"
    return make_snapshot(texts, question=f"Who is {asked}?", query_id="q-1", labels=labels)


def make_aim(snapshot):
    """All an attack can know: former answers and another question, too."""
    other = replace(snapshot, query=Query("q-2", "What is the capital?"), labels=ELSEWHERE)
    aim = aim_of(snapshot, former=("Cleo West",), elsewhere=aim_of(other))
    return aim if aim.relevant else replace(aim, relevant=("Some page.",))


def poisoned(name, snapshot, positions):
    aim = make_aim(snapshot)
    return attack_named(name).poison(snapshot, positions=positions, aim=aim)


def target_of(name):
    attack = attack_named(name)
    return attack.target(make_aim(snapshot_of()))


@pytest.mark.parametrize("name", NAMES)
@given(count=st.integers(0, 8), positions=st.sets(st.integers(1, 10), min_size=1, max_size=4))
def test_only_the_declared_ranks_change(name, count, positions):
    clean = snapshot_of(count)
    before = pickle.dumps(clean)
    attacked = poisoned(name, clean, sorted(positions))
    assert pickle.dumps(clean) == before
    assert attacked == poisoned(name, clean, sorted(positions, reverse=True))

    labels = attacked.labels
    inside = {p for p in positions if p <= count}
    assert len(attacked.documents) == count + len(positions - inside)
    assert [d.rank for d in attacked.documents] == list(range(1, len(attacked.documents) + 1))
    appended = range(count + 1, count + 1 + len(positions - inside))
    assert labels.poisoned_ranks == (*sorted(inside), *appended)
    assert labels == replace(
        LABELS, attack=name, target=target_of(name), poisoned_ranks=labels.poisoned_ranks
    )
    for document in clean.documents:
        if document.rank not in labels.poisoned_ranks:
            assert document in attacked.documents
    asked = replace(clean.query, text=attack_named(name).asked(clean.query.text))
    restored = replace(attacked, documents=clean.documents, labels=clean.labels)
    assert restored == replace(clean, query=asked)


@pytest.mark.parametrize("name", NAMES)
def test_planted_text_claims_the_target_and_never_the_truth_unless_that_is_its_way(name):
    planted = poisoned(name, snapshot_of(), [2]).documents[1]
    assert contains(planted.text, target_of(name))
    assert is_correct(planted.text, LABELS) == (name in TELLS_THE_TRUTH)
    assert planted.text != "Page 2."


@pytest.mark.parametrize("name", NAMES)
def test_every_planted_page_has_its_rank_and_site_and_a_date_only_among_dated_pages(name):
    clean = snapshot_of()
    planted = poisoned(name, clean, [1, 3]).documents
    assert len({planted[0].url, planted[2].url} | {d.url for d in clean.documents}) == 7
    assert planted[0].published_at is None
    day = datetime(2020, 1, 1, tzinfo=UTC)
    dated = replace(clean, documents=tuple(replace(d, published_at=day) for d in clean.documents))
    assert poisoned(name, dated, [1]).documents[0].published_at == clean.observed_at
    gappy = replace(clean, documents=(clean.documents[0], clean.documents[4]))
    attacked = poisoned(name, gappy, [3])
    assert [d.rank for d in attacked.documents] == [1, 3, 5]
    assert attacked.labels.poisoned_ranks == (3,)


@pytest.mark.parametrize("name", NAMES)
def test_meaningless_attacks_are_refused(name):
    reasons = [(replace(LABELS, attack="pia", poisoned_ranks=(1,)), "already attacked")]
    if name not in OWN_TARGET:
        reasons += [
            (None, "no target"),
            (replace(LABELS, target=None), "no target"),
            (replace(LABELS, target=" ?"), "no target"),
            (replace(LABELS, target="ADA NORTH, of course"), "right answer"),
        ]
    for labels, reason in reasons:
        with pytest.raises(UnattackableError, match=reason):
            poisoned(name, snapshot_of(labels=labels), [1])
    if name not in OWN_TARGET:  # half of a joint answer is a fair target
        joint = replace(LABELS, answers=("Ada", "Bo"), all_answers_required=True, target="Ada")
        assert poisoned(name, snapshot_of(labels=joint), [1]).labels.attack == name


@pytest.mark.parametrize("name", (*NAMES, "poisonedrag-removal"))
@given(count=st.integers(1, 6), k=st.integers(1, 12))
def test_a_corpus_gets_the_declared_texts_and_keeps_the_others(name, count, k):
    clean = snapshot_of(6)
    corpus = corpus_of(clean.documents)
    before = pickle.dumps((clean, corpus))
    attack, aim = attack_named(name), make_aim(clean)
    attacked = inject(corpus, attack, clean, count=count, aim=aim)
    assert pickle.dumps((clean, corpus)) == before
    assert attacked == inject(corpus, attack, clean, count=count, aim=aim)

    (injection,) = attacked.injections
    assert (injection.attack, injection.query_id) == (name, "q-1")
    assert injection.target == target_of(name)
    assert len(set(injection.added)) == count
    assert attacked.entries[: len(corpus.entries)] == corpus.entries
    assert tuple(e.id for e in attacked.entries[len(corpus.entries) :]) == injection.added
    assert attacked.poison_of("q-1") == set(injection.added)
    assert attacked.poison_of("q-2") == frozenset()

    found = searched(clean, attacked, k, ScriptedEmbedder())
    assert [d.rank for d in found.documents] == list(range(1, min(k, 6 + count) + 1))
    known = {entry.document.url for entry in corpus.entries}
    planted = {d.rank for d in found.documents if d.url not in known}
    assert set(found.labels.poisoned_ranks) == planted
    assert (found.labels.attack, found.labels.target) == (name, target_of(name))


@pytest.mark.parametrize("name", NAMES)
def test_it_has_its_own_name_and_survives_pickling(name):
    attack = pickle.loads(pickle.dumps(attack_named(name)))
    assert attack.name == name
    aim = make_aim(snapshot_of())
    assert attack.texts(aim, 3) == attack_named(name).texts(aim, 3)
