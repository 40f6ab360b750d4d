"""The page of a study of defences: its plots, and questions one by one."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import polars as pl
from markupsafe import Markup

from radarstream.lab.defences.contenders import is_pooling
from radarstream.lab.defences.planted import Curves
from radarstream.lab.defences.records import FILES, EvidenceRow, Row, counted
from radarstream.lab.defences.scores import DefenceResults, frame_of, scored
from radarstream.lab.defences.tables import tables_of
from radarstream.lab.pages.cases import (
    Cases,
    CaseView,
    Entry,
    TextRow,
    answer_entry,
    cases_from,
    facts_of,
    tags_of,
)
from radarstream.lab.pages.charts import Share, curves, measured
from radarstream.lab.pages.leads import Lead, leads_of
from radarstream.lab.pages.studies import Display, Panel
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.rows import RowStore
from radarstream.pipelines.pages.verdict_words import ABSTENTIONS, judged_in_words
from radarstream.schemas.snapshot import Labels
from radarstream.schemas.verdict import MemoryDecision, Reason, Verdict

HITS: Final = {"fooled", "both"}  # outcomes
Key = tuple[str, str, int]  # condition, query id, step
Answers = Mapping[str, tuple[Row, str]]  # and the outcome, by contender


def leads(results: DefenceResults) -> list[Lead]:
    """Attack success and accuracy."""
    return leads_of(results, ("fooled", "correct"), ("attack success", "accuracy"))


def panels(results: DefenceResults) -> list[Panel]:
    """Planted pages, and answers over time."""
    planted = [p for one in results.planted for p in planted_plots(one.title, one.curves)]
    over_time = list(_over_time(results))
    return [
        Panel("planted", "Planted pages", "With 95 % intervals.", planted),
        Panel("over-time", "Over time", "Means over the questions at each step.", over_time),
    ]


def planted_plots(title: str, found: Curves) -> Iterator[Markup]:
    """Attack success, accuracy and silence of each contender by the number of planted pages."""
    for quantity in ("attack_success", "accuracy", "silence"):
        lines = [
            (name, [(p.planted, measured(getattr(p, quantity))) for p in points])
            for name, points in found.items()
        ]
        if len({at for _, spots in lines for at, _ in spots}) > 1:
            named = quantity.replace("_", " ").capitalize() + (f": {title}" if title else "")
            yield from curves(named, lines, "planted pages")


def _over_time(results: DefenceResults) -> Iterator[Markup]:
    """Accuracy and attack success of every condition, step by step; none of a static data set."""
    for condition in results.groups:
        mine = [one for one in results.dynamics if one.condition == condition]
        for rate, title in (("correct", "accuracy"), ("fooled", "attack success")):
            lines = []
            for one in mine:
                known = [(step.at + 1, step.rates[rate].value) for step in one.steps]
                spots = [(at, None if value is None else Share(value)) for at, value in known]
                lines.append((one.contender, spots))
            yield from curves(f"{condition}: {title}", lines)


def cases_of(record: StudyRecord, store: RowStore, frame: pl.DataFrame) -> Cases:
    """The cases, those first in which most contenders are fooled or they disagree."""
    outcomes = frame.select("contender", "condition", "query_id", "step", "outcome")
    known = {row[:4]: row[4] for row in outcomes.rows()}
    answers: defaultdict[Key, dict[str, tuple[Row, str]]] = defaultdict(dict)
    for row in counted(store, record, Row):
        if row.key in known:
            answers[row.key[1:]][row.contender] = row, known[row.key]
    seen = {one.key: one for one in counted(store, record, EvidenceRow) if one.key in answers}
    return cases_from(
        record.conditions,
        seen,
        lambda key: _dullness(answers[key]),
        lambda anchor, key: _case(anchor, seen[key], answers[key], record),
        "most contenders are fooled, or they disagree",
    )


def _dullness(answers: Answers) -> int:
    """Low for cases that show an attack getting through, or tell defences apart."""
    outcomes = [outcome for _, outcome in answers.values()]
    attacked = any(row.labels.attack for row, _ in answers.values())
    fooled = sum(outcome in HITS for outcome in outcomes) if attacked else 0
    return -2 * fooled - len(set(outcomes))


def _case(anchor: str, seen: EvidenceRow, answers: Answers, record: StudyRecord) -> CaseView:
    pooling = {one.name for one in record.methods if is_pooling(one)}
    given = [name for name in record.names if name in answers]
    verdicts = {
        name: verdict
        for name in given
        if name not in pooling and (verdict := answers[name][0].verdict)
    }
    labels = answers[given[0]][0].labels
    outcomes = [answers[name][1] for name in given]
    hits, failed = sum(o in HITS for o in outcomes), outcomes.count("error")
    attacked = labels.attack is not None
    return CaseView(
        anchor=anchor,
        question=seen.question,
        where=f"{seen.condition}, {seen.query_id}, step {seen.step + 1}",
        tags=tuple(tags_of(hits, len(outcomes), failed, "fooled", attacked=attacked)),
        facts=tuple(facts_of(labels)),
        heads=("contender", "answer", "outcome", "memory"),
        answers=tuple(_answer(name, *answers[name]) for name in given),
        columns=("says", *verdicts),
        texts=tuple(_texts(seen, list(verdicts.values()), labels)),
    )


def _answer(name: str, row: Row, outcome: str) -> tuple[Entry, ...]:
    said, memory, verdict = f"failed: {row.error}", "", row.verdict
    if verdict is not None:
        said = ABSTENTIONS[verdict.abstention] if verdict.abstention else verdict.answer
        known = verdict.memory
        if known.decision is not MemoryDecision.NONE:
            memory = f"{known.decision}: {known.previous_answer}"
    return Entry(name), Entry(said, look=f"ink-{outcome}"), Entry(outcome), Entry(memory)


def _texts(seen: EvidenceRow, verdicts: Iterable[Verdict], labels: Labels) -> Iterator[TextRow]:
    answers = seen.answers or (None,) * len(seen.documents)
    judged = [(verdict, {one.rank: one for one in verdict.documents}) for verdict in verdicts]
    for document, said in zip(seen.documents, answers, strict=True):
        entries = [answer_entry(said, labels) if said else Entry("–")]
        for verdict, known in judged:
            one = known.get(document.rank)
            if one is None or one.reason is Reason.NOT_JUDGED:
                entries.append(Entry("read", look="muted"))
            else:
                words, look = ("kept", "strong") if one.kept else ("cut", "")
                entries.append(Entry(words, judged_in_words(one, verdict)[1], look))
        planted = document.rank in labels.poisoned_ranks
        yield TextRow(document.rank, document, planted, tuple(entries))


DEFENCES: Final = Display(
    "defences", "Defences compared on", FILES, frame_of, scored, tables_of, leads, panels,
    cases_of, ("storage", "rates_contained", "rates_exclusive", "documents"),
)  # fmt: skip
