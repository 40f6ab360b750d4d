"""What is behind an answer: sites on both sides, status, and when it is too little."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.protocol import Embed, Relate
from radarstream.pipelines.signals.support import (
    Known,
    learn,
    means_the_same,
    overhearing,
    support_of,
    unknown_relations,
)
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.snapshot import Document, Query
from radarstream.schemas.support import Support, lacks_support, status_of
from radarstream.schemas.verdict import Abstention, MemoryVerdict, Verdict
from tests.builders import OBSERVED_AT

QUESTION = Query("cup", "Who won the cup?")

Page = tuple[str | None, str]  # what it says of the answer, its site

stances = st.sampled_from(["same", "other", "unclear", None])
pages = st.lists(st.tuples(stances, st.sampled_from(["a", "b", "c", "d", ""])), max_size=8)
memories = st.sampled_from([None, "same", "other", "unclear"])


def evidence_of(held: Sequence[Page], *, answered: bool = True) -> Evidence:
    documents = tuple(
        Document(rank, f"page {rank} speaks of {rank} in {rank} ways", url=url_of(site))
        for rank, (_, site) in enumerate(held, start=1)
    )
    answers = tuple(AtomicAnswer(said or "", said is None) for said, _ in held)
    return Evidence(QUESTION, OBSERVED_AT, documents, answers if answered else None)


def url_of(site: str) -> str:
    return f"https://{site}.example/page" if site.isalnum() else site


def supported(held: Sequence[Page], memory: str | None = None) -> Support:
    known: Known = {}
    for word, row in (("same", [1, 0, 0]), ("other", [0, 0, 1]), ("unclear", [0.1, 0.7, 0.2])):
        known["Rome", word] = known[word, "Rome"] = np.array(row)
    verdict = Verdict("Rome", (), memory=MemoryVerdict(previous_answer=memory))
    return support_of(evidence_of(held), verdict, "Rome", known, 1)


def counts(support: Support) -> tuple[int, int]:
    return support.sites_for, support.rival_sites


def test_documents_and_sites_on_both_sides() -> None:
    said = ("same", "same", "same", "other", "unclear", None)
    support = supported(list(zip(said, "abbcde", strict=True)))
    assert counts(support) == (2, 1)
    assert (support.ranks_for, support.ranks_against) == ((1, 2, 3), (4,))
    assert (support.rival_answer, supported([("same", "a")]).rival_answer) == ("other", None)
    assert (support.to_silence, support.to_change) == (1, 2)
    assert support.confidence == pytest.approx(2 / 11)


@pytest.mark.parametrize(
    "addresses",
    [
        ("https://ann.github.io/1", "https://bob.github.io/1", "https://github.io/"),
        ("evil.test/a", "http:/evil.test", "evil.test/b"),
        ("http://192.0.2.7/", "http://[::ffff:192.0.2.7]/"),
        ("http://0x1020304/", "http://16909060/", "http://1.2.772/"),
    ],
    ids=["a platform", "no host", "one IP address", "odd spellings"],
)
def test_names_that_anybody_can_have_many_of_are_one_site(addresses: tuple[str, ...]) -> None:
    assert counts(supported([("same", address) for address in addresses])) == (1, 0)


def test_the_rival_is_the_strongest_other_answer() -> None:
    """Four answers on five sites count for two; one answer on five sites for five."""
    others = ["Oslo", "Bern", "Cork", "Lima", "oslo."]
    held = [("same", "a"), ("same", "b"), *((other, f"s{n}") for n, other in enumerate(others))]
    row, known = np.array([0.0, 0.0, 1.0]), {}
    for other in others:
        known["Rome", other] = known[other, "Rome"] = row
    known["Rome", "same"] = known["same", "Rome"] = np.array([1.0, 0.0, 0.0])
    evidence = evidence_of(held)
    scattered = support_of(evidence, Verdict("Rome", ()), "Rome", known, 1)
    assert counts(scattered) == (2, 2)
    assert scattered.rival_answer == "Oslo"  # the best ranked of those that are spelt alike
    agreeing = np.full((7, 7), 0.9)  # as the relation scorer has it
    agreeing[:2, 2:] = agreeing[2:, :2] = 0.0
    related = replace(evidence, relations=Relations(agreeing, np.zeros((7, 7))))
    assert counts(support_of(related, Verdict("Rome", ()), "Rome", known, 1)) == (2, 5)


def test_without_atomic_answers_documents_count_that_name_the_answer() -> None:
    evidence = evidence_of([("same", "a"), ("same", "b"), ("same", "c")], answered=False)
    named = (replace(evidence.documents[0], text="Rome won."), *evidence.documents[1:])
    verdict = Verdict("Rome", ())
    support = support_of(replace(evidence, documents=named), verdict, "Rome", {}, None)
    assert (counts(support), support.to_silence) == ((1, 0), None)
    assert counts(support_of(evidence, verdict, "Rome", {}, None)) == (0, 0)


@given(pages, memories, st.integers(0, 8))
def test_an_agreeing_independent_document_never_takes_support_away(held, memory, place) -> None:
    before = supported(held, memory)
    after = supported([*held[:place], ("same", "new"), *held[place:]], memory)
    assert counts(after) == (before.sites_for + 1, before.rival_sites)
    assert after.confidence > before.confidence
    for least in range(4):
        if lacks_support(*counts(before), least) is None:
            assert lacks_support(*counts(after), least) is None


@given(pages, memories)
def test_a_contradicting_independent_document_never_adds_support(held, memory) -> None:
    before, after = supported(held, memory), supported([*held, ("other", "new")], memory)
    assert counts(after) == (before.sites_for, before.rival_sites + 1)
    assert after.confidence <= before.confidence


@given(pages, memories, st.randoms(use_true_random=False))
def test_order_and_names_of_sites_do_not_matter(held: list[Page], memory: str | None, rng) -> None:
    """A site speaks by its best ranked page: here each has one."""
    held = list({site: (said, site) for said, site in held}.values())
    renamed = {"a": "d", "b": "a", "c": "x", "d": "b", "": ""}
    turned = [(said, renamed[site]) for said, site in held]
    rng.shuffle(turned)
    one, other = supported(held, memory), supported(turned, memory)
    assert (counts(one), one.confidence) == (counts(other), other.confidence)


@pytest.mark.parametrize(
    ("sites", "withstand", "memory", "status", "refused"),
    [
        ((3, 1), 1, 0.0, "corroborated", None),
        ((2, 0), 1, -1.0, "corroborated", None),
        ((2, 1), 1, 0.0, "disputed", None),
        ((2, 2), 1, 0.0, "disputed", "outweighed"),
        ((3, 1), 2, 0.0, "disputed", None),
        ((2, 1), 0, 0.0, "corroborated", None),
        ((1, 0), 0, 0.0, "single_source", None),
        ((1, 0), 0, 1.0, "single_source", None),
        ((1, 0), 1, 1.0, "remembered", "thin_evidence"),
        ((0, 6), 1, 1.0, "remembered", "thin_evidence"),
        ((2, 0), 2, 0.0, "corroborated", "thin_evidence"),
        ((1, 6), 1, 0.0, "disputed", "thin_evidence"),
        ((0, 0), None, 0.0, "single_source", None),
        ((0, 0), None, 1.0, "remembered", None),
    ],
)  # fmt: skip
def test_status_and_refusal(sites, withstand, memory, status, refused) -> None:
    assert status_of(Support(*sites, memory), withstand) == status
    if withstand is not None:
        assert lacks_support(*sites, withstand) == refused


def test_what_a_defence_asked_is_not_asked_again() -> None:
    known: Known = {}

    def defending():
        yield Embed(("x",))
        rows = yield Relate("q", ("Rome", "same"), ("same", "Rome"))
        return rows.sum()

    asking = overhearing(defending(), known)
    next(asking)
    asking.send(np.ones((1, 2)))
    with pytest.raises(StopIteration) as stop:
        asking.send(np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0]]))
    assert stop.value.value == 2.0
    assert {pair: row[0] for pair, row in known.items()} == {
        ("Rome", "same"): 0.9,
        ("same", "Rome"): 0.8,
    }
    evidence = evidence_of([("same", "a"), ("other", "b"), ("other", "c"), (None, "d")])
    request = unknown_relations(evidence, Verdict("Rome", ()), known)
    assert request == Relate(QUESTION.text, ("Rome", "other"), ("other", "Rome"))
    assert unknown_relations(evidence, Verdict("", (), Abstention.NO_EVIDENCE), known) is None


def test_relations_of_an_answer_that_a_document_gave_are_in_the_evidence() -> None:
    evidence = evidence_of([("same", "a"), (None, "x"), ("other", "b")])
    entailment, contradiction = np.array([[1.0, 0.2], [0.3, 1.0]]), np.array([[0, 0.7], [0.6, 0]])
    evidence = replace(evidence, relations=Relations(entailment, contradiction))
    known: Known = {}
    learn(evidence, "same", known)
    assert known["same", "other"].tolist() == pytest.approx([0.2, 0.1, 0.7])
    assert known["other", "same"].tolist() == pytest.approx([0.3, 0.1, 0.6])
    assert unknown_relations(evidence, Verdict("same", ()), known) is None
    assert means_the_same("same", "same", {})
    assert not means_the_same("same", "other", known)
