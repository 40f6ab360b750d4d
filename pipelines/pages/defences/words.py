"""What the words of a study of defences mean, and the figures of its data."""

from radarstream.pipelines.evaluation.defences.comparison_tables import INTERVALS
from radarstream.pipelines.evaluation.defences.records import DefencesRecord
from radarstream.pipelines.evaluation.table import Table, TableCell, TableRow
from radarstream.pipelines.pages.safe_text import shorten, without_secrets

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


def _line(value: object) -> str:
    if isinstance(value, float):
        value = f"{value:.{SIGNIFICANT_DIGITS}g}"
    return shorten(str(value), LINE_CHARACTERS)
