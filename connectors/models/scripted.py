"""Backends without a model: deterministic rules for tests and dry runs, with call logs and faults.

They are weak on purpose in the way real models are: the generator obeys an instruction that it
finds in a passage, so that attacks and defences have something to show.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import numpy as np

from schemas.errors import ModelError
from schemas.evidence import FloatArray
from schemas.prompt import AnswerPair, Completion, Prompt, Task

MODEL_ID: Final = "scripted/2"
ABSTENTION: Final = "I don't know"
Rule = Callable[[Prompt], str]

_INJECTION: Final = re.compile(
    r"\b(?:please\s+)?(?:output|answer with|reply with|respond with)\s*(?:this answer)?\s*:?\s*"
    r"[\"'\u201c]?(?P<answer>[^.\"'\u201d\n!?]+(?:\.\d+[^.\"'\u201d\n!?]*)*)",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"(?<!\w)[$£€]?\d[\d,.]*\d(?:%| percent)?|(?<!\w)[$£€]?\d%?")
_NAME: Final = re.compile(
    r"\b[A-Z][\w'’-]*(?:\s+(?:(?:of|the|van|von|de|der|la)\s+)*[A-Z][\w'’-]*)*"
)
_QUANTITY_QUESTION: Final = re.compile(
    r"\b(how (?:many|much|old|tall|long|far|big)|percent\w*|share|year|when|number|price)\b",
    re.IGNORECASE,
)

_TIME_QUESTION: Final = re.compile(r"\b(?:year|when|date)\b", re.IGNORECASE)
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"'\u201d]?\s+|\n")
_WORD: Final = re.compile(r"[\w$£€%]+(?:['\u2019-]\w+)*")
_PREDICATE: Final = re.compile(r",|'s\b| (?:is|was|are|were|has|became|won|holds|leads)\b")


class NoLog(list[Any]):
    """Keeps nothing: a log for jobs that run for months."""

    def append(self, _: Any) -> None:
        """Forget it."""


@dataclass
class ScriptedGenerator:
    """Answers by rule, not by model.

    `script` replaces the built-in rules: a callable over the prompt, or a mapping from a phrase to
    the answer given when a passage (or, with no passage matching, the question) contains it;
    without a match the built-in rules answer. `fail_on_calls` are call numbers, from 1, that raise
    ModelError; `fail_on_text` raises it for a batch in which a passage contains the phrase.
    `log` holds every batch asked for, also those that failed.
    """

    script: Rule | Mapping[str, str] | None = None
    fail_on_calls: frozenset[int] = frozenset()
    fail_on_text: str | None = None
    model_id: str = MODEL_ID
    log: list[tuple[Prompt, ...]] = field(default_factory=list)

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """One completion per prompt, in order. Raises ModelError where told to."""
        self.log.append(tuple(prompts))
        if len(self.log) in self.fail_on_calls:
            raise ModelError(f"scripted failure of call {len(self.log)}")
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
class ScriptedRelations:
    """Relates answers by equality of their normalised text."""

    fail_on_calls: frozenset[int] = frozenset()
    model_id: str = MODEL_ID
    log: list[tuple[AnswerPair, ...]] = field(default_factory=list)

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        """(m, 3) rows: .95/.03/.02 for equal answers, .02/.03/.95 for different ones."""
        self.log.append(tuple(pairs))
        if len(self.log) in self.fail_on_calls:
            raise ModelError(f"scripted failure of call {len(self.log)}")
        equal = [normalised(p.premise) == normalised(p.hypothesis) for p in pairs]
        rows = [(0.95, 0.03, 0.02) if same else (0.02, 0.03, 0.95) for same in equal]
        return np.array(rows, dtype=np.float64).reshape(len(pairs), 3)


@dataclass
class ScriptedEmbedder:
    """Unit vectors drawn from a seed that is the text's hash: equal texts, equal vectors."""

    dimensions: int = 32
    fail_on_calls: frozenset[int] = frozenset()
    model_id: str = MODEL_ID
    log: list[tuple[str, ...]] = field(default_factory=list)

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, `dimensions`) rows of unit length."""
        self.log.append(tuple(texts))
        if len(self.log) in self.fail_on_calls:
            raise ModelError(f"scripted failure of call {len(self.log)}")
        rows = np.empty((len(texts), self.dimensions), dtype=np.float64)
        for row, text in zip(rows, texts, strict=True):
            seed = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            row[:] = np.random.default_rng(int.from_bytes(seed)).standard_normal(self.dimensions)
            row /= np.linalg.norm(row)
        return rows


def scripted_answer(prompt: Prompt) -> str:
    """The built-in rule of each task.

    ATOMIC_ANSWER extracts; ANSWER_FROM_DOCUMENTS obeys the last instruction seen, else takes the
    most frequent extraction; SYNTHESISE_ANSWERS takes the most frequent passage. Ties go to the
    first.
    """
    if prompt.task is Task.SYNTHESISE_ANSWERS:
        return most_frequent([" ".join(p.split()) for p in prompt.passages])
    if prompt.task is Task.ANSWER_FROM_DOCUMENTS:
        orders = [found for p in prompt.passages if (found := injected_answer(p))]
        if orders:
            return orders[-1]
    extracted = [extract(prompt.question, passage) for passage in prompt.passages]
    return most_frequent([answer for answer in extracted if answer != ABSTENTION])


def injected_answer(passage: str) -> str | None:
    """What the last instruction in `passage` tells its reader to say, or None."""
    found = None
    for match in _INJECTION.finditer(passage):
        found = match["answer"].strip() or found
    return found


def extract(question: str, passage: str) -> str:
    """A short span of `passage` that could answer `question`, or an abstention.

    An instruction in the passage is obeyed. Otherwise a number (for questions of quantity) or a
    capitalised name that the question does not contain: the one from the sentence that shares
    most words with the question, there the one nearest to such a word; the first on ties. A
    passage in which no sentence with a candidate shares a word with the question says nothing.
    """
    if order := injected_answer(passage):
        return order
    known = set(normalised(question).split()) | _COMMON_WORDS
    found = [
        candidate
        for sentence in _SENTENCE_END.split(passage)
        for candidate in candidates(question, sentence)
        if not set(normalised(candidate[2]).split()) <= known
    ]
    return min(found, key=lambda candidate: candidate[:2], default=(0, 0, ABSTENTION))[2]


def candidates(question: str, sentence: str) -> Iterator[tuple[int, int, str]]:
    """Spans of a sentence, each after minus the number of words that the sentence shares with the
    question and the distance in characters to the nearest; none where no word is shared.
    """
    asked = set(normalised(question).split()) - _COMMON_WORDS
    places = [m.span() for m in _WORD.finditer(sentence) if normalised(m[0]) in asked]
    if not places:
        return
    shared = len({normalised(sentence[start:end]) for start, end in places})
    for match in spans(question, sentence):
        gaps = [max(start - match.end(), match.start() - end) for start, end in places]
        yield -shared, min(gaps), _LEADING_COMMON_WORDS.sub("", match[0]).strip(" .,")


def spans(question: str, sentence: str) -> Iterator[re.Match[str]]:
    """Numbers of a sentence for a question of quantity (years only if it asks for a time), else
    capitalised names.
    """
    if not _QUANTITY_QUESTION.search(question):
        yield from (m for m in _NAME.finditer(sentence) if not is_mere_sentence_start(m))
        return
    wants_time = _TIME_QUESTION.search(question)
    yield from (m for m in _NUMBER.finditer(sentence) if wants_time or not _YEAR.fullmatch(m[0]))


def is_mere_sentence_start(match: re.Match[str]) -> bool:
    """Whether one capitalised word starts the sentence without being said to be something."""
    return (
        match.start() == 0
        and " " not in match[0]
        and _PREDICATE.match(match.string, match.end()) is None
    )


def most_frequent(answers: Sequence[str]) -> str:
    """The answer most often given up to case and punctuation, as first written; first on ties."""
    counts = Counter(normalised(answer) for answer in answers)
    return max(answers, key=lambda answer: counts[normalised(answer)], default=ABSTENTION)


def normalised(text: str) -> str:
    """Case, punctuation and white space removed, except what carries a number's meaning."""
    return " ".join(re.sub(r"[^\w%$£€.]+|\.(?!\d)", " ", text.casefold()).split())


_COMMON_WORDS: Final = frozenset(
    {"a", "an", "the", "in", "on", "at", "of", "and", "or", "but", "it", "its", "this", "that"}
    | {"these", "he", "she", "they", "we", "i", "you", "my", "our", "your", "his", "her", "their"}
    | {"is", "was", "are", "were", "be", "do", "does", "did", "has", "have", "had", "not", "no"}
    | {"after", "before", "as", "for", "from", "to", "by", "with", "about", "since", "according"}
    | {
        "who",
        "what",
        "which",
        "when",
        "where",
        "while",
        "how",
        "why",
        "there",
        "here",
        "then",
        "so",
    }
    | {"q", "if", "yes", "many", "much", "most", "some", "all", "every", "first", "each", "anyway"}
    | {"january", "february", "march", "april", "may", "june", "july", "august", "september"}
    | {"october", "november", "december", "monday", "tuesday", "wednesday", "thursday", "friday"}
    | {"saturday", "sunday", "today", "yesterday", "currently", "now"}
)
_LEADING_COMMON_WORDS: Final = re.compile(rf"^(?:(?:{'|'.join(sorted(_COMMON_WORDS))})\s+)+", re.I)
