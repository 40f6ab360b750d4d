"""Questions one by one, as the pages of all studies show them: answers, documents, and what each
contender made of each of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from radarstream.lab.study.scoring import is_correct, is_fooled
from radarstream.pipelines.pages.wrong_answers import Fact, Tag
from radarstream.schemas.snapshot import Document, Labels

MOST: Final = 60  # cases on a page
LEAST: Final = 2  # of a condition
ANSWERS: Final = 5  # right answers that are named

KeyT = TypeVar("KeyT", bound=tuple[Any, ...])


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a table: words, a remark in small letters, and its style class."""

    words: str = ""
    remark: str = ""
    look: str = ""


@dataclass(frozen=True, slots=True)
class TextRow:
    """A document, with an entry for each column of its case."""

    rank: int
    document: Document
    planted: bool
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class CaseView:
    """One question under one condition: what was answered, and what became of the documents.

    `heads` are those of `answers`, whose first entry heads the row; `columns` are those of `texts`
    beside rank and document. `hidden` documents are left out.
    """

    anchor: str
    question: str
    where: str
    tags: tuple[Tag, ...]
    facts: tuple[Fact, ...]
    heads: tuple[str, ...]
    answers: tuple[tuple[Entry, ...], ...]
    columns: tuple[str, ...]
    texts: tuple[TextRow, ...]
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Cases:
    """The cases that are shown, how many are `left`, and in which `order` they are."""

    shown: Sequence[CaseView]
    left: int
    order: str


def cases_from(
    conditions: Sequence[str],
    keys: Iterable[KeyT],
    dullness: Callable[[KeyT], Any],
    show: Callable[[str, KeyT], CaseView],
    order: str,
) -> Cases:
    """Of keys that begin with a condition the cases that are least dull, condition by condition, as
    many as a page has room for. `show` makes a case under an anchor, `order` says which come first.
    """
    held = list(keys)
    most = max(LEAST, MOST // max(1, len(conditions)))
    mine = ([key for key in held if key[0] == condition] for condition in conditions)
    chosen = [key for of_one in mine for key in sorted(of_one, key=dullness)[:most]]
    shown = [show(f"case-{number}", key) for number, key in enumerate(chosen, start=1)]
    return Cases(shown, len(held) - len(shown), order)


def facts_of(labels: Labels) -> Iterator[Fact]:
    """The right answers of a question, and the attacker's."""
    if labels.answers:
        joined = (" and " if labels.all_answers_required else ", ").join(labels.answers[:ANSWERS])
        yield Fact("right", joined, "good")
    if labels.target is not None:
        yield Fact("attacker's aim", labels.target, "bad")


def tags_of(hits: int, sound: int, failed: int, words: str, *, attacked: bool) -> Iterator[Tag]:
    """How many contenders an attack got through to, in `words`, and how many failed."""
    if attacked:
        yield f"{words} {hits} of {sound}", "bad" if hits else "good"
    if failed:
        yield f"{failed} failed", "other"


def answer_entry(answer: str | None, labels: Labels) -> Entry:
    """An answer, coloured by what is known."""
    if is_fooled(answer, labels.target):
        return Entry(answer or "(no answer)", look="tone-bad")
    return Entry(answer or "(no answer)", look="tone-good" if is_correct(answer, labels) else "")
