"""Questions one by one: what was asked, what was planned under each policy, what was told."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from radarstream.pipelines.evaluation.attacks.service.masked_questions import filled
from radarstream.pipelines.evaluation.scoring import is_correct, is_fooled
from radarstream.pipelines.evaluation.service.copying import copied
from radarstream.pipelines.evaluation.service.policies import SHORT
from radarstream.pipelines.evaluation.service.records import ServiceRecord
from radarstream.pipelines.evaluation.service.rows import AskRow, ReplyRow
from radarstream.pipelines.evaluation.service.scoring import Held, held_in
from radarstream.pipelines.evaluation.study.row_files import RowStore
from radarstream.pipelines.pages.incidents.event_view import Fact, Tag

MOST_CASES: Final = 60  # on a page
LEAST_CASES: Final = 2  # of a stream


@dataclass(frozen=True, slots=True)
class HookView:
    """What a module did."""

    module: str
    words: str


@dataclass(frozen=True, slots=True)
class ReplyView:
    """What a service did with the question under one policy; `tone` as of a `Tag`."""

    policy: str
    text: str
    tone: str
    levels: str
    trust: str
    documents: str
    hooks: tuple[HookView, ...]


@dataclass(frozen=True, slots=True)
class CaseView:
    """One question of a stream."""

    anchor: str
    question: str
    stream: str
    ask_id: str
    tags: tuple[Tag, ...]
    facts: tuple[Fact, ...]
    replies: tuple[ReplyView, ...]


def cases_of(record: ServiceRecord, store: RowStore) -> tuple[list[CaseView], int]:
    """The questions that are shown, those first with which an attacker gets something under most
    policies, and how many are not.
    """
    held = held_in(store)
    replies: defaultdict[tuple[str, str], dict[str, ReplyRow]] = defaultdict(dict)
    for row in held.replies:
        replies[row.asked][row.contender] = row
    most = max(LEAST_CASES, MOST_CASES // max(1, len(record.streams)))
    shown: list[CaseView] = []
    for stream in record.streams:
        mine = [ask for ask in held.asks.values() if ask.stream == stream and replies[ask.key]]
        mine.sort(key=lambda ask: -_got(held, ask, list(replies[ask.key].values())))
        for ask in mine[:most]:
            anchor = f"question-{len(shown) + 1}"
            shown.append(_case(anchor, held, ask, replies[ask.key], record))
    return shown, sum(map(bool, replies.values())) - len(shown)


def _got(held: Held, row: AskRow, replies: Sequence[ReplyRow]) -> int:
    """Under how many policies the attacker gets something; a reader's losses count as well."""
    return sum(_tone(held, row, reply) == "bad" for reply in replies)


def _case(
    anchor: str, held: Held, row: AskRow, replies: Mapping[str, ReplyRow], record: ServiceRecord
) -> CaseView:
    names = [name for name in record.policies if name in replies]
    bad = sum(_tone(held, row, replies[name]) == "bad" for name in names)
    tags: list[Tag] = []
    if any(replies[name].error for name in names):
        tags.append((f"{sum(replies[n].error is not None for n in names)} failed", "other"))
    if row.ask.run_up:
        tags.append(("run-up", "other"))
    elif bad:
        tags.append((f"something for the attacker, or lost: {bad} of {len(names)}", "bad"))
    return CaseView(
        anchor,
        row.ask.text,
        row.stream,
        row.ask.id,
        tuple(tags),
        tuple(_facts(held, row)),
        tuple(_reply(held, row, replies[name]) for name in names),
    )


def _facts(held: Held, row: AskRow) -> Iterator[Fact]:
    labels = row.ask.labels
    if labels.answers:
        yield Fact("right", ", ".join(labels.answers[:5]), "good")
    if labels.target is not None:
        yield Fact("attacker's aim", labels.target, "bad")
    if row.ask.masks:
        document = held.probes[row.ask.about].document
        words = ", ".join(document.words[number - 1] for number in row.ask.masks)
        yield Fact("hidden words", words, "bad")
        yield Fact("the corpus has the document", "yes" if document.member else "no")
    yield Fact("asked by", row.ask.user)


def _reply(held: Held, row: AskRow, reply: ReplyRow) -> ReplyView:
    if reply.error is not None:
        return ReplyView(reply.contender, f"failed: {reply.error}", "", "", "", "", ())
    planned = reply.planned
    levels = " → ".join(filter(None, (planned.before, planned.after))) or "–"
    spent = f", epsilon {planned.epsilon:g}" if planned.epsilon else ""
    return ReplyView(
        reply.contender,
        reply.text or "(no answer)",
        _tone(held, row, reply),
        levels,
        f"{planned.trust:.2f} → {planned.trust_after:.2f}{spent}",
        f"{len(reply.kept)} of {len(reply.found)}",
        tuple(
            HookView(_short(hook.module), f"{hook.documents_in} → {hook.documents_out}"
                     f"{f', {hook.detail}' if hook.detail else ''}")
            for hook in planned.hooks if hook.enabled
        ),
    )  # fmt: skip


def _short(module: str) -> str:
    return next((short for known, short in SHORT.items() if known.value == module), module)


def _tone(held: Held, row: AskRow, reply: ReplyRow) -> str:
    """How a reply is coloured: bad where an attacker gets something, or a reader a wrong answer."""
    if reply.error is not None:
        return ""
    labels, told = row.ask.labels, None if reply.abstained else reply.text
    if row.ask.masks:
        document = held.probes[row.ask.about].document
        given = filled(told, row.ask.masks)
        right = [given.get(n) == document.words[n - 1].casefold() for n in row.ask.masks]
        return "bad" if any(right) else ""
    if labels.target is not None and is_fooled(told, labels.target):
        return "bad"
    if labels.answers:
        return "good" if is_correct(told, labels) else "bad"
    passages = [held.passages[id_].document.passage for id_ in reply.found]
    return "bad" if copied(told or "", passages).leaked else ""
