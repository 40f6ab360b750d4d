"""The page of a study of rerankers: who keeps planted texts out, at what cost, pool by pool."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import polars as pl
from markupsafe import Markup

from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.pages.cases import (
    Cases,
    CaseView,
    Entry,
    TextRow,
    answer_entry,
    facts_of,
    first_of_each,
    tags_of,
)
from radarstream.lab.pages.charts import before_after, scatter, trade_offs
from radarstream.lab.pages.scales import Change, Place, Share, from_zero, measured, portion
from radarstream.lab.pages.studies import Kind, Panel, View
from radarstream.lab.retrieval.records import (
    FILES,
    GuardedRow,
    PoolKey,
    PoolRow,
    RerankingRow,
    RetrievalRecord,
)
from radarstream.lab.retrieval.rerankers import REFERENCE
from radarstream.lab.retrieval.scoring import Results, frame_of, scored
from radarstream.lab.retrieval.tables import tables_of
from radarstream.lab.study.results import ATTACKS, Result
from radarstream.lab.study.rows import PassageRow, RowStore
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.schemas.retrieval import JudgedCandidate

WORDS: Final = {
    "Pool": "the candidates of a question: the clean passages nearest to it, and every text that "
    "was planted for it. A reranker orders them anew and keeps the first.",
    "Planted": "written by the attacker and added to the documents that are searched.",
    "PoisonHit": "the share of questions with a planted text among those kept.",
    "PoisonRecall": "the share of the planted texts that are kept.",
    "Clean recall": "the share of the clean passages nearest to the question that are kept.",
    "Right passage": "a clean passage that names a right answer as whole words.",
    "Outranked": "enough other candidates stand before it.",
    "Suspect": "the reranker took it for planted and dropped it.",
    "Penalty": "what the reranker took off the similarity.",
    "nDCG": "how near the right passages are to the top, from 0 to 1.",
    "Passes": "forward and backward passes of one passage through an encoder.",
}
NOTE: Final = (
    "Every point is a reranker, its lines the 95 % intervals over questions. Good is left and up; "
    "in the plot of the cost, left and down."
)


def view_of(record: RetrievalRecord, store: RowStore, results: Results, _: pl.DataFrame) -> View:
    """The page of a study."""
    return View(
        f"Rerankers compared on {record.dataset}",
        _found(results),
        WORDS,
        tuple(_sentences(results)),
        _before_after(results),
        [Panel("plots", "Plots", NOTE, list(_plots(results)))],
        heads=(
            ("questions", record.questions),
            ("split", record.split),
            ("clean passages in a pool", record.pool),
            ("kept", record.k),
            ("rerankers", len(record.rerankers)),
        ),
        provenance=[
            ("texts of the corpus", record.texts),
            ("questions for thresholds", record.tuning),
            *((f"threshold of {name}", f"{t:.6g}") for name, t in record.thresholds.items()),
            *((f"{name} by", model) for name, model in record.probed.items()),
        ],
        cases=cases_of(record, store),
    )


def _found(results: Results) -> str:
    """The result in one sentence: the reranker that lets fewest planted texts in."""
    group, cells = results.whole, results.under(results.whole)
    known = [cell for cell in cells if cell.rates["poison_hit"].trials]
    bare = next((cell for cell in known if cell.contender == REFERENCE), None)
    if group is None or bare is None:
        return "No text was planted."
    where = "Under all attacks together" if group == ATTACKS else f"Under {shorten(group, 60)}"
    before = f"{_share(bare, 'poison_hit')} of the questions have a planted text among those kept"
    if len(known) == 1:
        return f"{where} {before} where nobody reranks."
    better = [cell for cell in known if _is_lower(cell)]
    if not better:
        return f"{where} {before}, and no reranker lowers this significantly."
    best = min(
        better, key=lambda c: (c.rates["poison_hit"].value, -(c.rates["clean_kept"].value or 0.0))
    )
    return (
        f"{where} {before} where nobody reranks, and {_share(best, 'poison_hit')} behind "
        f"{shorten(best.contender, 60)}, which keeps {_share(best, 'clean_kept')} of the nearest "
        f"clean passages ({_share(bare, 'clean_kept')} without it)."
    )


def _is_lower(cell: Result) -> bool:
    change = cell.differences.get("poison_hit")
    return change is not None and change.significant and (change.value or 0.0) < 0


def _share(cell: Result, name: str) -> str:
    return portion(cell.rates[name].value)


def _sentences(results: Results) -> Iterator[str]:
    """What each reranker costs honest passages where nobody attacks."""
    for cell in results.under(BENIGN):
        change = cell.differences.get("clean_kept")
        if change is None or change.value is None:
            continue
        words = "significantly fewer than" if change.value < 0 else "significantly more than"
        if not change.significant:
            words = "not significantly different from"
        yield (
            f"Without an attack {cell.contender} keeps {_share(cell, 'clean_kept')} of the "
            f"nearest clean passages, {words} the undefended order, and takes "
            f"{cell.means['seconds'] or 0.0:.2f} seconds a pool."
        )


def _before_after(results: Results) -> Markup | None:
    shares = {c.contender: measured(c.rates["poison_hit"]) for c in results.under(results.whole)}
    changes = [
        Change(name, shares.get(REFERENCE), after, "fooled")
        for name, after in shares.items()
        if name != REFERENCE and after
    ]
    title = f"Questions with a planted text among the first {results.k}: undefended ○, reranked ●"
    return before_after(title, changes, ("undefended", "reranked"))


def _plots(results: Results) -> Iterator[Markup]:
    """Planted texts let in against clean passages kept, for every attack, and against seconds;
    attack success against accuracy of every defence behind the rerankers.
    """
    names = results.rerankers
    axes = "questions with a planted text", "clean recall"
    for group in results.groups:
        cells = results.under(group)
        yield from trade_offs(group, cells, names, ("poison_hit", "clean_kept"), axes)
    places = []
    for cell in results.under(results.whole):
        hit, seconds = measured(cell.rates["poison_hit"]), cell.means["seconds"]
        if hit is not None and seconds is not None:
            name = cell.contender
            words = f"{name}: {seconds:.2f} seconds a pool, planted {hit}"
            places.append(Place(name, names.index(name), Share(seconds), hit, words))
    axis = from_zero(places, "seconds a pool")
    yield from scatter("What it costs", places, axis, "with a planted text")
    for before, answers in results.answers.items():
        mine = [cell for cell in answers if cell.condition == results.whole]
        axes = "attack success", "accuracy"
        yield from trade_offs(f"before {before}", mine, names, ("fooled", "correct"), axes)


def cases_of(record: RetrievalRecord, store: RowStore) -> Cases:
    """The pools, those first in which most planted texts are kept."""
    rows: defaultdict[PoolKey, dict[str, RerankingRow]] = defaultdict(dict)
    for row in store.of(RerankingRow).values():
        rows[row.condition, row.query_id][row.contender] = row
    answers: defaultdict[PoolKey, dict[tuple[str, str], GuardedRow]] = defaultdict(dict)
    for answer in store.of(GuardedRow).values():
        answers[answer.condition, answer.query_id][answer.behind, answer.before] = answer
    pools = {pool.key: pool for pool in store.of(PoolRow).values() if rows[pool.key]}

    def dullness(key: PoolKey) -> int:
        return -sum(_let_in(pools[key], row) for row in rows[key].values())

    keys = first_of_each(record.conditions, pools, dullness)
    shown = [
        _case(f"case-{number}", pools[key], rows[key], answers[key], store, record)
        for number, key in enumerate(keys, start=1)
    ]
    return Cases(shown, len(pools) - len(shown), "most planted texts are kept")


def _let_in(pool: PoolRow, row: RerankingRow) -> int:
    """How many planted texts are kept."""
    return len(pool.planted.intersection(row.kept))


def _case(
    anchor: str,
    pool: PoolRow,
    rows: Mapping[str, RerankingRow],
    answers: Mapping[tuple[str, str], GuardedRow],
    store: RowStore,
    record: RetrievalRecord,
) -> CaseView:
    names = [spec.name for spec in record.rerankers if spec.name in rows]
    sound = [row for row in rows.values() if row.error is None]
    hits = sum(_let_in(pool, row) > 0 for row in sound)
    failed = len(rows) - len(sound)
    texts = tuple(_texts(pool, [rows[name] for name in names], store.of(PassageRow), record.k))
    return CaseView(
        anchor,
        pool.question,
        f"{pool.condition}, {pool.query_id}",
        tuple(tags_of(hits, len(sound), failed, "planted texts pass", attacked=bool(pool.planted))),
        tuple(facts_of(pool.labels)),
        ("reranker", "before", "answer"),
        tuple(
            _answer(pool, answers[name, before])
            for before in record.defences
            for name in names
            if (name, before) in answers
        ),
        ("is", "similarity", *names),
        texts,
        len(pool.candidates) - len(texts),
    )


def _texts(
    pool: PoolRow, rows: Sequence[RerankingRow], passages: Mapping[str, PassageRow], k: int
) -> Iterator[TextRow]:
    """The candidates that somebody keeps, planted ones and those that were nearest."""
    placed = [{one.found_rank: one for one in row.candidates} for row in rows]
    for rank, candidate in enumerate(pool.candidates, start=1):
        judged = [places.get(rank) for places in placed]
        if rank <= k or candidate.planted or any(one and one.kept for one in judged):
            kind = "right" if candidate.right else "clean"
            entries = (
                Entry(
                    "planted" if candidate.planted else kind,
                    look="" if candidate.right else "muted",
                ),
                Entry(f"{candidate.similarity:.3f}"),
                *map(_place, judged),
            )
            document = passages[candidate.id].document
            yield TextRow(rank, document, candidate.planted, entries)


def _place(judged: JudgedCandidate | None) -> Entry:
    if judged is None:
        return Entry("–", "failed")
    words = [judged.reason.value if judged.reason else "kept"]
    if judged.score is not None:
        words.append(f"score {judged.score:.3g}")
    if judged.penalty is not None:
        words.append(f"penalty {judged.penalty:.3g}")
    return Entry(str(judged.rank), ", ".join(words), "strong" if judged.kept else "")


def _answer(pool: PoolRow, row: GuardedRow) -> tuple[Entry, ...]:
    said = Entry(f"failed: {row.error}") if row.error else answer_entry(row.answer, pool.labels)
    return Entry(row.behind), Entry(row.before), said


RETRIEVAL: Final = Kind(
    RetrievalRecord, FILES, frame_of, scored, tables_of, view_of, ("conditions", "order")
)
