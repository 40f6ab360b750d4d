"""`radarstream evaluate claims`: questions with labels as claims, checked under attacks."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

from typer import Option

from radarstream.lab.attacks.conditions import attacked, conditions_of
from radarstream.lab.attacks.protocol import Condition
from radarstream.lab.cli.kinds import words
from radarstream.lab.defences.label_reader import LABELS, LabelReader
from radarstream.lab.study.datasets import History, load_dataset
from radarstream.lab.study.halves import Half, in_half
from radarstream.lab.study.kind import batched
from radarstream.pipelines.build import build_defense_pipeline, shared_engine
from radarstream.pipelines.cli.options import AsJson, DryModelOptions, RuleOptions
from radarstream.pipelines.cli.terminal import print_json, print_table
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.signals.claims import check_claims, read_claims
from radarstream.schemas.claims import CheckedClaim, Claim, ClaimVerdict
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import Query

AT_ONCE: Final = 8  # claims that share calls of models
# What stands for "in which year did Bell patent it?" and "who is the mayor?" in a claim.
_TIMES: Final = re.compile(r"In (?:what|which) .*?\bdid (.+)\?")
_SUBJECTS: Final = re.compile(
    r"(?:Who|What|Which \w+(?: \w+)??) ((?:is|was|are|were|won|became|has|had)\b.+)\?"
)


@dataclass(frozen=True, slots=True)
class Made:
    """A claim that was made of a question: whether it is true, and the search that it is checked
    against.
    """

    text: str
    answer: str
    is_true: bool
    history: History


def evaluate_claims(
    *,
    dataset: Annotated[list[Path], Option(help="Questions with labels, and their documents.")],
    attacks: Annotated[str, Option(help="Attacks by name, each at every position.")] = "pia,poison",
    positions: Annotated[str, Option(help="Ranks that are attacked: 1,10, or 1+2.")] = "1",
    k: Annotated[int, Option("-k", min=1, help="Documents per claim.")] = 10,
    half: Annotated[Half, Option(metavar="<str>", help="development, test, or all.")] = Half.ALL,
    limit: Annotated[int | None, Option(min=1, help="Only the first N questions.")] = None,
    seed: Annotated[int, Option(min=0, help="Seed of all random draws.")] = 0,
    reader: Annotated[
        str, Option(help="'labels' for a perfect reader by the labels of the data.")
    ] = "",
    rule: RuleOptions,
    chosen: DryModelOptions,
    as_json: AsJson = False,
) -> None:
    """Make two claims of each question, of its right answer and of the attacker's, and check both.

    A false claim is attacked by pages that say it, a true one by pages that say the false one. Only
    questions are asked whose words make a claim with an answer in the place of "who", "what" or "in
    which year".
    """
    chosen = replace(chosen, dry_run=True) if reader else chosen
    settings = rule.over(chosen.settings())
    data = load_dataset(dataset, settings.limits)
    histories = [h for h in in_half(data.histories, half) if claims_of(h)][:limit]
    if not histories:
        raise ConfigurationError("no question of this half makes a claim")
    by_labels = LabelReader.of(reader or LABELS, seed)
    pipeline = build_defense_pipeline(settings, shared_engine(settings))
    if reader:
        pipeline = replace(pipeline, models=by_labels.models, baseline=None)
    table = []
    for condition in conditions_of(words(attacks), words(positions), [], "", k):
        under = attacked(condition, histories, k=k, seed=seed).histories
        by_labels.learn(under)
        claims = [claim for history in under for claim in claims_of(history)]
        for claim in claims:
            by_labels.learn_claim(claim.text, claim.history[0], claim.answer)
        found = [v for part in batched(claims, AT_ONCE) for v in verdicts(pipeline, part, k)]
        table += rows_of(condition, claims, found)
    if as_json:
        print_json(table)
    else:
        print_table(tuple(table[0]), (row.values() for row in table))


def claims_of(history: History) -> list[Made]:
    """A true and a false claim of a question; none where its words make none."""
    labels = history[-1].labels
    if labels is None or not labels.answers or labels.target is None or labels.all_answers_required:
        return []
    made = [
        Made(text, answer, answer != labels.target, history)
        for answer in (labels.answers[0], labels.target)
        if (text := claim_of(history[-1].query.text, answer))
    ]
    return made if len(made) == 2 else []


def claim_of(question: str, answer: str) -> str:
    """The claim that an answer to a question makes, "" where the pattern does not fit.

    >>> claim_of("Who is the mayor of Bern?", "Ann Lee")
    'Ann Lee is the mayor of Bern.'
    >>> claim_of("In which year did Bell patent the telephone?", "1876")
    'It was in 1876 that Bell patent the telephone.'
    """
    if found := _TIMES.fullmatch(question):
        return f"It was in {answer} that {found[1]}."
    found = _SUBJECTS.fullmatch(question)
    return f"{answer} {found[1]}." if found else ""


def verdicts(
    pipeline: DefensePipeline[object], claims: Sequence[Made], k: int
) -> Iterator[ClaimVerdict | None]:
    """What becomes of claims; None of one that is not read."""
    read = read_claims(pipeline.models, [claim.text for claim in claims])
    known = {place: claim for place, claim in enumerate(read) if isinstance(claim, Claim)}
    memory = pipeline.initial_memory()
    asked = []
    for place, claim in known.items():
        found, query = claims[place].history[-1], Query.from_text(claim.question)
        searched = replace(found, query=query, documents=found.documents[:k])
        asked.append((searched, memory))
    answered: list[tuple[Claim, AnswerEvent]] = []
    for claim, outcome in zip(known.values(), pipeline.run(asked), strict=True):
        if isinstance(outcome, Exception):
            raise outcome
        answered.append((claim, outcome.event))
    checked = dict(zip(known, check_claims(pipeline.models, answered), strict=True))
    for place in range(len(claims)):
        one = checked.get(place)
        yield one.verdict if isinstance(one, CheckedClaim) else None


def rows_of(
    condition: Condition, claims: Sequence[Made], found: Sequence[ClaimVerdict | None]
) -> list[dict[str, object]]:
    """How many true and false claims became what."""
    rows: list[dict[str, object]] = []
    for is_true in (True, False):
        counts = Counter(
            v for made, v in zip(claims, found, strict=True) if made.is_true is is_true
        )
        kind = {"condition": condition.name, "claims": "true" if is_true else "false"}
        verdicts = {verdict.value: counts[verdict] for verdict in ClaimVerdict}
        rows.append({**kind, "number": counts.total(), **verdicts, "unread": counts[None]})
    return rows
