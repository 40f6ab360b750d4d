"""What a user is told of a reply: a text for a chat, and the facts behind it as JSON."""

import re
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import TypeAdapter

from radarstream.pipelines.asking.values import Origin, Reply
from radarstream.pipelines.pages.safe_text import quote_link, safe_link, shorten, visible
from radarstream.pipelines.pages.verdict_words import (
    ABSTENTIONS,
    claim_in_words,
    judged_in_words,
    standing_in_words,
)
from radarstream.schemas.claims import CheckedClaim
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import StandingAnswer
from radarstream.schemas.orchestration import Orchestration
from radarstream.schemas.snapshot import Document
from radarstream.schemas.support import AnswerStatus, Support
from radarstream.schemas.verdict import DocumentVerdict, MemoryVerdict, Reason

CITED: Final = 5  # sites that the text names
NOTHING: Final = (
    "The corpus has nothing on this. Give documents with the question (texts, files, addresses),"
    " choose a search as the source, or add texts to the corpus (radarstream corpus add)."
)
_VALUES: Final = TypeAdapter[Any](
    Support | MemoryVerdict | StandingAnswer | Orchestration | CheckedClaim | None
)
_HOST: Final = re.compile(r"[a-z0-9.-]{1,100}")
CAUTIONS: Final = {
    AnswerStatus.SINGLE_SOURCE: "Only one independent source says so.",
    AnswerStatus.DISPUTED: "Disputed: nearly as many sites say another answer.",
    AnswerStatus.REMEMBERED: "Too few sites say so now; it is the previous answer.",
}


def text_of(reply: Reply) -> str:
    """The answer for a chat, or why there is none, with sites but no addresses it could load."""
    event = reply.event
    if reply.checked is not None:
        parts = [f"{claim_in_words(reply.checked).capitalize()}.", sources_of(reply)]
    elif event.abstention is not None:
        said = f"I have no answer that I can stand behind: {ABSTENTIONS[event.abstention]}."
        if event.standing is not None:
            said += f" Earlier answer: {harmless(standing_in_words(event.standing))}."
        parts = [said]
    else:
        parts = [harmless(reply.text), CAUTIONS.get(event.status, ""), sources_of(reply)]
    parts += [f"Not read: document {one.rank}: {one.why}." for one in reply.question.unread]
    return "\n\n".join(filter(None, [*parts, NOTHING if has_nothing(reply) else ""]))


def has_nothing(reply: Reply) -> bool:
    """Whether the corpus was asked and has no document on the question."""
    return reply.question.origin is Origin.CORPUS and not reply.documents


def sources_of(reply: Reply) -> str:
    """The sites that an answer rests on, as a sentence; "" where there are none."""
    event = reply.event
    cited = (one for one in reply.documents if one.rank in ranks_cited(event))
    pages = {judged.rank: judged.page for judged in event.verdict.documents}
    names = dict.fromkeys(
        (host_of(one) or f"document {one.rank}") + (f", p. {page}" if page else "")
        for one in cited
        for page in (pages.get(one.rank),)
    )
    return f"Sources: {', '.join(list(names)[:CITED])}." if names else ""


def harmless(text: str) -> str:
    r"""The text without what a chat would load by itself: pictures of Markdown, tags.

    >>> print(harmless("a ![x](http://evil.example/?q) <img src=y>"))
    a !\[x](http://evil.example/?q) \<img src=y>
    """
    shown = str(visible(text))
    escaped = re.sub(r"(\\*)<(?=[a-zA-Z/!?])", r"\1\1\\<", shown)  # behind any backslash
    return escaped.replace("![", r"!\[")


def ranks_cited(event: AnswerEvent) -> frozenset[int]:
    """The documents that say the answer; where none is known to, those that were kept."""
    said = () if event.support is None else event.support.ranks_for
    return frozenset(said or event.verdict.kept_ranks)


def host_of(document: Document) -> str:
    """The host of a document's address, "" for none that can be shown."""
    try:
        host = urlsplit(document.url).hostname or ""
    except ValueError:
        return ""
    return host if _HOST.fullmatch(host) else ""


def may_quote(reply: Reply) -> bool:
    """Whether whoever asked may read what documents say: those of the web and their own, if the
    audit passed.
    """
    audit = reply.orchestration.audit
    passed = audit is None or audit.action == "pass"
    return reply.question.origin is not Origin.CORPUS and passed


def without_evidence(reply: Reply) -> Reply:
    """The reply without words of documents but titles."""
    verdict, support = reply.event.verdict, reply.event.support
    judged = tuple(replace(one, atomic_answer=None, excerpt=None) for one in verdict.documents)
    event = replace(
        reply.event,
        verdict=replace(verdict, documents=judged),
        support=support and replace(support, rival_answer=None),
    )
    documents = tuple(replace(document, text="") for document in reply.documents)
    return replace(reply, event=event, documents=documents)


def facts_of(reply: Reply) -> dict[str, Any]:
    """What is behind a reply, as JSON: the extension field `radarstream`. Of the documents no text
    but their quotes and the answer of the rivals, and these if `may_quote`.
    """
    reply = reply if may_quote(reply) else without_evidence(reply)
    event, verdict = reply.event, reply.event.verdict
    documents = {document.rank: document for document in reply.documents}
    cited_ranks = ranks_cited(event)
    why_of = partial(judged_in_words, verdict=verdict, support=event.support, checked=reply.checked)
    judged = [(one, documents.get(one.rank)) for one in verdict.documents]
    return claimed(reply.checked) | {
        "answer": None if event.abstention else reply.text,
        "status": event.status.value,
        "abstention": None if event.abstention is None else event.abstention.value,
        "defense": event.defense,
        "citations": [cited(one, found) for one, found in judged if one.rank in cited_ranks],
        "distrusted": [
            cited(one, found) | {"reason": one.reason.value, "why": why_of(one)[1]}
            for one, found in judged
            if not one.kept and one.reason is not Reason.NOT_READ and one.rank not in cited_ranks
        ],
        "depth": {
            "found": len(verdict.documents),
            "read": len(event.seen),
            "result_pages": event.result_pages,
            "wanted_more": event.wanted_more,
        },
        "unread": [asdict(one) for one in reply.question.unread],
        "support": plain(event.support),
        "memory": plain(verdict.memory),
        "standing": plain(event.standing),
        "orchestration": decided(reply.orchestration),
    }


def claimed(checked: CheckedClaim | None) -> dict[str, Any]:
    """What became of a claim; nothing of a question."""
    if checked is None:
        return {}
    told: dict[str, Any] = plain(checked)
    del told["claim"]
    return {"question": checked.claim.question, "claimed": checked.claim.answer} | told


def cited(judged: DocumentVerdict, document: Document | None) -> dict[str, Any]:
    """How a document is named, with the words that its answer rests on and a link to them."""
    title, url = (document.title, document.url) if document else ("", "")
    named: dict[str, Any] = {"rank": judged.rank, "title": shorten(title, 200)}
    named |= {"url": safe_link(url) or "", "page": judged.page}
    if (excerpt := judged.excerpt) is None:
        return named
    words = {part: str(visible(text)) for part, text in asdict(excerpt).items()}
    return named | {"quote": words | {"link": quote_link(url, excerpt, judged.page)}}


def decided(orchestration: Orchestration) -> dict[str, Any]:
    """What was decided about a question; the audit's text is that of the reply and left out."""
    told: dict[str, Any] = plain(orchestration)
    if told["audit"] is not None:
        del told["audit"]["text"]
    return told


def plain(value: Any) -> Any:
    """A value of ours as JSON."""
    return _VALUES.dump_python(value, mode="json")
