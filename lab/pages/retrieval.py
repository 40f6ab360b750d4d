"""The page of a study of rerankers: who keeps planted texts out, at what cost, pool by pool."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl
from markupsafe import Markup

from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.pages.charts import before_after
from radarstream.lab.pages.defences.cases import LEAST_CASES, MOST_CASES, facts_of, tone_of
from radarstream.lab.pages.scales import Axis, Change, Share, portion
from radarstream.lab.pages.studies import (
    Kind,
    Panel,
    Place,
    View,
    cautions,
    from_zero,
    measured,
    page_of,
    scatter,
)
from radarstream.lab.retrieval.records import RetrievalRecord
from radarstream.lab.retrieval.rerankers import REFERENCE
from radarstream.lab.retrieval.results import ATTACKS, Results, scored
from radarstream.lab.retrieval.rows import (
    FILES,
    Candidate,
    GuardedRow,
    PoolKey,
    PoolRow,
    RerankingRow,
)
from radarstream.lab.retrieval.scoring import frame_of
from radarstream.lab.retrieval.tables import tables_of
from radarstream.lab.study.results import Result
from radarstream.lab.study.row_files import RowStore
from radarstream.lab.study.rows import PassageRow
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.wrong_answers import Fact, Tag
from radarstream.schemas.retrieval import JudgedCandidate
from radarstream.schemas.snapshot import Document

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


@dataclass(frozen=True, slots=True)
class CandidateView:
    """One candidate, and where every reranker put it: rank, whether it is kept, and why."""

    rank: int
    document: Document
    candidate: Candidate
    places: tuple[tuple[str, bool, str], ...]


@dataclass(frozen=True, slots=True)
class CaseView:
    """One pool; `hidden` candidates that nobody keeps are left out. `answers` have the reranker,
    the defence, what it answers and how that is coloured.
    """

    anchor: str
    pool: PoolRow
    tags: tuple[Tag, ...]
    facts: tuple[Fact, ...]
    names: tuple[str, ...]
    candidates: tuple[CandidateView, ...]
    answers: tuple[tuple[str, str, str, str], ...]

    @property
    def hidden(self) -> int:
        """How many candidates are left out."""
        return len(self.pool.candidates) - len(self.candidates)


def view_of(record: RetrievalRecord, store: RowStore, results: Results, _: pl.DataFrame) -> View:
    """The page of a study."""
    cases, hidden = cases_of(record, store)
    plots = [*_trade_offs(results), *_cost(results), *_answers(results)]
    page = page_of(
        record,
        f"Rerankers compared on {record.dataset}",
        _found(results),
        WORDS,
        more=(*_sentences(results), *cautions(record)),
        plot=_before_after(results),
        links=[
            ("#plots", "Plots", plots),
            ("#tables", "Tables", True),
            ("#pools", "Pools", cases),
        ],
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
    )
    note = (
        "Every point is a reranker, its lines the 95 % intervals over questions. Good is left and "
        "up; in the plot of the cost, left and down."
    )
    values = {"cases": cases, "hidden": hidden}
    panels = [Panel("plots", "Plots", note, plots)]
    return View(page, panels, "retrieval.html.j2", values=values)


def _found(results: Results) -> str:
    """What was found, in one sentence: the reranker that lets fewest planted texts in."""
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


def _trade_offs(results: Results) -> Iterator[Markup]:
    """For every attack, planted texts let in against clean passages kept."""
    axis = Axis(0.0, 1.0, "questions with a planted text", percent=True)
    for group in results.groups:
        places = _places(results, results.under(group), ("poison_hit", "clean_kept"))
        yield from scatter(group, places, axis, "clean recall")


def _answers(results: Results) -> Iterator[Markup]:
    """Attack success against accuracy of every defence behind every reranker."""
    axis = Axis(0.0, 1.0, "attack success", percent=True)
    for before, cells in results.answers.items():
        mine = [cell for cell in cells if cell.condition == results.whole]
        places = _places(results, mine, ("fooled", "correct"))
        yield from scatter(f"before {before}", places, axis, "accuracy")


def _places(results: Results, cells: list[Result], rates: tuple[str, str]) -> Iterator[Place]:
    """Where rerankers are by two rates."""
    for cell in cells:
        x, y = (measured(cell.rates[rate]) for rate in rates)
        if x is not None and y is not None:
            name = cell.contender
            words = f"{name}: {rates[0]} {x}, {rates[1]} {y}"
            yield Place(name, results.rerankers.index(name), x, y, words)


def _cost(results: Results) -> Iterator[Markup]:
    """Seconds a pool against planted texts let in."""
    places = []
    for cell in results.under(results.whole):
        hit, seconds = measured(cell.rates["poison_hit"]), cell.means["seconds"]
        if hit is not None and seconds is not None:
            name = cell.contender
            words = f"{name}: {seconds:.2f} seconds a pool, planted {hit}"
            number = results.rerankers.index(name)
            places.append(Place(name, number, Share(seconds), hit, words))
    axis = from_zero(places, "seconds a pool")
    yield from scatter("What it costs", places, axis, "with a planted text")


def cases_of(record: RetrievalRecord, store: RowStore) -> tuple[list[CaseView], int]:
    """The pools that are shown, those first in which most rerankers let planted texts in, and how
    many are not.
    """
    rows: defaultdict[PoolKey, dict[str, RerankingRow]] = defaultdict(dict)
    for row in store.of(RerankingRow).values():
        rows[row.condition, row.query_id][row.contender] = row
    answers: defaultdict[PoolKey, dict[tuple[str, str], GuardedRow]] = defaultdict(dict)
    for answer in store.of(GuardedRow).values():
        answers[answer.condition, answer.query_id][answer.behind, answer.before] = answer
    pools = [pool for pool in store.of(PoolRow).values() if rows[pool.key]]
    most = max(LEAST_CASES, MOST_CASES // max(1, len(record.conditions)))
    shown: list[CaseView] = []
    for condition in record.conditions:
        mine = [pool for pool in pools if pool.condition == condition]
        mine.sort(key=lambda pool: -sum(_let_in(pool, row) for row in rows[pool.key].values()))
        for pool in mine[:most]:
            anchor = f"pool-{len(shown) + 1}"
            case = _case(anchor, pool, rows[pool.key], answers[pool.key], store, record)
            shown.append(case)
    return shown, len(pools) - len(shown)


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
    names = tuple(spec.name for spec in record.rerankers if spec.name in rows)
    told = [answers.get((name, before)) for before in record.defences for name in names]
    return CaseView(
        anchor,
        pool,
        tuple(_tags(pool, rows)),
        tuple(facts_of(pool.labels)),
        names,
        tuple(_candidates(pool, [rows[name] for name in names], store.of(PassageRow), record.k)),
        tuple(_answer(pool, row) for row in told if row is not None),
    )


def _candidates(
    pool: PoolRow, rows: list[RerankingRow], passages: Mapping[str, PassageRow], k: int
) -> Iterator[CandidateView]:
    """The candidates that somebody keeps, planted ones and those that were nearest."""
    placed = [{one.found_rank: one for one in row.candidates} for row in rows]
    for rank, candidate in enumerate(pool.candidates, start=1):
        judged = [places.get(rank) for places in placed]
        if rank <= k or candidate.planted or any(one and one.kept for one in judged):
            document = passages[candidate.id].document
            yield CandidateView(rank, document, candidate, tuple(map(_place, judged)))


def _place(judged: JudgedCandidate | None) -> tuple[str, bool, str]:
    if judged is None:
        return "–", False, "failed"
    words = [judged.reason.value if judged.reason else "kept"]
    if judged.score is not None:
        words.append(f"score {judged.score:.3g}")
    if judged.penalty is not None:
        words.append(f"penalty {judged.penalty:.3g}")
    return str(judged.rank), judged.kept, ", ".join(words)


def _tags(pool: PoolRow, rows: Mapping[str, RerankingRow]) -> Iterator[Tag]:
    sound = [row for row in rows.values() if row.error is None]
    if len(sound) < len(rows):
        yield f"{len(rows) - len(sound)} failed", "other"
    if pool.planted:
        hit = sum(_let_in(pool, row) > 0 for row in sound)
        yield f"planted texts pass {hit} of {len(sound)}", "bad" if hit else "good"


def _answer(pool: PoolRow, row: GuardedRow) -> tuple[str, str, str, str]:
    said, tone = f"failed: {row.error}", ""
    if row.error is None:
        said, tone = row.answer or "(no answer)", tone_of(row.answer, pool.labels)
    return row.behind, row.before, said, tone


RETRIEVAL: Final = Kind(
    RetrievalRecord, FILES, frame_of, scored, tables_of, view_of, ("conditions", "order")
)
