"""The audit of an answer (hook D): copied text, missing grounds, personal data."""

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
LONG_WORD: Final = 8  # letters that count as a word in an answer without blanks
MOST_CONTAINED: Final = 0.8  # share of an answer's 4-grams in a document above which it is copied
LEAST_GROUNDED: Final = 0.2  # share of content words in documents below which it has no grounds
_APART: Final = "\0"  # replaces words of the user; no folded text has it


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class OutputAudit:
    """Finds copied text and personal data in an answer; masks them, or refuses the answer.

    "Adaptive Defense Orchestration for RAG", section 4, post-generation hook. Text is copied if
    enough successive words of a document are in the answer, or if a part of a document has most of
    the answer's character 4-grams. Case, marks, blanks, invisible characters and letters that look
    alike make no difference. Words of the question may be repeated; a mask would otherwise reveal
    whether a text is in the corpus. Missing grounds are recorded and change nothing.

    Parameters
    ----------
    least_tokens
        Successive words of a document that count as copied; in scripts without blanks, characters.
        Shorter answers are not compared by 4-grams.
    on_verbatim
        "mask" copied text, or let the caller "regenerate": ask for another answer with
        `schemas.tasks.DO_NOT_QUOTE`, and audit that one with "mask".
    """

    least_tokens: Annotated[int, Field(ge=1)] = 12
    on_verbatim: Literal["mask", "regenerate"] = "mask"

    def audit(
        self, answer: str, passages: Sequence[str], question: str = "", *, abstained: bool = False
    ) -> Audited:
        """Audit the answer to a question, given the passages of the prompt.

        `Audited.text` is safe whatever the action. Findings are in the order of their places. If
        the audit fails, the answer is refused; no error is raised.
        """
        try:
            findings = self.findings(answer, passages, question, abstained=abstained)
        except Exception as error:  # noqa: BLE001 any failure refuses the answer
            return Audited("refuse", REFUSAL, error=type(error).__name__)
        return self._acted(answer, findings)

    def findings(
        self, answer: str, passages: Sequence[str], question: str = "", *, abstained: bool = False
    ) -> tuple[AuditFinding, ...]:
        """Find what is wrong with an answer. Raises ValueError if it is too long."""
        if len(answer) > MOST_CHARACTERS:
            raise ValueError(f"an answer of {len(answer)} characters")
        asked, sources = Words(question), [Words(passage) for passage in passages]
        found = [*self._copied(Words(answer), sources, asked)]
        found += [
            AuditFinding("personal_data", one.start, one.end, one.kind.value)
            for one in personal_data(answer)
            if Words(one.value).letters not in asked.letters
        ]
        if not abstained:
            found += self._ungrounded(Words(answer), sources)
        return tuple(sorted(found, key=lambda one: (one.start, one.end, one.kind)))

    def _copied(
        self, answer: Words, sources: Sequence[Words], asked: Words
    ) -> Iterable[AuditFinding]:
        """Find words in a row that documents have and the question has not; compare the rest."""
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

    def _ungrounded(self, answer: Words, sources: Sequence[Words]) -> Iterable[AuditFinding]:
        """Mark the whole answer if few of its content words are in a document."""
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
    """Replace each span of `letters` by characters that are not letters."""
    kept, read = [], 0
    for start, end in merged(spans):
        kept += [letters[read:start], _APART * (end - start)]
        read = end
    return "".join([*kept, letters[read:]])


def with_masks(
    answer: str, findings: Iterable[AuditFinding], masks: dict[str, str] | None = None
) -> str:
    """Replace each finding that has a mask by it; findings that overlap share a mask."""
    masks = MASKS if masks is None else masks
    spans = [(one.start, one.end) for one in findings if one.kind in masks]
    kinds = {one.start: masks[one.kind] for one in findings if one.kind in masks}
    text, read = [], 0
    for start, end in merged(spans):
        text += [answer[read:start], kinds[start]]
        read = end
    return "".join([*text, answer[read:]])
