"""Which pages are one voice; nobody has two voices from one site, or takes one from two sites."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.kernels.independence import alike_in, most_independent
from radarstream.defenses.tally import owners_in
from radarstream.schemas.sites import UNTOLD
from radarstream.schemas.snapshot import Document

STORY = " ".join(f"word{n}" for n in range(120))
PAGE = "https://www.example.com/news/a?b=c"
Page = tuple[str, str]  # address, text


def count(*pages: Page) -> int:
    held = [Document(rank, text, url=url) for rank, (url, text) in enumerate(pages, start=1)]
    return most_independent(alike_in([owners_in(d) for d in held], [d.text for d in held], UNTOLD))


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
