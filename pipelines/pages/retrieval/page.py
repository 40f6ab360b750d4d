"""The page of a study of rerankers: who keeps planted texts out, at what cost, pool by pool."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from markupsafe import Markup

from radarstream.connectors.models.tiers import limits, model_facts, tier_of
from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.comparison import Difference
from radarstream.pipelines.evaluation.retrieval.records import RetrievalRecord
from radarstream.pipelines.evaluation.retrieval.rerankers import REFERENCE
from radarstream.pipelines.evaluation.retrieval.results import (
    ATTACKS,
    GuardedSummary,
    RerankerSummary,
    Results,
)
from radarstream.pipelines.evaluation.retrieval.tables import is_significant, tables_of
from radarstream.pipelines.evaluation.study.row_files import RowStore
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.charts import before_after, panel
from radarstream.pipelines.pages.retrieval.cases import cases_of
from radarstream.pipelines.pages.safe_text import shorten
from radarstream.pipelines.pages.scales import Axis, Change, Series, Share, Spot, share, tenths
from radarstream.pipelines.pages.studies import cautions

PAGE: Final = "report.html"
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


def write_retrieval_page(
    out: Path, record: RetrievalRecord, store: RowStore, results: Results
) -> Path:
    """Write the page of a study into its directory and return its path."""
    cases, hidden = cases_of(record, store)
    plots = [*_trade_offs(results), *_cost(results), *_answers(results)]
    page = frame.Page(
        title=f"Rerankers compared on {record.dataset}",
        sentence=_found(results),
        more=(*_sentences(results), *cautions(record)),
        plot=_before_after(results),
        links=[
            ("#plots", "Plots", plots),
            ("#tables", "Tables", True),
            ("#pools", "Pools", cases),
        ],
        words=WORDS,
        heads=(
            ("questions", record.questions),
            ("split", record.split),
            ("half", record.half),
            ("clean passages in a pool", record.pool),
            ("kept", record.k),
            ("rerankers", len(record.rerankers)),
            ("language model", tier_of(record.models.get("generator", ""))),
        ),
        notes=(*limits(record.models), *record.notes),
        provenance=[
            ("digest of the data", record.dataset_digest),
            ("texts of the corpus", record.texts),
            ("questions for thresholds", record.tuning),
            *((f"threshold of {name}", f"{t:.6g}") for name, t in record.thresholds.items()),
            ("revision", record.revision),
            ("seed", record.seed),
            ("seconds", f"{record.seconds:.0f}"),
            *model_facts(record.models | record.probed),
            *record.versions.items(),
            *((f"prompt {task}", digest) for task, digest in sorted(record.prompts.items())),
        ],
        command=record.command,
        settings=record.settings,
    )
    text = frame.render("retrieval.html.j2", page, plots_found=plots, cases=cases,
                        hidden=hidden, tables_found=tables_of(results))  # fmt: skip
    (out / PAGE).write_text(text, encoding="utf-8")
    return out / PAGE


def _whole(results: Results) -> str | None:
    """All attacks together, or the only one; None without an attack."""
    attacked = [group for group in results.groups if group != BENIGN]
    return attacked[-1] if attacked else None


def _cells(results: Results, group: str) -> list[RerankerSummary]:
    """The rerankers under a condition that saw a pool."""
    found = (results.cell(name, group) for name in results.rerankers)
    return [cell for cell in found if cell is not None and cell.pools]


def _found(results: Results) -> str:
    """What was found, in one sentence: the reranker that lets fewest planted texts in."""
    group = _whole(results)
    cells = _cells(results, group) if group else []
    bare = next((cell for cell in cells if cell.contender == REFERENCE), None)
    others = [c for c in cells if c.contender != REFERENCE and c.poison_hit.value is not None]
    if group is None or bare is None or bare.poison_hit.value is None:
        return "No text was planted."
    where = "Under all attacks together" if group == ATTACKS else f"Under {shorten(group, 60)}"
    before = f"{bare.poison_hit.value:.0%} of the questions have a planted text among those kept"
    if not others:
        return f"{where} {before} where nobody reranks."
    better = [c for c in others if _is_lower(c.differences.get("poison_hit"))]
    if not better:
        return f"{where} {before}, and no reranker lowers this significantly."
    best = min(better, key=lambda c: (c.poison_hit.value, -(c.clean_kept.value or 0.0)))
    return (
        f"{where} {before} where nobody reranks, and {best.poison_hit.value:.0%} behind "
        f"{shorten(best.contender, 60)}, which keeps {_percent(best.clean_kept.value)} of the "
        f"nearest clean passages ({_percent(bare.clean_kept.value)} without it)."
    )


def _is_lower(change: Difference | None) -> bool:
    return is_significant(change) and change is not None and (change.value or 0.0) < 0


def _sentences(results: Results) -> Iterator[str]:
    """What each reranker costs honest passages where nobody attacks."""
    for cell in _cells(results, BENIGN):
        change = cell.differences.get("clean_kept")
        if change is None or change.value is None:
            continue
        words = "significantly fewer than" if change.value < 0 else "significantly more than"
        if not is_significant(change):
            words = "not significantly different from"
        yield (
            f"Without an attack {cell.contender} keeps {_percent(cell.clean_kept.value)} of the "
            f"nearest clean passages, {words} the undefended order, and takes "
            f"{cell.cost['seconds']:.2f} seconds a pool."
        )


def _percent(value: float | None) -> str:
    return "an unknown share" if value is None else f"{value:.0%}"


def _before_after(results: Results) -> Markup | None:
    group = _whole(results)
    if group is None:
        return None
    cells = _cells(results, group)
    shares = {
        cell.contender: found
        for cell in cells
        if (found := share(cell.poison_hit.value, *cell.poison_hit.interval))
    }
    changes = [
        Change(name, shares.get(REFERENCE), after, "fooled")
        for name, after in shares.items()
        if name != REFERENCE
    ]
    title = f"Questions with a planted text among the first {results.k}: undefended ○, reranked ●"
    return before_after(title, changes, ("undefended", "reranked"))


def _trade_offs(results: Results) -> Iterator[Markup]:
    """For every attack, planted texts let in against clean passages kept."""
    for group in results.groups:
        lines = []
        for number, name in enumerate(results.rerankers):
            cell = results.cell(name, group)
            if cell is None or cell.poison_hit.value is None or cell.clean_kept.value is None:
                continue
            y = Share(cell.clean_kept.value, *cell.clean_kept.interval)
            x = Share(cell.poison_hit.value, *cell.poison_hit.interval)
            words = f"{name}: planted {x}, clean {y}"
            lines.append((Series(name, number), [Spot(x.value, y, x.ends, words=words)]))
        if lines:
            y_axis = tenths([s.y.ends for _, spots in lines for s in spots], "clean recall")
            x_axis = Axis(0.0, 1.0, "questions with a planted text", percent=True)
            yield panel(group, lines, x_axis, y_axis)


def _cost(results: Results) -> Iterator[Markup]:
    """Seconds a pool against planted texts let in."""
    group = _whole(results)
    lines = []
    for number, name in enumerate(results.rerankers):
        cell = results.cell(name, group) if group else None
        if cell is None or cell.poison_hit.value is None or not cell.cost:
            continue
        y, seconds = Share(cell.poison_hit.value, *cell.poison_hit.interval), cell.cost["seconds"]
        words = f"{name}: {seconds:.2f} seconds a pool, planted {y}"
        lines.append((Series(name, number), [Spot(seconds, y, words=words)]))
    if lines:
        most = max(spots[0].x for _, spots in lines)
        y_axis = tenths([s.y.ends for _, spots in lines for s in spots], "with a planted text")
        x_axis = Axis(0.0, max(1.1 * most, 0.01), "seconds a pool")
        yield panel("What it costs", lines, x_axis, y_axis)


def _answers(results: Results) -> Iterator[Markup]:
    """Attack success against accuracy of every defence behind every reranker."""
    group = _whole(results)
    for before in results.defences if group else ():
        lines = []
        for number, name in enumerate(results.rerankers):
            cell: GuardedSummary | None = results.answers(name, group or "", before)
            if cell is None or cell.scores.fooled.value is None:
                continue
            fooled, right = cell.scores.fooled, cell.scores.correct
            if fooled.value is None or right.value is None:
                continue
            x, y = Share(fooled.value, *fooled.interval), Share(right.value, *right.interval)
            words = f"{name}: attack success {x}, accuracy {y}"
            lines.append((Series(name, number), [Spot(x.value, y, x.ends, words=words)]))
        if lines:
            y_axis = tenths([s.y.ends for _, spots in lines for s in spots], "accuracy")
            x_axis = Axis(0.0, 1.0, "attack success", percent=True)
            yield panel(f"before {before}", lines, x_axis, y_axis)
