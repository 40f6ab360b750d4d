"""What a directory of results is results of: two runs that share one must agree on all of it."""

from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from importlib.metadata import PackageNotFoundError, version

from radarstream.pipelines.evaluation.experiment.answering_code import code_digest
from radarstream.pipelines.evaluation.experiment.records import (
    Condition,
    Contender,
    EvidenceRow,
    ExperimentRecord,
)
from radarstream.pipelines.signals.prompts import noting_use as noting_use
from radarstream.pipelines.signals.prompts import prompt_digests as prompt_digests
from radarstream.schemas.errors import ConfigurationError

SAME = {  # what must be equal, in words
    "dataset_digest": "data set (its content)",
    "k": "k",
    "seed": "seed",
    "surface": "place that attacks put their texts",
    "models": "models",
}
PACKAGES = ("radarstream", "numpy", "ortools", "pydantic", "sentence-transformers", "torch",
            "transformers", "xllamacpp")  # fmt: skip
JUDGED_BY = "judged by "  # start of a note that names the judge
WAYS_OUT = "choose another --out, or --no-resume to start over (answers of the models are kept)"


def package_versions() -> dict[str, str]:
    """Versions of the packages that decide a result, those that are installed."""
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def continued(earlier: ExperimentRecord, now: ExperimentRecord) -> ExperimentRecord:
    """The record of both runs together: contenders and conditions are added to. What was noted and
    counted of other questions than those asked now is left out.

    Raises ConfigurationError, saying what differs, when they are not one experiment.
    """
    differences = [
        *differing_fields(earlier, now, SAME),
        *reworded(earlier.prompts),
        *differing_definitions(earlier, now),
    ]
    if differences:
        raise ConfigurationError(
            f"the results there are of another experiment: {'; '.join(differences)}. {WAYS_OUT}"
        )
    alike = earlier.asked == now.asked
    notes = [note for note in earlier.notes if alike or note.startswith(JUDGED_BY)]
    return replace(
        now,
        conditions=tuple(dict.fromkeys((*earlier.conditions, *now.conditions))),
        contenders=tuple(dict.fromkeys((*earlier.contenders, *now.contenders))),
        prompts=earlier.prompts,
        statistics=earlier.statistics | now.statistics,
        notes=tuple(dict.fromkeys((*notes, *now.notes))),
        owed=earlier.owed if alike else {},
        seconds=earlier.seconds,
        code=earlier.code | now.code,
        runs=(*earlier.runs, *(run for run in now.runs if run not in earlier.runs)),
    )


def check_code(earlier: ExperimentRecord, answered: Collection[str]) -> None:
    """Raise ConfigurationError, naming them, when contenders with an answer got it by other code.

    All contenders there count, as all are shown.
    """
    changed = [
        contender.name
        for contender in earlier.contenders
        if contender.name in answered
        and earlier.code.get(contender.name, "") != code_now(contender)
    ]
    if changed:
        raise ConfigurationError(
            f"the answers there of {', '.join(changed)} were computed by other code. To compute "
            "them again say --no-resume, which keeps the answers of the models and is quick; or "
            "choose another --out"
        )


def code_now(contender: Contender) -> str | None:
    """The digest of the code that would answer now; None where it no longer can."""
    try:
        return code_digest(contender)
    except ConfigurationError:
        return None


def differing_fields(earlier: object, now: object, words: Mapping[str, str]) -> list[str]:
    """Fields, each with its words, that two records must share and do not, in words."""
    before, after = (
        {said: getattr(record, name) for name, said in words.items()} for record in (earlier, now)
    )
    return differing(before, after)


def differing(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    """What must be equal by its name, and is not, in words."""
    return [
        f"{name}: {shown(before.get(name))} there, {shown(after.get(name))} here"
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]


def reworded(earlier: Mapping[str, str]) -> list[str]:
    """Which prompts have other digests now, in words."""
    wordings = prompt_digests()
    changed = sorted(task for task, digest in earlier.items() if wordings.get(task) != digest)
    return [f"the wording of the prompts {', '.join(changed)} has changed"] if changed else []


def differing_definitions(earlier: ExperimentRecord, now: ExperimentRecord) -> list[str]:
    """Contenders and conditions that share a name and not their meaning, in words."""
    contenders = {c.name: c for c in earlier.contenders}
    conditions = {c.name: c for c in earlier.conditions}
    return [
        f"{contender.name}: {difference(contenders[contender.name], contender)}"
        for contender in now.contenders
        if contenders.get(contender.name, contender) != contender
    ] + [
        f"{condition.name}: {difference(conditions[condition.name], condition)}"
        for condition in now.conditions
        if conditions.get(condition.name, condition) != condition
    ]


def check_evidence(stored: EvidenceRow, found: EvidenceRow) -> None:
    """Raise ConfigurationError, naming the first difference, unless both show contenders the same.

    Answers count where both have them: a call that failed, or was not needed, has none.
    """
    seen, now = shown_to_all(stored), shown_to_all(found)
    both = stored.answers and found.answers
    for what in dict.fromkeys((*seen, *now)):
        answer = what.startswith("answer")
        if (both or not answer) and seen.get(what) != now.get(what):
            raise ConfigurationError(
                f"the evidence there is not the evidence now: {stored.condition}, "
                f"{stored.query_id}, step {stored.step}: {what}: {shown(seen.get(what))!r} there, "
                f"{shown(now.get(what))!r} here. {WAYS_OUT}"
            )


def shown_to_all(row: EvidenceRow) -> dict[str, object]:
    """What contenders are given, by what it is called in an error message."""
    found: dict[str, object] = {"question": row.question}
    for number, d in enumerate(row.documents, start=1):
        parts = {"rank": d.rank, "title": d.title, "address": d.url, "text": d.text}
        found |= {f"document {number}, its {part}": value for part, value in parts.items()}
    return found | {
        f"answer of document {number}": answer for number, answer in enumerate(row.answers, start=1)
    }


def difference(before: Contender | Condition, after: Contender | Condition) -> str:
    """The fields in which two definitions differ."""
    return ", ".join(
        f"{f.name} {shown(getattr(before, f.name))} there, {shown(getattr(after, f.name))} here"
        for f in fields(before)
        if getattr(before, f.name) != getattr(after, f.name)
    )


def shown(value: object) -> str:
    """A value in an error message."""
    if isinstance(value, dict):
        return ", ".join(map(str, value.values()))
    return str(value)[:120]
