"""The tables of a study as one Markdown file, for papers and notes."""

import re
from dataclasses import fields, is_dataclass
from typing import Any

from radarstream.connectors.models.tiers import model_facts, model_sentence
from radarstream.pipelines.evaluation.defences.comparison_tables import INTERVALS
from radarstream.pipelines.evaluation.defences.records import DefencesRecord
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard
from radarstream.pipelines.evaluation.defences.tables import tables_of
from radarstream.pipelines.evaluation.table import (
    Table,
    TableCell,
    TableRow,
    escaped,
    markdown,
)
from radarstream.pipelines.pages.defences.headline import Headline
from radarstream.pipelines.pages.safe_text import shorten, visible, without_secrets

LINE_CHARACTERS = 1_000
SIGNIFICANT_DIGITS = 4
DEFINITIONS = {
    "Accuracy": "share of scored answers that name a right answer of that time, or all of them "
    "where the data say that all are required. Case, punctuation and spacing do not count. Every "
    "table says by which of the two definitions below.",
    "Attack success": "share of scored answers that name the attacker's target. An answer that "
    "names both counts for both, so the two may add up to more than 100 %. Without an attack it "
    "is how often the target is said anyway; between attacks it counts, too, as a lie may "
    "outlive its attack. Attacks with a target of their own, a former answer or a refusal, are "
    "scored on attacked steps only: the target that the data name is not theirs.",
    "Whole words": "the text occurs as whole words: 1 is not named in 2015. The definition "
    "wherever no other is wanted.",
    "Contained": "the text occurs anywhere, also within a word, as RobustRAG, ReliabilityRAG and "
    "RADAR publish it.",
    "Exclusive": "contains a right answer and not the target, or the target and no right answer.",
    "Abstention": "an answer that says it does not know: neither right nor a success of the "
    "attack, and it stays in the denominator. Where refusal is what the attacker wants, it is "
    "their success.",
    "Error": "a failed model call or refused evidence: shown, counted, and scored nowhere.",
    "95 % interval": f"{INTERVALS}: answers to one question tell less than as many answers to "
    "different ones. At 0 and 100 % a question counts as about one answer.",
    "Difference and p": "a contender minus the reference over the answers that both gave; an "
    "exact paired test, p corrected for all comparisons of that quantity by Holm's method.",
    "Coverage": "the share of all answers asked for that is given, the surest first; see selective "
    "answering.",
    "Trade-off": "accuracy minus attack success, over the answers of all attacked conditions.",
    "Stale": "not right now, but right at an earlier step of the same question.",
    "Right again": "of the attacks that ended, or of the changes of the truth, after how many the "
    "answer was right before the next one came; steps are the mean wait of those.",
    "Cost": "what one answer asks of the models, whether or not a cache knew the reply. Signals "
    "that contenders share count for every contender that needs them.",
    "Bytes a question": "what is stored between two steps of a question.",
}


def markdown_tables(record: DefencesRecord, scoreboard: Scoreboard, found: Headline) -> str:
    """The whole file."""
    origin = "; ".join(f"{name} {value}" for name, value in provenance(record)) + "."
    parts = [
        f"# {plain(record.dataset)}: defences under attack",
        " ".join(map(plain, (found.verdict, *found.sentences))),
        plain(model_sentence(record.models)),
        *(markdown(_visible(table)).strip() for table in tables_of(scoreboard)),
        markdown(data_table(record)).strip(),
        "### Definitions",
        "\n".join(f"- **{term}**: {meaning}" for term, meaning in DEFINITIONS.items()),
        "### Provenance",
        f"{plain(origin)}\n\n{fenced(record.command)}",
    ]
    return "\n\n".join(parts) + "\n"


def data_table(record: DefencesRecord) -> Table:
    """What the study asked about."""
    run: dict[str, object] = {
        "questions asked": record.questions,
        "half": record.half,
        "snapshots asked": record.snapshots,
        "documents of a snapshot, at most": record.k,
        "data set": record.dataset,
        "digest": record.dataset_digest,
    }
    held = {
        f"in the data set: {str(name).replace('_', ' ')}": value
        for name, value in without_secrets(record.statistics).items()
    }
    rows = [TableRow(_line(k), (TableCell(_fact(v)),)) for k, v in (run | held).items()]
    return Table("data", "Data", "quantity", ("value",), tuple(rows))


def _fact(value: object) -> str:
    """A figure, or several in one line; a rate as such.

    >>> _fact({"hits": 1, "trials": 4, "share": 0.25}), _fact({"least": 1, "most_of": 2.5})
    ('1 of 4', 'least 1, most of 2.5')
    """
    if not isinstance(value, dict):
        return _line(value)
    if {"hits", "trials"} <= set(value):
        return f"{value['hits']} of {value['trials']}"
    return _line(", ".join(f"{str(k).replace('_', ' ')} {_fact(v)}" for k, v in value.items()))


def provenance(record: DefencesRecord) -> list[tuple[str, object]]:
    """Which code, models and seed, and for how long."""
    return [
        ("revision", record.revision),
        *model_facts(record.models),
        *([("relation scorer fitted on", record.fitted_on)] if record.fitted_on else []),
        ("seed", record.seed),
        ("attacks on the", record.surface),
        ("seconds", f"{record.seconds:.0f}"),
    ]


def plain(value: str) -> str:
    """One line of untrusted text that Markdown shows as it is, hidden characters shown."""
    return escaped(shorten(value, LINE_CHARACTERS))


def fenced(value: str) -> str:
    """A block of code that its content cannot end."""
    shown = str(visible(value))
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{shown}\n{fence}"


def _visible(value: Any) -> Any:
    """A table, or a part of one, with hidden characters of names and errors shown."""
    if isinstance(value, tuple):
        return tuple(_visible(part) for part in value)
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: _visible(getattr(value, field.name)) for field in fields(value)}
        return type(value)(**parts)
    return _line(value) if isinstance(value, str) else value


def _line(value: object) -> str:
    if isinstance(value, float):
        value = f"{value:.{SIGNIFICANT_DIGITS}g}"
    return shorten(str(value), LINE_CHARACTERS)
