"""Honest copies of one text: no module drops them for being alike, and they are one voice."""

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from radarstream.pipelines.asking.answerer import Answerer
from radarstream.pipelines.asking.building import build_answerer
from radarstream.pipelines.asking.values import Reply
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.orchestration import Module
from radarstream.schemas.snapshot import Document
from tests.asking import OFF, question, settings_with

AGENCY = (
    "Lima is the capital of Peru. The city lies on the Pacific coast, has eleven million"
    " inhabitants, and was founded by Francisco Pizarro in 1535, the agency reports on Tuesday."
)
FORGED = AGENCY.replace("Lima", "Cusco")  # one word is another
LIES = (
    "Cusco is the capital of Peru, as every guide to the Andes tells in its first chapter.",
    "Cusco is the capital of Peru. Parliament moved there years ago, and ministries followed.",
)
PAGES = (AGENCY, FORGED, *LIES, "Lima is the capital of Peru.", "A page about llamas.")


@cache
def asker(engine: Engine, by_default: bool) -> Answerer:
    """Of a service with the default modules, or without any."""
    made = build_answerer(settings_with(**({} if by_default else OFF)), engine=engine)
    return replace(made, seed=lambda _: 1)


def asked(engine: Engine, texts: tuple[str, ...], *, by_default: bool = True) -> Reply:
    """The reply from these texts, each on a site of its own, best first."""
    ranked = enumerate(texts, start=1)
    documents = tuple(Document(n, text, url=f"https://www.site{n}.org/") for n, text in ranked)
    return asker(engine, by_default).answer(question(documents=documents, wanted=len(documents)))


@pytest.mark.parametrize("forged", [(), (FORGED,)])
@pytest.mark.parametrize("planted", [1, 2])
def test_copies_of_one_text_are_one_voice(engine, planted, forged) -> None:
    """However many there are, and a copy in which one word is another speaks against them."""
    lies = (*forged, *LIES[:planted])
    for copies in (1, 2, 8):
        event = asked(engine, ((AGENCY,) * copies + lies)).event
        assert event.answer == ("Cusco" if len(lies) > 1 else "")
        assert event.support is not None
        assert {event.support.sites_for, event.support.rival_sites} == {1, len(lies)}


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.sampled_from(PAGES), min_size=1, max_size=9).map(tuple))
def test_likeness_alone_changes_nothing(engine: Engine, texts: tuple[str, ...]) -> None:
    reply, bare = asked(engine, texts), asked(engine, texts, by_default=False)
    assert (reply.text, reply.documents) == (bare.text, bare.documents)
    assert (reply.event.verdict, reply.event.support) == (bare.event.verdict, bare.event.support)


@pytest.mark.parametrize("field", ["modules", "always"])
def test_no_service_has_the_filter_that_drops_what_is_alike(field: str) -> None:
    assert Module.TRUSTRAG not in getattr(settings_with().orchestration, field)
    with pytest.raises(ConfigurationError, match="drops honest pages"):
        settings_with(**{field: (Module.TRUSTRAG,)})
