"""Which pages are one voice, and what is behind an answer: nobody has two voices from one site."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.kernels.independence import alike_in, most_independent
from radarstream.defenses.protocol import Embed, Relate
from radarstream.defenses.tally import owners_in
from radarstream.pipelines.signals.support import (
    Known,
    learn,
    means_the_same,
    overhearing,
    support_of,
    unknown_relations,
)
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.sites import UNKNOWN_OWNER
from radarstream.schemas.snapshot import Document, Query
from radarstream.schemas.support import Support, lacks_support, status_of
from radarstream.schemas.verdict import Abstention, MemoryVerdict, Verdict
from tests.builders import OBSERVED_AT

STORY = " ".join(f"word{n}" for n in range(120))
PAGE = "https://www.example.com/news/a?b=c"
Page = tuple[str, str]  # address, text


def count(*pages: Page) -> int:
    held = [Document(rank, text, url=url) for rank, (url, text) in enumerate(pages, start=1)]
    return most_independent(
        alike_in([owners_in(d) for d in held], [d.text for d in held], UNKNOWN_OWNER)
    )


@pytest.mark.parametrize(
    "url",
    ["https://example.co.uk/a", "https://example.me.uk/a", "https://example.idv.tw/a",
     "https://r.jina.ai/https://example.com/a", "https://amp.example.net", "https://ex-ample.com/",
     "https://web.archive.org/web/20240102030405/https://www.example.com/a",
     "https://web.archive.org/web/20240102030405id_/http:/example.com:80/a",
     "https://web.archive.org/web/2*/example.com/a",
     "https://web.archive.org/web/2024/https%3A%2F%2Fexample.com%2Fa", "https://ex%61mple.com/a",
     "https://archive.ph/2024.01.02-030405/https://example.com/a",
     "https://archive.today/newest/https://example.com/a", "https://archive.ph/AbCdE",
     "https://www-example-com.cdn.ampproject.org/c/s/www.example.com/a",
     "https://cdn.ampproject.org/v/s/example.com/a",
     "https://www.google.com/amp/s/www.example.com/a",
     "https://www.google.co.uk/amp/example.com/a", "https://www.bing.com/amp/s/example.com/a",
     "https://webcache.googleusercontent.com/search?q=cache:AbC_d:https://example.com/a",
     "https://www-example-com.translate.goog/a", "https://www.msn.com/en-us/news/world/a/ar-AA1",
     "https://uk.news.yahoo.com/a.html", "https://news.google.com/articles/CBMi",
     "https://web.archive.org/web/2024/https://archive.ph/2024/https://example.com/a",
     "https://web.archive.org/web/2024/" * 9 + PAGE, "a page without an address that can be read"],
)  # fmt: skip
def test_a_copy_beside_its_original_is_no_second_voice(url: str) -> None:
    assert count((PAGE, "the original"), (url, "what the copy says")) == 1
    assert count((url, "what the copy says")) == 1


@pytest.mark.parametrize(
    "text",
    ["It rained on Sunday, according to Example News. Trains stood still.",
     "According to the Example, it rained.", "It rained. Source: example.com.",
     "It rained (sources: www.example.com)", "ROME (Example) \u2014 It rained on Sunday.",
     "It rained, as first reported by Example, and it was cold.", f"  {STORY}",
     f"{' '.join(f'lead{n}' for n in range(60))} {STORY}"],
)  # fmt: skip
def test_a_text_that_names_or_holds_the_other_is_no_second_voice(text: str) -> None:
    assert count((PAGE, STORY), ("https://other.org/", text)) == 1


@pytest.mark.parametrize(
    ("name", "url"),
    [("the New York Times", "https://www.nytimes.com/"),
     ("the Wall Street Journal", "https://www.wsj.com/"),
     ("the World Health Organization", "https://www.who.int/"), ("NASA", "https://www.nasa.gov/"),
     ("the AP", "https://apnews.com/"), ("The Guardian", "https://www.theguardian.com/")],
)  # fmt: skip
def test_names_that_texts_give_to_a_site(name: str, url: str) -> None:
    assert count((url, "one"), ("https://other.org/", f"So it is, according to {name}.")) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # One name is given out again by every government and town.
        ("https://health.gov.au/", "https://health.gov.uk/"),
        ("https://weather.com/", "https://weather.gov/"),
        ("https://www.gov.uk/", "https://www.nhs.uk/"),
        ("http://[2001:db8:0:1::1]/", "http://[2001:db8:0:2::1]/"),
        ("http://192.0.2.7/", "http://192.0.2.8/"),
        ("https://www.google.com/search", "https://www.bing.com/search"),
        ("https://evil.com/web.archive.org/web/2024/https://example.com/", PAGE),
        ("https://web.archive.org@evil.com/web/2024/https://example.com/", PAGE),
        ("https://web.archive.org/web/2024/https://evil.com/https://example.com/", PAGE),
        ("", ""),
    ]
)  # fmt: skip
def test_different_owners_are_two_voices(one: str, other: str) -> None:
    assert count((one, "it rained on sunday"), (other, "the weather was bad")) == 2


def test_what_is_only_mentioned_is_no_source() -> None:
    text = "Example News and others said nothing; according to my aunt it rained"
    assert count((PAGE, "one"), ("https://other.org/", text)) == 2


def test_addresses_of_one_ipv6_network_are_one_voice() -> None:
    addresses = ("[2001:db8::1]", "[2001:DB8:0:0:ffff::2]:8080", "[2001:db8::192.0.2.7]")
    assert count(*((f"http://{a}/", f"text {a}") for a in addresses)) == 1
    for same in ("[2002:c000:207::1]", "[64:ff9b::c000:207]", "[::192.0.2.7]", "192.0.2.7.nip.io"):
        assert count((f"http://{same}/", "x"), ("http://192.0.2.7/", "y")) == 1


HOSTS = st.from_regex(r"(a\.)?(evil\.com|EVIL\.co\.uk|e-vil\.org)([.,\u2026]|%20)?", fullmatch=True)
WAYS = st.sampled_from(
    [
        "https://{}/a",
        "http://x:y@{}:8080/https://h1.org/",
        "https://web.archive.org/web/2024/https://{}/",
        "https://archive.ph/AbCdE?https://{}/",
        "https://archive.ph/2024/{}/https://h1.org/",
        "https://www.google.de/amp/s/{}/",
        "https://cdn.ampproject.org/c/s/{}/",
        "https://www.msn.com/{}",
        "{}/no/scheme",
    ]
)
# Parts of the story, which honest and other pages tell; some name a source.
PARTS = st.builds(
    lambda start, words, source: f"{' '.join(STORY.split()[start : start + words])}. {source}",
    st.integers(0, 60),
    st.sampled_from([0, 3, 14, 20, 40, 60]),
    st.sampled_from(["", "", "Source: h1.org", "according to H2", "(H3) - x", "citing Evil News"]),
)
SITES = st.sampled_from(["https://h1.org/", "https://h2.gov/", "https://h3.co.uk/", ""])
HONEST = st.lists(st.tuples(SITES, PARTS), max_size=6)
OWN = st.lists(
    st.tuples(st.builds(str.format, WAYS, HOSTS), st.lists(PARTS, max_size=3).map(" ".join)),
    max_size=6,
)


@settings(max_examples=400, deadline=None)
@given(HONEST, OWN)
def test_a_site_has_one_voice_at_most_and_takes_none_away(honest, own) -> None:
    """However many pages its owner writes, archives and copies, whatever is in them."""
    assert count(*own) == min(1, len(own))
    assert count(*honest) <= count(*honest, *own) <= count(*honest) + 1


@settings(max_examples=200, deadline=None)
@given(HONEST, OWN)
def test_sites_that_were_two_voices_alone_are_two_beside_any_copies(honest, own) -> None:
    for one, other in combinations(honest, 2):
        assert count(one, other, *own) >= count(one, other)


# --- what is behind an answer: sites on both sides, status, and when it is too little


QUESTION = Query("cup", "Who won the cup?")

Stated = tuple[str | None, str]  # what it says of the answer, its site

stances = st.sampled_from(["same", "other", "unclear", None])
pages = st.lists(st.tuples(stances, st.sampled_from(["a", "b", "c", "d", ""])), max_size=8)
memories = st.sampled_from([None, "same", "other", "unclear"])


def evidence_of(held: Sequence[Stated], *, answered: bool = True) -> Evidence:
    documents = tuple(
        Document(rank, f"page {rank} speaks of {rank} in {rank} ways", url=url_of(site))
        for rank, (_, site) in enumerate(held, start=1)
    )
    answers = tuple(AtomicAnswer(said or "", said is None) for said, _ in held)
    return Evidence(QUESTION, OBSERVED_AT, documents, answers if answered else None)


def url_of(site: str) -> str:
    return f"https://{site}.example/page" if site.isalnum() else site


def supported(held: Sequence[Stated], memory: str | None = None) -> Support:
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
def test_order_and_names_of_sites_do_not_matter(
    held: list[Stated], memory: str | None, rng
) -> None:
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
