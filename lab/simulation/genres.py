"""Page genres: each writes a page about a fact as somebody would have at the time.

The wordings are data (`wordings.toml`); this module fills their slots.
"""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import cache
from hashlib import sha256
from importlib.resources import files
from random import Random
from typing import Any
from unicodedata import normalize

from pydantic import TypeAdapter

from radarstream.lab.simulation.facts import Fact, bare

MIN_WORDS = 26
SNIPPET_WORDS = 30
PADDED_SHARE = 0.25  # pages that carry a sentence more than they need
_RECENT_DAYS = 300
_NEWS_DAYS = 14
FIRST_PAGES = date(2011, 6, 1)
_SHOWN_ENTRIES = 4
_AUTHORS = ("Ellen Marsh", "Tobias Vane", "Ruth Calloway", "Omar Finch", "Ines Halloran")
_SENTENCE_START = re.compile(r"(^|[.!?]\s+)([a-z])")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class Stance(StrEnum):
    """What a page says about the question at the time of the snapshot."""

    TRUTH = "truth"
    STALE = "stale"  # an earlier truth, in the present tense of its own date
    PARTIAL = "partial"  # one of several joint answers
    NOISE = "noise"  # chatter and guesses, no answer
    OFF_TOPIC = "off_topic"  # the same subject, no answer


@dataclass(frozen=True, slots=True)
class Genre:
    """A kind of page. `carries_over`: unchanged from year to year while its answer holds."""

    name: str
    stance: Stance
    style: str
    sites: tuple[str, ...]
    wordings: tuple[dict[str, Any], ...]
    carries_over: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """What a page's author knows: the fact, the holding believed (an index) and the day of the
    snapshot, plus names that may be floated as guesses.
    """

    fact: Fact
    holding: int
    day: date
    candidates: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A search result, 26 to 90 words long."""

    title: str
    url: str
    snippet: str
    content: str


@cache
def genres() -> dict[str, Genre]:
    """All genres by name."""
    named = {
        name: {"name": name, "wordings": entry["wording"], **entry}
        for name, entry in _data()["genre"].items()
    }
    return TypeAdapter(dict[str, Genre]).validate_python(named)


def write_page(genre: Genre, scene: Scene, variant: int, rng: Random) -> WrittenPage:
    """A page of this genre in its wording number `variant`, counted round; the rest is random."""
    slots = _slots(genre, scene, rng)
    suitable = [wording for wording in genre.wordings if _suits(wording, scene, slots)]
    wording = suitable[variant % len(suitable)]
    title = _capitalised(wording["title"].format_map(slots))
    fillers = _fillers(genre, scene, slots["topic"], rng)
    content = _filled(wording["text"], slots, fillers, int(rng.random() < PADDED_SHARE))
    site = rng.choice(genre.sites)
    plain = normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = "-".join(re.findall(r"[a-z0-9]+", plain)[:8])
    digest = sha256(f"{title}\x1f{content}".encode()).hexdigest()[:8]
    snippet = _snippet(content, _focus(genre, scene))
    return WrittenPage(title, f"https://{site}/{slug}-{digest}", snippet, content)


def false_passages(fact: Fact, answer: str, year: int) -> list[str]:
    """Five wordings that claim `answer` for `year`; they never repeat the question."""
    slots = {"year": str(year), "states": _states(fact, (answer,))}
    wordings: list[str] = _data()["false_passages"]["wordings"]
    return [_capitalised(wording.format_map(slots)) for wording in wordings]


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("wordings.toml").read_text(encoding="utf-8"))


def _suits(wording: dict[str, Any], scene: Scene, slots: dict[str, str]) -> bool:
    fits_kind = scene.fact.kind in wording.get("kinds", (scene.fact.kind,))
    return fits_kind and ("{earlier}" not in wording["text"] or bool(slots["earlier"]))


def _slots(genre: Genre, scene: Scene, rng: Random) -> dict[str, str]:
    fact = scene.fact
    holding = fact.holdings[scene.holding]
    plural = _is_plural(fact, holding.answers)
    answer = _joined(holding.answers)
    topic, topic2 = rng.sample(fact.topics, 2)
    candidate, candidate2 = rng.sample(scene.candidates, 2)
    held = [h for h in fact.holdings[: scene.holding + 1] if h.answers][-_SHOWN_ENTRIES:]
    entries = [f"{h.start.year}: {_joined(h.answers)}" for h in held]
    return {
        "answer": answer,
        "one_answer": rng.choice(holding.answers),
        "states": _states(fact, holding.answers),
        "became": fact.became.format(answer=answer, role=fact.role, prize=fact.prize),
        "speculates": fact.speculates.format(candidate=candidate, candidate2=candidate2),
        "subject": fact.subject,
        "Subject": _upper_first(fact.subject),
        "role": fact.role,
        "prize": fact.prize,
        "is": "are" if plural else "is",
        "win": "win" if plural else "wins",
        "have": "have" if plural else "has",
        "question": fact.question,
        "question_lower": fact.question[0].lower() + fact.question[1:],
        "topic": topic,
        "Topic": _upper_first(topic),
        "topic2": topic2,
        "person": rng.choice(_AUTHORS),
        "since": f"{holding.start:%B %Y}",
        "written": f"{_written_on(genre, scene, rng):%B %Y}",
        "history": "; ".join(entries),
        "earlier": "; ".join(entries[:-1]),
    }


def _written_on(genre: Genre, scene: Scene, rng: Random) -> date:
    """A day while the page's answer held; for a current page one of the last months. A lasting page
    was written when its answer was new, or before any snapshot.
    """
    holding = scene.fact.holdings[scene.holding]
    if genre.stance is Stance.STALE:
        earliest, latest = holding.start, scene.fact.end_of(scene.holding) or scene.day
    elif genre.carries_over:
        earliest = FIRST_PAGES if genre.stance is Stance.OFF_TOPIC else holding.start
        earliest = max(earliest, FIRST_PAGES)
        latest = earliest + timedelta(days=_NEWS_DAYS)
    else:
        earliest = max(holding.start, scene.day - timedelta(days=_RECENT_DAYS))
        latest = scene.day
    return earliest + timedelta(days=rng.randrange(max(1, (latest - earliest).days)))


def _states(fact: Fact, answers: tuple[str, ...]) -> str:
    plural = _is_plural(fact, answers)
    role = fact.role + ("s" if plural else "")
    return fact.states.format(
        answer=_joined(answers), role=role, **{"is": "are" if plural else "is"}
    )


def _is_plural(fact: Fact, answers: tuple[str, ...]) -> bool:
    return fact.plural or len(answers) > 1


def _joined(answers: Sequence[str]) -> str:
    return " and ".join([", ".join(answers[:-1]), answers[-1]] if answers[:-1] else answers)


def _fillers(genre: Genre, scene: Scene, used: str, rng: Random) -> list[str]:
    bank: list[str] = _data()["filler"][genre.style]
    topics = [topic for topic in scene.fact.topics if topic != used]
    rng.shuffle(topics)
    return [
        sentence.format(topic=topics[i % len(topics)])
        for i, sentence in enumerate(rng.sample(bank, len(bank)))
    ]


def _filled(text: str, slots: dict[str, str], fillers: list[str], fewest: int) -> str:
    """The wording with as few filler sentences as make it long enough, at least `fewest`."""
    for count in range(fewest, len(fillers)):
        filler = " ".join(fillers[:count])
        page = " ".join(_capitalised(text.format_map({**slots, "filler": filler})).split())
        if len(page.split()) >= MIN_WORDS:
            return page
    return _capitalised(text.format_map({**slots, "filler": " ".join(fillers)}))


def _focus(genre: Genre, scene: Scene) -> str:
    """What a search engine would show in the snippet: the answer where the page has one."""
    if genre.stance in (Stance.NOISE, Stance.OFF_TOPIC):
        return scene.fact.subject
    return bare(scene.fact.holdings[scene.holding].answers[-1])


def _snippet(content: str, focus: str) -> str:
    sentences = _SENTENCE_END.split(content)
    first = next((i for i, sentence in enumerate(sentences) if focus in sentence), 0)
    words = " ".join(sentences[first:]).split()
    tail = " ..." if len(words) > SNIPPET_WORDS else ""
    return " ".join(words[:SNIPPET_WORDS]) + tail


def _capitalised(text: str) -> str:
    return _SENTENCE_START.sub(lambda match: match[1] + match[2].upper(), text)


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]
