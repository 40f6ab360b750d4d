"""The audit of an answer (hook D): text copied from documents, missing grounds, personal data."""

from collections.abc import Iterable, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.kernels.copied_text import contained_share, copied_runs, merged
from radarstream.defenses.keywords import FUNCTION_WORDS
from radarstream.defenses.orchestration.folding import Words
from radarstream.defenses.orchestration.personal_data import personal_data
from radarstream.schemas.orchestration import Audited, AuditFinding
from radarstream.schemas.snapshot import STRICT

REFUSAL: Final = "This answer is withheld."
MASKS: Final = {"verbatim": "[quotation removed]", "personal_data": "[personal data removed]"}
MOST_CHARACTERS: Final = 100_000  # of an answer; a longer one is refused unread
# Letters of a word: an answer of few words without blanks between them is no short answer.
LONG_WORD: Final = 8
MOST_CONTAINED: Final = 0.8  # of an answer's 4-grams in one document; above it is copied
LEAST_GROUNDED: Final = 0.2  # of an answer's content words in documents; below it has no grounds
_APART: Final = "\0"  # in place of what the user wrote; in no folded text


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class OutputAudit:
    """Finds what an answer should not tell, and masks it, asks for another, or refuses.

    "Adaptive Defense Orchestration for RAG", section 4, post-generation hook. Text is
    copied if enough words of a document stand in the answer in a row, or if a stretch of a document
    has most of its character 4-grams. Case, marks, blanks, characters that are not
    seen and letters that look alike make no difference. What the user wrote may be repeated:
    otherwise a mask would tell whether a text is in the corpus.

    An answer whose words the documents do not have is only noted.

    Parameters
    ----------
    least_tokens
        Words of a document in a row that count as copied. Of scripts without blanks every character
        is a word. Shorter answers are not judged by their 4-grams.
    on_verbatim
        Whether copied text is masked, or the caller asks for another answer with
        `schemas.tasks.DO_NOT_QUOTE` and audits that one with "mask".
    """

    least_tokens: Annotated[int, Field(ge=1)] = 12
    on_verbatim: Literal["mask", "regenerate"] = "mask"

    def audit(
        self, answer: str, passages: Sequence[str], question: str = "", *, abstained: bool = False
    ) -> Audited:
        """What becomes of an answer to a question, from the passages that the model was shown.

        `Audited.text` may be shown whatever the action. Findings are in the order of their places
        in `answer`. Never raises: whatever fails, the answer is refused.
        """
        try:
            findings = self.findings(answer, passages, question, abstained=abstained)
        except Exception as error:  # noqa: BLE001 - closed whatever is wrong
            return Audited("refuse", REFUSAL, error=type(error).__name__)
        return self._acted(answer, findings)

    def findings(
        self, answer: str, passages: Sequence[str], question: str = "", *, abstained: bool = False
    ) -> tuple[AuditFinding, ...]:
        """What is wrong with an answer. Raises ValueError where it is too long to be read."""
        if len(answer) > MOST_CHARACTERS:
            raise ValueError(f"an answer of {len(answer)} characters")
        asked, sources = Words(question), [Words(passage) for passage in passages]
        found = [*self._copied(Words(answer), sources, asked), *self._personal(answer, asked)]
        if not abstained:
            found += self._ungrounded(Words(answer), sources)
        return tuple(sorted(found, key=lambda one: (one.start, one.end, one.kind)))

    def _copied(
        self, answer: Words, sources: Sequence[Words], asked: Words
    ) -> Iterable[AuditFinding]:
        """The stretches that documents have and the question has not, and the rest as a whole."""
        own = copied_runs(answer.letters, asked.letters, asked.ends, self.least_tokens)
        rest = without(answer.letters, own)
        runs = [
            run
            for passage in sources
            for run in copied_runs(rest, passage.letters, passage.ends, self.least_tokens)
        ]
        for start, end in merged(runs):
            first, last = answer.places[start], answer.places[end - 1] + 1
            yield AuditFinding("verbatim", first, last, "words in a row")
        rest = without(rest, runs).replace(_APART, "")
        enough_words = not own and not runs and len(answer.listed) >= self.least_tokens
        if enough_words or len(rest) >= LONG_WORD * self.least_tokens:
            share = max((contained_share(rest, one.letters) for one in sources), default=0.0)
            if share > MOST_CONTAINED:
                yield AuditFinding("verbatim", 0, len(answer.text), f"{share:.2f} of 4-grams")

    def _personal(self, answer: str, asked: Words) -> Iterable[AuditFinding]:
        """Personal data that the user did not write."""
        for found in personal_data(answer):
            if Words(found.value).letters not in asked.letters:
                yield AuditFinding("personal_data", found.start, found.end, found.kind.value)

    def _ungrounded(self, answer: Words, sources: Sequence[Words]) -> Iterable[AuditFinding]:
        """The whole answer, where hardly any of its content words is in a document."""
        content = [word for word in answer.listed if word not in FUNCTION_WORDS]
        if not content:
            return
        known = set().union(*(one.listed for one in sources))
        share = sum(word in known for word in content) / len(content)
        if share < LEAST_GROUNDED:
            detail = f"{share:.2f} of content words"
            yield AuditFinding("ungrounded", 0, len(answer.text), detail)

    def _acted(self, answer: str, findings: tuple[AuditFinding, ...]) -> Audited:
        masked = with_masks(answer, findings)
        if masked == answer:
            return Audited("pass", answer, findings)
        bare = with_masks(answer, findings, masks=dict.fromkeys(MASKS, " "))
        text = masked if Words(bare).letters else REFUSAL
        if self.on_verbatim == "regenerate" and any(f.kind == "verbatim" for f in findings):
            return Audited("regenerate", text, findings)
        return Audited("mask" if text == masked else "refuse", text, findings)


def without(letters: str, spans: Iterable[tuple[int, int]]) -> str:
    """The letters with something that is no letter in place of each span."""
    kept, read = [], 0
    for start, end in merged(spans):
        kept += [letters[read:start], _APART * (end - start)]
        read = end
    return "".join([*kept, letters[read:]])


def with_masks(
    answer: str, findings: Iterable[AuditFinding], masks: dict[str, str] | None = None
) -> str:
    """The answer with a mask in place of each finding that has one; overlapping ones share it."""
    masks = MASKS if masks is None else masks
    spans = [(one.start, one.end) for one in findings if one.kind in masks]
    kinds = {one.start: masks[one.kind] for one in findings if one.kind in masks}
    text, read = [], 0
    for start, end in merged(spans):
        text += [answer[read:start], kinds[start]]
        read = end
    return "".join([*text, answer[read:]])
