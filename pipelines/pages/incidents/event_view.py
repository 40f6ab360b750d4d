"""One wrong answer and the texts that taught it, as the incidents page and a study show it."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from radarstream.pipelines.pages.incidents.charts import Dot, strip
from radarstream.pipelines.pages.safe_text import domain, safe_link, shorten
from radarstream.schemas.attribution import Finding

EXCERPT_CHARACTERS = 280
URL_CHARACTERS = 120
FINDINGS = {
    Finding.TEXTS_FLAGGED: "texts flagged",
    Finding.NOTHING_FLAGGED: "nothing flagged",
    Finding.INTRINSIC_ERROR: "the model errs by itself",
    Finding.NO_SEPARATION: "no two groups of scores",
    Finding.NO_DOCUMENTS: "no documents",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A line of the overview; `tone` is good, bad, other, none or empty."""

    term: str
    value: str
    tone: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Tag:
    """A word beside the question."""

    words: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class SourceWords:
    """What the ledger says about a text's source, with a link to the page of sources."""

    address: str
    words: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class TextView:
    """One ranked text. `flags` has one entry per attributor, None where it did not judge the text.

    `parts` are the bars of its three scores, shares in [0, 1] of the range in this event.
    """

    rank: int
    found_at: str
    title: str
    link: str | None
    site: str
    url: str
    excerpt: str
    role: str
    flagged: bool
    score: float | None
    parts: tuple["Part", ...]
    flags: tuple[bool | None, ...] = ()
    standing: SourceWords | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A measured score and where it lies between the least and the greatest of the event."""

    value: float | None
    share: float | None


@dataclass(frozen=True, slots=True)
class JudgeView:
    """What one attributor concluded, and what is answered without the texts it flags."""

    name: str
    finding: str
    counts: str
    without: str
    tone: str
    remark: str


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that happened to an incident; `when` is empty where its time was not stored."""

    when: str
    words: str
    quote: str = ""


@dataclass(frozen=True, slots=True)
class EventView:
    """One wrong answer. `names` head the flags of the texts; one name needs no head."""

    anchor: str
    question: str
    where: str
    answer: str
    tags: tuple[Tag, ...]
    facts: tuple[Fact, ...]
    plot: Markup | None
    texts: tuple[TextView, ...]
    names: tuple[str, ...] = ()
    scored_by: str = ""
    judges: tuple[JudgeView, ...] = ()
    life: tuple[Happening, ...] = ()
    advice: tuple[str, ...] = ()
    hidden: int = 0


@dataclass(frozen=True, slots=True)
class Measured:
    """One text as it was measured, before it is arranged."""

    rank: int
    url: str
    title: str
    text: str
    flagged: bool
    score: float | None = None
    similarity: float | None = None
    semantic: float | None = None
    generation: float | None = None
    found_at: str = ""
    role: str = ""
    flags: tuple[bool | None, ...] = ()
    standing: SourceWords | None = None

    @property
    def values(self) -> tuple[float | None, float | None, float | None]:
        """The three scores."""
        return self.similarity, self.semantic, self.generation


def text_views(texts: Sequence[Measured]) -> tuple[TextView, ...]:
    """Rows of the table, in rank order; bars span what was measured in this event."""
    ranges = [_range([text.values[part] for text in texts]) for part in range(3)]
    return tuple(
        TextView(
            rank=text.rank,
            found_at=text.found_at,
            title=shorten(text.title, 160),
            link=safe_link(text.url),
            site=domain(text.url),
            url=shorten(text.url, URL_CHARACTERS),
            excerpt=shorten(text.text, EXCERPT_CHARACTERS),
            role=text.role,
            flagged=text.flagged,
            score=text.score,
            parts=tuple(
                Part(value, _share(value, bounds))
                for value, bounds in zip(text.values, ranges, strict=True)
            ),
            flags=text.flags,
            standing=text.standing,
        )
        for text in sorted(texts, key=lambda text: text.rank)
    )


def plot_of(texts: Sequence[Measured]) -> Markup | None:
    """The combined scores on a line with the cut; None where fewer than two were measured."""
    dots = [
        Dot(text.score, text.rank, flagged=text.flagged, poison=text.role == "poison")
        for text in texts
        if text.score is not None
    ]
    return strip(dots) if len(dots) > 1 else None


def _range(values: Sequence[float | None]) -> tuple[float, float] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if known else None


def _share(value: float | None, bounds: tuple[float, float] | None) -> float | None:
    if value is None or bounds is None:
        return None
    low, high = bounds
    return (value - low) / (high - low) if high > low else 0.5
