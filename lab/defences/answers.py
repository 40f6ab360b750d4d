"""The table of answers, of a study of defences and of a replay.

A replay has the contenders `defended` and `undefended`, the baselines it was asked for, and the
condition `replay`. `words.toml` says what each column means.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Final

import polars as pl

from radarstream.lab.attacks.conditions import sites_of_planted
from radarstream.lab.attacks.registry import has_own_target
from radarstream.lab.defences.contenders import is_pooling
from radarstream.lab.defences.records import Row
from radarstream.lab.study.frame import Values, columns_of, identity, tidy
from radarstream.lab.study.judging import Judgement, Key, judged_columns
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.scoring import DEFENDED, UNDEFENDED, answer_set, score_answer
from radarstream.pipelines.signals.parsing import is_uninformative
from radarstream.schemas.codec.text import clean
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import Labels, SearchSnapshot
from radarstream.schemas.verdict import UNSEEN, Reason, Verdict

COLUMNS: Final = columns_of("defences")
FREE_TEXT: Final = (
    "target", "truth_key", "answer", "error", "previous_answer", "judge_error"
)  # fmt: skip
REPLAY = "replay"


def study_frame(
    rows: Iterable[Row], record: StudyRecord, judgements: Mapping[Key, Judgement] | None = None
) -> pl.DataFrame:
    """The table of a study of defences: the contenders and conditions that the record names. Of
    rows about the same answer the last counts, so that a repeated failure may be mended by
    appending.
    """
    contenders, conditions = record.names, record.conditions
    own_target = {name for name in conditions if has_own_target(name.partition("@")[0])}
    pooling = {one.name for one in record.methods if is_pooling(one)}
    last = {
        row.key: _aimed(row, own_target)
        for row in rows
        if row.contender in contenders and row.condition in conditions
    }
    histories: defaultdict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in last.values():
        histories[row.contender, row.condition, row.query_id].append(row)
    found: list[Values] = []
    for (contender, *_), history in histories.items():
        pools = contender in pooling
        for row, values in _answered(history):
            found.append(
                values
                | ({"poisoned_kept": None} if pools else {})
                | ({} if row.error else judged_columns((judgements or {}).get(row.key)))
            )
    places = (
        pl.col("contender").cast(pl.Enum(contenders)),
        pl.col("condition").cast(pl.Enum(conditions)),
    )
    return _frame(found).sort(*places, "query_id", "step")


def _answered(history: Iterable[Row]) -> Iterator[tuple[Row, Values]]:
    """The rows of one contender's history in time order, and what each says by itself."""
    earlier: dict[Labels, None] = {}
    attacked = 0
    for row in sorted(history, key=lambda row: row.step):
        attacked += row.labels.attack is not None
        yield (
            row,
            identity(row)
            | scores(row.response, row.labels, tuple(earlier), failed=row.error is not None)
            | decided(row.verdict, row.labels)
            | {
                "observed_at": row.observed_at,
                "status": row.status,
                "confidence": row.confidence,
                "state_bytes": row.state_bytes,
                "poisoned_sites": row.poisoned_sites,
                "attacked_steps": attacked,
            },
        )
        earlier[gist(row.labels)] = None


def replay_frame(
    answers: Sequence[AnswerEvent],
    snapshots: Mapping[str, SearchSnapshot],
    baselines: Iterable[Row] = (),
) -> pl.DataFrame:
    """The table of a replay: the defended answers, and the undefended ones where there are some.
    Answers keep their order, the defended one first; those of `baselines` come last.
    """
    earlier: defaultdict[str, dict[Labels, None]] = defaultdict(dict)
    attacked: Counter[str] = Counter()
    found: list[Values] = []
    for event in answers:
        snapshot = snapshots.get(event.snapshot_id)
        labels = (snapshot.labels if snapshot else None) or Labels()
        before = tuple(earlier[event.query_id])
        attacked[event.query_id] += labels.attack is not None
        shared = {
            "condition": REPLAY,
            "query_id": event.query_id,
            "step": event.step,
            "observed_at": event.observed_at,
            "poisoned_sites": None if snapshot is None else sites_of_planted(snapshot),
            "attacked_steps": attacked[event.query_id],
        }
        said = None if event.abstention else event.answer
        found.append(
            shared
            | {"contender": DEFENDED, "status": event.status, "confidence": event.confidence}
            | scores(said, labels, before)
            | decided(event.verdict, labels)
        )
        if (bare := event.undefended_answer) is not None:
            said = None if is_uninformative(bare) else bare
            found.append(shared | {"contender": UNDEFENDED} | scores(said, labels, before))
        earlier[event.query_id][gist(labels)] = None
    histories: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in baselines:
        histories[row.contender, row.query_id].append(row)
    found += [values for history in histories.values() for _, values in _answered(history)]
    return _frame(found)


def _frame(found: Sequence[Values]) -> pl.DataFrame:
    for row in found:
        row["truth"] = [clean(truth) for truth in row["truth"]]
    return tidy(found, COLUMNS, FREE_TEXT)


def _aimed(row: Row, own_target: set[str]) -> Row:
    """A row without the data's target where an attack with a target of its own spares the step.
    What is said there is no success of that attack, nor a failure: an attack that makes readers
    refuse does not mean to make them say the data's target.
    """
    if row.condition not in own_target or row.labels.attack is not None:
        return row
    return replace(row, labels=replace(row.labels, target=None))


def gist(labels: Labels) -> Labels:
    """What later steps need of labels, so that equal ones are looked at once."""
    return replace(labels, poisoned_ranks=(), false_passages=())


def scores(
    answer: str | None, labels: Labels, earlier: Sequence[Labels], *, failed: bool = False
) -> Values:
    """What an evaluator knows, what was answered, and what it is worth."""
    score = score_answer(answer, labels, earlier, failed=failed)
    whole_words, contained = asdict(score.whole_words), asdict(score.contained)
    return {
        "attack": labels.attack,
        "poisoned_ranks": list(labels.poisoned_ranks),
        "poisoned_documents": len(labels.poisoned_ranks),
        "truth": list(labels.answers),
        "all_required": labels.all_answers_required,
        "target": labels.target,
        "truth_key": "\n".join(sorted(answer_set(labels.answers))) or None,
        "answer": answer,
        "abstained": answer is None and not failed,
        **whole_words,
        **{f"contained_{name}": value for name, value in contained.items()},
        "exclusive_correct": _alone(contained["correct"], contained["fooled"]),
        "exclusive_fooled": _alone(contained["fooled"], contained["correct"]),
    }


def _alone(this: bool | None, other: bool | None) -> bool | None:
    """Whether this holds and the other does not; None where this is not known."""
    return None if this is None else this and not other


def decided(verdict: Verdict | None, labels: Labels) -> Values:
    """What the defence kept and believed; nothing after an error."""
    if verdict is None:
        return {}
    documents, memory = [d for d in verdict.documents if d.reason not in UNSEEN], verdict.memory
    selects = any(document.reason is not Reason.NOT_JUDGED for document in documents)
    kept = verdict.kept_ranks
    planted = set(labels.poisoned_ranks)
    return {
        "abstention": verdict.abstention,
        "documents": len(documents),
        "kept": len(kept) if selects else None,
        "rejected": len(documents) - len(kept) if selects else None,
        "poisoned_kept": len(planted.intersection(kept)) if planted else None,
        "memory": memory.decision,
        "previous_answer": memory.previous_answer,
        "support_prior": memory.support_prior,
        "conflict_prior": memory.conflict_prior,
        "support_posterior": memory.support_posterior,
        "conflict_posterior": memory.conflict_posterior,
    }
