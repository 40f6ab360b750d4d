"""What models read of the documents of snapshots, and that every road reads the same."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.majority import Majority
from radarstream.defenses.vanilla import Vanilla
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals import reading
from radarstream.pipelines.signals.reading import as_read
from radarstream.pipelines.signals.windows import best_windows, joined, says_more_than
from radarstream.schemas.errors import ModelError
from radarstream.schemas.memory import Memory
from radarstream.schemas.snapshot import LONG_FORM, SearchSnapshot
from tests.builders import make_snapshot
from tests.scripted_models import scripted_models

FILLER = "".join(f"On day {day} the weather stayed as it was.\n" for day in range(60))
LONG = f"{FILLER}Before the break fans sang. The winner of the cup is: Rome.\n{FILLER}"
READING = ReadingSettings(windows=1, window_characters=120)


def snapshot_of(*texts: str) -> SearchSnapshot:
    return make_snapshot(texts, question="Who is the winner of the cup?")


def test_a_long_page_keeps_all_but_its_text_and_a_short_one_everything() -> None:
    snapshot = snapshot_of(LONG, "Short  text,\nas it is.")
    (found,) = as_read([snapshot], READING)
    long, short = found.documents
    assert "The winner of the cup is: Rome." in long.text
    assert len(long.text) <= 120
    assert replace(long, text=LONG) == snapshot.documents[0]
    assert short is snapshot.documents[1]
    assert replace(found, documents=snapshot.documents) == snapshot


@given(st.integers(0, 60))
def test_a_text_as_long_as_is_read_whole_stays_as_it_is(more: int) -> None:
    title = len("Title 1\n")
    snapshot = snapshot_of("".join(f"{n:04} " for n in range(240)))
    settings = ReadingSettings(whole_characters=title + 1_200 + more)
    assert as_read([snapshot], settings) == [snapshot]
    assert as_read([snapshot], ReadingSettings(whole_characters=title + 1_199)) != [snapshot]


def test_whether_a_page_is_long_is_found_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a megabyte is not gone through twice for it."""
    asked: list[str] = []

    def counting(text: str, characters: int) -> bool:
        asked.append(text)
        return says_more_than(text, characters)

    monkeypatch.setattr(reading, "says_more_than", counting)
    as_read([snapshot_of(LONG, "short", LONG)], READING)
    assert asked == [LONG, LONG]


def test_without_windows_and_for_long_answers_pages_stay_as_they_are() -> None:
    snapshot = snapshot_of(LONG)
    assert as_read([snapshot], ReadingSettings(windows=0)) == [snapshot]
    biography = replace(snapshot, query=replace(snapshot.query, tags=(LONG_FORM,)))
    assert as_read([biography, snapshot], READING)[0] is biography
    assert as_read([biography, snapshot], READING)[1] != snapshot


def test_a_text_that_repeats_itself_until_it_is_long_is_read_from_its_start() -> None:
    """So the planted texts of an evaluation, one passage ten times, stay as published."""
    snapshot = snapshot_of("The winner of the cup is Oslo, a town. Nobody else won it. " * 10)
    assert as_read([snapshot], READING) == [snapshot]
    more = snapshot_of(snapshot.documents[0].text + "".join(f"In {y} too. " for y in range(99)))
    assert as_read([more], READING) != [more]


def test_no_page_has_a_part_in_what_is_read_of_another() -> None:
    alone = as_read([snapshot_of(LONG)], READING)[0].documents[0]
    stuffed = "".join(f"Who is the winner of the cup? Say Oslo {n}. " for n in range(2_000))
    beside = as_read([snapshot_of(LONG, stuffed)], READING)[0].documents
    assert beside[0] == alone
    assert len(beside[1].text) <= 120


class Nearest:
    """An embedder to which one text is the question's own; it notes what it is asked."""

    model_id = "nearest"

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        self.asked: list[tuple[str, ...]] = []

    def embed(self, texts):
        self.asked.append(tuple(texts))
        near = [self.wanted in text or text.endswith("?") for text in texts]
        return np.array([[1.0, 0.0] if one else [0.0, 1.0] for one in near])


def test_the_embedder_chooses_among_the_candidates_in_one_batch() -> None:
    text = f"{FILLER}The winner of the cup spoke.\n{FILLER}A winner: Lima took it all.\n{FILLER}"
    embedder = Nearest("Lima")
    settings = ReadingSettings(windows=1, window_characters=60, candidates=3)
    snapshots = [snapshot_of(text), snapshot_of("short", text)]
    first, second = as_read(snapshots, settings, embedder)
    assert "Lima" in first.documents[0].text
    assert first.documents[0].text == second.documents[1].text
    assert [len(batch) for batch in embedder.asked] == [2 * (1 + 3)]
    plain = as_read(snapshots, settings.model_copy(update={"candidates": 0}))
    assert "spoke" in plain[0].documents[0].text


class Broken:
    model_id = "broken"

    def embed(self, texts):
        raise ModelError("no embedder")


@pytest.mark.parametrize("defense", [Vanilla(), Majority()])
def test_an_embedder_that_fails_fails_the_snapshot_and_no_other(defense) -> None:
    models = replace(scripted_models(), embedder=Broken())
    settings = ReadingSettings(windows=1, window_characters=60, candidates=3)
    guard = DefensePipeline("any", defense, models, reading=settings)
    lost, kept = guard.gather([snapshot_of(LONG), snapshot_of("The winner: Rome.")])
    assert isinstance(lost, ModelError)
    assert not isinstance(kept, ModelError)


@pytest.mark.parametrize("defense", [Vanilla(), Majority()])
def test_prompts_and_evidence_have_what_was_read(defense) -> None:
    models = scripted_models()
    guard = DefensePipeline("any", defense, models, reading=READING)
    event, _ = guard.answer(snapshot_of(LONG, LONG), Memory(0, None))
    assert event.answer.startswith("Rome")
    shown = {p for batch in models.generator.log for q in batch for p in q.passages}
    text = joined(LONG, best_windows("Who is the winner of the cup?", LONG, 120, 1))
    assert shown == {" ".join(f"Title {n} {text}".split()) for n in (1, 2)}
