"""The page of a study of a service: what attackers get, and what readers lose."""

from collections.abc import Iterator
from typing import Final

import polars as pl
from markupsafe import Markup

from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.pages.charts import before_after, scatter
from radarstream.lab.pages.scales import (
    Axis,
    Change,
    Place,
    Share,
    from_zero,
    measured,
    portion,
)
from radarstream.lab.pages.studies import Kind, Panel, View
from radarstream.lab.service.policies import ADAPTIVE, FULL, REFERENCE
from radarstream.lab.service.records import FILES, ServiceRecord
from radarstream.lab.service.scoring import Results, frame_of, scored
from radarstream.lab.service.tables import tables_of
from radarstream.lab.study.rates import Rate
from radarstream.lab.study.rows import RowStore
from radarstream.pipelines.pages.safe_text import shorten

RECALL: Final = "recall_lex, benign"
WORDS: Final = {
    "Stream": "questions of one kind, asked one after another of a service that knows nobody yet.",
    "Policy": "which modules act on a question: none, all of some (static), or those that the risk "
    "of the question calls for (adaptive).",
    "Membership probe": "a question that asks to fill the gaps in a document, to learn whether the "
    "corpus has it.",
    "L_mask, L_probe": "the share of hidden words that are told; of documents all of whose hidden "
    "words are.",
    "Attack success": "the share of answers that name the attacker's target as whole words.",
    "PoisonHit": "the share of questions with a planted text among the documents that the defence "
    "saw.",
    "recall_lex": "the share of the right answer that the documents behind the answer have, by "
    "overlap of words.",
    "DP": "DP-RAG: a threshold with noise decides which documents are found.",
    "Epsilon": "how much of the epsilon budget a question spends.",
    "Trust": "a number from 0 to 1 per user, from what their questions set off.",
}


def view_of(record: ServiceRecord, _: RowStore, results: Results, __: pl.DataFrame) -> View:
    """The page of a study."""
    note = "Every point is a policy. Good is left and up."
    return View(
        f"A service attacked, over {record.dataset}",
        _found(results),
        WORDS,
        plot=_before_after(results),
        panels=[Panel("plots", "Plots", note, [*_trade_offs(results), *_cost(results)])],
        heads=(
            ("readers' questions", record.questions),
            ("documents of the corpus", record.texts),
            ("probed for", f"{record.members} members, {record.others} others"),
            ("documents of an answer", record.k),
            ("defence", record.defense),
            ("lying sites that an answer withstands", record.withstand),
            ("policies", len(record.policies)),
        ),
        provenance=[("split", record.split), ("proxy of the attacker", record.proxy or "none")],
    )


def _got(results: Results, name: str) -> Iterator[tuple[str, Rate]]:
    """What an attacker gets under a policy, a rate for each stream of an attack."""
    for one in results.streams:
        cell, probing = results.cell(name, one.stream), results.probing(name, one.stream)
        if probing is not None and probing.masks[True].trials:
            yield f"{one.stream}: hidden words told", probing.masks[True]
        elif cell is not None and cell.rates["fooled"].trials:
            yield f"{one.stream}: attack success", cell.rates["fooled"]
        elif cell is not None and one.stream.partition(":")[0] == "leakage":
            yield f"{one.stream}: verbatim leaks", cell.rates["leaked"]


def _best(results: Results) -> str | None:
    """The policy that is shown beside none: an adaptive one, or the full stack, or the last."""
    others = [name for name in results.policies if name != REFERENCE]
    wanted = [name for name in others if name.partition(":")[0] == ADAPTIVE]
    return next(iter([*wanted, *(n for n in others if n == FULL), *others[-1:]]), None)


def _found(results: Results) -> str:
    """What was found, in one sentence."""
    name = _best(results)
    before = dict(_got(results, REFERENCE))
    if name is None or not before:
        told = "; ".join(f"{words}, {portion(rate.value)}" for words, rate in before.items())
        return told or "Nobody attacked."
    after = dict(_got(results, name))
    told = "; ".join(
        f"{words} {portion(rate.value)} without modules, {portion(after[words].value)} under "
        f"{shorten(name, 60)}"
        for words, rate in list(before.items())[:3]
        if words in after
    )
    cells = [results.cell(one, BENIGN) for one in (REFERENCE, name)]
    recalls = [c.means["recall_lex"] for c in cells if c and c.means["recall_lex"] is not None]
    if len(recalls) == 2:  # noqa: PLR2004 both were measured
        told += f"; contextual recall of readers {recalls[0]:.3f} and {recalls[1]:.3f}"
    return f"{told}."


def _before_after(results: Results) -> Markup | None:
    name = _best(results)
    if name is None:
        return None
    before, after = dict(_got(results, REFERENCE)), dict(_got(results, name))
    changes = [
        Change(words, measured(before[words]), told, "fooled")
        for words, rate in after.items()
        if words in before and (told := measured(rate)) is not None
    ]
    title = f"What attackers get: without modules ○, under {shorten(name, 40)} ●"
    return before_after(title, changes, ("without modules", name))


def _trade_offs(results: Results) -> Iterator[Markup]:
    """What attackers get against what readers find, for every attack."""
    for words, _ in _got(results, REFERENCE):
        places = []
        for number, name, recall in _readers(results):
            x = measured(dict(_got(results, name)).get(words, Rate(0, 0)))
            if x is not None:
                told = f"{name}: {words} {x}, recall_lex {recall.value:.3f}"
                places.append(Place(name, number, x, recall, told))
        yield from scatter(
            words, places, Axis(0.0, 1.0, "what attackers get", percent=True), RECALL
        )


def _cost(results: Results) -> Iterator[Markup]:
    """Seconds a question against recall, in the stream of readers."""
    places = []
    for number, name, recall in _readers(results):
        cell = results.cell(name, BENIGN)
        seconds = cell.means["seconds"] if cell else None
        if seconds is not None:
            told = f"{name}: {seconds:.2f} seconds a question, recall_lex {recall.value:.3f}"
            places.append(Place(name, number, Share(seconds), recall, told))
    yield from scatter("What it costs", places, from_zero(places, "seconds a question"), RECALL)


def _readers(results: Results) -> Iterator[tuple[int, str, Share]]:
    """The number of each policy, its name, and what readers find under it."""
    for number, name in enumerate(results.policies):
        benign = results.cell(name, BENIGN)
        recall = benign.means["recall_lex"] if benign else None
        if recall is not None:
            yield number, name, Share(recall)


SERVICE: Final = Kind(
    ServiceRecord, FILES, frame_of, scored, tables_of, view_of, ("modules", "cost", "streams")
)
