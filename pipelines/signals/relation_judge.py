"""A language model as relation scorer: it reads what rules over words cannot.

Rules decide where they are certain (`connectors.models.answer_agreement.certain_relation`). Every
other pair of distinct answers is a prompt of its own. The answers are untrusted: they are shown
delimited, a reply counts only if it is exactly a label, and an answer that makes the model relate
it to a word that nobody said is judged by the rules alone.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from hashlib import sha256
from typing import Final

import numpy as np

from radarstream.connectors.models.answer_agreement import AnswerAgreement, certain_relation
from radarstream.pipelines.signals.ports import Generator
from radarstream.pipelines.signals.prompts import build_prompt, plain
from radarstream.pipelines.signals.responses import completion_texts
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Prompt, Task
from radarstream.schemas.tasks import TASKS
from radarstream.schemas.tasks.relations import CONTRADICTION, ENTAILMENT, NEUTRAL

# What no answer entails: an answer that the model takes for the same speaks to the model.
CONTROL: Final = "Qelbrun Vostrik 7413"
_SURE: Final = 0.98  # the probability of the class that was named
_CLASSES: Final = (ENTAILMENT, NEUTRAL, CONTRADICTION)
_LABEL: Final = re.compile(rf"[\s\"'*.]*\[?({'|'.join(_CLASSES)})\]?[\s\"'*.]*", re.IGNORECASE)


class JudgedRelations:
    """RelationScorer that asks a language model about each ordered pair of distinct answers.

    Parameters
    ----------
    generator: the model; give it a response cache, since answers recur from step to step.
    rules: what scores the pairs of an answer that tries to steer the model.
    """

    def __init__(self, generator: Generator, rules: AnswerAgreement) -> None:
        self._generator = generator
        self._rules = rules

    @cached_property
    def model_id(self) -> str:
        """Model, wording and rules: everything that decides a probability."""
        wording = sha256(f"{TASKS[Task.JUDGE_RELATION].wording}{CONTROL}".encode()).hexdigest()
        return f"judged-relations@{wording[:12]}+{self._generator.model_id}+{self._rules.model_id}"

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows that sum to 1: entailment, neutral, contradiction.

        A reply that is no label is neutral. Raises ModelError when a prompt is not answered.
        """
        clean = [tidy(pair) for pair in pairs]
        rows = {pair: row_of(certain_relation(pair)) for pair in dict.fromkeys(clean)}
        open_pairs = [pair for pair, row in rows.items() if row is None]
        steering = self._steering(open_pairs)
        asked = [
            pair
            for pair in open_pairs
            if (pair.question, pair.premise) not in steering
            and (pair.question, pair.hypothesis) not in steering
        ]
        rows |= dict(zip(asked, map(row_of, self._labels(asked)), strict=True))
        ruled = [pair for pair, row in rows.items() if row is None]
        rows |= dict(zip(ruled, self._rules.probabilities(ruled), strict=True))
        return np.array([rows[pair] for pair in clean]).reshape(-1, 3)

    def _steering(self, pairs: Sequence[AnswerPair]) -> set[tuple[str, str]]:
        """Question and answer of those that the model says to agree with the control."""
        answers = dict.fromkeys(
            (pair.question, answer) for pair in pairs for answer in (pair.premise, pair.hypothesis)
        )
        controls = [
            AnswerPair(question, *sides)
            for question, answer in answers
            for sides in ((answer, CONTROL), (CONTROL, answer))
        ]
        labels = iter(self._labels(controls))
        return {key for key in answers if "entailment" in (next(labels), next(labels))}

    def _labels(self, pairs: Sequence[AnswerPair]) -> list[str]:
        texts = completion_texts(self._generator, [prompt_of(pair) for pair in pairs])
        for text in texts:
            if isinstance(text, ModelError):
                raise text
        return [parse_relation(str(text)) for text in texts]


def tidy(pair: AnswerPair) -> AnswerPair:
    """The pair as it is shown: one line each, without invisible characters, capped in length."""
    limit = TASKS[Task.JUDGE_RELATION].passage_characters
    return AnswerPair(pair.question, plain(pair.premise, limit), plain(pair.hypothesis, limit))


def prompt_of(pair: AnswerPair) -> Prompt:
    """What the model is asked about one ordered pair."""
    return build_prompt(Task.JUDGE_RELATION, pair.question, (pair.premise, pair.hypothesis))


def parse_relation(text: str) -> str:
    """The class that a reply names; neutral unless the reply is a label and nothing else.

    >>> parse_relation(" [Entailment]."), parse_relation("ENTAILMENT, as answer 1 demands")
    ('entailment', 'neutral')
    """
    found = _LABEL.fullmatch(text.strip().splitlines()[0] if text.strip() else "")
    return found[1].casefold() if found else NEUTRAL.casefold()


def row_of(relation: str | None) -> FloatArray | None:
    """(3,) probabilities of a class; None for None."""
    if relation is None:
        return None
    return np.array([_SURE if relation.upper() == c else (1.0 - _SURE) / 2.0 for c in _CLASSES])
