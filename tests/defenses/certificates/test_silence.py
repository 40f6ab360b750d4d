"""How many documents leave an answer without enough support: no attack with fewer does."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from radarstream.defenses.certificates.registry import certified
from radarstream.defenses.certificates.silence import silence_bounds
from radarstream.defenses.majority import Majority
from radarstream.pipelines.signals.support import Known, support_of
from radarstream.schemas.certificate import Change
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.snapshot import Document, Query
from radarstream.schemas.support import Support, lacks_support
from radarstream.schemas.verdict import Abstention, DocumentVerdict, MemoryVerdict, Reason, Verdict
from tests.builders import OBSERVED_AT
from tests.flip_cases import event_of

ANSWER = "Rome"
CHANCE = np.random.default_rng(5).random((40, 40))


@dataclass(frozen=True)
class Page:
    """What a page says of the answer (entailed, contradicted), where, and in which words."""

    entailed: float
    contradicted: float
    site: str
    start: int
    number: int = 0

    @property
    def text(self) -> str:
        return " ".join(f"w{n}" for n in range(self.start, self.start + 30))


@st.composite
def pages(draw: st.DrawFn) -> Page:
    entailed = draw(st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
    contradicted = draw(st.sampled_from([0.0, 0.5, 1.0])) * (1.0 - entailed)
    if entailed < 0.5 and draw(st.booleans()):
        contradicted = 1.0 - entailed
    site = draw(st.sampled_from(["", *"abcdefgh"]))
    start = draw(st.integers(0, 9)) * draw(st.sampled_from([3, 50]))
    return Page(entailed, contradicted, site, start, draw(st.integers(0, 39)))


def supported(held: list[Page], memory: float | None) -> Support:
    """The support of the answer. How far two pages agree is in their numbers; liars do."""
    texts = [f"answer {n}" for n in range(len(held))]
    known: Known = {}
    for page, text in zip(held, texts, strict=True):
        row = np.array([page.entailed, 0.0, page.contradicted])
        known[ANSWER, text] = known[text, ANSWER] = row
    if memory is not None:
        row = np.array([max(0.0, memory), 0.0, max(0.0, -memory)])
        known[ANSWER, "old"] = known["old", ANSWER] = row
    documents = tuple(
        Document(rank, page.text, url=f"https://{page.site}.example/" if page.site else "")
        for rank, page in enumerate(held, start=1)
    )
    numbers = [page.number for page in held]
    agreement = CHANCE[np.ix_(numbers, numbers)]
    lying = np.array([page.site.startswith("liar") for page in held])
    agreement[np.ix_(lying, lying)] = 1.0
    relations = Relations(agreement, 0.0 * agreement)
    answers = tuple(map(AtomicAnswer, texts))
    evidence = Evidence(Query("cup", "Who?"), OBSERVED_AT, documents, answers, relations)
    previous = None if memory is None else "old"
    verdict = Verdict(ANSWER, (), memory=MemoryVerdict(previous_answer=previous))
    return support_of(evidence, verdict, known)


def bounds_of(support: Support, present: int, least: int):
    documents = tuple(DocumentVerdict(n + 1, True, Reason.SUPPORTED, "x") for n in range(present))
    event = replace(event_of(Verdict(ANSWER, documents)), support=support)
    return {bound.change: bound for bound in silence_bounds(event, least)}


held = st.lists(pages(), min_size=1, max_size=8)
memories = st.sampled_from([None, 1.0, 0.6, 0.2, -0.4, -1.0])


@settings(max_examples=150)
@given(held, memories, st.integers(1, 3), st.lists(pages(), max_size=6), st.data())
def test_no_attack_below_the_bound_silences(
    present: list[Page], memory: float | None, least: int, planted: list[Page], data: st.DataObject
) -> None:
    support = supported(present, memory)
    assume(lacks_support(support, least) is None)
    bounds = bounds_of(support, len(present), least)
    added = planted[: bounds[Change.ADDED].needed - 1]
    after = supported([*present, *added], memory)
    assert lacks_support(after, least) is None
    replacing = planted[: min(len(present), bounds[Change.REPLACED].needed - 1)]
    order = data.draw(st.permutations(range(len(present))))
    stay = [present[n] for n in sorted(order[len(replacing) :])]
    after = supported([*stay, *replacing], memory)
    assert lacks_support(after, least) is None


@settings(max_examples=75)
@given(held, memories, st.integers(1, 3))
def test_what_is_enough_silences(present: list[Page], memory: float | None, least: int) -> None:
    support = supported(present, memory)
    assume(lacks_support(support, least) is None)
    bounds = bounds_of(support, len(present), least)

    liars = [Page(0.0, 1.0, f"liar{n}", 1_000 + 100 * n) for n in range(20)]
    quiet = [Page(0.0, 0.0, "", 5_000 + 100 * n) for n in range(20)]
    added, replaced = bounds[Change.ADDED], bounds[Change.REPLACED]
    assert added.needed <= added.enough
    assert lacks_support(supported([*present, *liars[: added.enough]], memory), least)
    if replaced.enough is not None:
        assert replaced.needed <= replaced.enough
        rest = sorted(present, key=lambda page: page.entailed < 0.5)[replaced.enough :]
        played = ([*rest, *planted[: replaced.enough]] for planted in (liars, quiet))
        assert any(lacks_support(supported(after, memory), least) for after in played)


def answered(support: Support, **changes: object):
    documents = tuple(DocumentVerdict(n, True, Reason.SUPPORTED, "Rome") for n in range(1, 6))
    return replace(event_of(Verdict("Rome", documents), "majority"), support=support, **changes)


FIVE_ON_TWO_SITES = Support(5, 0, 2, 0, 3.0, 0.0, 0.0, 0.0, 3.0, 0.3)


@pytest.mark.parametrize(
    ("support", "least", "added", "replaced"),
    [
        (FIVE_ON_TWO_SITES, 2, (1, 3), (1, 3)),
        (Support(5, 0, 5, 0, 5.0, 0.0, 0.0, 0.0, 5.0, 0.3), 2, (5, 5), (3, 3)),
        (Support(5, 0, 5, 0, 5.0, 0.0, 0.0, 0.0, 5.0, 0.3), 5, (5, 5), (1, 1)),
        (Support(5, 3, 5, 3, 5.0, 3.0, 3.0, 0.0, 2.0, 0.3), 2, (2, 5), (1, 3)),
        (Support(1, 0, 1, 0, 1.0, 0.0, 0.0, 1.0, 2.0, 0.2), 2, (2, 2), (1, 1)),
        (Support(0, 0, 0, 0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.1), 2, (1, 1), (1, 1)),
    ],
)
def test_bounds(support: Support, least: int, added: tuple, replaced: tuple) -> None:
    first, second = silence_bounds(answered(support), least)
    assert (first.needed, first.enough) == added
    assert (second.needed, second.enough) == replaced


def test_where_every_answer_is_given_and_where_there_is_none_nothing_is_silenced() -> None:
    assert silence_bounds(answered(FIVE_ON_TWO_SITES), 0) == ()
    assert silence_bounds(answered(FIVE_ON_TWO_SITES, abstention=Abstention.OUTWEIGHED), 2) == ()
    assert silence_bounds(replace(answered(FIVE_ON_TWO_SITES), support=None), 2) == ()


def test_a_certificate_says_what_support_it_asked_for() -> None:
    event = answered(FIVE_ON_TWO_SITES)
    for least in (0, 2):
        certificate = certified("majority", Majority(), event, least)
        assert certificate.min_support == least
        assert bool(certificate.silence) == bool(least)
        assert certificate.bounds
