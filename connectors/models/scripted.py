"""Scripted models: deterministic rules for tests and dry runs, with call logs and failures.

Like real models, the generator obeys instructions in passages, so that attacks have an effect.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from radarstream.connectors.models.scripted_rules import scripted_answer
from radarstream.schemas.answer_text import spelling
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Completion, ContinuationQuery, Prompt

MODEL_ID: Final = "scripted/3"
STOP: Final = 256
VOCABULARY: Final = 257  # every byte, and the end of a reply
CERTAINTY: Final = 0.9999  # per byte, so that twelve bytes have a probability of over .99
Rule = Callable[[Prompt], str]


class NoLog(list[Any]):
    """A log that keeps nothing, for jobs that run for months."""

    def append(self, _: Any) -> None:
        """Do nothing."""


@dataclass(kw_only=True)
class Scripted:
    """The base of scripted models: a log of all calls, also failed ones.

    Calls with numbers in `fail_on_calls`, from 1, raise ModelError.
    """

    fail_on_calls: frozenset[int] = frozenset()
    model_id: str = MODEL_ID
    log: list[tuple[Any, ...]] = field(default_factory=list)

    def begin(self, requests: Sequence[Any]) -> None:
        """Log a call. Raises ModelError if it is in `fail_on_calls`."""
        self.log.append(tuple(requests))
        if len(self.log) in self.fail_on_calls:
            raise ModelError(f"scripted failure of call {len(self.log)}")


@dataclass
class ScriptedGenerator(Scripted):
    """A generator by rules.

    `script` replaces the built-in rules: a function of the prompt, or a mapping from phrases to
    answers, for prompts with the phrase in a passage or else in the question. A passage with
    `fail_on_text` makes its batch raise ModelError.
    """

    script: Rule | Mapping[str, str] | None = None
    fail_on_text: str | None = None

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """Return one completion per prompt, in order. Raises ModelError as configured."""
        self.begin(prompts)
        if self.fail_on_text is not None:
            for prompt in prompts:
                if any(self.fail_on_text in passage for passage in prompt.passages):
                    raise ModelError(f"scripted failure on {self.fail_on_text!r}")
        return [Completion(self._answer(prompt)) for prompt in prompts]

    def _answer(self, prompt: Prompt) -> str:
        if callable(self.script):
            return self.script(prompt)
        if self.script is not None:
            for text in (*prompt.passages, prompt.question):
                for phrase, answer in self.script.items():
                    if phrase in text:
                        return answer
        return scripted_answer(prompt)


@dataclass
class ScriptedRelations(Scripted):
    """Relates answers by their `spelling`."""

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """Return (m, 3) rows: .95/.03/.02 for equal answers, .02/.03/.95 for others."""
        self.begin(pairs)
        texts = {text for pair in pairs for text in (pair.premise, pair.hypothesis)}
        spelt = {text: spelling(text) for text in texts}
        equal = [spelt[p.premise] == spelt[p.hypothesis] for p in pairs]
        rows = [(0.95, 0.03, 0.02) if same else (0.02, 0.03, 0.95) for same in equal]
        return np.array(rows, dtype=np.float64).reshape(len(pairs), 3)


@dataclass
class ScriptedEmbedder(Scripted):
    """An embedder with random unit vectors, seeded by the text's hash."""

    dimensions: int = 32

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """Return (m, `dimensions`) rows of unit length."""
        self.begin(texts)
        rows = {text: self._row(text) for text in dict.fromkeys(texts)}
        return np.array([rows[text] for text in texts]).reshape(len(texts), self.dimensions)

    def _row(self, text: str) -> FloatArray:
        seed = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        row = np.random.default_rng(int.from_bytes(seed)).standard_normal(self.dimensions)
        return np.asarray(row / np.linalg.norm(row))

    def norms(self, texts: Sequence[str]) -> FloatArray:
        """Return (m,) lengths before normalisation: the number of words plus one."""
        return np.array([1.0 + len(text.split()) for text in texts], dtype=np.float64)


@dataclass
class ScriptedTokens(Scripted):
    """Gives the bytes of the generator's completion `CERTAINTY`, and others equal probabilities."""

    generator: ScriptedGenerator = field(default_factory=ScriptedGenerator)

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Return (r, t) logarithms per query, a column per byte of the continuation."""
        self.begin(queries)
        return [continuation_rows(self._replies(q.prompts), q.continuation) for q in queries]

    def ranks(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Return (r,) ranks of the first byte per query: 1 if it is the reply's, else 2."""
        logs = self.log_probs(queries)
        return [np.where(rows[:, 0] == np.log(CERTAINTY), 1.0, 2.0) for rows in logs]

    def _replies(self, prompts: Sequence[Prompt]) -> list[str]:
        return [completion.text for completion in self.generator.complete(prompts)]


def continuation_rows(replies: Sequence[str], continuation: str) -> FloatArray:
    """Return (replies, bytes) logarithms of each byte of `continuation`."""
    said = continuation.encode("utf-8", "replace")
    if not said:
        raise ModelError("a continuation without a token has no probability")
    rows = [[distribution(r, said[:i])[byte] for i, byte in enumerate(said)] for r in replies]
    return np.array(rows, dtype=np.float64).reshape(len(replies), len(said))


def distribution(reply: str, said: bytes) -> FloatArray:
    """Return (VOCABULARY,) logarithms of the byte after `said`: `reply`'s next byte has
    `CERTAINTY`; uniform if `reply` does not begin with `said`.
    """
    path = reply.encode("utf-8", "replace")
    if path[: len(said)] != said:
        return np.full(VOCABULARY, -np.log(VOCABULARY))
    row = np.full(VOCABULARY, np.log((1.0 - CERTAINTY) / (VOCABULARY - 1)))
    row[path[len(said)] if len(said) < len(path) else STOP] = np.log(CERTAINTY)
    return row
