"""What one answer says in the table of answers: the values of a row, by column.

The columns are documented in `radarstream.pipelines.evaluation.frame`.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from radarstream.pipelines.evaluation.defences.records import Row
from radarstream.pipelines.evaluation.judging import Judgement
from radarstream.pipelines.evaluation.scoring import is_correct, is_fooled, score_answer
from radarstream.schemas.answer_text import answer_set
from radarstream.schemas.snapshot import Labels
from radarstream.schemas.verdict import Reason, Verdict

Values = dict[str, Any]


def identity(key: tuple[str, str, str, int], observed_at: Any) -> Values:
    """Which answer it is: contender, condition, query and step, and the time of the snapshot."""
    names = ("contender", "condition", "query_id", "step")
    return dict(zip(names, key, strict=True)) | {"observed_at": observed_at}


def gist(labels: Labels) -> Labels:
    """What later steps need of labels, so that equal ones are looked at once."""
    return replace(labels, poisoned_ranks=(), false_passages=())


def scores(
    answer: str | None, labels: Labels, earlier: Sequence[Labels], *, error: str | None = None
) -> Values:
    """What an evaluator knows, what was answered, and what it is worth."""
    score = asdict(score_answer(answer, labels, earlier, failed=error is not None))
    whole_words, contained = score.pop("whole_words"), score.pop("contained")
    return {
        "attack": labels.attack,
        "poisoned_ranks": list(labels.poisoned_ranks),
        "poisoned_documents": len(labels.poisoned_ranks),
        "truth": list(labels.answers),
        "all_required": labels.all_answers_required,
        "target": labels.target,
        "truth_key": "\n".join(sorted(answer_set(labels.answers))) or None,
        "answer": answer,
        "abstained": answer is None and error is None,
        "error": error,
        **whole_words,
        **{f"contained_{name}": value for name, value in contained.items()},
        "exclusive_correct": _alone(contained["correct"], contained["fooled"]),
        "exclusive_fooled": _alone(contained["fooled"], contained["correct"]),
        **score,
    }


def _alone(this: bool | None, other: bool | None) -> bool | None:
    """Whether this holds and the other does not; None where this is not known."""
    return None if this is None else this and not other


def decided(verdict: Verdict | None, labels: Labels) -> Values:
    """What the defence kept and believed; nothing after an error."""
    if verdict is None:
        return {}
    documents, memory = verdict.documents, verdict.memory
    selects = any(document.reason is not Reason.NOT_JUDGED for document in documents)
    kept = verdict.kept_ranks
    planted = set(labels.poisoned_ranks)
    return {
        "abstention": verdict.abstention,
        "documents": len(documents),
        "kept": len(kept) if selects else None,
        "rejected": len(documents) - len(kept) if selects else None,
        "poisoned_kept": len(planted.intersection(kept)) if planted else None,
        **readings([d.atomic_answer for d in documents if d.atomic_answer is not None], labels),
        "memory": memory.decision,
        "previous_answer": memory.previous_answer,
        "support_prior": memory.support_prior,
        "conflict_prior": memory.conflict_prior,
        "support_posterior": memory.support_posterior,
        "conflict_posterior": memory.conflict_posterior,
    }


def readings(answers: Sequence[str], labels: Labels) -> Values:
    """Of how many documents the atomic answer names the truth, and of how many the target."""
    if not answers:
        return {}
    right = sum(is_correct(answer, labels) for answer in answers) if labels.answers else None
    target = labels.target
    aimed = None if target is None else sum(is_fooled(answer, target) for answer in answers)
    return {"read_right": right, "read_target": aimed}


def spent(row: Row) -> Values:
    """What the answer cost, and the size of the state that is kept."""
    read, written = row.cost.tokens
    return asdict(row.cost) | {
        "prompt_tokens": read,
        "completion_tokens": written,
        "seconds": row.cost.seconds,
        "state_bytes": row.state_bytes,
    }


def judged(judgement: Judgement | None) -> Values:
    """What the judge model said, if one was asked."""
    if judgement is None:
        return {}
    marks = asdict(judgement.scores) if judgement.scores else {}
    return {
        "judge_error": judgement.error,
        "judge_label": judgement.label,
        **{f"judge_{name}": value for name, value in marks.items()},
    }
