"""What is behind an answer: counts, weights, status, and when it is too little."""

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
from radarstream.schemas.support import AnswerStatus, Support, lacks_support, status_of
from radarstream.schemas.verdict import Abstention, MemoryVerdict, Verdict
from tests.builders import OBSERVED_AT

QUESTION = Query("cup", "Who won the cup?")
WORDS = {"same": (1.0, 0.0), "other": (0.0, 1.0), "unclear": (0.1, 0.2)}
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
    for word, (entailed, contradicted) in WORDS.items():
        row = np.array([entailed, 1.0 - entailed - contradicted, contradicted])
        known["Rome", word] = known[word, "Rome"] = row
    verdict = Verdict("Rome", (), memory=MemoryVerdict(previous_answer=memory))
    return support_of(evidence_of(held), verdict, known)


def counts(support: Support) -> tuple[int, int, int, int]:
    return (
        support.documents_for,
        support.sites_for,
        support.documents_against,
        support.sites_against,
    )


def test_documents_and_sites_on_both_sides() -> None:
    support = supported(
        [("same", "a"), ("same", "b"), ("same", "b"), ("other", "c"), ("unclear", "d"), (None, "e")]
    )
    assert counts(support) == (3, 2, 1, 1)
    assert (support.rival_answer, supported([("same", "a")]).rival_answer) == ("other", None)
    assert (support.weight_for, support.weight_against, support.margin) == (2.5, 1.0, 1.5)
    assert support.confidence == pytest.approx(2.5 / 11.5)


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
    support = supported([("same", address) for address in addresses])
    assert counts(support) == (len(addresses), 1, 0, 0)


def test_the_memory_counts_on_its_side() -> None:
    agreeing, opposed = (supported([("same", "a")], memory) for memory in ("same", "other"))
    assert (agreeing.memory, agreeing.margin) == (1.0, 2.0)
    assert (opposed.memory, opposed.margin) == (-1.0, 0.0)
    assert opposed.confidence < supported([("same", "a")]).confidence < agreeing.confidence


def test_the_rival_is_the_strongest_other_answer() -> None:
    """Five pages that say five things outweigh nobody; five that agree do."""
    others = ["Oslo", "Bern", "Cork", "Lima", "oslo."]
    held = [("same", "a"), ("same", "b"), *((other, f"s{n}") for n, other in enumerate(others))]
    row, known = np.array([0.0, 0.0, 1.0]), {}
    for other in others:
        known["Rome", other] = known[other, "Rome"] = row
    known["Rome", "same"] = known["same", "Rome"] = np.array([1.0, 0.0, 0.0])
    evidence = evidence_of(held)
    scattered = support_of(evidence, Verdict("Rome", ()), known)
    assert counts(scattered) == (2, 2, 5, 5)
    assert (scattered.weight_against, scattered.rival, scattered.margin) == (5.0, 2.0, 0.0)
    assert scattered.rival_answer == "Oslo"  # the best ranked of those that are spelt alike
    agreeing = np.zeros((7, 7))
    agreeing[2:, 2:] = 0.9  # as the relation scorer has it
    related = replace(evidence, relations=Relations(agreeing, np.zeros((7, 7))))
    united = support_of(related, Verdict("Rome", ()), known)
    assert (united.rival, united.margin) == (5.0, -3.0)


def test_without_atomic_answers_documents_count_that_name_the_answer() -> None:
    evidence = evidence_of([("same", "a"), ("same", "b"), ("same", "c")], answered=False)
    named = (replace(evidence.documents[0], text="Rome won."), *evidence.documents[1:])
    verdict = Verdict("Rome", ())
    support = support_of(replace(evidence, documents=named), verdict, {})
    assert counts(support) == (1, 1, 0, 0)
    assert counts(support_of(evidence, verdict, {})) == (0, 0, 0, 0)


@given(pages, memories, st.integers(0, 8))
def test_an_agreeing_independent_document_never_takes_support_away(
    held: list[Page], memory: str | None, place: int
) -> None:
    before = supported(held, memory)
    after = supported([*held[:place], ("same", "new"), *held[place:]], memory)
    assert after.documents_for == before.documents_for + 1
    assert after.sites_for == before.sites_for + 1
    assert counts(after)[2:] == counts(before)[2:]
    assert after.weight_for == pytest.approx(before.weight_for + 1.0)
    assert after.margin > before.margin
    assert after.confidence > before.confidence
    for least in range(4):
        if lacks_support(before, least) is None:
            assert lacks_support(after, least) is None


@given(pages, memories)
def test_a_contradicting_independent_document_never_adds_support(
    held: list[Page], memory: str | None
) -> None:
    before, after = supported(held, memory), supported([*held, ("other", "new")], memory)
    assert counts(after)[:2] == counts(before)[:2]
    assert after.margin < before.margin
    assert after.confidence <= before.confidence


@given(pages, memories, st.randoms(use_true_random=False))
def test_order_and_names_of_sites_do_not_matter(held: list[Page], memory: str | None, rng) -> None:
    renamed = {"a": "d", "b": "a", "c": "x", "d": "b", "": ""}
    turned = [(said, renamed[site]) for said, site in held]
    rng.shuffle(turned)
    one, other = supported(held, memory), supported(turned, memory)
    assert counts(one) == counts(other)
    assert one.margin == pytest.approx(other.margin)
    assert status_of(one) is status_of(other)


@given(pages, memories)
def test_every_answer_has_a_status_and_the_rules_say_which(
    held: list[Page], memory: str | None
) -> None:
    support = supported(held, memory)
    status = status_of(support)
    assert status in set(AnswerStatus) - {AnswerStatus.ABSTAINED}
    if status is AnswerStatus.REMEMBERED:
        assert (support.documents_for, memory) == (0, "same")
    if status is AnswerStatus.CORROBORATED:
        assert support.sites_for >= 2
        assert support.rival < (support.weight_for + max(0.0, support.memory)) / 2
    if status is AnswerStatus.SINGLE_SOURCE:
        assert support.sites_for <= 1
    assert 0.0 <= support.confidence < 1.0


@pytest.mark.parametrize(
    ("held", "memory", "status", "refused"),
    [
        ([("same", "a"), ("same", "b"), ("same", "c"), ("other", "d")], None, "corroborated", None),
        ([("same", "a"), ("same", "b"), ("other", "d")], None, "disputed", None),
        ([("same", "a"), ("same", "b"), ("other", "c"), ("other", "d")], None, "disputed",
         "outweighed"),
        ([("same", "a")], None, "single_source", "thin_evidence"),
        ([("same", "a"), ("same", "a")], None, "single_source", "thin_evidence"),
        ([("same", "a")], "same", "single_source", None),
        ([("same", "a"), *[("other", s) for s in "bcdefg"]], None, "disputed", "thin_evidence"),
        ([], None, "single_source", "thin_evidence"),
        ([], "same", "remembered", None),
        ([("other", "a")], "same", "remembered", "outweighed"),
        ([("same", "a"), ("same", "b"), ("same", "c")], "other", "corroborated", None),
    ],
)  # fmt: skip
def test_status_and_refusal(
    held: list[Page], memory: str | None, status: str, refused: str | None
) -> None:
    support = supported(held, memory)
    assert (status_of(support), lacks_support(support, 2)) == (status, refused)
    assert lacks_support(support, 0) is None


def test_an_abstention_has_a_status() -> None:
    assert status_of(None) is AnswerStatus.ABSTAINED


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
