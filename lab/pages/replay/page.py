"""The page of a replay: what was answered, what was rejected, and why."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Final

from radarstream.lab.defences.planted import Point, replay_table
from radarstream.lab.defences.records import Row
from radarstream.lab.pages.defences import planted_plots
from radarstream.lab.pages.replay.view import (
    FINDING_KINDS,
    MAX_LISTED,
    MAX_UNFOLDED,
    ReportView,
    build_view,
)
from radarstream.lab.pages.report import limits, model_facts, render, tier_of
from radarstream.lab.study.frame import words_of
from radarstream.lab.study.scoring import DEFENDED, UNDEFENDED, answer_set
from radarstream.pipelines.job.replaying.record import RunRecord
from radarstream.pipelines.pages import frame
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.support import STATUS_RULE
from radarstream.schemas.wording import counted_noun

MARKS = (
    ("attacked", "under attack"),
    ("changed", "answer changed"),
    ("underline", "undefended answer"),
)
OPEN_QUERIES = 12  # up to this many sections start unfolded
LINKS = (
    ("#findings", "Worth a look", True),
    ("#overview", "Overview", True),
    ("#questions", "Questions", True),
    ("#costs", "Costs", True),
)
WORDS: Final = words_of("replay")


def render_report(
    answers: Sequence[AnswerEvent],
    snapshots: Mapping[str, SearchSnapshot],
    run: RunRecord,
    *,
    read: Mapping[str, SearchSnapshot] | None = None,
    baselines: Sequence[Row] = (),
) -> str:
    """Render a run as one self-contained HTML page.

    `answers` are events of any number of queries, in any order; `snapshots` are by snapshot id, and
    where one is missing its texts and labels are left out. `read` are the same as models read
    them. `baselines` are rows about the same snapshots. Secrets in the settings are redacted.
    """
    view = build_view(answers, snapshots, run, read=read, baselines=baselines)
    page = _page(view, answers, run, baselines)
    seen = {step.outcome for step in view.steps}
    bare = [step.undefended_outcome for step in view.steps if step.undefended is not None]
    return render(
        "replay.html.j2",
        page,
        "replay.js",
        view=view,
        outcomes=[name for name in frame.OUTCOMES if name in seen.union(bare)],
        marks=MARKS[: None if bare else -1],
        open_queries=len(view.detailed) <= OPEN_QUERIES,
        first_open=_first_open(view),
        finding_kinds=FINDING_KINDS,
        plotted=list(planted_plots("", view.curves)),
        scored=replay_table(view.curves),
        max_listed=MAX_LISTED,
        max_unfolded=MAX_UNFOLDED,
    )


def _page(
    view: ReportView, answers: Sequence[AnswerEvent], run: RunRecord, baselines: Sequence[Row]
) -> frame.Page:
    """The frame of the page: its sentence, words, heads and provenance."""
    beside = {row.contender.partition(":")[0] for row in baselines}
    rerankers = sorted({event.reranking.method for event in answers if event.reranking})
    dates = sorted(f"{event.observed_at:%Y-%m-%d}" for event in answers)
    return frame.Page(
        title="Defended answers",
        sentence=_sentence(view),
        more=[told] if (told := _changes(view)) else [],
        links=LINKS,
        words=WORDS["words"]
        | {"Status": f"{WORDS['words']['Status']} {STATUS_RULE}"}
        | {name: words for name, words in WORDS["baselines"].items() if name in beside}
        | (WORDS["reranking"] if rerankers else {}),
        heads=[("from", " to ".join(dict.fromkeys(dates[:1] + dates[-1:])))] * bool(dates)
        + [("defence", name) for name in sorted({event.defense for event in answers})]
        + [
            ("withstands lying sites", n)
            for n in sorted({event.withstand or 0 for event in answers})
        ]
        + [("reranker", name) for name in rerankers]
        + [("language model", tier_of(run.models.get("generator", "")))],
        notes=limits(run.models),
        provenance=[("revision", run.revision), *model_facts(run.models)],
        settings=run.settings,
    )


def _sentence(view: ReportView) -> str:
    """What was found, in one sentence: of the defended answers, and of the first beside them."""
    if not view.curves:
        return (
            "This run carries no labels, so correct and wrong cannot be told; what changed and "
            "what was rejected can."
        )
    attacked = any(point.planted for point in view.curves[DEFENDED])
    when = "under attack" if attacked else "not attacked"
    beside = [name for name in view.curves if name not in (DEFENDED, UNDEFENDED)]
    shown = [DEFENDED, *(beside or [name for name in view.curves if name == UNDEFENDED])[:1]]
    told = [f"{name} {_counted(view.curves[name], attacked=attacked)}" for name in shown]
    return f"Of the answers {when}: {'; '.join(told)}."


def _counted(points: Sequence[Point], *, attacked: bool) -> str:
    """How many answers are right, fooled and silent, with planted pages or of all steps."""
    held = [point for point in points if point.planted or not attacked]
    right, fooled, silent = (
        sum(getattr(point, name).hits for point in held)
        for name in ("accuracy", "attack_success", "silence")
    )
    return f"{right} right, {fooled} fooled, {silent} silent"


def _changes(view: ReportView) -> str:
    """How the answers followed the truth."""
    changes = [
        step
        for query in view.queries
        for before, step in pairwise(query.steps)
        if before.labels.answers
        and answer_set(before.labels.answers) != answer_set(step.labels.answers)
    ]
    if not changes:
        return ""
    said = Counter(step.outcome for step in changes)
    told = ", ".join(f"{count} {outcome}" for outcome, count in said.most_common())
    return f"The truth changed {counted_noun(len(changes), 'time')}; defended answers then: {told}."


def _first_open(view: ReportView) -> str:
    """Anchor of the step to show unfolded: the first finding that has a section."""
    for finding in chain.from_iterable(view.findings.values()):
        if finding.query.detailed:
            return finding.step.anchor
    return view.detailed[0].steps[0].anchor if view.detailed else ""
