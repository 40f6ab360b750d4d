"""Honest copies of one text: no module drops them for being alike, and they are one voice."""

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
from radarstream.schemas.support import AnswerStatus
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
    return build_answerer(
        settings_with(**({} if by_default else OFF)), engine=engine, repeatable=True
    )


def asked(engine: Engine, texts: tuple[str, ...], *, by_default: bool = True) -> Reply:
    """The reply from these texts, each on a site of its own, best first."""
    ranked = enumerate(texts, start=1)
    documents = tuple(Document(n, text, url=f"https://www.site{n}.org/") for n, text in ranked)
    return asker(engine, by_default).answer(question(documents=documents, wanted=len(documents)))


@pytest.mark.parametrize("forged", [(), (FORGED,)])
@pytest.mark.parametrize("lies_first", [True, False])
@pytest.mark.parametrize("planted", [1, 2])
@pytest.mark.parametrize("copies", range(2, 9))
def test_two_planted_pages_do_not_outdo_an_agency_text(
    engine: Engine, copies: int, planted: int, lies_first: bool, forged: tuple[str, ...]
) -> None:
    """Nor does a copy of it, at the top, in which one word is another."""
    honest, lies = (AGENCY,) * copies, LIES[:planted]
    event = asked(engine, (*forged, *(lies + honest if lies_first else honest + lies))).event
    assert len(event.seen) == copies + planted + len(forged)
    if event.status is AnswerStatus.CORROBORATED:  # by three voices against one
        assert (copies, planted, forged) == (2, 2, (FORGED,))
    if event.support is not None:
        voices = {event.support.sites_for, event.support.sites_against}
        assert voices == {1, planted + len(forged)}


def test_one_document_in_place_of_its_copies_would_be_outdone(engine: Engine) -> None:
    """Why no copy is dropped: two planted pages outweigh one document."""
    event = asked(engine, (AGENCY, *LIES)).event
    assert (event.answer, event.status) == ("Cusco", AnswerStatus.CORROBORATED)


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
